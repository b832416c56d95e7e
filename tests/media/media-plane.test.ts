import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { test as inOne } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';
import { encode } from '../../src/media/codec/codecs.ts';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { readWav } from '../../src/media/file/wav.ts';
import { createMediaPlane } from '../../src/media/media-plane.ts';
import type { MediaCommand, MediaMessage } from '../../src/media/protocol.ts';
import { type MediaThread, type StartThread, startWorker } from '../../src/media/start-worker.ts';
import type { MediaReport, MediaSession, PlayReport } from '../../src/telephony/media.ts';
import { claimPorts } from '../support/free-port.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { untilAsked } from '../support/waiting.ts';
import { Phone } from './socket-phone.ts';
import { test, threadCount } from './spread.ts';
import { memoryLogger, noExternal, ramp } from './support.ts';

const sounds = fileURLToPath(new URL('../../sounds', import.meta.url));
const config = {
  ...defaultMediaConfig,
  ports: { first: 0, last: 0 },
  // A machine with much else to do is no thread that hangs.
  threadTimeoutMs: 60_000,
  soundsDirectories: [sounds],
  get threads() {
    return threadCount();
  },
};

const item = (uri: string) => ({ uri, language: 'en', offsetMs: 0 });
const finished = (session: MediaSession, uri: string) =>
  new Promise<PlayReport>((told) => void session.play(item(uri), told));

test('a phone hears a prompt exactly as it is in the file', async () => {
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const phone = await Phone.bind();
  const session = await plane.openRtp('a', () => {});
  assert.equal([session.id, session.local.address, session.local.port % 2], ['a', '127.0.0.1', 0]);
  phone.configure(session);
  assert.equal(await finished(session, 'sound:digits/1'), { type: 'media.finished' });
  const file = encode('ulaw', readWav(await readFile(`${sounds}/en/digits/1.wav`)));
  const heard = await phone.hears((packets) => packets.length === Math.ceil(file.length / 160));
  assert.equal(heard.flatMap(({ payload }) => payload).slice(0, file.length), [...file]);
  const first = heard[0]!;
  assert.equal(
    heard.map(({ sequence, ssrc }) => ({ sequence, ssrc })),
    heard.map((_, index) => ({ sequence: (first.sequence + index) & 0xffff, ssrc: first.ssrc })),
  );
  assert.ok(first.marker);
  for (const [index, { marker, timestamp }] of heard.slice(1).entries()) {
    const ahead = (timestamp - heard[index]!.timestamp) >>> 0;
    // A thread that had no turn for a while leaves that time out, and marks what it says then.
    assert.ok(marker ? ahead > 160 && ahead % 160 === 0 : ahead === 160, `${ahead} ahead`);
  }
  phone.socket.close();
  await plane.close();
});

test('echo and digits work both ways, and statistics tell of it', async () => {
  const reports: MediaReport[] = [];
  let digitHeard: () => void = () => {};
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const phone = await Phone.bind();
  const session = await plane.openRtp('a', (report) => {
    reports.push(report);
    digitHeard();
  });
  phone.configure(session);
  session.echo(true);
  // Asked after the flow in order, so the flow is set when it is answered.
  await session.statistics();
  const packet = { marker: false, payloadType: 0, timestamp: 1000, ssrc: 5, payload: ramp(160) };
  phone.send(session, { ...packet, sequence: 1 });
  const [echoed] = await phone.hears((packets) => packets.length === 1);
  assert.equal(echoed?.payload, ramp(160));
  const told = new Promise<void>((resolve) => (digitHeard = resolve));
  phone.send(session, { ...packet, sequence: 2, payloadType: 101, payload: [9, 0x8a, 3, 32] });
  await told;
  assert.equal(reports, [{ type: 'media.digit', digit: '9', durationMs: 100 }]);
  session.echo(false);
  session.sendDigits({ digits: '#', beforeMs: 0, betweenMs: 40, durationMs: 40, afterMs: 0 });
  const heard = await phone.hears((packets) => packets.filter(({ payload }) => payload[0] === 11).length === 4);
  assert.equal(
    heard.slice(-4).map(({ payload }) => payload),
    [[11, 10, 0, 160], ...new Array(3).fill([11, 0x8a, 1, 0x40])],
  );
  const statistics = await session.statistics();
  assert.equal([statistics?.rxcount, statistics?.txcount, statistics?.remote_ssrc], [2, 6, 5]);
  phone.socket.close();
  await plane.close();
});

