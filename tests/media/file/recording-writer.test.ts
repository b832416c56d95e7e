import { execFileSync, spawn } from 'node:child_process';
import { type FileHandle, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../../scripts/compiled.ts';
import { formatOfExtension } from '../../../src/media/file/formats.ts';
import { readAll } from '../../../src/media/file/pcm-reader.ts';
import { recordingFormats } from '../../../src/media/file/recording-formats.ts';
import {
  defaultRecordingLimits,
  finishLeftovers,
  openRecording,
  type RecordingError,
  type RecordingOptions,
  RecordingWriter,
} from '../../../src/media/file/recording-writer.ts';
import { parseWav, readWav } from '../../../src/media/file/wav.ts';
import { need } from '../../support/need.ts';
import { level, likeness, sine, speech } from '../signal.ts';

type Context = { directory: string };
const test = suite<Context>('recording writer');
const ffmpeg = need('ffmpeg');
const opusdec = need('opusdec');

test.before.each(async (context) => {
  context.directory = await mkdtemp(join(tmpdir(), 'recording-'));
});
test.after.each(async ({ directory }) => rm(directory, { recursive: true, force: true }));

const neverFails = (error: RecordingError) => assert.unreachable(error.message);

function optionsFor(path: string, format: string, more: Partial<RecordingOptions> = {}): RecordingOptions {
  return { path, format, channels: 1, ifExists: 'fail', serial: 1, ...defaultRecordingLimits, ...more };
}

/** Records audio in frames of 20 ms and finishes. */
async function record(
  options: RecordingOptions,
  audio: (rate: number) => Int16Array,
  right?: Int16Array,
): Promise<void> {
  const writer = await openRecording(options, neverFails);
  const samples = audio(writer.sampleRate);
  const size = writer.sampleRate / 50;
  for (let at = 0; at < samples.length; at += size)
    writer.write(samples.subarray(at, at + size), right?.subarray(at, at + size));
  assert.is(writer.durationMs, (samples.length * 1000) / writer.sampleRate);
  await writer.finish();
  await writer.finish();
}

const refusal = async (options: RecordingOptions) =>
  openRecording(options, neverFails).then(
    () => 'opened',
    ({ code, message }: RecordingError) => `${code}: ${message}`,
  );

async function heard(path: string, format: string, rate: number): Promise<Int16Array> {
  return readAll(await formatOfExtension.get(format)!.open(await readFile(path), rate));
}

/** Arguments by which ffmpeg reads a file that does not say what it is. */
function inputOf(format: string, rate: number): string[] {
  if (format === 'ulaw' || format === 'alaw')
    return ['-f', format === 'ulaw' ? 'mulaw' : 'alaw', '-ar', '8000', '-ac', '1'];
  if (/^sl/.test(format)) return ['-f', 's16le', '-ar', String(rate), '-ac', '1'];
  return format === 'g722' ? ['-f', 'g722'] : [];
}

function decodedBy(program: string, path: string, format: string, rate: number): Int16Array {
  const output = ['-f', 's16le', '-ar', String(rate), '-ac', '1', 'pipe:1'];
  const octets = execFileSync(program, ['-v', 'error', ...inputOf(format, rate), '-i', path, ...output], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return Int16Array.from({ length: octets.length >> 1 }, (_, at) => octets.readInt16LE(at * 2));
}

function assertSounds(heardSamples: Int16Array, expected: Int16Array, rate: number, what: string): void {
  const ms = ((heardSamples.length - expected.length) * 1000) / rate;
  assert.ok(Math.abs(ms) <= 20, `${what}: ${ms} ms longer`);
  const db = 20 * Math.log10(level(heardSamples) / level(expected));
  assert.ok(Math.abs(db) < 1, `${what}: ${db} dB louder`);
  const { correlation } = likeness(expected, heardSamples, rate / 200);
  assert.ok(correlation > 0.9, `${what}: likeness ${correlation}`);
}

ffmpeg.test(
  test,
  'every format is read by another program at its level and length, and by our own reader',
  async (program, { directory }) => {
    for (const [format, { sampleRate }] of recordingFormats) {
      const path = join(directory, 'deep', `all.${format}`);
      await record(optionsFor(path, format), (rate) => speech(rate, 2.5));
      const expected = speech(sampleRate, 2.5);
      assertSounds(decodedBy(program, path, format, sampleRate), expected, sampleRate, `${format} by ffmpeg`);
      assertSounds(await heard(path, format, sampleRate), expected, sampleRate, format);
    }
    assert.equal((await readdir(join(directory, 'deep'))).length, recordingFormats.size);
  },
);

test('what was taken is written at once, also behind a batch that is being written, and read by who goes on', async ({
  directory,
}) => {
  for (const format of ['wav', 'ulaw', 'ogg'])
    for (const ms of format === 'wav' ? [700] : [700, 1_700]) {
      const path = join(directory, `${ms}.${format}`);
      const options = optionsFor(path, format);
      const writer = await openRecording(options, neverFails);
      const { sampleRate } = writer;
      const audio = sine(440, sampleRate, (sampleRate / 1_000) * ms);
      // Its batch of 1 s is on its way.
      for (let at = 0; at < audio.length; at += sampleRate / 50) writer.write(audio.subarray(at, at + sampleRate / 50));
      writer.flushNow();
      // This process would stand still now: its batch alone ends, and no header follows.
      await new Promise((resolve) => setImmediate(resolve));
      const next = await openRecording({ ...options, goOn: 'surely' }, neverFails);
      await next.finish();
      const samples = await heard(path, format, sampleRate);
      assertSounds(samples, audio, sampleRate, `${format} ${ms} ms`);
    }
});

opusdec.test(test, 'Ogg pages and granules are what opusdec expects, to the sample', async (program, { directory }) => {
  for (const ms of [1000, 1010, 2003]) {
    const path = join(directory, `${ms}.ogg`);
    const audio = sine(440, 16_000, 16 * ms);
    await record(optionsFor(path, 'ogg'), () => audio);
    const wav = execFileSync(program, ['--quiet', '--rate', '48000', '--force-wav', path, '-']);
    assert.is((wav.length - 44) / 2, 48 * ms);
  }
});

test('two channels are two tracks', async ({ directory }) => {
  const path = join(directory, 'both.wav');
  const left = sine(440, 8000, 8000, 5000);
  const right = sine(1000, 8000, 8000, 3000);
  await record(optionsFor(path, 'wav', { channels: 2 }), () => left, right);
  const file = await readFile(path);
  assert.equal(parseWav(file), { coding: 'pcm', sampleRate: 8000, channels: 2, start: 44, end: 44 + 32_000 });
  const track = (channel: number) => left.map((_, index) => file.readInt16LE(44 + index * 4 + channel * 2));
  assert.equal(track(0), left);
  assert.equal(track(1), right);
});

test('what exists is kept, replaced or gone on with, as asked', async ({ directory }) => {
  const first = sine(440, 8000, 4000);
  const second = sine(880, 8000, 3000);
  for (const format of ['wav', 'sln', 'ulaw', 'g722', 'ogg']) {
    const path = join(directory, `a.${format}`);
    const { sampleRate } = recordingFormats.get(format)!;
    await record(optionsFor(path, format), () => first);
    const before = await readFile(path);
    assert.is(await refusal(optionsFor(path, format)), `exists: there is already a file ${path}`);
    assert.equal(await readFile(path), before);
    await record(optionsFor(path, format, { ifExists: 'append' }), () => second);
    const both = await heard(path, format, sampleRate);
    assert.is(both.length, 7000, format);
    assert.ok(Math.abs(level(both, 4200, 6900) / level(second) - 1) < 0.1, format);
    await record(optionsFor(path, format, { ifExists: 'overwrite' }), () => second);
    assert.is((await heard(path, format, sampleRate)).length, 3000);
    const fresh = join(directory, `new.${format}`);
    await record(optionsFor(fresh, format, { ifExists: 'append' }), () => second);
    assert.is((await heard(fresh, format, sampleRate)).length, 3000);
  }
});

test('a discarded recording leaves nothing, and what was to be gone on with as it was', async ({ directory }) => {
  const path = join(directory, 'a.wav');
  await record(optionsFor(path, 'wav'), () => sine(440, 8000, 800));
  const before = await readFile(path);
  for (const ifExists of ['append', 'overwrite'] as const) {
    const writer = await openRecording(optionsFor(path, 'wav', { ifExists, batchMs: 20 }), neverFails);
    writer.write(sine(440, 8000, 1600));
    await writer.discard();
    await writer.discard();
    writer.write(sine(440, 8000, 1600));
    await writer.finish();
  }
  assert.equal(await readdir(directory), ['a.wav']);
  assert.equal(await readFile(path), before);
});

test('one recording of a path at a time', async ({ directory }) => {
  const options = optionsFor(join(directory, 'a.wav'), 'wav');
  const writer = await openRecording(options, neverFails);
  assert.is(await refusal(options), 'exists: a recording of that name is under way');
  assert.is(await refusal({ ...options, ifExists: 'overwrite' }), 'exists: a recording of that name is under way');
  await writer.finish();
});

test('what cannot be recorded is refused with a reason, and nothing is left', async ({ directory }) => {
  const at = (name: string) => join(directory, name);
  await writeFile(at('file'), 'x');
  await writeFile(at('short.wav'), 'no wav');
  await mkdir(at('folder.wav'));
  assert.is(await refusal(optionsFor(at('a.mp3'), 'mp3')), "format: nothing is recorded as 'mp3'");
  assert.is(
    await refusal(optionsFor(at('a.ulaw'), 'ulaw', { channels: 2 })),
    "format: two channels cannot be recorded as 'ulaw'",
  );
  assert.is(await refusal(optionsFor(at('file/a.wav'), 'wav')), 'disk: a part of the path is no directory');
  assert.is(await refusal(optionsFor(at('a'.repeat(300)), 'wav')), 'disk: the name is too long');
  assert.is(await refusal(optionsFor(at('short.wav'), 'wav', { ifExists: 'append' })), 'disk: not a WAV file');
  await record(optionsFor(at('wide.wav'), 'wav16'), () => sine(440, 16_000, 320));
  assert.is(
    await refusal(optionsFor(at('wide.wav'), 'wav', { ifExists: 'append' })),
    'disk: a WAV file of pcm 16000 Hz 1 channels cannot be gone on with',
  );
  assert.equal((await readdir(directory)).sort(), ['file', 'folder.wav', 'short.wav', 'wide.wav']);
});

/** A disk that takes so many octets and then gives an error, or never answers. */
function disk(takes: number, then: 'full' | 'stuck'): FileHandle {
  let taken = 0;
  const write = (_octets: Uint8Array, _at: number, length: number) => {
    taken += length;
    if (taken <= takes) return Promise.resolve({ bytesWritten: length });
    if (then === 'stuck') return new Promise(() => undefined);
    return Promise.reject(Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }));
  };
  return { write, close: () => Promise.resolve() } as unknown as FileHandle;
}

