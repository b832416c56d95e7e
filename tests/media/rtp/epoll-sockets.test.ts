import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import { MessageChannel } from 'node:worker_threads';
import { test as plain } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { defaultMediaConfig } from '../../../src/media/config.ts';
import { createMediaPlane } from '../../../src/media/media-plane.ts';
import { closeLeft, Descriptors, newDescriptorTable } from '../../../src/media/rtp/descriptors.ts';
import { dgramSockets } from '../../../src/media/rtp/dgram-sockets.ts';
import { EpollSockets } from '../../../src/media/rtp/epoll-sockets.ts';
import { hostSockets, RelayedSockets } from '../../../src/media/rtp/relayed-sockets.ts';
import type { PacketSocket } from '../../../src/media/rtp/sockets.ts';
import { openSystemSockets } from '../../../src/media/rtp/system-sockets.ts';
import { type MediaThread, startWorker } from '../../../src/media/start-worker.ts';
import { loadSystemCalls, type SystemCalls } from '../../../src/native/system-calls.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { Phone } from '../socket-phone.ts';
import { memoryLogger } from '../support.ts';

const calls = await loadSystemCalls().catch(() => undefined);
const test = calls ? plain : Object.assign(plain.skip, { run: plain.run });
if (!calls) process.stdout.write('skipped: needs koffi on Linux: sockets read by calls of the kernel\n');

/** Sockets that are read when the clock moves: what was sent on one machine is there when `sendto` returns. */
function openSockets(changed: Partial<SystemCalls> = {}, reservedFrom?: number) {
  const clock = new ManualClock();
  const descriptors = newDescriptorTable();
  const sockets = new EpollSockets({
    calls: { ...calls!, ...changed },
    clock,
    descriptors: new Descriptors(descriptors),
    reservedFrom,
  });
  return { sockets, clock, descriptors };
}

type Heard = { text: string; address: string; port: number };

/** What a socket hears from now on. */
function hearing(socket: PacketSocket, heard: Heard[] = []): Heard[] {
  socket.listen((packet, address, port) => heard.push({ text: Buffer.from(packet).toString(), address, port }));
  return heard;
}

const say = (socket: PacketSocket, text: string, to: PacketSocket, address = '127.0.0.1'): void =>
  socket.send(Buffer.from(text), to.port, address);

/** The sockets and epoll descriptors that this process has open, each under a name that no other one has. */
function openDescriptors(): Set<string> {
  const links = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      const link = readlinkSync(`/proc/self/fd/${descriptor}`);
      return link.includes('[eventpoll]') ? `${link} ${descriptor}` : link;
    } catch {
      return 'closed meanwhile';
    }
  });
  return new Set(links.filter((link) => link.startsWith('socket:') || link.includes('[eventpoll]')));
}

/** How many were opened since; others may close theirs meanwhile. */
const openedSince = (before: ReadonlySet<string>): number =>
  [...openDescriptors()].filter((each) => !before.has(each)).length;

for (const address of ['127.0.0.1', '::1'])
  test(`packets have the address and port of their sender, also of several senders in turn (${address})`, async () => {
    const { sockets, clock } = openSockets();
    const [here, one, other] = await Promise.all([0, 0, 0].map(() => sockets.bind(address, 0)));
    const heard = hearing(here!);
    say(one!, 'a', here!, address);
    say(one!, 'b', here!, address);
    say(other!, 'c', here!, address);
    say(one!, '', here!, address);
    // What comes in a burst is seen to be one at the second look.
    clock.advance(2);
    assert.equal(heard, [
      { text: 'a', address, port: one!.port },
      { text: 'b', address, port: one!.port },
      { text: 'c', address, port: other!.port },
      { text: '', address, port: one!.port },
    ]);
    sockets.close();
    assert.is(clock.pending, 0);
  });

