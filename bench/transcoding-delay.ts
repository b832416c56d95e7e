/**
 * Delay that a bridge of two adds while it transcodes, on simulated time: `npx tsx bench/transcoding-delay.ts`. A packet of one
 * far side is loud after silence; the delay is from its arrival to the first loud sample that the other far side is sent.
 */

import type { Codec } from '../src/telephony/media.ts';
import { meeting } from '../tests/media/phones.ts';

const loud = 2000;

/** @param phase when packets come within a tick, in ms. */
async function delay(from: Codec, to: Codec, phase: number): Promise<number> {
  const { engine, sides, join, clock, deliver, collect } = await meeting([400, 620], {}, [from, to]);
  const [speaker, hearer] = sides as [(typeof sides)[0], (typeof sides)[0]];
  engine.openMix(1, 'mixing');
  join(1);
  join(2);
  speaker.says = () => 0;
  let saidAt = 0;
  for (let packet = 0; packet < 100; packet++) {
    for (let step = 0; step < 20; step++) {
      if (step === phase) {
        if (packet === 80) {
          saidAt = clock.now();
          speaker.says = (sample) => (sample % 8 < 4 ? 8000 : -8000);
        }
        deliver(speaker, speaker.packet());
      }
      collect();
      clock.advance(1);
    }
  }
  engine.close();
  const samples = hearer.samples();
  const first = samples.findIndex((sample) => Math.abs(sample) > loud);
  const perPacket = hearer.codec.sampleRate / 50;
  const index = Math.floor(first / perPacket);
  return hearer.heard[index]!.at - saidAt + ((first % perPacket) * 20) / perPacket;
}

for (const [from, to] of [
  ['ulaw', 'alaw'],
  ['g722', 'ulaw'],
  ['ulaw', 'slin16'],
  ['slin16', 'ulaw'],
] as const) {
  const all: number[] = [];
  for (let phase = 0; phase < 20; phase++) all.push(await delay(from, to, phase));
  all.sort((one, other) => one - other);
  const mean = all.reduce((sum, each) => sum + each, 0) / all.length;
  process.stdout.write(`${from} to ${to}: mean ${mean.toFixed(1)} ms, most ${all.at(-1)!.toFixed(1)} ms\n`);
}
