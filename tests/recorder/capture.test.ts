import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Capture, CaptureSegment } from '../../src/recorder/capture.ts';
import { nothingMasked } from '../../src/recorder/masks.ts';
import type { Recorder } from '../../src/recorder/recorder.ts';
import { writeTimeline } from '../../src/recorder/timeline.ts';
import { perform, scenario } from '../support/call-acts.ts';
import { createCallControl } from '../support/call-control.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { createTestRecorder } from '../support/recorder.ts';

/** What is captured and filed later is what would have been filed at once. */

const capture = suite('what is captured before it is filed');

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
/** Ids that are drawn at random, by their place in the order in which they first appear. */
function withoutChance(value: unknown): string[] {
  const found = new Map<string, string>();
  const text = JSON.stringify(value).replaceAll(/[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?/g, (id) => {
    if (!found.has(id)) found.set(id, `id-${found.size}`);
    return found.get(id) as string;
  });
  return text.split('{"kind"');
}
/** What of a context counts as changed follows from references, which a copy has others of; time travel is tested by itself. */
const timelineOf = (recorder: Recorder): unknown =>
  asJson(writeTimeline(recorder.store.all(), nothingMasked).map((entry) => ({ ...entry, change: undefined })));
const callsOf = (recorder: Recorder): unknown =>
  recorder.store
    .calls()
    .map(({ id, ended, channels, applications, size }) => asJson({ id, ended, channels, applications, size }));

const local = { address: '192.0.2.1', port: 5060 };
const remote = { address: '192.0.2.9', port: 41_234 };
const sipMessage = (method: string, callId: string, cseq: string = method): Buffer =>
  Buffer.from(
    `${method} sip:100@192.0.2.1 SIP/2.0\r\nCall-ID: ${callId}\r\nCSeq: 1 ${cseq}\r\nContent-Length: 0\r\n\r\n`,
    'latin1',
  );

capture('calls read at the end are those that somebody heard of as they came', () => {
  let compared = 0;
  fc.assert(
    fc.property(scenario, (acts) => {
      const [at, later] = [true, false].map((listens) => {
        const world = createCallControl({ now: 1_700_000_000_000 });
        const recorder = createTestRecorder(world.runtime, world.clock);
        if (listens) recorder.listen(() => {});
        world.connect('desk');
        for (const each of acts) perform(world, each);
        recorder.close();
        return [timelineOf(recorder), callsOf(recorder)] as [unknown[], unknown[]];
      }) as [[unknown[], unknown[]], [unknown[], unknown[]]];
      assert.equal(withoutChance(later), withoutChance(at));
      compared += at[0].length;
    }),
    { numRuns: 40 },
  );
  assert.ok(compared > 1_000, `only ${compared} entries were compared`);
});

capture('a live call is whole, however many others come and go while nobody asks', () => {
  const octets = 3_000_000;
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock, { octets });
  world.connect('desk');
  world.operations.originate({ channelId: 'long', endpoint: 'Fake/phone', app: 'desk' });
  world.report('long', { type: 'leg.answered' });
  let most = 0;
  for (let each = 0; each < 3_000; each++) {
    const id = `c${each}`;
    const other = world.incoming(id);
    recorder.sip('in', sipMessage('INVITE', id), local, { ...remote, protocol: 'udp' });
    other.report({ type: 'leg.hungUp', cause: 16 });
    if (each % 500 === 0) world.operations.setVariable('long', { variable: 'ROUND', value: `${each}` });
    world.clock.advance(1);
    most = Math.max(most, recorder.octets);
  }
  assert.ok(most <= octets + 700_000, `it took ${most}`);
  assert.ok(recorder.evicted > 500, `only ${recorder.evicted} went`);
  const call = recorder.store.find('long');
  assert.is(call?.dropped, 0);
  const entries = call?.all() ?? [];
  const rounds = entries.flatMap((entry) =>
    entry.kind === 'step' && entry.chart === 'channel' ? [JSON.stringify(entry.event)] : [],
  );
  assert.is(rounds.filter((event) => event.includes('ROUND')).length, 6);
  assert.ok(rounds[0]?.includes('long'), 'its first step is there');
  assert.ok(recorder.store.find('c2999'));
  assert.is(recorder.store.find('c0'), undefined);
  recorder.close();
});