async function onDisk(handle: FileHandle, more: Partial<RecordingOptions> = {}) {
  const options = optionsFor('/nowhere/a.wav', 'wav', { batchMs: 100, ...more });
  const told: string[] = [];
  let tell: () => void = () => undefined;
  const failure = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const container = await recordingFormats.get('wav')!.open(1, 1);
  const writer = new RecordingWriter(options, container, handle, (error) => {
    told.push(`${error.code}: ${error.message}`);
    tell();
  });
  await writer.begin(undefined);
  return { writer, told, failure };
}

test('a full disk is told once, the rest is not taken, and finishing says so', async () => {
  const { writer, told, failure } = await onDisk(disk(5000, 'full'));
  for (let frame = 0; frame < 20; frame++) writer.write(new Int16Array(160));
  await failure;
  for (let frame = 0; frame < 20; frame++) writer.write(new Int16Array(160));
  const problem = await writer.finish().catch((error: RecordingError) => error.message);
  assert.equal([told, problem], [['disk: no space is left on the disk'], 'no space is left on the disk']);
});

/** A real file in front of which the disk is full after so many octets: it takes a part of what it is given then. */
async function almostFull(path: string, takes: number): Promise<FileHandle> {
  const handle = await open(`${path}.part`, 'wx');
  let left = takes;
  const write = async (octets: Uint8Array, at: number, length: number, position: number) => {
    // What is there already may be written to: the header.
    if (position === 0 && left < takes) return handle.write(octets, at, length, position);
    if (left === 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    const some = Math.min(left, length);
    left -= some;
    return handle.write(octets, at, some, position);
  };
  const [sync, close] = [() => handle.sync(), () => handle.close()];
  return { write, sync, close } as unknown as FileHandle;
}

test('what was recorded before the disk was full is finished, whole samples of it, before that is told', async ({
  directory,
}) => {
  const path = join(directory, 'full.wav');
  // The header, 100 samples, and half of one more.
  const { writer, told, failure } = await onDisk(await almostFull(path, 44 + 201), { path });
  for (let frame = 0; frame < 20; frame++) writer.write(new Int16Array(160).fill(1000));
  await failure;
  assert.equal(told, ['disk: no space is left on the disk']);
  const file = await readFile(path);
  assert.equal([...readWav(file)], new Array(100).fill(1000));
  assert.equal([file.readUInt32LE(4), file.readUInt32LE(40)], [236, 200]);
  const problem = await writer.finish().catch((error: RecordingError) => error.message);
  assert.is(problem, 'no space is left on the disk');
  assert.is((await readFile(path)).length, file.length);
});

test('a disk that is full at the last batch fails the recording, and keeps what came before', async ({ directory }) => {
  const path = join(directory, 'last.wav');
  const { writer, told } = await onDisk(await almostFull(path, 44 + 320), { path, batchMs: 1000 });
  for (let frame = 0; frame < 2; frame++) writer.write(new Int16Array(160).fill(1000));
  const problem = await writer.finish().catch((error: RecordingError) => error.message);
  assert.equal([told, problem], [[], 'no space is left on the disk']);
  assert.is(readWav(await readFile(path)).length, 160);
});

test('where nothing was recorded before the disk was full nothing is stored, and an older file stays', async ({
  directory,
}) => {
  const path = join(directory, 'older.wav');
  await writeFile(path, 'older');
  const { writer, failure } = await onDisk(await almostFull(path, 44), { path });
  for (let frame = 0; frame < 20; frame++) writer.write(new Int16Array(160));
  await failure;
  assert.is(await readFile(path, 'utf8'), 'older');
  assert.equal(
    (await readdir(directory)).filter((name) => name.startsWith('older')),
    ['older.wav'],
  );
});

test('what is thrown away is not kept when the disk is full meanwhile', async ({ directory }) => {
  const path = join(directory, 'thrown.wav');
  const { writer, told } = await onDisk(await almostFull(path, 44 + 320), { path });
  for (let frame = 0; frame < 5; frame++) writer.write(new Int16Array(160));
  await writer.discard();
  assert.equal(told, ['disk: no space is left on the disk']);
  assert.equal(
    (await readdir(directory)).filter((name) => name.startsWith('thrown')),
    [],
  );
});

test('a disk that does not keep up fails the recording instead of filling the memory', async () => {
  const { writer, told } = await onDisk(disk(100, 'stuck'), { maximumBacklogOctets: 20_000 });
  for (let frame = 0; frame < 200; frame++) writer.write(new Int16Array(160));
  assert.equal(told, ['disk: the disk is too slow']);
});

test('the disk is asked once for a batch, not for each frame', async () => {
  let writes = 0;
  const handle = {
    write: (_octets: Uint8Array, _at: number, length: number) => {
      writes++;
      return Promise.resolve({ bytesWritten: length });
    },
    close: () => Promise.resolve(),
  } as unknown as FileHandle;
  const { writer } = await onDisk(handle, { batchMs: 1000 });
  const before = writes;
  for (let frame = 0; frame < 500; frame++) {
    writer.write(new Int16Array(160));
    await null;
  }
  assert.is(writes - before, 20);
});

/** Starts a process that records, and kills it at once when it has recorded for two seconds. */
async function killed(path: string, format: string): Promise<void> {
  const program = nodeArguments('tests/media/file/record-until-killed.ts');
  const child = spawn(process.execPath, [...program, path, format], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  for await (const line of createInterface({ input: child.stdout })) if (Number.parseInt(line, 10) >= 2000) break;
  child.kill('SIGKILL');
  await ended;
}

ffmpeg.test(
  test,
  'a killed process leaves a file that can be played, and that is put in place at the next start',
  async (program, { directory }) => {
    const formats = ['wav', 'wav16', 'g722', 'ogg'];
    await Promise.all(formats.map((format) => killed(join(directory, 'sub', `a.${format}`), format)));
    await writeFile(join(directory, 'note.txt.part'), 'not ours');
    for (const format of formats) {
      const { sampleRate } = recordingFormats.get(format)!;
      const played = decodedBy(program, join(directory, 'sub', `a.${format}.part`), format, sampleRate);
      assert.ok(played.length >= sampleRate * 1.7, `${format}: ${played.length} samples`);
      const { correlation } = likeness(speech(sampleRate, 1), played.subarray(0, sampleRate * 1.2), sampleRate / 200);
      assert.ok(correlation > 0.9, `${format}: likeness ${correlation}`);
    }
    const paths = formats.map((format) => join(directory, 'sub', `a.${format}`)).sort();
    assert.equal(await finishLeftovers(directory), paths);
    for (const format of formats)
      assert.ok((await heard(join(directory, 'sub', `a.${format}`), format, 8000)).length > 0);
    assert.equal(await finishLeftovers(directory), []);
    assert.equal((await readdir(directory)).sort(), ['note.txt.part', 'sub']);
    assert.equal(await finishLeftovers(join(directory, 'nowhere')), []);
  },
);

test.run();
