import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { Goertzel } from '../../src/media/dsp/goertzel.ts';
import { readWav } from '../../src/media/file/wav.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { Recorder } from '../../src/media/recorder.ts';
import type { RecordReport, RecordRequest } from '../../src/telephony/media.ts';
import { flaws, meeting } from './phones.ts';
import { test } from './spread.ts';

const directory = await mkdtemp(join(tmpdir(), 'recording-'));
test.after(() => rm(directory, { recursive: true }));

let files = 0;
const request = (more: Partial<RecordRequest> = {}): RecordRequest => ({
  path: join(directory, `${++files}.wav`),
  format: 'wav',
  ifExists: 'fail',
  beep: false,
  channels: 1,
  maxDurationMs: 0,
  maxSilenceMs: 0,
  terminateOn: 'none',
  ...more,
});

/** What was told of recordings so far. */
const told = (reports: readonly EngineReport[]): RecordReport[] =>
  reports.flatMap((report) => (report.type === 'recorded' || report.type === 'mixRecorded' ? [report.report] : []));

/** Lets the disk do its work until `enough` recording reports are there. */
async function until(reports: readonly EngineReport[], enough: number): Promise<RecordReport[]> {
  while (told(reports).length < enough) await new Promise((resolve) => setImmediate(resolve));
  return told(reports);
}

function amplitude(samples: Int16Array, hertz: number): number {
  const filter = new Goertzel(hertz, 8000);
  filter.take(samples, 0, samples.length);
  return (2 * Math.sqrt(filter.power())) / samples.length;
}

test('what a far side says is recorded as it is, for as long as it was recorded', async () => {
  const { engine, ask, pass, reports } = await meeting([400]);
  const wanted = request();
  ask(1, { type: 'record', recording: 3, request: wanted });
  assert.equal(await until(reports, 1), [{ type: 'record.started' }]);
  pass(2000);
  ask(1, { type: 'controlRecording', recording: 3, action: 'stop' });
  const [, ended] = await until(reports, 2);
  assert.ok(ended?.type === 'record.finished' && ended.reason === 'stopped' && ended.durationMs === 2000);
  const samples = readWav(await readFile(wanted.path));
  assert.is(samples.length, 16_000);
  assert.ok(Math.abs(amplitude(samples.subarray(800), 400) - 6000) < 300);
  assert.equal(
    (await readdir(directory)).filter((name) => name.endsWith('.part')),
    [],
  );
  engine.close();
});

test('a recorder joins and leaves a bridge of two: no audio is lost, and packets pass before and after', async () => {
  const { engine, sides, join: enter, ask, pass, reports } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  enter(1);
  enter(2);
  pass(500);
  const wanted = request({ channels: 2 });
  ask(1, { type: 'record', recording: 1, request: wanted });
  await until(reports, 1);
  pass(1000);
  const mixed = engine.forwarded(1);
  ask(1, { type: 'controlRecording', recording: 1, action: 'stop' });
  await until(reports, 2);
  pass(500);
  assert.ok(engine.forwarded(1) >= mixed + 24);
  assert.equal(
    sides.flatMap(({ heard }) => flaws(heard)),
    [],
  );
  const file = await readFile(wanted.path);
  const both = new Int16Array(file.buffer, file.byteOffset + 44, (file.length - 44) >> 1);
  const left = both.filter((_, index) => index % 2 === 0).subarray(1600);
  const right = both.filter((_, index) => index % 2 === 1).subarray(1600);
  assert.ok(amplitude(left, 400) > 5000 && amplitude(left, 620) < 200);
  assert.ok(amplitude(right, 620) > 5000 && amplitude(right, 400) < 200);
  engine.close();
});

test('a mix is recorded as all hear it', async () => {
  const { engine, join: enter, mix, pass, reports } = await meeting([400, 620]);
  engine.openMix(1, 'mixing');
  enter(1);
  enter(2);
  const wanted = request();
  mix({ type: 'record', recording: 1, request: wanted });
  await until(reports, 1);
  pass(1000);
  mix({ type: 'close' });
  const reported = await until(reports, 2);
  assert.ok(reported[1]?.type === 'record.finished' && reported[1].reason === 'sourceGone');
  const samples = readWav(await readFile(wanted.path)).subarray(800);
  assert.ok(amplitude(samples, 400) > 5000 && amplitude(samples, 620) > 5000);
  engine.close();
});

test('it ends by itself at its longest, after silence, and by a digit', async () => {
  for (const [more, act, reason] of [
    [{ maxDurationMs: 500 }, () => {}, 'duration'],
    [{ maxSilenceMs: 400 }, (side: { sending: boolean }) => (side.sending = false), 'silence'],
    [{ terminateOn: '#' as const }, () => {}, 'digit'],
    [{ terminateOn: 'any' as const }, () => {}, 'told'],
  ] as const) {
    const { engine, sides, ask, pass, deliver, reports } = await meeting([400]);
    ask(1, { type: 'record', recording: 1, request: request(more) });
    await until(reports, 1);
    pass(300);
    act(sides[0]!);
    if (reason === 'digit')
      for (const event of [5, 11]) {
        deliver(sides[0]!, sides[0]!.event([event, 0x8a, 3, 32]));
        pass(100);
      }
    // The far side tells it by SIP INFO.
    if (reason === 'told') ask(1, { type: 'hearDigit', digit: '5', durationMs: 100 });
    pass(2000);
    const reported = await until(reports, 2);
    const expected = reason === 'told' ? 'digit' : reason;
    assert.is(reported[1]?.type === 'record.finished' && reported[1].reason, expected);
    engine.close();
  }
});

