import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import type { PacketAddress } from '../../../src/media/rtp/source-lock.ts';
import { IceTcpServer } from '../../../src/media/webrtc/ice-tcp.ts';
import { TcpOut } from '../../../src/media/webrtc/tcp-out.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { freePort } from '../../support/free-port.ts';
import { check, iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';
import { untilHolds } from '../../support/waiting.ts';

const test = suite('browsers that connect by TCP');

const frame = (packet: Uint8Array): Buffer => {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  return Buffer.concat([length, packet]);
};
const proof = frame(check());

type Options = { connections?: number; clock?: ManualClock | typeof systemClock };

async function setUp({ connections = 1000, clock = systemClock }: Options = {}) {
  const port = await freePort();
  const hits: string[] = [];
  const terms = { port, address: '127.0.0.1', connections, unproved: 64, unsentBytes: 65_536 };
  const server = new IceTcpServer({ ...terms, clock, hit: (setting) => void hits.push(setting) });
  await server.listen();
  const looks = new Set<() => void>();
  const heard: { from: PacketAddress; packets: string[] }[] = [];
  const end = server.open((from, packets) => {
    heard.push({ from, packets: packets.map((packet) => Buffer.from(packet).toString('latin1')) });
    for (const look of looks) look();
  });
  end.use({ local, remote });
  const sockets: Socket[] = [];
  /** A browser that has connected; its end is told, never thrown. */
  const browser = async () => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    socket.on('error', () => {});
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    await once(socket, 'connect');
    return { socket, closed };
  };
  const until = (holds: () => boolean) => untilHolds(looks, holds, () => JSON.stringify(heard).slice(0, 500));
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  };
  return { server, end, heard, hits, browser, until, close };
}

type World = Awaited<ReturnType<typeof setUp>>;

const within = (title: string, options: Options, body: (world: World) => Promise<void>) =>
  test(title, async () => {
    const world = await setUp(options);
    try {
      await body(world);
    } finally {
      await world.close();
    }
  });

const text = (packet: Buffer): string => packet.toString('latin1');

within('packets come behind their lengths, however the octets are cut, and go back so', {}, async (world) => {
  const { browser, heard, until, end } = world;
  const { socket } = await browser();
  const said = Buffer.concat([proof, frame(Buffer.from('one')), Buffer.alloc(2), frame(Buffer.from('three'))]);
  for (const octet of said) socket.write(Uint8Array.of(octet));
  const all = () => heard.flatMap(({ packets }) => packets);
  await until(() => all().length === 3);
  assert.equal(all(), [text(check()), 'one', 'three']);
  const { from } = heard[0]!;
  assert.equal(from, { address: '127.0.0.1', port: socket.localPort });
  const came = once(socket, 'data') as Promise<[Buffer]>;
  end.send(from, [Buffer.from('four'), Buffer.from('five')]);
  assert.equal((await came)[0], Buffer.concat([frame(Buffer.from('four')), frame(Buffer.from('five'))]));
});

within('nothing is heard of a connection that does not know the password of a session', {}, async (world) => {
  const { browser, heard, until } = world;
  const stranger = await browser();
  for (const packet of [
    check({ password: 'not+the+password+at+all+1' }),
    check({ username: 'other:theirs' }),
    Buffer.from('hello'),
    Buffer.alloc(60, 0x80),
  ])
    stranger.socket.write(frame(packet));
  const { socket } = await browser();
  socket.write(proof);
  await until(() => heard.length > 0);
  assert.equal(
    heard.map(({ from }) => from.port),
    [socket.localPort],
  );
  // Its session may be known a moment later.
  stranger.socket.write(proof);
  await until(() => heard.length > 1);
});

within('a packet that no browser sends ends its connection', {}, async ({ browser, heard }) => {
  const { socket, closed } = await browser();
  socket.write(Buffer.from([0xff, 0xff, 1, 2, 3]));
  await closed;
  assert.equal(heard, []);
});

within('a session has four connections at most, and its end ends them', {}, async ({ browser, heard, until, end }) => {
  const all = await Promise.all(Array.from({ length: 4 }, browser));
  for (const { socket } of all) socket.write(proof);
  await until(() => heard.length === 4);
  const fifth = await browser();
  fifth.socket.write(Buffer.concat([proof, frame(Buffer.from('fifth'))]));
  all[0]!.socket.write(frame(Buffer.from('first')));
  await until(() => heard.length === 5);
  end.close();
  await Promise.all(all.map(({ closed }) => closed));
  assert.is(
    heard.some(({ packets }) => packets.includes('fifth')),
    false,
  );
});

