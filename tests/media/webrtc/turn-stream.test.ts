import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeMessage } from '../../../src/media/webrtc/stun-message.ts';
import type { TurnServer } from '../../../src/media/webrtc/turn.ts';
import { TurnStream } from '../../../src/media/webrtc/turn-stream.ts';
import { Authority } from '../../support/certificates.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { untilAsked } from '../../support/waiting.ts';

const test = suite('a connection to a TURN server');

const account = {
  ...{ address: '127.0.0.1', username: 'desk', password: 'north wind', secret: '' },
  ...{ messageBytes: 4096, unsentBytes: 262_144, permissions: 16 },
};
const message = writeMessage(0x0101, Buffer.alloc(12, 7), [[6, Buffer.from('desk')]]);
const channelData = (text: string) => {
  const octets = Buffer.from(text);
  return Buffer.concat([Buffer.of(0x40, 0, octets.length >> 8, octets.length & 255), octets]);
};

const until = (holds: () => boolean) => untilAsked(holds, () => 'it did not happen');

type Ends = { stream: TurnStream; far: Socket; heard: string[]; lost: string[]; clock: ManualClock };

/** A connection, and the server's end of it. */
async function withStream(body: (ends: Ends) => Promise<void>, more: Partial<TurnServer> = {}): Promise<void> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const { stream, heard, lost, clock } = open(server, { transport: 'tcp', ...more });
  const [far] = await connected;
  try {
    await body({ stream, far, heard, lost, clock });
  } finally {
    stream.close();
    far.destroy();
    server.close();
  }
}

function open(server: Server, more: Partial<TurnServer>) {
  const { port } = server.address() as { port: number };
  const [heard, lost]: [string[], string[]] = [[], []];
  const clock = new ManualClock();
  const stream = new TurnStream({
    ...{ server: { ...account, port, ...more }, clock },
    heard: (octets) => void heard.push(Buffer.from(octets).toString('hex')),
    lost: (reason) => void lost.push(reason),
  });
  return { stream, heard, lost, clock };
}

test('messages and data of channels are told apart, however they are cut; data is filled up to words', () =>
  withStream(async ({ stream, far, heard, lost }) => {
    const padded = Buffer.concat([channelData('hello'), Buffer.alloc(3)]);
    const all = Buffer.concat([message, padded, channelData(''), channelData('four'), message]);
    for (const octet of all) {
      far.write(Buffer.of(octet));
    }
    far.write(all);
    const each = [message, channelData('hello'), channelData(''), channelData('four'), message];
    const wanted = [...each, ...each].map((octets) => Buffer.from(octets).toString('hex'));
    await until(() => heard.length === wanted.length);
    assert.equal([heard, lost], [wanted, []]);
    const come: Buffer[] = [];
    far.on('data', (octets) => come.push(octets));
    stream.send(message);
    stream.send(channelData('hello'));
    await until(() => Buffer.concat(come).length === message.length + padded.length);
    assert.equal(Buffer.concat(come), Buffer.concat([message, padded]));
  }));

test('what is no message, or a longer one than any of TURN, ends it, and nothing behind that is heard', async () => {
  const long = Buffer.from([0x40, 0, 0x10, 0]);
  for (const octets of [Buffer.alloc(4, 0x80), Buffer.alloc(4, 0xff), long, Buffer.from([0, 1, 0xff, 0xfc])])
    await withStream(async ({ far, heard, lost }) => {
      far.write(Buffer.concat([octets, message]));
      await until(() => lost.length === 1);
      assert.equal([heard, lost], [[], ['it sends what is no message of TURN']]);
    });
});

test('how long a message is, and how much is left unread, are settings', async () => {
  const long = Buffer.from([0x40, 0, 0x10, 0]);
  await withStream(
    async ({ far, heard, lost }) => {
      far.write(Buffer.concat([long, Buffer.alloc(0x1000, 7)]));
      await until(() => heard.length === 1);
      assert.equal([heard[0]?.length, lost], [2 * (4 + 0x1000), []]);
    },
    { messageBytes: 5000 },
  );
  const large = channelData('x'.repeat(64_000));
  await withStream(
    async ({ stream, far }) => {
      far.pause();
      for (let count = 0; count < 500; count++) stream.send(large);
      let come = 0;
      far.on('data', (octets) => (come += octets.length));
      far.resume();
      await until(() => come === 500 * large.length);
    },
    { unsentBytes: 64_000_000 },
  );
});

test('one that ends is told once, and one that we end is not; nothing is sent afterwards', async () => {
  await withStream(async ({ stream, far, lost }) => {
    far.destroy();
    await until(() => lost.length === 1);
    stream.send(message);
    stream.close();
  });
  await withStream(async ({ stream, far, lost, clock }) => {
    const come: Buffer[] = [];
    far.on('data', (octets) => come.push(octets));
    const ended = once(far, 'end');
    stream.send(message);
    await until(() => Buffer.concat(come).length === message.length);
    // It is given back before: the server does not keep it until its lifetime ends.
    stream.send(message);
    stream.close();
    stream.send(message);
    await ended;
    assert.equal([Buffer.concat(come), lost], [Buffer.concat([message, message]), []]);
    await until(() => clock.pending === 0);
  });
});

test('a server that reads nothing loses messages, and takes no memory', () =>
  withStream(async ({ stream, far, lost }) => {
    far.pause();
    const large = channelData('x'.repeat(1200));
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 100_000; count++) stream.send(large);
    assert.ok(process.memoryUsage().arrayBuffers - before < 50_000_000);
    assert.equal(lost, []);
  }));

test('nobody listens there: that is told', async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const lost: string[] = [];
  new TurnStream({
    ...{ server: { ...account, port, transport: 'tcp' }, clock: new ManualClock(), heard: () => {} },
    lost: (reason) => void lost.push(reason),
  });
  await until(() => lost.length === 1);
  assert.match(lost[0]!, /ECONNREFUSED/);
});

test('by TLS its certificate has to be of an authority that is trusted, and to have its address or name', async () => {
  const [authority, other] = [new Authority(), new Authority('another')];
  const answers = async (names: string[], more: Partial<TurnServer>) => {
    const { certificate: cert, key } = authority.sign(...names);
    const server = createTlsServer({ cert, key }, (far) => far.on('error', () => {}).write(message));
    server.on('tlsClientError', () => {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { stream, heard, lost } = open(server, {
      transport: 'tls',
      authorities: [authority.own.certificate],
      ...more,
    });
    await until(() => heard.length + lost.length > 0);
    stream.close();
    server.close();
    return heard.length > 0 ? 'heard' : lost[0]!;
  };
  assert.is(await answers(['127.0.0.1'], {}), 'heard');
  assert.is(await answers(['turn.example.com'], { name: 'turn.example.com' }), 'heard');
  assert.match(await answers(['turn.example.com'], {}), /IP: 127.0.0.1|does not match/);
  assert.match(await answers(['127.0.0.1'], { name: 'turn.example.com' }), /turn.example.com/);
  assert.match(await answers(['127.0.0.1'], { authorities: [other.own.certificate] }), /certificate/);
});

test.run();