test('paused nothing is recorded, muted silence is, discarded there is no file', async () => {
  const { engine, ask, pass, reports } = await meeting([400]);
  const wanted = request();
  ask(1, { type: 'record', recording: 1, request: wanted });
  await until(reports, 1);
  const control = (action: 'pause' | 'resume' | 'mute' | 'unmute' | 'stop') =>
    ask(1, { type: 'controlRecording', recording: 1, action });
  pass(400);
  control('pause');
  pass(1000);
  control('resume');
  control('mute');
  pass(400);
  control('unmute');
  pass(200);
  control('stop');
  control('stop');
  const [, ended] = await until(reports, 2);
  assert.ok(ended?.type === 'record.finished' && ended.durationMs === 1000);
  const samples = readWav(await readFile(wanted.path));
  assert.is(samples.length, 8000);
  assert.ok(samples.subarray(3200, 6400).every((sample) => sample === 0));
  const dropped = request();
  ask(1, { type: 'record', recording: 2, request: dropped });
  await until(reports, 3);
  pass(200);
  ask(1, { type: 'controlRecording', recording: 2, action: 'discard' });
  assert.equal((await until(reports, 4))[3], { type: 'record.discarded' });
  assert.is(await readFile(dropped.path).catch(() => 'nothing'), 'nothing');
  engine.close();
});

test('what cannot be recorded has failed with a reason, once', async () => {
  const { engine, ask, reports } = await meeting([400]);
  const taken = request();
  await writeFile(taken.path, 'x');
  ask(1, { type: 'record', recording: 1, request: taken });
  ask(1, { type: 'record', recording: 2, request: request({ format: 'nothing' }) });
  ask(9, { type: 'record', recording: 1, request: request() });
  const reported = await until(reports, 3);
  assert.equal(
    reported.map(({ type }) => type),
    ['record.failed', 'record.failed', 'record.failed'],
  );
  engine.close();
});

/** A recorder of silence whose beeps are over when `beeped` is called; what it told. */
function beeping(more: Partial<RecordRequest>) {
  const reports: RecordReport[] = [];
  const beeps: (() => void)[] = [];
  const recorder = new Recorder({
    source: { tracks: [undefined, undefined], listen: () => undefined, beep: (done) => void beeps.push(done) },
    request: request({ beep: true, ...more }),
    serial: 1,
    told: (report) => void reports.push(report),
    ended: () => undefined,
  });
  const ticks = (ms: number): void => {
    for (let at = 0; at < ms; at += 20) recorder.tick();
  };
  const enough = async (count: number): Promise<readonly RecordReport[]> => {
    while (reports.length < count) await new Promise((resolve) => setImmediate(resolve));
    return reports;
  };
  return { recorder, ticks, enough, beeps, beeped: () => beeps.pop()?.() };
}

test('it has begun when its file is open, before the beep, which is not in the file', async () => {
  const { recorder, ticks, enough, beeps, beeped } = beeping({});
  assert.equal([await enough(1), beeps.length], [[{ type: 'record.started' }], 1]);
  ticks(100);
  beeped();
  ticks(500);
  recorder.control('stop');
  const [, ended, ...more] = await enough(2);
  assert.equal(ended, { type: 'record.finished', reason: 'stopped', durationMs: 500, talkingMs: 0, silenceMs: 500 });
  assert.equal(more, []);
});

test('a recording that is ended during its beep is empty', async () => {
  const { recorder, ticks, enough, beeped } = beeping({});
  await enough(1);
  ticks(100);
  recorder.control('stop');
  beeped();
  ticks(100);
  const [, ended] = await enough(2);
  assert.equal(ended, { type: 'record.finished', reason: 'stopped', durationMs: 0, talkingMs: 0, silenceMs: 0 });
});

test('what is gone on with does not beep once more', async () => {
  const { path } = request();
  const first = beeping({ path, beep: false });
  await first.enough(1);
  first.ticks(300);
  first.recorder.control('stop');
  await first.enough(2);
  await rename(path, `${path}.part`);
  const second = beeping({ path, goOn: { durationMs: 300, talkingMs: 0 } });
  await second.enough(1);
  second.ticks(500);
  second.recorder.control('stop');
  const { [1]: ended } = await second.enough(2);
  assert.equal(ended, { type: 'record.finished', reason: 'stopped', durationMs: 800, talkingMs: 0, silenceMs: 800 });
  assert.equal(second.beeps, []);
});

test('what is ended before its file is open has begun where it is kept, and not where it is thrown away', async () => {
  const { engine, ask, reports } = await meeting([400]);
  const [kept, thrownAway] = [request(), request()];
  ask(1, { type: 'record', recording: 1, request: kept });
  ask(1, { type: 'controlRecording', recording: 1, action: 'stop' });
  const finished = { type: 'record.finished', reason: 'stopped', durationMs: 0, talkingMs: 0, silenceMs: 0 };
  assert.equal(await until(reports, 2), [{ type: 'record.started' }, finished]);
  ask(1, { type: 'record', recording: 2, request: thrownAway });
  ask(1, { type: 'controlRecording', recording: 2, action: 'discard' });
  assert.equal((await until(reports, 3)).slice(2), [{ type: 'record.discarded' }]);
  assert.is(readWav(await readFile(kept.path)).length, 0);
  engine.close();
});

test('a call that ends ends its recording, whose file is complete', async () => {
  const { engine, ask, pass, reports } = await meeting([400]);
  const wanted = request();
  ask(1, { type: 'record', recording: 1, request: wanted });
  await until(reports, 1);
  pass(500);
  ask(1, { type: 'close' });
  const reported = await until(reports, 2);
  assert.ok(reported[1]?.type === 'record.finished' && reported[1].reason === 'sourceGone');
  assert.is(readWav(await readFile(wanted.path)).length, 4000);
  engine.close();
});

test.run();
