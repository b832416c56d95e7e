import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anyDeed, fewRuns, type Timed, timedDeeds, withCall } from './random-deeds.ts';
import { type Cut, createStory } from './snapshot-story.ts';

/**
 * A server whose process is killed before, behind and within each write of its state, and before and behind each SIP message
 * and event that it sends. Between two of these nobody can tell when it died. HOOKSWITCH_TEST_CRASHES=5000 makes so many runs.
 */
const crashes = suite('a server that is killed at any point');

type Story = Awaited<ReturnType<typeof createStory>>;
type Message = { type: string; seq: number; epoch: string };

/** An application that handles each event at once, and comes back with its place. */
class Client {
  readonly #story: Story;
  #epoch = 'new';
  last = 0;
  /** Numbers that came more than once, or not in order. */
  readonly wrong: string[] = [];

  constructor(story: Story) {
    this.#story = story;
  }

  connect(): void {
    const bookmark = this.#epoch === 'new' ? 'new' : { epoch: this.#epoch, seq: this.last };
    const { clock, cuts } = this.#story;
    const { pass } = cuts;
    // As a WebSocket does it: behind the turn that made the event.
    const later = (act: () => void): void => clock.soon(() => clock.soon(act));
    this.#story.server.connect({
      ...{ names: ['desk'], describe: 'desk', resume: new Map([['desk', bookmark as never]]) },
      send: (json: string) => later(() => pass('event', () => this.#take(json))),
    });
  }

  #take(json: string): void {
    const { type, seq, epoch } = JSON.parse(json) as Message;
    if (type === 'ResumePoint') this.#epoch = epoch;
    const expected = type === 'ResumePoint' ? this.last : this.last + 1;
    if (seq !== expected || type === 'ResumeGap') this.wrong.push(json);
    this.last = seq;
  }
}

/** Time goes on from one instant to the next; a process that died is followed by another one at once. */
async function run(story: Story, client: Client, ms: number): Promise<number> {
  const { clock, cuts } = story;
  const end = clock.now() + ms;
  let deaths = 0;
  for (;;) {
    const next = Math.min(end, Math.max(clock.now(), clock.nextDue));
    await clock.run(next - clock.now());
    if (cuts.isDead) {
      deaths++;
      cuts.plan(undefined);
      await story.crash();
      client.connect();
    } else if (clock.now() >= end) return deaths;
  }
}

type Plot = { deeds: Timed[]; cuts: Cut[] };

/** Requests of the server by Call-ID, number and method, with the branches that they had. */
const doubled = (sip: readonly string[]): string[] => {
  const seen = new Map<string, string>();
  return sip.filter((text) => {
    const key = /^\S+ \S+ ([A-Z]+ \d+ \S+)/.exec(text)?.[1];
    if (key === undefined || key.startsWith('ACK') || key.startsWith('CANCEL')) return false;
    const body = text.slice(text.indexOf('\n'));
    const before = seen.get(key);
    seen.set(key, body);
    return before !== undefined && before !== body;
  });
};

async function tell({ deeds, cuts }: Plot): Promise<number> {
  const story = await createStory(11, true);
  const client = new Client(story);
  client.connect();
  await story.ask('POST', '/applications/desk/subscription?eventSource=endpoint:PJSIP/alice,endpoint:PJSIP/bob');
  let deaths = 0;
  const left = [...cuts];
  for (const { after, deed } of withCall(deeds)) {
    story.cuts.plan(left.shift());
    deaths += await run(story, client, after * 10);
    // A request whose process dies has no answer.
    const acting = story.act(deed).catch(() => {});
    deaths += await run(story, client, 30);
    await acting;
  }
  deaths += await run(story, client, 3_000);
  story.cuts.plan(undefined);
  for (const { id } of (await story.ask('GET', '/channels')) as { id: string }[])
    await story.ask('DELETE', `/channels/${id}`);
  await run(story, client, 40_000);
  assert.equal(client.wrong, [], 'each event comes once, in order');
  assert.equal(await story.ask('GET', '/channels'), []);
  const { sip, errors } = await story.close();
  assert.equal(doubled(sip), [], 'no number of a request is used twice');
  assert.equal(errors, []);
  return deaths;
}

const plots = fc.record<Plot>({
  deeds: timedDeeds(anyDeed('call', 'originate', 'bridge', 'join'), fc.nat(60), 8),
  cuts: fc.array(
    fc.record<Cut>({
      point: fc.constantFrom('write', 'sip', 'event'),
      nth: fc.nat(12),
      when: fc.constantFrom('before', 'behind', 'within'),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});

const wanted = Number(process.env['HOOKSWITCH_TEST_CRASHES'] ?? 0);
const runs = wanted > 0 ? { numRuns: wanted } : fewRuns(8);

crashes('loses and doubles no event, request or call', () =>
  fc.assert(
    fc.asyncProperty(plots, async (plot) => void (await tell(plot))),
    runs,
  ),
);

/** One call: each of its writes and messages is a point. */
const script: Plot['deeds'] = [
  { after: 60, deed: { word: 'variable', nth: 0 } },
  { after: 5, deed: { word: 'originate', nth: 0 } },
  { after: 60, deed: { word: 'bridge', nth: 0 } },
  { after: 2, deed: { word: 'join', nth: 0 } },
  { after: 2, deed: { word: 'join', nth: 0 } },
];

crashes('dies at the first, second and each further write of a call, and goes on', async () => {
  let deaths = 0;
  for (const when of ['before', 'within', 'behind'] as const)
    for (let nth = 0; nth < (wanted > 0 ? 20 : 3); nth++)
      for (let deed = 0; deed < script.length; deed += wanted > 0 ? 1 : 2) {
        const none: Cut = { point: 'write', nth: 1e9, when };
        const cuts = [...Array<Cut>(deed).fill(none), { point: 'write', nth, when } as Cut];
        deaths += await tell({ deeds: script, cuts });
      }
  assert.ok(deaths >= 18, `${deaths} deaths`);
});

crashes.run();