within('strangers make room for each other, and never take that of a session', { connections: 3 }, async (world) => {
  const { browser, heard, until, hits } = world;
  const ours = await browser();
  ours.socket.write(proof);
  await until(() => heard.length === 1);
  const strangers = [await browser(), await browser(), await browser()];
  await strangers[0]!.closed;
  const others = [await browser(), await browser()];
  await Promise.all(strangers.map(({ closed }) => closed));
  ours.socket.write(frame(Buffer.from('still')));
  await until(() => heard.length === 2);
  assert.is(hits.filter((setting) => setting === 'media.webrtc.tcp.connections').length, 3);
  for (const { socket } of others) assert.is(socket.destroyed, false);
});

within('with all connections in use a further one is ended', { connections: 1 }, async ({ browser, heard, until }) => {
  const ours = await browser();
  ours.socket.write(proof);
  await until(() => heard.length === 1);
  const { closed } = await browser();
  await closed;
  ours.socket.write(frame(Buffer.from('still')));
  await until(() => heard.length === 2);
});

within('64 connections of strangers may stand open at once', {}, async ({ browser, hits }) => {
  const all: Awaited<ReturnType<typeof browser>>[] = [];
  for (let count = 0; count < 65; count++) all.push(await browser());
  await all[0]!.closed;
  assert.is(all[64]!.socket.destroyed, false);
  assert.equal(hits, ['media.webrtc.tcp.unproved']);
});

{
  const clock = new ManualClock();
  within('one that proves nothing for 10 s is ended, and one that says nothing for 35 s', { clock }, async (world) => {
    const { browser, heard, until } = world;
    const [ours, stranger] = [await browser(), await browser()];
    ours.socket.write(proof);
    stranger.socket.write(frame(Buffer.from('hello')));
    await until(() => heard.length === 1);
    clock.advance(10_000);
    await stranger.closed;
    ours.socket.write(frame(Buffer.from('still')));
    await until(() => heard.length === 2);
    clock.advance(34_999);
    ours.socket.write(frame(Buffer.from('there')));
    await until(() => heard.length === 3);
    clock.advance(34_999);
    assert.is(ours.socket.destroyed, false);
    clock.advance(1);
    await ours.closed;
  });
}

{
  const clock = new ManualClock();
  within('a browser that reads nothing loses packets, and is given up after 10 s', { clock }, async (world) => {
    const { browser, heard, until, end, hits } = world;
    const { socket, closed } = await browser();
    socket.write(proof);
    await until(() => heard.length === 1);
    // It has no listener for what comes, so it does not read.
    const packets = Array.from({ length: 100 }, () => Buffer.alloc(1500, 7));
    for (let round = 0; round < 1000 && hits.length === 0; round++) {
      end.send(heard[0]!.from, packets);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal([...new Set(hits)], ['media.webrtc.tcp.unsent']);
    clock.advance(9_999);
    end.send(heard[0]!.from, packets);
    clock.advance(1);
    end.send(heard[0]!.from, packets);
    socket.resume();
    await closed;
  });
}

test('packets of a turn are sent together, to one address at a time, and 256 kB of them at most', async () => {
  const sent: [number, number][] = [];
  const out = new TcpOut(systemClock, ({ port }, packets) => void sent.push([port, packets.length]));
  const [one, other] = [
    { address: '192.0.2.1', port: 1 },
    { address: '192.0.2.1', port: 2 },
  ];
  const packet = Buffer.alloc(1500);
  out.send(packet, one);
  out.send(packet, one);
  out.send(packet, other);
  for (let count = 0; count < 1000; count++) out.send(packet, one);
  assert.equal(sent, [
    [1, 2],
    [2, 1],
  ]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(sent.at(-1), [1, 174]);
});

test('a port that is in use is not told, and may be bound later', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const terms = { port, address: '127.0.0.1', connections: 1, unproved: 64, unsentBytes: 65_536 };
  const server = new IceTcpServer({ ...terms, clock: systemClock });
  const problem = await server.listen().catch((error: NodeJS.ErrnoException) => error.code);
  assert.equal([problem, server.port], ['EADDRINUSE', undefined]);
  other.close();
  await once(other, 'close');
  await server.listen();
  assert.is(server.port, port);
  await server.close();
});

test.run();
