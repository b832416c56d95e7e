import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BroadcastChannel } from 'node:worker_threads';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { readWav } from '../../src/media/file/wav.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import { type MediaThread, startWorker } from '../../src/media/start-worker.ts';
import type { MediaReport, PlayReport, RecordReport } from '../../src/telephony/media.ts';
import { claimPorts } from '../support/free-port.ts';
import { untilAsked } from '../support/waiting.ts';
import { Phone } from './socket-phone.ts';
import { memoryLogger, noExternal } from './support.ts';

const sounds = fileURLToPath(new URL('../../sounds', import.meta.url));
const config = {
  ...defaultMediaConfig,
  threads: 3,
  // A busy machine takes its time to start them.
  threadTimeoutMs: 60_000,
  ports: { first: 0, last: 0 },
  soundsDirectories: [sounds],
  recording: { ...defaultMediaConfig.recording, batchMs: 100 },
};

const saboteur = fileURLToPath(new URL('./saboteur.cjs', import.meta.url));
/** The channel by which the thread of a place is made to hang. */
const hangNameOf = (place: number): string => `threads-${process.pid}-${place}`;

/** A plane over three threads that can be ended from outside. */
async function threePlaces({ canHang = false } = {}) {
  const threads: MediaThread[] = [];
  const log = memoryLogger();
  const startThread: typeof startWorker = (start) => {
    const env = { ...process.env, SABOTEUR: hangNameOf(threads.length) };
    const thread = canHang ? startWorker(start, { execArgv: ['--require', saboteur], env }) : startWorker(start);
    threads.push(thread);
    return thread;
  };
  // Not ports of the system's choice: another program may take one before a new thread opens it again.
  const first = await claimPorts(400);
  const ports = { first, last: first + 399 };
  return {
    plane: createMediaPlane({ config: { ...config, ports }, clock: systemClock, log, startThread }),
    threads,
    log,
  };
}

const member = { role: 'participant', muted: false, passDigits: true } as const;
/** A packet that nobody takes for silence. */
const loud = Array.from({ length: 160 }, (_, index) => (index % 2 === 0 ? 0x10 : 0x90));
/** A packet of these phones, in ms. */
const packetMs = 60;

test('a thread that dies under fifty bridged calls ends none: their streams go on in both directions', async () => {
  const { plane, threads, log } = await threePlaces();
  const reports: MediaReport[] = [];
  const open = async (id: string) => {
    const [phone, session] = await Promise.all([Phone.bind(), plane.openRtp(id, (report) => reports.push(report))]);
    phone.configure(session);
    return { phone, session };
  };
  const calls = await Promise.all(
    Array.from({ length: 50 }, async (_, call) => {
      const legs = [await open(`${call}a`), await open(`${call}b`)] as const;
      const mix = plane.openMix(`${call}`, 'mixing', ({ type }) => assert.is.not(type, 'mix.lost'));
      for (const { session } of legs) mix.join(session, member);
      return { legs, mix };
    }),
  );
  const legs = calls.flatMap((call) => call.legs);
  assert.is(threads.length, 3);
  let round = 0;
  // Real phones say something all the time, whatever has become of those at the other end. What they say is the time.
  const talking = setInterval(() => {
    round++;
    for (const [index, { phone, session }] of legs.entries())
      phone.send(session, {
        marker: false,
        payloadType: 0,
        sequence: round,
        timestamp: round * packetMs * 8,
        ssrc: index,
        payload: new Array(packetMs * 8).fill(round & 0xff),
      });
  }, packetMs);
  const hears = async (from: number) => {
    for (const { phone } of legs)
      await phone.hears((heard) => heard.some(({ payload }) => payload.length === 480 && payload[0]! >= from));
  };
  await hears(1);
  const beeped: PlayReport[] = [];
  const item = { uri: 'sound:digits/1', language: 'en', offsetMs: 0 };
  const played = Promise.all(
    calls.slice(0, 3).map(
      ({ mix }) =>
        new Promise<void>((done) => {
          mix.play(item, (report) => {
            beeped.push(report);
            done();
          });
        }),
    ),
  );
  const killed = round;
  await threads[1]!.terminate();
  await hears(killed + 3);
  await played;
  await hears(round + 1);
  clearInterval(talking);
  assert.equal(reports, []);
  assert.equal(beeped, new Array(3).fill({ type: 'media.finished' }));
  for (const { phone } of legs) {
    assert.is(new Set(phone.heard.map(({ ssrc }) => ssrc)).size, 1);
    for (const [index, { sequence, timestamp }] of phone.heard.entries()) {
      if (index === 0) continue;
      const before = phone.heard[index - 1]!;
      const ahead = (sequence - before.sequence) & 0xffff;
      assert.ok(ahead >= 1 && ahead < 100, `${ahead} ahead`);
      assert.ok(((timestamp - before.timestamp) | 0) > 0);
    }
  }
  assert.is(threads.length, 4);
  assert.equal(
    log.lines.filter(({ level }) => level === 'error').map(({ message }) => message),
    ['the media thread ended'],
  );
  for (const { session } of legs) session.close();
  for (const { mix } of calls) mix.close();
  assert.equal(await plane.usage(), { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal });
  for (const { phone } of legs) phone.socket.close();
  await plane.close();
});

