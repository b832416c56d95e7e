import type { Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { SrtpKey } from '../../src/lib/srtp.ts';
import { type HeardNumbers, Opener } from '../../src/media/srtp/opener.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import type { SipMessage } from '../../src/sip/message/message.ts';
import { parseMessage } from '../../src/sip/message/parse.ts';
import { StreamFramer } from '../../src/sip/message/stream-framer.ts';
import { parseDescription } from '../../src/sip/sdp/description.ts';
import { Authority, type CertificateFiles } from './certificates.ts';
import type { TestServer } from './server.ts';
import { boundPair } from './socket-pair.ts';

const authority = new Authority();

/** What those who dial here trust. */
export const trusted = authority.own.certificate;

/** Certificates of a server at 127.0.0.1 that those who dial here believe; `files` is theirs to close. */
export function ownCertificates(files: CertificateFiles): object {
  return {
    certificates: [files.pair('own', authority.sign('127.0.0.1'))],
    authorities: [files.authority(authority)],
  };
}

/** The port of `address:port`. */
export const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
const suite = 'AES_CM_128_HMAC_SHA1_80';
const ours: SrtpKey = { suite, key: Buffer.alloc(30, 9).toString('base64') };

/** A connection to the TLS door. */
export async function dialTls(server: Pick<TestServer, 'sip'>): Promise<TLSSocket> {
  const port = portOf(server.sip('tls'));
  const socket = connectTls({ host: '127.0.0.1', port, ca: trusted });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

/** An offer of μ-law audio in SRTP at a port of 127.0.0.1. @param mki names its key, in an octet. */
export const offerAt = (port: number, mki?: number) =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/SAVP 0`,
    `a=crypto:1 ${suite} inline:${ours.key}${mki === undefined ? '' : `|2^20|${mki}:1`}`,
    '',
  ].join('\r\n');

export type RequestParts = {
  to: string;
  branch: string;
  callId?: string;
  cseq?: number;
  /** An SDP. */
  body?: string;
  /** Further header lines. */
  more?: readonly string[];
  via?: 'TLS' | 'WSS';
};

/** A request by the book of somebody who tells no name. */
export function sipRequest(
  method: string,
  { to, branch, callId = 'call', cseq = 1, body = '', more = [], via = 'TLS' }: RequestParts,
): string {
  const uri = /<([^>]*)>/.exec(to)![1];
  return [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/${via} 127.0.0.1:9;branch=z9hG4bK${branch}`,
    'Max-Forwards: 70',
    'From: <sip:anonymous@127.0.0.1>;tag=mine',
    `To: ${to}`,
    `Call-ID: ${callId}`,
    `CSeq: ${cseq} ${method}`,
    'Contact: <sip:me@127.0.0.1:9;transport=tls>',
    ...more,
    ...(body === '' ? [] : ['Content-Type: application/sdp']),
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** A phone that calls the echo over TLS with SRTP, and can say whether it still hears itself. */
export class Caller {
  #socket: TLSSocket;
  readonly #audio: UdpSocket;
  readonly #sealer: Sealer;
  readonly #messages: SipMessage[] = [];
  readonly rtp: number;
  readonly theirs: SrtpKey;
  #opener: Opener;
  #isClosed = false;
  /** The indices that have come from the server. */
  numbers: HeardNumbers = { audio: 0, control: 0, source: 0 };
  #heard = 0;
  #to = '';
  #callId = '';

  private constructor(socket: TLSSocket, audio: UdpSocket, answer: SipMessage, mki?: number) {
    const name = mki === undefined ? {} : { mki: Buffer.of(mki).toString('hex') };
    this.#sealer = new Sealer({ ...ours, ...name }, { audio: 0, control: 0 });
    this.#socket = socket;
    this.#audio = audio;
    const described = parseDescription(answer.bodyText);
    const stream = described.ok ? described.description.audios.find(({ secret }) => secret) : undefined;
    if (!stream?.keys?.[0]) throw new Error(`no key in the answer:\n${answer.bodyText}`);
    this.rtp = stream.port;
    this.theirs = stream.keys[0].key;
    this.#opener = new Opener(this.theirs, this.numbers);
    audio.on('message', (packet) => {
      if (this.#opener.audio(packet)) this.#heard++;
    });
  }

  /** From now on our packets have these indices, as if so many had come: the last one is known. */
  hasHeard(numbers: HeardNumbers): void {
    this.numbers = numbers;
    this.#opener = new Opener(this.theirs, numbers);
  }

  /** @param name tells it from others that call the same server. */
  static async call(server: Pick<TestServer, 'sip'>, mki?: number, name = 'call'): Promise<Caller> {
    const { rtp: audio } = await boundPair();
    const socket = await dialTls(server);
    const to = `<sip:600@${server.sip('tls')};transport=tls>`;
    socket.write(
      sipRequest('INVITE', { to, branch: `invite-${name}`, callId: name, body: offerAt(audio.address().port, mki) }),
    );
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
    const caller = new Caller(socket, audio, answer, mki);
    caller.#to = answer.header('to') ?? '';
    caller.#callId = name;
    socket.write(caller.#request('ACK', server, 1));
    caller.#listen();
    return caller;
  }

  #listen(): void {
    const socket = this.#socket;
    const framer = new StreamFramer();
    socket.on('data', (chunk: Buffer) => {
      for (const frame of framer.push(chunk)) {
        const parsed = frame.type === 'message' ? parseMessage(frame.bytes) : undefined;
        if (parsed?.ok) this.#messages.push(parsed.message);
      }
      socket.emit('heard');
    });
    socket.on('close', () => socket.emit('heard'));
  }

  /** Its connection is lost: it makes another one, and asks over it whether its call is still there. */
  async reconnect(server: Pick<TestServer, 'sip'>): Promise<void> {
    this.#socket.destroy();
    this.#socket = await dialTls(server);
    this.#listen();
    this.#socket.write(this.#request('OPTIONS', server, 2));
  }

  /** Resolves when the server ends its call. */
  async isHungUp(): Promise<void> {
    const bye = () => this.#messages.find((message) => message.kind === 'request' && message.method === 'BYE');
    while (!bye()) {
      assert.not(this.#socket.destroyed, 'its connection is closed');
      await once(this.#socket, 'heard');
    }
    const copied = ['via', 'from', 'to', 'call-id', 'cseq'];
    const lines = bye()!
      .headers()
      .flatMap(([name, value]) => (copied.includes(name.toLowerCase()) ? [`${name}: ${value}`] : []));
    this.#socket.write(['SIP/2.0 200 OK', ...lines, 'Content-Length: 0', '', ''].join('\r\n'));
    this.#socket.end();
  }

  /** A request inside its call. */
  #request(method: string, server: Pick<TestServer, 'sip'>, cseq: number): string {
    const to = this.#to.replace(/<[^>]*>/, `<sip:${server.sip('tls')};transport=tls>`);
    return sipRequest(method, { to, branch: `${method}-${this.#callId}`, callId: this.#callId, cseq });
  }

  /** Index of its next packet. */
  sequence = 100;

  /** A sealed packet of audio. */
  packet(): Buffer {
    const packet = Buffer.alloc(172, 0x55);
    packet.writeUInt16BE(0x8000);
    packet.writeUInt16BE(this.sequence & 0xffff, 2);
    packet.writeUInt32BE(this.sequence++ * 160, 4);
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

  /** Resolves when what is said, at the pace of audio, comes back. */
  async hearsItself(): Promise<void> {
    const before = this.#heard;
    const pace = setInterval(() => this.send(this.packet()), 20);
    try {
      while (this.#heard < before + 3) await once(this.#audio, 'message');
    } finally {
      clearInterval(pace);
    }
  }

  /** What phones send so that their connection is not closed as idle (RFC 5626 section 4.4.1). */
  keepsAlive(): void {
    this.#socket.write('\r\n\r\n');
  }

  async hangup(server: Pick<TestServer, 'sip'>): Promise<void> {
    this.#socket.write(this.#request('BYE', server, 3));
    while (!this.#messages.some((message) => message.kind === 'response' && message.cseq.method === 'BYE')) {
      assert.not(this.#socket.destroyed, 'its connection is closed');
      await once(this.#socket, 'heard');
    }
    this.close();
  }

  close(): void {
    this.#socket.destroy();
    if (!this.#isClosed) this.#audio.close();
    this.#isClosed = true;
  }
}

/** What is done to good octets: some of them changed, left out, or more put in. */
export const mutations = fc.array(
  fc.record({
    at: fc.nat(5_000),
    what: fc.constantFrom('flip', 'cut', 'put', 'end'),
    octets: fc.uint8Array({ maxLength: 20 }),
  }),
  { minLength: 1, maxLength: 4 },
);
export type Mutations = { at: number; what: 'flip' | 'cut' | 'put' | 'end'; octets: Uint8Array }[];

/** Good octets after what is done to them. */
export function mutated(good: Uint8Array, changes: Mutations): Buffer {
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
export async function clientHello(): Promise<Buffer> {
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

/** Resolves when a connection is closed. */
export const gone = (socket: Socket | WebSocket) =>
  new Promise<void>((resolve) => socket.once('close', () => resolve()));

/** Writes, ends, and waits until the server has read it all and closed. */
export async function writeAndGo(socket: Socket, octets: Buffer): Promise<void> {
  socket.on('error', () => {});
  socket.resume();
  const closed = gone(socket);
  socket.write(octets, () => socket.end());
  await closed;
}

/** A connection to the door of WebSockets. */
export async function dialWebSocket(server: Pick<TestServer, 'sip'>): Promise<WebSocket> {
  const socket = new WebSocket(`wss://${server.sip('wss')}`, ['sip'], { ca: trusted });
  socket.on('error', () => {});
  await once(socket, 'open');
  return socket;
}

/** What the JavaScript heap holds when all that can be let go of has been, in MB. */
export function heapMegabytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
