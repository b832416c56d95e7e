import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { G722Decoder, G722Encoder } from '../../../src/media/codec/g722.ts';
import { openG722, openGsm, openLaw, openLinear, openOpus } from '../../../src/media/file/open-audio.ts';
import { type PcmReader, readAll } from '../../../src/media/file/pcm-reader.ts';
import { atRate } from '../../../src/media/file/resampled-reader.ts';
import { openWav } from '../../../src/media/file/wav.ts';
import { need } from '../../support/need.ts';
import { firstDifference, level, likeness, sine, sineToNoise, speech } from '../signal.ts';
import { wavFile } from './wav-file.ts';

const sox = need('sox');
const opusenc = need('opusenc');
const opusdec = need('opusdec');
const maxBuffer = 64 * 1024 * 1024;

const octetsOf = (samples: Int16Array) => Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
const samplesOf = (octets: Buffer) =>
  Int16Array.from({ length: octets.length >> 1 }, (_, at) => octets.readInt16LE(at * 2));

/** Reads in pieces of odd sizes. */
function pieces(reader: PcmReader): Int16Array {
  const all: number[] = [];
  for (let size = 1; ; size = 1 + ((size * 3 + 7) % 1000)) {
    const piece = new Int16Array(size);
    const count = reader.read(piece);
    all.push(...piece.subarray(0, count));
    if (count < size) return Int16Array.from(all);
  }
}

/**
 * The same samples come out in pieces, after a seek, and not beyond the end. What builds on what went before may then be
 * off by a share of its level.
 */
async function assertSeeks(reader: PcmReader, whole: Int16Array, share = 0): Promise<void> {
  assert.is(reader.length, whole.length);
  for (const sample of [0, 1, 4321, whole.length - 500, 700, -5, whole.length + 5, Number.NaN]) {
    // A player seeks once in a tick at most.
    await new Promise(setImmediate);
    reader.seek(sample);
    const from = Math.max(0, Math.min(whole.length, Math.trunc(sample) || 0));
    assert.is(reader.position, from);
    const piece = new Int16Array(400);
    const expected = whole.subarray(from, from + 400);
    assert.is(reader.read(piece), expected.length);
    const off = expected.map((each, at) => each - piece[at]!);
    assert.ok(level(off) <= share * level(whole), `from ${sample}: off by ${level(off)} of ${level(whole)}`);
  }
  await new Promise(setImmediate);
  reader.seek(0);
  assert.is(pieces(reader).length, whole.length);
  assert.is(reader.read(new Int16Array(5)), 0);
}

const samples = speech(16_000, 2);

test('linear files and WAV files are read as they are, anywhere', async () => {
  await assertSeeks(openLinear(octetsOf(samples), 16_000), samples);
  await assertSeeks(openWav(wavFile(samples, { rate: 16_000 })), samples);
  assert.is(openLinear(octetsOf(samples).subarray(0, 7), 8000).length, 3);
});

test('G.711 is read with and without a WAV header', async () => {
  const octets = Uint8Array.from({ length: 8000 }, (_, at) => (at * 37) & 0xff);
  for (const [law, tag] of [
    ['alaw', 6],
    ['ulaw', 7],
  ] as const) {
    const plain = readAll(openLaw(octets, law));
    await assertSeeks(openLaw(octets, law), plain);
    const wav = wavFile(new Int16Array(octets.buffer), { tag, bits: 8 });
    assert.equal(readAll(openWav(wav)), plain);
  }
});

test('G.722 is read from anywhere, the decoder adapting before what is heard', async () => {
  const octets = new Uint8Array(samples.length / 2);
  new G722Encoder().encode(samples, octets);
  const whole = new Int16Array(samples.length);
  new G722Decoder().decode(octets, whole);
  assert.is(firstDifference(pieces(openG722(octets)), whole), -1);
  await assertSeeks(openG722(octets), whole, 0.05);
});

sox.test(test, 'GSM is decoded as elsewhere, sample by sample', async (program) => {
  const narrow = speech(8000, 3);
  const raw = ['-t', 'raw', '-r', '8000', '-e', 'signed', '-b', '16', '-c', '1'];
  const octets = execFileSync(program, ['-D', ...raw, '-', '-t', 'gsm', '-'], { input: octetsOf(narrow), maxBuffer });
  const expected = samplesOf(
    execFileSync(program, ['-D', '-t', 'gsm', '-', ...raw, '-'], { input: octets, maxBuffer }),
  );
  assert.is(firstDifference(pieces(openGsm(octets)), expected), -1);
  await assertSeeks(openGsm(octets), expected, 0.1);
});