test('threads that fail under a hundred calls while packets arrive end neither the process nor a call', async () => {
  const { plane, threads, log } = await threePlaces();
  const reports: MediaReport[] = [];
  const legs = await Promise.all(
    Array.from({ length: 100 }, async (_, call) => {
      const [phone, session] = await Promise.all([
        Phone.bind(),
        plane.openRtp(`${call}`, (report) => reports.push(report)),
      ]);
      phone.configure(session);
      session.echo(true);
      return { phone, session };
    }),
  );
  let round = 0;
  const talking = setInterval(() => {
    round++;
    for (const [index, { phone, session }] of legs.entries())
      phone.send(session, {
        ...{ marker: false, payloadType: 0, sequence: round, timestamp: round * packetMs * 8, ssrc: index },
        payload: new Array(packetMs * 8).fill(round & 0x7f),
      });
  }, packetMs);
  const hear = async () => {
    const from = legs.map(({ phone }) => phone.heard.length);
    for (const [at, { phone }] of legs.entries()) await phone.hears((heard) => heard.length >= from[at]! + 3);
  };
  await hear();
  for (const place of [0, 1, 2]) {
    // Nothing of the sort is ever sent: the thread fails on it, and nobody catches that.
    threads[place]!.postMessage(5);
    await untilAsked(
      () => threads.length === 4 + place,
      () => 'no thread took its place',
    );
    await hear();
  }
  clearInterval(talking);
  assert.equal(reports, []);
  assert.equal(
    log.lines.filter(({ level }) => level === 'error').map(({ message }) => message),
    new Array(3).fill('the media thread ended'),
  );
  for (const { session, phone } of legs) {
    session.close();
    phone.socket.close();
  }
  await plane.close();
});

test('while a thread hangs and until another took its place, calls of the others lose no packet', async () => {
  const { plane, threads } = await threePlaces({ canHang: true });
  const legs = await Promise.all(
    Array.from({ length: 20 }, async (_, call) => {
      const [phone, session] = await Promise.all([Phone.bind(), plane.openRtp(`${call}`, () => assert.unreachable())]);
      phone.configure(session);
      session.echo(true);
      return { phone, session };
    }),
  );
  let round = 0;
  const talking = setInterval(() => {
    round++;
    for (const [index, { phone, session }] of legs.entries())
      phone.send(session, {
        ...{ marker: false, payloadType: 0, sequence: round, timestamp: round * packetMs * 8, ssrc: index },
        payload: new Array(packetMs * 8).fill(round & 0x7f),
      });
  }, packetMs);
  /** The round in which a phone said what it heard last. */
  const lastHeard = ({ phone: { heard } }: (typeof legs)[number]) => {
    const [first, last] = [heard[0], heard.at(-1)];
    return first && last ? first.payload[0]! + ((last.timestamp - first.timestamp) | 0) / (packetMs * 8) : 0;
  };
  const allHear = (chosen: typeof legs, from: number) =>
    Promise.all(chosen.map((leg) => leg.phone.hears(() => lastHeard(leg) >= from)));
  await allHear(legs, 3);
  const channel = new BroadcastChannel(hangNameOf(1));
  const hanging = new Promise((told) => (channel.onmessage = told));
  channel.postMessage('hang');
  await hanging;
  const hung = round;
  // Calls are spread evenly: at most a third of them, rounded up, belongs to one thread.
  const ofOthers = legs.length - Math.ceil(legs.length / 3);
  await untilAsked(
    () => legs.filter((leg) => lastHeard(leg) > hung + 5).length >= ofOthers,
    () => 'calls of other threads are not heard',
  );
  const silent = legs.filter((leg) => lastHeard(leg) <= hung + 1);
  assert.ok(silent.length > 0, 'the thread hangs');
  const others = legs.filter((leg) => !silent.includes(leg));
  await allHear(others, hung + 6);
  await threads[1]!.terminate();
  await allHear(silent, round + 1);
  await allHear(others, round);
  clearInterval(talking);
  for (const { phone } of others)
    for (const [index, { sequence }] of phone.heard.entries())
      assert.is(sequence, (phone.heard[0]!.sequence + index) & 0xffff);
  for (const { session, phone } of legs) {
    session.close();
    phone.socket.close();
  }
  channel.close();
  await plane.close();
});