test('a used port, a foreign address and an invalid address are refused as by node:dgram', async () => {
  const { sockets } = openSockets();
  const before = openDescriptors();
  const taken = await sockets.bind('127.0.0.1', 0);
  const code = (of: typeof sockets | typeof dgramSockets, address: string, port: number) =>
    of.bind(address, port).then(
      () => 'bound',
      (error: NodeJS.ErrnoException) => error.code,
    );
  for (const [address, port, expected] of [
    ['127.0.0.1', taken.port, 'EADDRINUSE'],
    ['192.0.2.1', 0, 'EADDRNOTAVAIL'],
  ] as const) {
    assert.is(await code(sockets, address, port), expected);
    assert.is(await code(dgramSockets, address, port), expected);
  }
  assert.is(await code(sockets, 'nobody', 0), 'EINVAL');
  taken.close();
  assert.is(openedSince(before), 0);
  sockets.close();
});

test('a process that may open no more refuses to bind, and leaves nothing open', async () => {
  const { sockets } = openSockets({ socket: () => -1, errno: () => 24 });
  const before = openDescriptors();
  const error = await sockets.bind('127.0.0.1', 0).catch((thrown: unknown) => thrown);
  assert.is((error as NodeJS.ErrnoException).code, 'EMFILE');
  assert.is(openedSince(before), 0);
  sockets.close();
});

test('descriptors that are reserved for HTTP are not taken, and are free at once', async () => {
  const reservedFrom = 1 + Math.max(...readdirSync('/proc/self/fd').map(Number)) + 8;
  const { sockets } = openSockets({}, reservedFrom);
  const before = openDescriptors();
  const bound: PacketSocket[] = [];
  const refused = async (): Promise<string> => {
    for (;;)
      try {
        bound.push(await sockets.bind('127.0.0.1', 0));
      } catch (error) {
        return String((error as NodeJS.ErrnoException).code);
      }
  };
  assert.is(await refused(), 'EMFILE');
  assert.ok(bound.length > 0);
  assert.is(openedSince(before), bound.length);
  bound.pop()?.close();
  bound.push(await sockets.bind('127.0.0.1', 0));
  sockets.close();
});

test('only the packet that cannot be sent is lost: no listener, too long, wrong family, invalid address', async () => {
  const { sockets, clock } = openSockets();
  const [here, there, gone] = await Promise.all([0, 0, 0].map(() => sockets.bind('127.0.0.1', 0)));
  const heard = hearing(there!);
  hearing(here!);
  gone!.close();
  say(here!, 'nobody is there', gone!);
  clock.advance(1);
  here!.send(Buffer.alloc(70_000), there!.port, '127.0.0.1');
  say(here!, 'other family', there!, '::1');
  say(here!, 'no address', there!, 'nobody');
  say(here!, 'whole', there!);
  clock.advance(1);
  assert.equal(heard, [{ text: 'whole', address: '127.0.0.1', port: here!.port }]);
  sockets.close();
});

test('errors of a call are nobody else’s: a socket that cannot be read is passed over', async () => {
  let broken = -1;
  const { sockets, clock } = openSockets({
    recvfrom: (descriptor, ...rest) => (descriptor === broken ? -1 : calls!.recvfrom(descriptor, ...rest)),
    socket: (...kind) => {
      const descriptor = calls!.socket(...kind);
      if (broken < 0) broken = descriptor;
      return descriptor;
    },
  });
  const [deaf, here] = [await sockets.bind('127.0.0.1', 0), await sockets.bind('127.0.0.1', 0)];
  const heard = [hearing(deaf), hearing(here)];
  say(here, 'lost', deaf);
  say(deaf, 'heard', here);
  clock.advance(1);
  assert.equal(heard, [[], [{ text: 'heard', address: '127.0.0.1', port: deaf.port }]]);
  sockets.close();
});

