import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../src/media/codec/codecs.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { bench, encodePacket, usualFlow } from './support.ts';

const measuring = suite('what is measured of a session with RTP');

const far = { address: '192.0.2.1', port: 4000 };
/** 20 ms of a square wave of this amplitude. */
const square = (amplitude: number) => [
  ...encode(
    'ulaw',
    Int16Array.from({ length: 160 }, (_, index) => (index % 2 === 0 ? amplitude : -amplitude)),
  ),
];

type Bench = ReturnType<typeof bench>;
const measuredOf = (reports: readonly EngineReport[]) =>
  reports.flatMap((report) => (report.type === 'measured' ? [[report.session, report.measures] as const] : []));

/** Packets of 20 ms for so long, those of `lost` left out. */
function speak(
  { network, clock }: Bench,
  ms: number,
  amplitude: number,
  { first = 1, lost = [] as number[] } = {},
): void {
  for (let sequence = first; sequence < first + ms / 20; sequence++) {
    if (!lost.includes(sequence))
      network.deliver(
        10_000,
        encodePacket({
          marker: false,
          payloadType: 0,
          sequence,
          timestamp: sequence * 160,
          ssrc: 5,
          payload: square(amplitude),
        }),
        far,
      );
    clock.advance(20);
  }
}

measuring('it is told a second after audio could flow, and then as often as was asked for', async () => {
  const world = bench({ measureMs: 5_000 });
  await world.open();
  speak(world, 1_200, 7_932, { lost: [7, 8] });
  const first = {
    codec: 'ulaw',
    flow: 'sendrecv',
    packets_heard: 54,
    packets_sent: 0,
    loss_heard: 2,
    loss_sent: 0,
    jitter_heard_ms: 0,
    jitter_sent_ms: 0,
    late: 0,
    digits: 0,
    level_db: -12.3,
  };
  assert.equal(measuredOf(world.reports), [[1, first]]);
  speak(world, 4_800, 0, { first: 61 });
  world.clock.advance(200);
  assert.equal(measuredOf(world.reports).slice(1), [[1, { ...first, packets_heard: 298, level_db: -90 }]]);
  world.engine.close();
});

measuring('a session that others hear is measured by what they hear', async () => {
  const world = bench({ measureMs: 5_000 });
  await world.open();
  world.engine.openMix(9, 'mixing');
  world.engine.applyToMix(9, {
    type: 'join',
    session: 1,
    member: { role: 'participant', muted: false, passDigits: true },
  });
  world.engine.apply({ type: 'detectTalking', session: 1, detection: { thresholdLevel: 256, silenceMs: 500 } });
  speak(world, 1_200, 7_932);
  const [[, measures] = []] = measuredOf(world.reports);
  assert.is(measures?.level_db, -12.3);
  world.engine.close();
});

measuring('a long session is measured seldomer, and one that carries nothing says so', async () => {
  const world = bench({ measureMs: 1_000 });
  await world.open({ send: false, receive: false });
  world.clock.advance(121_500);
  const { length } = measuredOf(world.reports);
  assert.ok(length >= 110 && length <= 121, `${length} times`);
  world.clock.advance(480_000);
  const more = measuredOf(world.reports).length - length;
  assert.ok(more >= 170 && more <= 190, `${more} times`);
  assert.equal(measuredOf(world.reports)[0], [
    1,
    {
      ...{ codec: 'ulaw', flow: 'inactive', packets_heard: 0, packets_sent: 0, loss_heard: 0, loss_sent: 0 },
      ...{ jitter_heard_ms: 0, jitter_sent_ms: 0, late: 0, digits: 0 },
    },
  ]);
  world.engine.close();
});

/** Two phones, 1 and 2, each in a mix of its own; the mixes meet in a Local channel, 11 in 91 and 12 in 92. */
async function throughPair(world: Bench): Promise<void> {
  const { engine } = world;
  await world.open();
  await engine.openRtp(2);
  engine.apply({ type: 'configure', session: 2, flow: { ...usualFlow, remote: { address: '192.0.2.1', port: 4002 } } });
  engine.openLocal(11);
  engine.openLocal(12, undefined, 11);
  for (const [mix, members] of [
    [91, [1, 11]],
    [92, [2, 12]],
  ] as const) {
    engine.openMix(mix, 'mixing');
    for (const session of members)
      engine.applyToMix(mix, {
        type: 'join',
        session,
        member: { role: 'participant', muted: false, passDigits: true },
      });
  }
}

