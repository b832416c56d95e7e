import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bookmark } from '../../src/actors/resumptions.ts';
import { anyDeed } from './random-deeds.ts';
import { createStory, type Deed } from './snapshot-story.ts';

/** An application that is cut off, fails, and comes back, while its server is killed at random moments. */

const resuming = suite('an application that resumes over restarts');

type Story = Awaited<ReturnType<typeof createStory>>;
type Message = { type: string; seq: number; epoch: string; application: string };

/** A client that handles events in order, and forgets what it has not handled when it fails. */
class Client {
  readonly #story: Story;
  readonly #acknowledges: boolean;
  #connection: ReturnType<Story['server']['connect']> | undefined;
  #epoch = '';
  /** Number of the last handled event. */
  #last = 0;
  /** What was received and is not handled. */
  #received: string[] = [];
  /** The events by number, as they were handled. */
  readonly handled = new Map<number, string>();
  points = 0;

  constructor(story: Story, acknowledges: boolean) {
    this.#story = story;
    this.#acknowledges = acknowledges;
  }

  get last(): number {
    return this.#last;
  }

  connect(bookmark?: Bookmark): void {
    this.#received = [];
    this.#connection = this.#story.server.connect({
      ...{ names: ['desk'], describe: 'desk', acknowledges: this.#acknowledges },
      send: (json: string) => void this.#received.push(json),
      ...(bookmark !== undefined && { resume: new Map([['desk', bookmark]]) }),
    });
  }

  /** Comes back with its place, or lets the server say it. */
  comeBack(): void {
    this.connect(this.#acknowledges ? undefined : { epoch: this.#epoch, seq: this.#last });
  }

  /** The connection is cut: what was not handled is gone. */
  fail(): void {
    this.#received = [];
    this.#connection?.close();
    this.#connection = undefined;
  }

  /** The server's process is gone, and the connection with it. */
  cut(): void {
    this.#received = [];
    this.#connection = undefined;
  }

  /** Handles so many messages. */
  handle(count = Number.POSITIVE_INFINITY): void {
    for (const json of this.#received.splice(0, count)) this.#take(json);
    if (this.#acknowledges && this.#last > 0)
      assert.ok(!this.#connection || this.#connection.acknowledge('desk', this.#last));
  }

  #take(json: string): void {
    const { type, seq, epoch } = JSON.parse(json) as Message;
    assert.is.not(type, 'ResumeGap', json);
    if (type === 'ResumePoint') {
      this.points++;
      assert.is(seq, this.#last, json);
      this.#epoch = epoch;
      return;
    }
    assert.is(seq, this.#last + 1, json);
    this.handled.set(seq, json);
    this.#last = seq;
  }
}

type Step = { after: number; deed: Deed; trouble: 'none' | 'fail' | 'kill' | 'failThenKill'; handled: number };

const steps = fc.array(
  fc.record<Step>({
    after: fc.nat(30),
    deed: anyDeed('call', 'originate'),
    trouble: fc.constantFrom('none', 'none', 'fail', 'kill', 'failThenKill'),
    handled: fc.nat(12),
  }),
  { minLength: 3, maxLength: 10 },
);

async function tell(plot: readonly Step[], acknowledges: boolean): Promise<void> {
  const story = await createStory(7, true);
  const client = new Client(story, acknowledges);
  client.connect('new');
  client.handle();
  await story.ask('POST', '/applications/desk/subscription?eventSource=endpoint:PJSIP/alice,endpoint:PJSIP/bob');
  await story.act({ word: 'call', nth: 0 });
  for (const { after, deed, trouble, handled } of plot) {
    await story.clock.run(after * 10);
    client.handle(handled);
    if (trouble === 'fail' || trouble === 'failThenKill') client.fail();
    await story.act(deed);
    await story.clock.run(20);
    if (trouble === 'kill' || trouble === 'failThenKill') {
      client.cut();
      await story.crash();
      await story.act({ word: 'variable', nth: 0 });
      await story.clock.run(20);
    }
    if (trouble !== 'none') client.comeBack();
  }
  await story.clock.run(2_000);
  client.handle();
  const { seq } = (
    story.server.dump() as { calls: { applications: { actor: { context: { name: string } }; seq: number }[] } }
  ).calls.applications.find(({ actor }) => actor.context.name === 'desk')!;
  assert.is(client.last, seq, 'nothing is missing at the end');
  assert.is(client.handled.size, seq);
  client.fail();
  await story.close();
}

const runs = { numRuns: 8, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: false };

resuming('by epoch and number it handles every event once, in order', () =>
  fc.assert(
    fc.asyncProperty(steps, (plot) => tell(plot, false)),
    runs,
  ),
);

resuming('with acknowledgements it handles every event once, in order', () =>
  fc.assert(
    fc.asyncProperty(steps, (plot) => tell(plot, true)),
    runs,
  ),
);

resuming.run();
