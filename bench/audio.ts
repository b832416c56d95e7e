/**
 * Measures what audio costs: each part works on 20 ms frames of something like speech, in turn with the others so that
 * all see the same machine. Figures are the median of a frame, in µs, and its ratio to G.711 there and back.
 *
 *   npx tsx bench/audio.ts [word ...]
 */
import { argv } from 'node:process';
import { maximumPayload } from '../src/media/codec/audio-codec.ts';
import { openCodec } from '../src/media/codec/open-codec.ts';
import { loadOpus, OpusCodec } from '../src/media/codec/opus.ts';
import { speech } from '../tests/media/signal.ts';

/** One thing to measure: what it does with frame number `index`. */
type Part = { name: string; frame: (index: number) => void };

const frames = 200;
const rounds = 12;
/** The first rounds are the compiler's. */
const warmUp = 3;

await loadOpus();
const parts = (await Promise.all([codecParts()])).flat();
const words = argv.slice(2);
measure(
  parts.filter(({ name }, index) => index === 0 || words.length === 0 || words.some((word) => name.includes(word))),
);

async function codecParts(): Promise<Part[]> {
  const g711 = openCodec('ulaw');
  const narrow = speech(8000, 4);
  const there = new Uint8Array(maximumPayload(960));
  const back = new Int16Array(960);
  const both: Part = {
    name: 'G.711 there and back',
    frame(index) {
      const octets = g711.encode(narrow.subarray(index * 160, (index + 1) * 160), there);
      g711.decode(there.subarray(0, octets), back);
    },
  };
  const g722 = await oneWay('G.722', openCodec('g722'), 16_000);
  const linear = await oneWay('L16 at 48 kHz', openCodec('slin48', { order: 'network' }), 48_000);
  const opus = new OpusCodec();
  await opus.ready();
  return [both, ...g722, ...linear, ...(await oneWay('Opus', opus, 48_000))];
}

/** Encoding and decoding apart. */
async function oneWay(name: string, codec: ReturnType<typeof openCodec>, rate: number): Promise<Part[]> {
  const size = rate / 50;
  const audio = speech(rate, 4);
  const payload = new Uint8Array(maximumPayload(size));
  const packets = Array.from({ length: frames }, (_, index) =>
    payload.slice(0, codec.encode(audio.subarray(index * size, (index + 1) * size), payload)),
  );
  const heard = new Int16Array(size);
  return [
    {
      name: `${name} encode`,
      frame: (index) => void codec.encode(audio.subarray(index * size, (index + 1) * size), payload),
    },
    { name: `${name} decode`, frame: (index) => void codec.decode(packets[index]!, heard) },
  ];
}

/** Runs all parts in turn and prints a table. */
function measure(chosen: readonly Part[]): void {
  const times = chosen.map(() => [] as number[]);
  for (let round = 0; round < rounds; round++)
    for (const [number, part] of chosen.entries())
      for (let index = 0; index < frames; index++) {
        const started = process.hrtime.bigint();
        part.frame(index);
        if (round >= warmUp) times[number]!.push(Number(process.hrtime.bigint() - started) / 1000);
      }
  const medians = times.map((each) => each.sort((a, b) => a - b)[each.length >> 1]!);
  for (const [number, part] of chosen.entries())
    console.log(
      `${part.name.padEnd(36)} ${medians[number]!.toFixed(2).padStart(8)} µs ${(medians[number]! / medians[0]!).toFixed(1).padStart(8)} ×`,
    );
}