/** Levels by session: heard, and sent. */
const levelsOf = (reports: readonly EngineReport[]) =>
  Object.fromEntries(
    measuredOf(reports).map(([session, { level_db, level_sent_db }]) => [session, [level_db, level_sent_db]]),
  );

measuring('what we send is as loud as it is, whichever way it went; a Local channel says what passes', async () => {
  const world = bench({ measureMs: 5_000 });
  await throughPair(world);
  speak(world, 1_400, 7_932);
  const levels = { 1: [-12.3, undefined], 2: [undefined, -12.3], 11: [undefined, -12.3], 12: [-12.3, undefined] };
  assert.equal(levelsOf(world.reports), levels);
  assert.is(world.engine.forwarded(1), 70, 'packets go as they are while they are looked at');
  // In frames, as soon as somebody wants these.
  world.engine.apply({ type: 'detectTalking', session: 12, detection: { thresholdLevel: 256, silenceMs: 500 } });
  world.reports.length = 0;
  speak(world, 5_000, 7_932, { first: 71 });
  assert.equal(levelsOf(world.reports), { 1: [-12.3, -90], 2: [undefined, -12.3], 11: [-90, -12.3], 12: [-12.3, -90] });
  const passed = measuredOf(world.reports).find(([session]) => session === 12);
  assert.equal(passed, [12, { digits: 0, level_db: -12.3, level_sent_db: -90 }]);
  world.engine.close();
});

measuring('what is played, echoed or muted is measured as it is sent', async () => {
  const world = bench({ measureMs: 1_000 });
  await world.open();
  const sent = () => levelsOf(world.reports.splice(0))[1]?.[1];
  world.engine.apply({ type: 'indicate', session: 1, indication: 'ringing' });
  world.clock.advance(1_200);
  const ringing = Number(sent());
  assert.ok(ringing > -30 && ringing < -5, `${ringing} dB`);
  world.engine.apply({ type: 'indicate', session: 1, indication: undefined });
  world.engine.apply({ type: 'echo', session: 1, on: true });
  speak(world, 2_000, 7_932);
  assert.is(sent(), -12.3);
  world.engine.apply({ type: 'mute', session: 1, in: false, out: true });
  speak(world, 2_000, 7_932, { first: 101 });
  assert.is(sent(), -90);
  world.engine.close();
});

measuring('a snoop is measured while somebody hears it', async () => {
  const world = bench({ measureMs: 1_000 });
  await world.open();
  world.engine.openSnoop(20, 1, { spy: 'in', whisper: 'none' });
  speak(world, 2_000, 7_932);
  assert.equal(Object.keys(levelsOf(world.reports)), ['1']);
  world.engine.apply({ type: 'detectTalking', session: 20, detection: { thresholdLevel: 256, silenceMs: 500 } });
  speak(world, 2_000, 7_932, { first: 101 });
  assert.equal(levelsOf(world.reports)[20], [-12.3, undefined]);
  world.engine.close();
});

measuring('how often is changed while calls go on, and turned off and on', async () => {
  const world = bench();
  await world.open();
  world.engine.measure(1_000);
  speak(world, 1_200, 7_932);
  assert.is(measuredOf(world.reports).length, 1);
  world.engine.measure(0);
  speak(world, 5_000, 7_932, { first: 61 });
  assert.is(measuredOf(world.reports).length, 1);
  world.engine.measure(200);
  speak(world, 2_000, 7_932, { first: 311 });
  const often = measuredOf(world.reports).length;
  assert.ok(often >= 8 && often <= 11, `${often} times`);
  assert.is(measuredOf(world.reports).at(-1)?.[1].level_db, -12.3);
  world.engine.close();
});

measuring('nothing is measured where nobody asked for it, and nothing of a session that is closed', async () => {
  const quiet = bench();
  await quiet.open();
  speak(quiet, 2_000, 1_000);
  assert.equal(measuredOf(quiet.reports), []);
  quiet.engine.close();
  const world = bench({ measureMs: 1_000 });
  await world.open();
  world.engine.apply({ type: 'close', session: 1 });
  world.clock.advance(10_000);
  assert.equal(measuredOf(world.reports), []);
  world.engine.close();
});

measuring.run();