test('a socket closed by another socket’s listener gets no waiting packets; its descriptor may be reused', async () => {
  const { sockets, clock } = openSockets();
  const all = [await sockets.bind('127.0.0.1', 0), await sockets.bind('127.0.0.1', 0)];
  const sender = await sockets.bind('127.0.0.1', 0);
  const heard: number[] = [];
  for (const [index, socket] of all.entries())
    socket.listen(() => {
      heard.push(index);
      for (const other of all) if (other !== socket) other.close();
      socket.listen(undefined);
    });
  for (const socket of all) say(sender, 'x', socket);
  clock.advance(1);
  assert.is(heard.length, 1);
  const again = await sockets.bind('127.0.0.1', 0);
  const later = hearing(again);
  clock.advance(5);
  assert.equal(later, []);
  say(sender, 'y', again);
  clock.advance(5);
  assert.equal(later, [{ text: 'y', address: '127.0.0.1', port: sender.port }]);
  sockets.close();
});

test('who has a hundred packets waiting lets others have theirs in between', async () => {
  const { sockets, clock } = openSockets();
  const [busy, quiet, sender] = await Promise.all([0, 0, 0].map(() => sockets.bind('127.0.0.1', 0)));
  const heard: string[] = [];
  busy!.listen(() => heard.push('busy'));
  quiet!.listen(() => heard.push('quiet'));
  for (let packet = 0; packet < 100; packet++) say(sender!, 'x', busy!);
  for (let packet = 0; packet < 3; packet++) say(sender!, 'x', quiet!);
  clock.advance(2);
  assert.ok(heard.lastIndexOf('quiet') <= 5, heard.join(' '));
  // Others have had their turn meanwhile.
  assert.ok(heard.length < 103);
  while (heard.length < 103) await new Promise((turn) => setImmediate(turn));
  assert.is(heard.filter((who) => who === 'busy').length, 100);
  sockets.close();
});

test('one poll is planned at a time, also if the last socket closes during a poll and another is bound', async () => {
  const { sockets, clock } = openSockets();
  const turn = () => new Promise<void>((over) => clock.soon(over));
  const here = await sockets.bind('127.0.0.1', 0);
  hearing(here);
  for (let count = 0; count < 20; count++) say(here, 'more', here);
  // The first look takes one, the second as many as it may, and comes again at once.
  clock.advance(2);
  assert.is(clock.pending, 0);
  here.close();
  const next = await sockets.bind('127.0.0.1', 0);
  await turn();
  assert.is(clock.pending, 1);
  // In the middle of a look.
  const rebound = new Promise<PacketSocket>((resolve, reject) =>
    next.listen(() => {
      next.close();
      sockets.bind('127.0.0.1', 0).then(resolve, reject);
    }),
  );
  say(next, 'again', next);
  clock.advance(1);
  const last = await rebound;
  assert.is(clock.pending, 1);
  const heard = hearing(last);
  say(last, 'heard', last);
  clock.advance(1);
  assert.equal(heard, [{ text: 'heard', address: '127.0.0.1', port: last.port }]);
  sockets.close();
  assert.is(clock.pending, 0);
});

test('what arrives before anybody listens, or after, is dropped', async () => {
  const { sockets, clock } = openSockets();
  const [here, there] = [await sockets.bind('127.0.0.1', 0), await sockets.bind('127.0.0.1', 0)];
  say(there, 'early', here);
  clock.advance(1);
  const heard = hearing(here);
  say(there, 'heard', here);
  clock.advance(1);
  here.listen(undefined);
  say(there, 'late', here);
  clock.advance(1);
  assert.equal(
    heard.map(({ text }) => text),
    ['heard'],
  );
  sockets.close();
});

test('who hears nothing for a while is looked at less often, and as often as before once somebody speaks', async () => {
  let looks = 0;
  const { sockets, clock } = openSockets({
    epoll_wait: (...how) => {
      looks++;
      return calls!.epoll_wait(...how);
    },
  });
  const [here, there] = [await sockets.bind('127.0.0.1', 0), await sockets.bind('127.0.0.1', 0)];
  const heard = hearing(here);
  clock.advance(1000);
  looks = 0;
  clock.advance(100);
  assert.is(looks, 20);
  say(there, 'x', here);
  clock.advance(5);
  assert.is(heard.length, 1);
  looks = 0;
  clock.advance(100);
  assert.is(looks, 100);
  here.close();
  there.close();
  assert.is(clock.pending, 0);
  sockets.close();
});