capture('no row of ended calls is looked at when they go, while only applications and the like run', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock, { octets: 300_000, others: 100 });
  world.connect('desk');
  const { places } = CaptureSegment.prototype;
  let looks = 0;
  CaptureSegment.prototype.places = function* () {
    looks++;
    yield* places.call(this);
  };
  try {
    for (let each = 0; each < 1_000; each++) {
      world.incoming(`c${each}`).report({ type: 'leg.hungUp', cause: 16 });
      world.clock.advance(1);
    }
  } finally {
    CaptureSegment.prototype.places = places;
  }
  assert.ok(recorder.evicted > 50, `only ${recorder.evicted} went`);
  assert.is(looks, 0);
  recorder.close();
});

capture('what cannot be written is lost alone, and told', () => {
  const told: unknown[] = [];
  const rows = new Capture({ octets: 1_000_000, makeRoom: () => {}, onFailed: (error) => told.push(error) });
  const failure = new Error('unreadable');
  const report = (value: string) => ({ kind: 'media' as const, order: 0, at: 1, object: 'a', report: { value } });
  const broken = report('x');
  Object.defineProperty(broken.report, 'other', {
    enumerable: true,
    get: () => {
      throw failure;
    },
  });
  for (const each of [report('before'), broken, report('after')]) rows.media(each as never);
  const read: unknown[] = [];
  for (let row = rows.take(); row; row = rows.take()) read.push([row.octets.read(), row.octets.read()]);
  assert.equal(read, [
    ['a', { value: 'before' }],
    ['a', { value: 'after' }],
  ]);
  assert.equal(told, [failure]);
  assert.ok(rows.isEmpty);
});

capture('rows are written when there are many, and when somebody reads', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock);
  world.connect('desk');
  for (let each = 0; each < 40; each++) {
    world.incoming(`c${each}`).report({ type: 'leg.hungUp', cause: 16 });
    assert.ok(recorder.isBehind);
  }
  assert.ok(recorder.octets > 0, 'some of it is written before anybody reads');
  assert.is(recorder.store.calls().length, 40);
  assert.not.ok(recorder.isBehind);
  recorder.close();
});

capture('messages of strangers push no step of a call out, and no call what belongs to none', () => {
  const world = createCallControl();
  const recorder = createTestRecorder(world.runtime, world.clock, { octets: 3_000_000, others: 100 });
  world.connect('desk');
  const leg = world.incoming('a');
  leg.report({ type: 'leg.hungUp', cause: 16 });
  for (let each = 0; each < 20_000; each++) {
    const method = ['INVITE', 'REGISTER', 'OPTIONS'][each % 3] as string;
    recorder.sip('in', sipMessage(method, `s${each}`), local, { ...remote, protocol: 'udp' });
  }
  const call = recorder.store.find('a');
  assert.ok((call?.size ?? 0) > 5);
  assert.is(call?.dropped, 0);
  recorder.close();
});

for (const rows of [1, 3, 7, 50])
  capture(
    `a chart of which something is filed is filed to its end, also if memory runs out: ${rows} rows a call`,
    () => {
      const world = createCallControl();
      const recorder = createTestRecorder(world.runtime, world.clock, { octets: 200_000, others: 100 });
      world.connect('desk');
      for (let each = 0; each < 1_500; each++) {
        const leg = world.incoming(`c${each}`);
        if (each % 10 === 0) recorder.settleSome(rows);
        leg.report({ type: 'leg.hungUp', cause: 16 });
      }
      assert.ok(recorder.evicted > 100, `${recorder.evicted} calls went unfiled`);
      const calls = recorder.store.calls().length;
      assert.is([...recorder.endedCalls].length, calls);
      assert.equal(
        [...recorder.store.living].filter(({ role }) => role !== 'none'),
        [],
      );
      assert.ok(recorder.store.find('c1499'));
      recorder.close();
    },
  );

capture('a reader of many unfiled calls waits, and other work runs meanwhile', async () => {
  const world = createCallControl();
  // The simulated clock ends turns of the event loop at once; this one lets others in between.
  const clock = Object.assign(new ManualClock(), { now: () => world.clock.now() });
  const recorder = createTestRecorder(world.runtime, clock);
  world.connect('desk');
  for (let each = 0; each < 300; each++) world.incoming(`c${each}`).report({ type: 'leg.hungUp', cause: 16 });
  assert.ok(recorder.isBehind);
  let turns = 0;
  const turn = (): void => {
    turns++;
    if (recorder.isBehind) setImmediate(turn);
  };
  setImmediate(turn);
  await recorder.settled();
  assert.ok(turns > 3, `others had ${turns} turns`);
  assert.not.ok(recorder.isBehind);
  assert.is(recorder.store.calls().length, 300);
  recorder.close();
});

capture.run();
