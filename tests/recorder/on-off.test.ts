import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { LiveCall } from '../../src/models/live.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { createCalls } from '../../src/recorder/calls.ts';
import { createLive } from '../../src/recorder/live.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import { createStuck } from '../../src/recorder/stuck.ts';
import { createTimeMachine } from '../../src/recorder/time-travel.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { perform, scenario } from '../support/call-acts.ts';
import { createCallControl } from '../support/call-control.ts';
import { createTestRecorder, liveSettings } from '../support/recorder.ts';

/** Recording is turned off and on while calls go on. */

const turned = suite('a recorder that is turned off and on');
type World = ReturnType<typeof createCallControl>;

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const served = ({ channels, views }: World) => asJson(channels.all().map((entry) => views.model(entry)));

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
        message: 'recording is off; recorded calls are deleted',
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

turned(
  'who watches a call is told since when nothing of it is kept, and gets all anew when recording begins again',
  () => {
    const world = createCallControl();
    const recorder = createTestRecorder(world.runtime, world.clock);
    const stuck = createStuck({ recorder, lagging: () => [] });
    const calls = createCalls(recorder, stuck, { versions: {} });
    const desk = { name: 'desk', connected: true, state: 'active', events: 0, missed: 0 };
    const live = createLive({
      ...{ recorder, calls, clock: world.clock, log: world.log, stuck: stuck.all },
      applications: () => [desk],
      application: () => desk,
      settings: () => liveSettings,
    });
    world.incoming('a');
    const messages: LiveCall[] = [];
    live.watch({ kind: 'call', id: 'a' }, (json) => messages.push(JSON.parse(json) as LiveCall));
    const told = () =>
      messages.splice(0).map(({ whole, call, entries, let_go: letGo }) => [whole, call.id, entries.length > 0, letGo]);
    assert.equal(told(), [[true, 'a', true, undefined]]);
    recorder.reconfigure({ off: true });
    world.clock.advance(1_000);
    const since = world.clock.now() - 750;
    assert.equal(told(), [[undefined, 'a', false, since]]);
    recorder.reconfigure({ off: false });
    world.clock.advance(1_000);
    assert.equal(told(), [[true, 'a', true, undefined]]);
    live.close();
    recorder.close();
  },
);

turned('what was hidden of a call stays hidden when recording begins again', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  const calls = createCalls(recorder, createStuck({ recorder, lagging: () => [] }), { versions: {} });
  world.incoming('a');
  world.incoming('b');
  calls.mask('a', { digits: true, variables: ['PIN'] });
  for (const off of [true, false, true, false]) recorder.reconfigure({ off });
  assert.equal([calls.get('a').masked, calls.get('b').masked], [{ digits: true, variables: ['PIN'] }, undefined]);
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
    { numRuns: 40 },
  );
  assert.ok(compared > 300, `only ${compared} moments were compared`);
});

turned.run();
