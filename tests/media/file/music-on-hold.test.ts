import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MusicOnHold, type MusicSource } from '../../../src/media/file/music-on-hold.ts';
import { largestStep, level, sine, sineToNoise } from '../signal.ts';
import { wavFile } from './wav-file.ts';

type Context = { directory: string };
const test = suite<Context>('music on hold');

test.before.each(async (context) => {
  context.directory = await mkdtemp(join(tmpdir(), 'music-'));
});
test.after.each(async ({ directory }) => rm(directory, { recursive: true, force: true }));

async function put(directory: string, files: Record<string, Uint8Array | string>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), content);
  }
}

/** Ticks `from` to `to` in a row. */
function heard(source: MusicSource, from: number, to: number, rate: number): Int16Array {
  const all: number[] = [];
  for (let tick = from; tick < to; tick++) all.push(...source.frame(tick, rate));
  return Int16Array.from(all);
}

const refusal = (music: MusicOnHold, name: string) =>
  music.open(name).then(
    () => 'opened',
    (error: Error) => `${error.name}: ${error.message}`,
  );

/** 100 whole periods, so that it follows itself without a seam. */
const tone = (hertz: number) => wavFile(sine(hertz, 16_000, (16_000 * 100) / hertz), { rate: 16_000 });

test('everybody who listens to a class hears the same at the same time, each at its rate', async ({ directory }) => {
  await put(directory, { 'default/a.wav16': tone(400) });
  const music = new MusicOnHold({ directories: [directory] });
  const [one, two] = await Promise.all([music.open('default'), music.open('default')]);
  assert.is(one, two);
  for (let tick = 10; tick < 15; tick++) {
    assert.equal(one.frame(tick, 16_000), two.frame(tick, 16_000));
    assert.equal(one.frame(tick, 8000).slice(), two.frame(tick, 8000).slice());
  }
  for (const rate of [8000, 16_000, 48_000]) {
    const samples = heard(one, 100 + rate, 150 + rate, rate);
    assert.is(samples.length, rate);
    assert.ok(sineToNoise(samples.subarray(rate / 10), 400, rate).ratio > 60, `${rate} Hz`);
  }
});

test('it is endless, and one file follows another', async ({ directory }) => {
  await put(directory, { 'mix/1.wav16': tone(400), 'mix/2.wav16': tone(800), 'mix/note.txt': 'no music' });
  const source = await new MusicOnHold({ directories: [directory] }).open('mix');
  const first = heard(source, 0, 50, 16_000);
  assert.ok(largestStep(first) < 2000 && level(first) > 5000);
  // The second is loaded while the first is repeated.
  for (let tick = 50, found = false; !found; tick++) {
    await new Promise(setImmediate);
    const samples = heard(source, tick, ++tick, 16_000);
    found = sineToNoise(samples, 800, 16_000).ratio > 40;
  }
});

test('it goes on while nobody listens', async ({ directory }) => {
  const ramp = Int16Array.from({ length: 16_000 }, (_, index) => index);
  await put(directory, { 'default/a.sln16': new Uint8Array(ramp.buffer) });
  const source = await new MusicOnHold({ directories: [directory] }).open('default');
  assert.is(source.frame(7, 16_000)[0], 0);
  assert.is(source.frame(8, 16_000)[0], 320);
  assert.is(source.frame(17, 16_000)[0], 3200);
  assert.is(source.frame(8 + 50, 16_000)[0], 320);
});

test('a class is let go of with its last listener, and begins anew then', async ({ directory }) => {
  const ramp = Int16Array.from({ length: 16_000 }, (_, index) => index);
  await put(directory, { 'default/a.sln16': new Uint8Array(ramp.buffer) });
  const music = new MusicOnHold({ directories: [directory] });
  const one = await music.open('default');
  const two = await music.open('default');
  heard(one, 0, 10, 16_000);
  one.release();
  assert.is(two.frame(10, 16_000)[0], 3200);
  two.release();
  assert.is(level(two.frame(11, 16_000)), 0);
  const three = await music.open('default');
  assert.is(three.frame(12, 16_000)[0], 0);
});

test('who waited with another that has gone at once gets music that plays', async ({ directory }) => {
  await put(directory, { 'default/a.wav16': tone(400) });
  const music = new MusicOnHold({ directories: [directory] });
  const first = music.open('default').then((source) => source.release());
  const second = await music.open('default');
  await first;
  assert.ok(level(second.frame(1, 16_000)) > 5000);
});

test('classes are directories; what cannot be played is passed over, what is not there is refused', async ({
  directory,
}) => {
  const [first, second] = [join(directory, 'first'), join(directory, 'second')];
  await put(first, {
    'jazz/a.wav': 'no sound',
    'jazz/b.wav16': tone(400),
    'broken/a.wav': 'no sound',
    'empty/x.txt': '',
  });
  await put(second, { 'jazz/a.wav16': tone(800), 'empty/a.wav16': tone(800), 'other/a.ulaw': '' });
  const music = new MusicOnHold({ directories: [first, second] });
  assert.equal(await music.classes(), ['broken', 'empty', 'jazz', 'other']);
  assert.ok(sineToNoise(heard(await music.open('jazz'), 0, 20, 16_000), 400, 16_000).ratio > 60);
  assert.ok(sineToNoise(heard(await music.open('empty'), 0, 20, 16_000), 800, 16_000).ratio > 60);
  assert.match(await refusal(music, 'broken'), /^MusicError: no music can be played: not a WAV file/);
  assert.match(await refusal(music, 'other'), /^MusicError: no music can be played: .* is empty/);
  assert.is(await refusal(music, 'none'), "MusicError: there is no music of class 'none'");
  for (const name of ['../jazz', '', '.', 'a/b', 'x\0'])
    assert.is(await refusal(music, name), `MusicError: '${name}' is not the name of a class of music`);
});

test('the included music has no silence, no clipping, no jumps and no seam', async () => {
  const directory = fileURLToPath(new URL('../../../sounds/music', import.meta.url));
  const source = await new MusicOnHold({ directories: [directory], sampleRate: 48_000 }).open('default');
  const bars = (16 * 4 * 60) / 76;
  const ticks = Math.round(bars * 50);
  const samples = heard(source, 0, ticks * 2, 48_000);
  for (let second = 0; second < 2 * bars - 1; second++) {
    const rms = level(samples, second * 48_000, (second + 1) * 48_000);
    assert.ok(rms > 300 && rms < 6000, `second ${second}: ${rms}`);
  }
  const seam = Math.round(bars * 48_000);
  assert.ok(largestStep(samples, seam - 960, seam + 960) <= largestStep(samples, 48_000, seam - 48_000) * 1.1);
});

test.run();
