import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createTimeMachine } from '../../src/recorder/time-travel.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { perform, scenario } from '../support/call-acts.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder } from '../support/recorder.ts';

/** Recording is turned off and on while calls go on. */

const turned = suite('a recorder that is turned off and on');
const seed = Number(process.env['HOOKSWITCH_CHARTS_SEED'] ?? 20261122);

type World = ReturnType<typeof createCallControl>;

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const served = ({ channels }: World) => asJson(channels.all().map((entry) => channels.model(entry)));

turned('while it is off nobody hears of steps, and nothing is left of what was recorded', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  world.incoming('a');
  assert.is(recorder.store.calls().length, 1);
  const before = recorder.order;
  recorder.reconfigure({ off: true });
  assert.equal([recorder.on, world.runtime.turn.keeper], [false, undefined]);
  assert.equal(
    [...world.runtime.actors].filter(({ note }) => note !== undefined),
    [],
  );
  world.incoming('b');
  recorder.media('a', { loss: 1 });
  assert.equal([recorder.order, recorder.store.calls(), recorder.store.octets], [before, [], 0]);
  assert.equal(
    world.log.lines.filter(({ message }) => message.includes('recorded')),
    [
      {
        level: 'info',
        message: 'nothing is recorded any more; the calls that were kept are gone',
        fields: { calls: 1 },
      },
    ],
  );

  world.clock.advance(5_000);
  recorder.reconfigure({ off: false });
  const calls = recorder.store.calls();
  assert.equal(
    calls.map(({ id, began, channels }) => [id, world.clock.now() - began, channels.map((each) => each.value)]),
    [
      ['a', 5_000, ['ring']],
      ['b', 5_000, ['ring']],
    ],
  );
  const [first] = writeTimeline(calls[0]!.all(), nothingMasked);
  assert.equal(first?.kind === 'step' && [first.chart, first.event, first.from, first.to], [
    'channel',
    { type: 'recording.begun' },
    undefined,
    'ring',
  ]);
  recorder.close();
});

turned('a request that is answered after that is not kept, and one that began before neither', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  const asked = {
    id: 'r1',
    at: 1,
    method: 'POST',
    path: '/ari/channels/a',
    query: '',
    user: 'u',
    overWebSocket: false,
  };
  const answered = recorder.requested({ ...asked, looks: false });
  recorder.reconfigure({ off: true });
  answered(200, 1);
  assert.is(recorder.store.octets, 0);
  recorder.reconfigure({ off: false });
  world.runtime.turn.following('r1', () => world.incoming('a'));
  assert.equal(
    recorder.store.all().filter(({ kind }) => kind !== 'step'),
    [],
  );
  recorder.close();
});

turned('whenever it is turned on, what is rebuilt from there is what was served', () => {
  let compared = 0;
  fc.assert(
    fc.property(scenario, fc.nat(20), fc.nat(20), (acts, off, on) => {
      const world = createCallControl();
      const recorder = createTestRecorder(world.runtime, world.clock);
      world.connect('desk');
      const moments: [seq: number, channels: unknown][] = [];
      acts.forEach((act, at) => {
        if (at === off) recorder.reconfigure({ off: true });
        if (at === off + on) {
          recorder.reconfigure({ off: false });
          moments.length = 0;
        }
        perform(world, act);
        if (recorder.on) moments.push([recorder.order, served(world)]);
        else moments.length = 0;
      });
      const timeline = asJson(writeTimeline(recorder.store.all(), nothingMasked)) as TimelineEntry[];
      const machine = createTimeMachine(timeline);
      const byId = (channels: unknown) => (channels as { id: string }[]).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      for (const [seq, channels] of moments) assert.equal(byId(machine.at(seq).channels), byId(channels));
      compared += moments.length;
      recorder.close();
    }),
    { numRuns: 40, seed },
  );
  assert.ok(compared > 300, `only ${compared} moments were compared`);
});

turned.run();