sox.test(test, 'whatever 33 octets hold is decoded as by another GSM decoder', (program) => {
  const octets = Uint8Array.from({ length: 33 * 200 }, (_, at) =>
    at % 33 === 0 ? 0xd0 | (at & 15) : (at * 7919) >> 3,
  );
  const raw = ['-t', 'raw', '-r', '8000', '-e', 'signed', '-b', '16', '-c', '1'];
  const decoded = execFileSync(program, ['-D', '-t', 'gsm', '-', ...raw, '-'], { input: octets, maxBuffer });
  assert.is(firstDifference(readAll(openGsm(octets)), samplesOf(decoded)), -1);
});

opusenc.test(
  test,
  'a file of another Opus encoder is heard at every rate, at its level and length',
  async (program) => {
    const wide = speech(48_000, 3);
    const file = execFileSync(program, ['--quiet', '--raw', '--raw-chan', '1', '--bitrate', '32', '-', '-'], {
      input: octetsOf(wide),
      maxBuffer,
    });
    for (const rate of [8000, 16_000, 48_000] as const) {
      const heard = readAll(await openOpus(file, rate));
      const expected = speech(rate, 3);
      assert.is(heard.length, expected.length);
      assert.ok(Math.abs(20 * Math.log10(level(heard) / level(expected))) < 1, `level at ${rate} Hz`);
      assert.ok(likeness(expected, heard, 20).correlation > 0.85, `likeness at ${rate} Hz`);
    }
    await assertSeeks(await openOpus(file), readAll(await openOpus(file)), 0.25);
  },
);

opusdec.test(test, 'samples are at the place where another decoder has them', async (program) => {
  const encoder = opusenc.path!;
  const wide = speech(48_000, 2);
  const file = execFileSync(encoder, ['--quiet', '--raw', '--raw-chan', '1', '--framesize', '60', '-', '-'], {
    input: octetsOf(wide),
    maxBuffer,
  });
  const expected = samplesOf(
    execFileSync(program, ['--quiet', '--no-dither', '--force-wav', '-', '-'], { input: file, maxBuffer }).subarray(44),
  );
  const heard = readAll(await openOpus(file));
  assert.ok(Math.abs(heard.length - expected.length) <= 1, `${heard.length} of ${expected.length}`);
  assert.ok(likeness(expected, heard, 0).correlation > 0.999);
});

test('audio at another rate stays at its moment', async () => {
  const tone = sine(1000, 16_000, 16_000);
  for (const rate of [8000, 24_000, 44_100, 48_000]) {
    const reader = atRate(openLinear(octetsOf(tone), 16_000), rate);
    const whole = readAll(reader);
    assert.is(whole.length, rate);
    const expected = sine(1000, rate, rate);
    assert.ok(sineToNoise(whole.subarray(400, -400), 1000, rate).ratio > 70);
    assert.ok(likeness(expected, whole, 0).correlation > 0.999, `${rate} Hz`);
  }
  const reader = openLinear(octetsOf(tone), 16_000);
  assert.is(atRate(reader, 16_000), reader);
  const resampled = atRate(openLinear(octetsOf(samples), 16_000), 8000);
  await assertSeeks(resampled, readAll(atRate(openLinear(octetsOf(samples), 16_000), 8000)), 0.15);
});

test('no octets make a reader do anything but read or refuse', async () => {
  const opened = [
    openG722,
    openGsm,
    (file: Uint8Array) => openLaw(file, 'ulaw'),
    (file: Uint8Array) => openLinear(file, 8000),
  ];
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (octets) => {
      for (const open of opened)
        try {
          const reader = open(octets);
          assert.is(readAll(reader).length, reader.length);
        } catch (error) {
          assert.is((error as Error).message, 'not a GSM file');
        }
      const problem = await openOpus(octets).catch((error: Error) => error.message);
      assert.is(problem, 'not an Ogg file of Opus');
    }),
  );
});

opusenc.test(test, 'a damaged file of Opus is read as far as it can be', async (program) => {
  const file = execFileSync(program, ['--quiet', '--raw', '--raw-chan', '1', '-', '-'], {
    input: octetsOf(speech(48_000, 3)),
    maxBuffer,
  });
  const whole = (await openOpus(file)).length;
  for (let cut = 300; cut < file.length; cut += 977) {
    const reader = await openOpus(file.subarray(0, cut)).catch((error: Error) => error.message);
    if (typeof reader !== 'string') assert.ok(readAll(reader).length <= whole);
  }
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { maxLength: 5 }), async (changes) => {
      const copy = Uint8Array.from(file);
      for (const [at, octet] of changes) copy[at] = octet;
      const reader = await openOpus(copy).catch((error: Error) => error.message);
      if (typeof reader !== 'string') assert.ok(readAll(reader).length <= whole * 2);
    }),
    { numRuns: 20 },
  );
});

test.run();