test('what is recorded of a phone and of a bridge goes on in the same file when their thread dies', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'recording-'));
  const { plane, threads } = await threePlaces();
  const phone = await Phone.bind();
  const session = await plane.openRtp('a', () => {});
  phone.configure(session);
  const mix = plane.openMix('m', 'mixing', () => {});
  mix.join(session, member);
  let sequence = 0;
  const talking = setInterval(() => {
    const timestamp = ++sequence * 160;
    phone.send(session, { marker: false, payloadType: 0, sequence, timestamp, ssrc: 5, payload: loud });
  }, 20);
  const recordings = [session, mix].map((target, index) => {
    const path = join(directory, `${index}.wav`);
    const reports: RecordReport[] = [];
    const wanted = { path, format: 'wav', ifExists: 'fail', channels: 1, terminateOn: 'none' } as const;
    const limits = { beep: false, maxDurationMs: 0, maxSilenceMs: 0 };
    const handle = target.record({ ...wanted, ...limits }, (report) => reports.push(report));
    return { path, reports, handle };
  });
  const kept = async (ms: number) => {
    await untilAsked(
      () => recordings.every(({ handle }) => handle.progress().durationMs >= ms),
      () => `${ms} ms are not kept`,
    );
  };
  const heard = async (of: typeof recordings, ms: number) => {
    await untilAsked(
      () => of.every(({ handle }) => handle.progress().talkingMs >= ms),
      () => `${ms} ms of talking are not kept`,
    );
  };
  await Promise.all([kept(200), heard(recordings, 20)]);
  recordings[1]!.handle.mute();
  await threads[0]!.terminate();
  const atLoss = recordings.map(({ handle }) => handle.progress());
  await kept(Math.max(...atLoss.map(({ durationMs }) => durationMs)) + 400);
  await heard(recordings.slice(0, 1), atLoss[0]!.talkingMs + 100);
  for (const { handle } of recordings) handle.stop();
  await untilAsked(
    () => recordings.every(({ reports }) => reports.length >= 2),
    () => 'a recording does not finish',
  );
  clearInterval(talking);
  for (const [index, { path, reports }] of recordings.entries()) {
    const [started, finished] = reports;
    assert.equal([started?.type, finished?.type, reports.length], ['record.started', 'record.finished', 2]);
    const samples = readWav(await readFile(path));
    const { durationMs, talkingMs } = finished as Extract<RecordReport, { type: 'record.finished' }>;
    assert.is(samples.length, durationMs * 8, 'what is told is what lies in the file');
    // From where all that the lost thread had written ends, and some packets that are not silence follow.
    const since = samples.subarray(8 * atLoss[index]!.durationMs);
    assert.is(
      since.every((sample) => sample === 0),
      index === 1,
      'who was muted is muted still',
    );
    assert.ok(talkingMs > 0);
  }
  phone.socket.close();
  await plane.close();
  await rm(directory, { recursive: true });
});

test.run();