test('closing a session fails its item in a later turn, and leaves nothing open', async () => {
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const session = await plane.openRtp('a', () => {});
  const reports: PlayReport[] = [];
  const handle = session.play(item('sound:silence/3'), (report) => reports.push(report));
  assert.equal(await plane.usage(), { sessions: 1, ports: 1, players: 1, timers: 1, ...noExternal });
  session.close();
  assert.equal(reports, []);
  assert.equal(await plane.usage(), { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal });
  assert.equal(reports, [{ type: 'media.failed', reason: 'the session was closed' }]);
  handle.stop();
  session.close();
  assert.is(await session.statistics(), undefined);
  assert.equal(await finished(session, 'sound:beep'), { type: 'media.failed', reason: 'the session was closed' });
  await plane.close();
});

test('a played item can be stopped, paused, moved and restarted from afar', async () => {
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const session = await plane.openRtp('a', () => {});
  const stopped = new Promise<PlayReport>((told) => {
    const handle = session.play(item('tone:busy'), told);
    handle.pause();
    handle.resume();
    handle.restart();
    handle.seek(1000);
    handle.stop();
  });
  assert.equal(await stopped, { type: 'media.finished' });
  const sought = new Promise<PlayReport>((told) => session.play(item('sound:silence/3'), told).seek(60_000));
  assert.equal(await sought, { type: 'media.finished' });
  const replaced = finished(session, 'tone:busy');
  void finished(session, 'tone:ring');
  assert.equal(await replaced, { type: 'media.finished' }, 'a second item ends the first');
  assert.match(
    ((await finished(session, 'sound:nothing')) as { reason: string }).reason,
    /no sound file for 'nothing'/,
  );
  await plane.close();
});

inOne('without a free port opening is refused', async () => {
  const taken = createSocket('udp4');
  taken.bind(0, '127.0.0.1');
  await once(taken, 'listening');
  const even = taken.address().port & ~1;
  const plane = createMediaPlane({
    config: { ...config, ports: { first: even, last: even + 1 } },
    clock: systemClock,
    log: memoryLogger(),
  });
  const refused = await plane.openRtp('a', () => {}).catch((error: Error) => error.message);
  assert.match(String(refused), /no free pair of RTP ports/);
  assert.equal(await plane.usage(), { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal });
  taken.close();
  await plane.close();
});

test('a closed plane opens nothing, and closing twice is closing once', async () => {
  const plane = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  await plane.close();
  await plane.close();
  assert.is(await plane.openRtp('a', () => {}).catch((error: Error) => error.message), 'the media plane is closed');
  assert.equal(await plane.usage(), { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal });
  const [first] = plane.openPair(['a', 'b'], [() => {}, () => {}]);
  assert.equal(await finished(first, 'sound:beep'), { type: 'media.failed', reason: 'the session was closed' });
});

/** A plane whose threads can be ended from outside. */
async function planeWithThreads() {
  const threads: MediaThread[] = [];
  const log = memoryLogger();
  const startThread: StartThread = (start) => {
    const thread = startWorker(start);
    threads.push(thread);
    return thread;
  };
  // Not ports of the system's choice: another program may take one before a new thread opens it again.
  const first = await claimPorts(100);
  const ports = { first, last: first + 99 };
  return {
    plane: createMediaPlane({ config: { ...config, ports }, clock: systemClock, log, startThread }),
    threads,
    log,
  };
}