test('ten thousand sockets are opened, heard and closed, and leave nothing behind', async () => {
  const before = openDescriptors();
  const { sockets, clock } = openSockets();
  const sender = await sockets.bind('127.0.0.1', 0);
  const all: PacketSocket[] = [];
  for (let count = 0; count < 10_000; count++) all.push(await sockets.bind('127.0.0.1', 0));
  const heard = new Set<PacketSocket>();
  for (const socket of all) socket.listen(() => heard.add(socket));
  for (const socket of all) say(sender, 'x', socket);
  clock.advance(1);
  while (heard.size < all.length) await new Promise((turn) => setImmediate(turn));
  for (const socket of all) socket.close();
  sockets.close();
  assert.is(openedSince(before), 0);
});

test('what a lost thread left open is closed, but no descriptor that stands for something else by now', async () => {
  const before = openDescriptors();
  const { sockets, descriptors } = openSockets();
  await sockets.bind('127.0.0.1', 0);
  const other = new Descriptors(newDescriptorTable());
  closeLeft(descriptors);
  assert.is(openedSince(before), 0);
  const table = newDescriptorTable();
  const held = new Descriptors(table);
  const socket = calls!.socket(2, 2, 0);
  held.note(socket);
  closeSync(socket);
  const stranger = calls!.socket(2, 2, 0);
  assert.is(stranger, socket);
  closeLeft(table);
  assert.is(openedSince(before), 1);
  closeSync(stranger);
  const entries = [other.note(0), other.note(1)];
  other.forget(entries[0]!);
  assert.is(other.note(2), entries[0]);
});

plain('sockets of Node are held by another thread where they are asked for', async () => {
  const clock = new ManualClock();
  const { port1: held, port2: relay } = new MessageChannel();
  const close = hostSockets(dgramSockets, { port: held, clock: systemClock, most: 4_096 });
  const options = { clock, descriptors: newDescriptorTable(), relay, relayedPackets: 4_096 };
  const { sockets, ...used } = await openSystemSockets({ ...options, kind: 'dgram' });
  assert.ok(sockets instanceof RelayedSockets);
  assert.equal(used, { kind: 'dgram' });
  close();
});

test('a thread reads its sockets itself from the first one on', async () => {
  const { port1, port2: relay } = new MessageChannel();
  const options = { clock: new ManualClock(), descriptors: newDescriptorTable(), relay, relayedPackets: 4_096 };
  const { sockets, openMore, kind } = await openSystemSockets({ ...options, kind: 'auto' });
  assert.ok(sockets instanceof EpollSockets);
  assert.is(kind, 'native');
  sockets.close();
  openMore?.(options.clock).close();
  port1.close();
});

test('a thread that dies leaves no descriptor open; its sessions go on on their ports, in a new one', async () => {
  const before = openDescriptors();
  const threads: MediaThread[] = [];
  const plane = createMediaPlane({
    config: { ...defaultMediaConfig, sockets: 'native', ports: { first: 0, last: 0 }, threadTimeoutMs: 60_000 },
    clock: systemClock,
    log: memoryLogger(),
    startThread: (start) => {
      const thread = startWorker(start);
      threads.push(thread);
      return thread;
    },
  });
  const phone = await Phone.bind();
  const sessions = await Promise.all(Array.from({ length: 20 }, (_, index) => plane.openRtp(`${index}`, () => {})));
  const session = sessions[0]!;
  phone.configure(session);
  session.echo(true);
  const packet = { marker: false, payloadType: 0, timestamp: 160, ssrc: 7, payload: new Array(160).fill(1) };
  let sequence = 0;
  const talking = setInterval(() => phone.send(session, { ...packet, sequence: ++sequence }), 20);
  await phone.hears((heard) => heard.length > 2);
  const { length } = phone.heard;
  await threads[0]!.terminate();
  await phone.hears((heard) => heard.length > length + 2);
  clearInterval(talking);
  assert.is(threads.length, 2);
  phone.socket.close();
  await plane.close();
  assert.is(openedSince(before), 0);
});

test.run();
