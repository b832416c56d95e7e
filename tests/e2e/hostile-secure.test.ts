import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { SrtpKey } from '../../src/lib/srtp.ts';
import { Opener } from '../../src/media/srtp/opener.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import type { SipMessage } from '../../src/sip/message/message.ts';
import { parseMessage } from '../../src/sip/message/parse.ts';
import { StreamFramer } from '../../src/sip/message/stream-framer.ts';
import { parseDescription } from '../../src/sip/sdp/description.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { onServer, type TestServer } from '../support/server.ts';

/*
 * Hostile octets at every secret door of a running server: TLS, SIP within it, WebSockets and the messages within those, SRTP
 * and SRTCP. A call that stands over the same doors hears nothing of it.
 */

const authority = new Authority();
const files = new CertificateFiles();
test.after(() => files.close());
const tls = {
  certificates: [files.pair('own', authority.sign('127.0.0.1'))],
  authorities: [files.authority(authority)],
};

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
const suite = 'AES_CM_128_HMAC_SHA1_80';
const ours: SrtpKey = { suite, key: Buffer.alloc(30, 9).toString('base64') };

async function dialTls(server: TestServer): Promise<TLSSocket> {
  const port = portOf(server.sip('tls'));
  const socket = connectTls({ host: '127.0.0.1', port, ca: authority.own.certificate });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

const sdp = (port: number) =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/SAVP 0`,
    `a=crypto:1 ${suite} inline:${ours.key}`,
    '',
  ].join('\r\n');

function sipRequest(
  method: string,
  {
    to,
    branch,
    callId = 'call',
    cseq = 1,
    body = '',
  }: {
    to: string;
    branch: string;
    callId?: string;
    cseq?: number;
    body?: string;
  },
): string {
  const uri = /<([^>]*)>/.exec(to)![1];
  return [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/TLS 127.0.0.1:9;branch=z9hG4bK${branch}`,
    'Max-Forwards: 70',
    'From: <sip:anonymous@127.0.0.1>;tag=mine',
    `To: ${to}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq} ${method}`,
    'Contact: <sip:me@127.0.0.1:9;transport=tls>',
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** A phone that calls the echo over TLS with SRTP, and can say whether it still hears itself. */
class Caller {
  readonly #socket: TLSSocket;
  readonly #audio: UdpSocket;
  readonly #sealer = new Sealer(ours, { audio: 0, control: 0 });
  readonly #framer = new StreamFramer();
  readonly #messages: SipMessage[] = [];
  readonly rtp: number;
  readonly theirs: SrtpKey;
  #heard = 0;
  #to = '';

  private constructor(socket: TLSSocket, audio: UdpSocket, answer: SipMessage) {
    this.#socket = socket;
    this.#audio = audio;
    const described = parseDescription(answer.bodyText);
    const stream = described.ok ? described.description.secret : undefined;
    if (!stream?.keys?.[0]) throw new Error(`no key in the answer:\n${answer.bodyText}`);
    this.rtp = stream.port;
    this.theirs = stream.keys[0].key;
    const opener = new Opener(this.theirs);
    audio.on('message', (packet) => {
      if (opener.audio(packet)) this.#heard++;
    });
  }

  static async call(server: TestServer): Promise<Caller> {
    const audio = createSocket('udp4').bind(0, '127.0.0.1');
    await once(audio, 'listening');
    const socket = await dialTls(server);
    const to = `<sip:600@${server.sip('tls')};transport=tls>`;
    socket.write(sipRequest('INVITE', { to, branch: 'invite', body: sdp(audio.address().port) }));
    const framer = new StreamFramer();
    let answer: SipMessage | undefined;
    while (!answer) {
      const [chunk] = (await once(socket, 'data')) as [Buffer];
      for (const frame of framer.push(chunk)) {
        const parsed = frame.type === 'message' ? parseMessage(frame.bytes) : undefined;
        if (parsed?.ok && parsed.message.kind === 'response' && parsed.message.status >= 200) answer = parsed.message;
      }
    }
    assert.is(answer.kind === 'response' && answer.status, 200);
    const caller = new Caller(socket, audio, answer);
    caller.#to = answer.header('to') ?? '';
    socket.write(sipRequest('ACK', { to: caller.#target(server), branch: 'ack' }));
    socket.on('data', (chunk: Buffer) => {
      for (const frame of caller.#framer.push(chunk)) {
        const parsed = frame.type === 'message' ? parseMessage(frame.bytes) : undefined;
        if (parsed?.ok) caller.#messages.push(parsed.message);
      }
      socket.emit('heard');
    });
    return caller;
  }

  #target(server: TestServer): string {
    return this.#to.replace(/<[^>]*>/, `<sip:${server.sip('tls')};transport=tls>`);
  }

  #sequence = 100;

  /** A sealed packet of audio. */
  packet(): Buffer {
    const packet = Buffer.alloc(172, 0x55);
    packet.writeUInt16BE(0x8000);
    packet.writeUInt16BE(this.#sequence & 0xffff, 2);
    packet.writeUInt32BE(this.#sequence++ * 160, 4);
    packet.writeUInt32BE(0x1234_5678, 8);
    return this.#sealer.audio(packet)!;
  }

  /** A sealed report. */
  report(): Buffer {
    const packet = Buffer.alloc(8);
    packet.writeUInt32BE(0x80c9_0001);
    packet.writeUInt32BE(0x1234_5678, 4);
    return this.#sealer.control(packet)!;
  }

  send(packet: Uint8Array, port = this.rtp): void {
    this.#audio.send(packet, port, '127.0.0.1');
  }

  /** Resolves when what is said comes back. */
  async hearsItself(): Promise<void> {
    const before = this.#heard;
    while (this.#heard < before + 3) {
      this.send(this.packet());
      await once(this.#audio, 'message');
    }
  }

  async hangup(server: TestServer): Promise<void> {
    this.#socket.write(sipRequest('BYE', { to: this.#target(server), branch: 'bye', cseq: 2 }));
    while (!this.#messages.some((message) => message.kind === 'response' && message.cseq.method === 'BYE'))
      await once(this.#socket, 'heard');
    this.#socket.destroy();
    this.#audio.close();
  }
}

/** What is done to good octets: some of them changed, left out, or more put in. */
const mutations = fc.array(
  fc.record({
    at: fc.nat(5_000),
    what: fc.constantFrom('flip', 'cut', 'put', 'end'),
    octets: fc.uint8Array({ maxLength: 20 }),
  }),
  { minLength: 1, maxLength: 4 },
);
type Mutations = { at: number; what: 'flip' | 'cut' | 'put' | 'end'; octets: Uint8Array }[];

function mutated(good: Uint8Array, changes: Mutations): Buffer {
  let octets = Buffer.from(good);
  for (const { at, what, octets: more } of changes) {
    const place = octets.length === 0 ? 0 : at % octets.length;
    if (what === 'flip' && octets.length > 0) octets[place]! ^= 1 << (at % 8);
    if (what === 'cut') octets = Buffer.concat([octets.subarray(0, place), octets.subarray(place + more.length)]);
    if (what === 'put') octets = Buffer.concat([octets.subarray(0, place), more, octets.subarray(place)]);
    if (what === 'end') octets = octets.subarray(0, place);
  }
  return octets;
}

/** The first octets of a client that means well. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connectTls({ host: '127.0.0.1', port: (server.address() as { port: number }).port });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return hello;
}

const gone = (socket: Socket | WebSocket) => new Promise<void>((resolve) => socket.once('close', () => resolve()));

async function writeAndGo(socket: Socket, octets: Buffer): Promise<void> {
  socket.on('error', () => {});
  socket.resume();
  const closed = gone(socket);
  socket.write(octets, () => socket.end());
  await closed;
}

async function dialWebSocket(server: TestServer): Promise<WebSocket> {
  const socket = new WebSocket(`wss://${server.sip('wss')}`, ['sip'], { ca: authority.own.certificate });
  socket.on('error', () => {});
  await once(socket, 'open');
  return socket;
}

/** What the JavaScript heap holds when all that can be let go of has been, in MB. */
function heapMegabytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

const runs = { numRuns: 40, endOnFailure: true };

test('mutated TLS, SIP, WebSockets, SRTP and SRTCP: the process lives, the call lives, and nothing is kept', async () => {
  const endpoints = { anonymous: { match: ['127.0.0.1'], media_encryption: 'required' } };
  const dialplan = { default: { '600': ['Answer', 'Echo'] } };
  await onServer({ endpoints, dialplan, tls }, async (server) => {
    const caller = await Caller.call(server);
    await caller.hearsItself();
    const hello = await clientHello();
    const options = Buffer.from(
      sipRequest('OPTIONS', { to: `<sip:600@${server.sip('tls')}>`, branch: 'options', callId: 'other' }),
    );
    let heapBefore = 0;

    const doors: [string, (changes: Mutations) => Promise<void>][] = [
      [
        'a handshake',
        (changes) => writeAndGo(connect(portOf(server.sip('tls')), '127.0.0.1'), mutated(hello, changes)),
      ],
      ['SIP over TLS', async (changes) => writeAndGo(await dialTls(server), mutated(options, changes))],
      [
        'a WebSocket’s handshake',
        (changes) => {
          const head =
            'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: sip\r\n\r\n';
          const port = portOf(server.sip('wss'));
          const socket = connectTls({ host: '127.0.0.1', port, ca: authority.own.certificate });
          return writeAndGo(socket, mutated(Buffer.from(head), changes));
        },
      ],
      [
        'a message of a WebSocket',
        async (changes) => {
          const socket = await dialWebSocket(server);
          const closed = gone(socket);
          socket.send(mutated(options, changes));
          socket.close();
          await closed;
        },
      ],
      [
        'a frame of a WebSocket',
        async (changes) => {
          const socket = await dialWebSocket(server);
          const closed = gone(socket);
          const masked = Buffer.concat([
            Buffer.of(0x82, 0xfe, options.length >> 8, options.length & 255, 0, 0, 0, 0),
            options,
          ]);
          const { _socket: raw } = socket as unknown as { _socket: Socket };
          raw.write(mutated(masked, changes), () => raw.end());
          await closed;
        },
      ],
      [
        'SRTP',
        async (changes) => {
          const good = caller.packet();
          caller.send(mutated(good, changes));
          caller.send(good);
          caller.send(good);
        },
      ],
      [
        'SRTCP',
        async (changes) => {
          const good = caller.report();
          caller.send(mutated(good, changes), caller.rtp + 1);
          caller.send(good, caller.rtp + 1);
          caller.send(mutated(good, changes));
        },
      ],
    ];
    for (const round of ['warm', 'counted']) {
      if (round === 'counted') heapBefore = heapMegabytes();
      for (const [, attack] of doors) {
        await fc.assert(fc.asyncProperty(mutations, attack), runs);
        await caller.hearsItself();
      }
    }
    const { media, sip } = await server.running.usage();
    assert.equal([media.sessions, media.ports, sip.dialogs, sip.legs], [1, 1, 1, 1]);
    assert.ok(heapMegabytes() < heapBefore + 8, `the heap grew from ${heapBefore} to ${heapMegabytes()} MB`);
    await caller.hangup(server);
  });
});

test.run();