inOne('two phones in a mix hear each other by real packets, also when their thread dies under them', async () => {
  const { plane, threads } = await planeWithThreads();
  const phones = await Promise.all([Phone.bind(), Phone.bind()]);
  const reports: MediaReport[] = [];
  const sessions = await Promise.all(['a', 'b'].map((id) => plane.openRtp(id, (report) => reports.push(report))));
  const mix = plane.openMix('m', 'mixing', () => {});
  for (const [index, session] of sessions.entries()) {
    phones[index]!.configure(session);
    mix.join(session, { role: 'participant', muted: false, passDigits: true });
  }
  // Answered when all before it is done.
  await sessions[0]!.statistics();
  let sequence = 0;
  const say = (from: number) =>
    phones[from]!.send(sessions[from]!, {
      marker: false,
      payloadType: 0,
      sequence: ++sequence,
      timestamp: sequence * 160,
      ssrc: from,
      payload: ramp(160, sequence),
    });
  say(0);
  const [first] = await phones[1]!.hears((packets) => packets.length === 1);
  assert.equal(first?.payload, ramp(160, 1));
  await threads[0]!.terminate();
  await sessions[0]!.statistics();
  await untilAsked(
    async () => (await plane.usage()).ports === 2,
    () => 'the ports are not open again',
  );
  say(0);
  const [, second] = await phones[1]!.hears((packets) => packets.length === 2);
  assert.equal(second?.payload, ramp(160, 2));
  assert.equal([second?.ssrc, second?.sequence], [first!.ssrc, (first!.sequence + 1) & 0xffff]);
  assert.equal(reports, []);
  for (const { socket } of phones) socket.close();
  await plane.close();
});

test('a media thread that dies takes no call with it: port, stream and item go on where they were', async () => {
  const { plane, threads, log } = await planeWithThreads();
  const phone = await Phone.bind();
  const reports: MediaReport[] = [];
  const session = await plane.openRtp('a', (report) => reports.push(report));
  phone.configure(session);
  const { port } = session.local;
  const begun = performance.now();
  const ended = finished(session, 'sound:digits/1');
  const [half] = plane.openPair(['b', 'c'], [() => {}, () => {}]);
  const halfEnded = finished(half, 'sound:digits/1');
  await phone.hears((packets) => packets.length === 5);
  await threads[0]!.terminate();
  assert.equal(await ended, { type: 'media.finished' });
  assert.equal(await halfEnded, { type: 'media.finished' });
  const file = encode('ulaw', readWav(await readFile(`${sounds}/en/digits/1.wav`)));
  const heard = phone.heard.flatMap(({ payload }) => payload);
  assert.equal(heard.slice(0, file.length), [...file], 'not a sample is lost or said twice');
  const [first] = phone.heard;
  const before = phone.heard.findIndex(({ marker }, index) => index > 0 && marker);
  assert.equal(
    phone.heard.map(({ sequence, ssrc }) => [sequence, ssrc]),
    phone.heard.map((_, index) => [(first!.sequence + index) & 0xffff, first!.ssrc]),
  );
  const jump = (phone.heard[before]!.timestamp - phone.heard[before - 1]!.timestamp) | 0;
  const most = 8 * (performance.now() - begun);
  assert.ok(jump >= 160 && jump <= most, `the timeline ran on while nobody could send: ${jump} of ${most} samples`);
  assert.equal([session.local.port, reports], [port, []]);
  assert.equal((await session.statistics())?.txcount, phone.heard.length);
  assert.is(threads.length, threadCount() === 1 ? 2 : 3, 'nothing but the lost one is started again');
  assert.equal(
    log.lines.filter(({ message }) => message.startsWith('media continues')).map(({ level }) => level),
    ['warn'],
  );
  phone.socket.close();
  await plane.close();
});

test('a dump is enough to go on with a session in another plane: same port, same stream', async () => {
  const first = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const phone = await Phone.bind();
  const session = await first.openRtp('a', () => {});
  phone.configure(session);
  session.indicate('busy');
  const { port } = session.local;
  const handle = session.play(item('sound:digits/1'), () => {});
  await phone.hears((packets) => packets.length === 5);
  handle.pause();
  // Answered when all before it is done.
  await session.statistics();
  const dump = JSON.parse(JSON.stringify(session.dump()));
  assert.equal(
    [
      dump.id,
      dump.local.port,
      dump.standing.map((each: { type: string }) => each.type),
      dump.item.item,
      dump.item.paused,
    ],
    ['a', port, ['configure', 'indicate'], item('sound:digits/1'), true],
  );
  // The last packet may still be on its way to the phone.
  await phone.hears((packets) => packets.length * 20 >= dump.item.positionMs);
  assert.is(dump.item.positionMs, phone.heard.length * 20);
  await first.close();
  const second = createMediaPlane({ config, clock: systemClock, log: memoryLogger() });
  const before = phone.heard.length;
  const again = await second.reopenRtp(dump, () => {});
  await phone.hears((packets) => packets.length > before + 2);
  assert.is(again.local.port, port);
  const [last, next] = [phone.heard[before - 1]!, phone.heard[before]!];
  assert.equal([next.ssrc, next.sequence], [last.ssrc, (last.sequence + 1) & 0xffff]);
  assert.ok(((next.timestamp - last.timestamp) | 0) >= 160);
  assert.match(
    String(await second.reopenRtp({ ...dump, version: 2 }, () => {}).catch((error: Error) => error.message)),
    /version 2 is not understood/,
  );
  assert.match(
    String(await second.reopenRtp(dump, () => {}).catch((error: Error) => error.message)),
    /in use|could not be opened again/,
  );
  phone.socket.close();
  await second.close();
});

