/**
 * Measures what audio costs: each part works on 20 ms frames of something like speech, in turn with the others so that
 * all see the same machine. Figures are the median of a frame, in µs, and its ratio to G.711 there and back; recordings, which go to a real disk, by
 * CPU time and against WAV.
 *
 *   npx tsx bench/audio.ts [word ...]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { maximumPayload } from '../src/media/codec/audio-codec.ts';
import { openCodec } from '../src/media/codec/open-codec.ts';
import { loadOpus, OpusCodec } from '../src/media/codec/opus.ts';
import { ActiveSpeaker } from '../src/media/dsp/active-speaker.ts';
import { Concealer } from '../src/media/dsp/concealer.ts';
import { DigitDetector } from '../src/media/dsp/digit-detector.ts';
import { meanLevel } from '../src/media/dsp/level.ts';
import { MixBuffer } from '../src/media/dsp/mixer.ts';
import { Resampler } from '../src/media/dsp/resampler.ts';
import { ToneDetector } from '../src/media/dsp/tone-detector.ts';
import { defaultRecordingLimits, openRecording } from '../src/media/file/recording-writer.ts';
import { speech } from '../tests/media/signal.ts';

/** One thing to measure: what it does with frame number `index`. */
type Part = { name: string; frame: (index: number) => void };

const frames = 200;
const rounds = 12;
/** The first rounds are the compiler's. */
const warmUp = 3;

await loadOpus();
const parts = [...(await codecParts()), ...resamplerParts(), ...mixerParts(), ...detectorParts()];
const words = argv.slice(2);
measure(
  parts.filter(({ name }, index) => index === 0 || words.length === 0 || words.some((word) => name.includes(word))),
);
if (words.length === 0 || words.includes('record')) await measureRecordings();

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

function resamplerParts(): Part[] {
  const ratios = [
    [8000, 16_000],
    [16_000, 8000],
    [8000, 48_000],
    [48_000, 8000],
    [48_000, 16_000],
    [44_100, 8000],
    [44_100, 48_000],
  ] as const;
  return ratios.map(([from, to]) => {
    const resampler = new Resampler(from, to);
    const audio = speech(from, 4);
    const target = new Int16Array(resampler.most(from / 50));
    const size = from / 50;
    return {
      name: `resample ${from} to ${to}`,
      frame: (index) => void resampler.process(audio.subarray(index * size, (index + 1) * size), target),
    };
  });
}

function mixerParts(): Part[] {
  return [8000, 16_000, 48_000].map((rate) => {
    const size = rate / 50;
    const members = Array.from({ length: 10 }, (_, seed) => speech(rate, 4, seed + 1));
    const said = members.map(() => new Int16Array(size));
    const heard = new Int16Array(size);
    const mix = new MixBuffer(size);
    return {
      name: `mix ten at ${rate}`,
      frame(index) {
        for (const [number, member] of members.entries())
          said[number]!.set(member.subarray(index * size, (index + 1) * size));
        mix.clear();
        for (const frame of said) mix.add(frame);
        for (const frame of said) mix.others(frame, heard);
      },
    };
  });
}

function detectorParts(): Part[] {
  const audio = speech(8000, 4);
  const frame = (index: number) => audio.subarray(index * 160, (index + 1) * 160);
  const digits = new DigitDetector(8000);
  const tone = new ToneDetector({ hertz: 1100, durationMs: 500, sampleRate: 8000 });
  const concealer = new Concealer(8000);
  const made = new Int16Array(160);
  const speaker = new ActiveSpeaker<number>();
  return [
    { name: 'level', frame: (index) => void meanLevel(frame(index)) },
    { name: 'digits in band', frame: (index) => void digits.take(frame(index)) },
    { name: 'tone', frame: (index) => void tone.take(frame(index)) },
    { name: 'concealer, nothing lost', frame: (index) => concealer.heard(frame(index)) },
    {
      name: 'concealer, every frame lost',
      frame(index) {
        concealer.heard(frame(index));
        concealer.conceal(made);
      },
    },
    {
      name: 'active speaker of ten',
      frame(index) {
        for (let member = 0; member < 10; member++) speaker.hear(member, (index * 7 + member * 13) % 500);
        speaker.tick(20);
      },
    },
  ];
}

/** CPU of recordings beside each other, for a frame of one, with batches of so many ms. */
async function recordingCost(format: string, batchMs: number): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'hookswitch-bench-'));
  const writers = await Promise.all(
    Array.from({ length: 20 }, (_, serial) =>
      openRecording(
        {
          ...defaultRecordingLimits,
          path: join(directory, `${serial}.${format}`),
          format,
          batchMs,
          channels: 1,
          ifExists: 'fail',
          serial,
        },
        (error) => {
          throw error;
        },
      ),
    ),
  );
  const rate = writers[0]!.sampleRate;
  const audio = speech(rate, 4);
  const ticks = 1000;
  const before = process.cpuUsage();
  for (let tick = 0; tick < ticks; tick++) {
    const at = (tick % 200) * (rate / 50);
    for (const writer of writers) writer.write(audio.subarray(at, at + rate / 50));
    await new Promise(setImmediate);
  }
  await Promise.all(writers.map((writer) => writer.finish()));
  const { user, system } = process.cpuUsage(before);
  await rm(directory, { recursive: true });
  return (user + system) / (ticks * writers.length);
}

async function measureRecordings(): Promise<void> {
  const plain = await recordingCost('wav', 1000);
  const show = (name: string, cost: number) =>
    console.log(`${name.padEnd(36)} ${cost.toFixed(2).padStart(8)} µs ${(cost / plain).toFixed(1).padStart(8)} × wav`);
  show('record wav, batches of 1 s', plain);
  show('record wav, batches of 20 ms', await recordingCost('wav', 20));
  for (const format of ['wav16', 'ulaw', 'g722', 'ogg']) show(`record ${format}`, await recordingCost(format, 1000));
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
