import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../src/media/codec/codecs.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { bench, encodePacket } from './support.ts';

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
  reports.flatMap((report) => (report.type === 'measured' ? [[report.session, report.measures]] : []));

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
  const [[, measures] = []] = measuredOf(world.reports) as [number, { level_db: number }][];
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