/** A plane over a thread that does what the test says, and what it is asked. */
function planeOverFake(
  answers: (command: MediaCommand, tell: (...messages: MediaMessage[]) => void, exit: () => void) => void,
) {
  const clock = new ManualClock(0);
  const log = memoryLogger();
  let ended = 0;
  let exit = () => {};
  const startThread = (): MediaThread => {
    const listeners = new Map<string, (value: never) => void>();
    const emit = (event: string, value: unknown) => listeners.get(event)?.(value as never);
    exit = () => emit('exit', 1);
    const own = exit;
    return {
      postMessage: (commands: MediaCommand[]) => {
        for (const command of commands) answers(command, (...messages) => emit('message', messages), own);
      },
      terminate: async () => {
        ended++;
        own();
        return 1;
      },
      on: (event: string, listener: (value: never) => void) => listeners.set(event, listener),
    };
  };
  const { threadTimeoutMs } = defaultMediaConfig;
  const plane = createMediaPlane({ config: { ...config, threadTimeoutMs }, clock, log, startThread });
  /** Lets time go by in steps, each with a turn of the event loop. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(500);
    }
  };
  return { plane, log, pass, ended: () => ended, exit: () => exit() };
}

inOne('a thread that answers is left alone; one that hangs is ended, and its calls go on in another', async () => {
  let hangs = false;
  const ports: (number | undefined)[] = [];
  const reports: MediaReport[] = [];
  const fake = planeOverFake((command, tell) => {
    if (command.type === 'openRtp') {
      ports.push(command.port);
      hangs = false;
      tell({ type: 'opened', request: command.request, address: '127.0.0.1', port: 4000 });
    }
    if (command.type === 'ping' && !hangs) tell({ type: 'pong' });
  });
  await fake.plane.openRtp('a', (report) => reports.push(report));
  await fake.pass(60_000);
  assert.equal([fake.ended(), ports], [0, [undefined]]);
  hangs = true;
  await fake.pass(10_000);
  assert.equal([fake.ended(), ports, reports], [1, [undefined, 4000], []]);
  assert.is(fake.log.lines[0]?.message, 'the media thread hangs and is ended');
});

inOne('a thread that goes on with a session is told the keys of a browser, and dumps have them', async () => {
  const told: unknown[] = [];
  let tellMain: (...messages: MediaMessage[]) => void = () => {};
  let number = 0;
  const fake = planeOverFake((command, tell) => {
    tellMain = tell;
    if (command.type === 'openRtp') {
      number = command.session;
      tell({ type: 'opened', request: command.request, address: '127.0.0.1', port: 4000 });
    }
    if (command.type === 'ping') tell({ type: 'pong' });
    if (command.type === 'configure') told.push(command.flow.webrtc?.established);
  });
  const session = await fake.plane.openRtp('a', () => {});
  const fingerprint = { hash: 'sha256', digest: 'aa' } as const;
  const credentials = { ufrag: 'name', password: 'secret' };
  const webrtc = { local: credentials, remote: credentials, fingerprint };
  const flow = { remote: { address: '0.0.0.0', port: 9 }, codec: 'ulaw', payloadType: 0, send: true, receive: true };
  session.configure({ ...flow, webrtc } as never);
  const key = { suite: 'AEAD_AES_128_GCM', key: 'c2VjcmV0' } as const;
  const source = { address: '192.0.2.1', port: 5000 };
  const established = { fingerprint, keys: { local: key, remote: key }, source };
  await fake.pass(500);
  tellMain({ type: 'secured', session: number, established });
  // ICE restarts with other credentials, and the keys stay.
  session.configure({ ...flow, webrtc: { ...webrtc, local: { ...credentials, ufrag: 'next' } } } as never);
  const [configured] = session.dump().standing as { flow: { webrtc: unknown } }[];
  assert.equal(configured!.flow.webrtc, { ...webrtc, local: { ...credentials, ufrag: 'next' }, established });
  await fake.pass(500);
  fake.exit();
  await fake.pass(500);
  assert.equal(told, [undefined, established, established]);
  session.configure({ ...flow, webrtc: { ...webrtc, fingerprint: { ...fingerprint, digest: 'bb' } } } as never);
  await fake.pass(500);
  assert.is(told.at(-1), undefined, 'another certificate shakes hands anew');
});

inOne('a thread that takes a minute to start is waited for; one that says nothing for longer is ended', async () => {
  const waiting: { command: MediaCommand; tell: (...messages: MediaMessage[]) => void }[] = [];
  const fake = planeOverFake((command, tell) => void waiting.push({ command, tell }));
  const opened = fake.plane.openRtp('a', () => {});
  await fake.pass(55_000);
  assert.is(fake.ended(), 0);
  for (const { command, tell } of waiting.splice(0)) {
    if (command.type === 'ping') tell({ type: 'pong' });
    if (command.type === 'openRtp')
      tell({ type: 'opened', request: command.request, address: '127.0.0.1', port: 4000 });
  }
  assert.is((await opened).local.port, 4000);
  await fake.pass(10_000);
  assert.is(fake.ended(), 1, 'what has begun to answer goes on');
  await fake.pass(65_000);
  assert.equal(
    [fake.ended(), fake.log.lines.filter(({ message }) => message === 'the media thread hangs and is ended').length],
    [2, 2],
  );
});

inOne('as many threads run from the start as are asked for, and no more than there may be', () => {
  const started = (threads: number, threadsAtStart: number): number => {
    let count = 0;
    const startThread: StartThread = () => {
      count++;
      return { postMessage: () => {}, terminate: async () => 1, on: () => {} };
    };
    createMediaPlane({
      config: { ...config, threads, threadsAtStart },
      clock: new ManualClock(),
      log: memoryLogger(),
      startThread,
    });
    return count;
  };
  assert.equal([started(3, 3), started(3, 1), started(2, 3), started(1, 0)], [3, 1, 2, 1]);
});

inOne(
  'when its port cannot be had again a session is told lost; so are all when threads die again and again',
  async () => {
    let answer: 'opened' | 'refused' | 'dies' = 'opened';
    const reports: MediaReport[] = [];
    const fake = planeOverFake((command, tell, exit) => {
      if (command.type !== 'openRtp') return;
      const { request } = command;
      if (answer === 'opened') tell({ type: 'opened', request, address: '127.0.0.1', port: 4000 });
      if (answer === 'refused') tell({ type: 'refused', request, reason: 'taken' });
      if (answer === 'dies') exit();
    });
    await fake.plane.openRtp('a', (report) => reports.push(report));
    answer = 'refused';
    fake.exit();
    await fake.pass(1000);
    assert.equal(reports.splice(0), [{ type: 'media.lost', reason: 'taken' }]);
    answer = 'opened';
    await fake.plane.openRtp('b', (report) => reports.push(report));
    answer = 'dies';
    fake.exit();
    // Each thread dies in a turn of its own.
    await fake.pass(5000);
    assert.equal(reports, [{ type: 'media.lost', reason: 'the media thread ended' }]);
  },
);

inOne('a session that faults in the very batch that opens it is told lost, after it was handed out', async () => {
  const fake = planeOverFake((command, tell) => {
    if (command.type === 'openRtp')
      tell(
        { type: 'opened', request: command.request, address: '127.0.0.1', port: 4000 },
        { type: 'faulted', session: command.session, reason: 'a mistake' },
      );
  });
  const order: unknown[] = [];
  const told = new Promise<void>((resolve) => {
    const opening = fake.plane.openRtp('a', (report) => {
      order.push(report);
      resolve();
    });
    void opening.then(({ local }) => order.push(local));
  });
  await told;
  assert.equal(order, [
    { address: '127.0.0.1', port: 4000 },
    { type: 'media.lost', reason: 'a mistake' },
  ]);
});

test.run();
