import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { type Ask, type SupervisedServer, startSupervised } from '../support/supervised-server.ts';

/** TLS handshakes when the server is replaced: none hangs, and clients connect again. */
const handshakes = suite('TLS handshakes that are under way');

const authority = new Authority();
const files = new CertificateFiles();
const tls = {
  certificates: [files.pair('own', authority.sign('127.0.0.1'))],
  authorities: [files.authority(authority)],
};
handshakes.after(() => files.close());

/** How far a client is: octets of its first message that it has sent. Behind all of it, it has got the server's answer. */
const sentFirst = {
  connected: 0,
  'within the first message': 50,
  'behind the first message': Number.POSITIVE_INFINITY,
};
type Moment = keyof typeof sentFirst;
const moments = Object.keys(sentFirst) as Moment[];

/** A connection that stops at a moment and goes on when the test says so. */
class Way extends Duplex {
  readonly #socket;
  #held: (() => void)[] | undefined = [];
  /** Octets of the first message that are sent. */
  #allowed: number;
  /** The client is at its moment. */
  readonly reached: Promise<unknown>;

  constructor(port: number, moment: Moment) {
    super();
    this.#allowed = sentFirst[moment];
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('data', (data) => this.push(data));
    this.#socket.on('end', () => this.push(null));
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
    this.reached = once(this.#socket, moment === 'behind the first message' ? 'data' : 'connect');
  }

  override _read(): void {}

  override _write(data: Buffer, _: string, done: (error?: Error | null) => void): void {
    const now = this.#held ? this.#allowed : data.length;
    this.#allowed = 0;
    this.#socket.write(data.subarray(0, now));
    if (now < data.length)
      this.#held?.push(() => {
        this.#socket.write(data.subarray(now));
        done();
      });
    else done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  goOn(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const each of held) each();
  }
}

/** How a protocol is spoken on a connection: one request, whose answer begins with a text. */
type Protocol = { request: string; answer: RegExp };

const sipOptions = [
  'OPTIONS sip:127.0.0.1 SIP/2.0',
  'Via: SIP/2.0/TLS 127.0.0.1:5061;branch=z9hG4bKhandshake',
  'Max-Forwards: 70',
  'From: <sip:a@127.0.0.1>;tag=1',
  'To: <sip:127.0.0.1>',
  'Call-ID: handshake',
  'CSeq: 1 OPTIONS',
  'Content-Length: 0',
  '\r\n',
].join('\r\n');
const sip: Protocol = { request: sipOptions, answer: /^SIP\/2\.0 \d/ };
const http: Protocol = {
  request: 'GET /ari/asterisk/ping HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n',
  answer: /^HTTP\/1\.1 \d/,
};

/** Sends a request when the handshake is done. @returns whether it is answered, or the connection closed. */
function converse(socket: TLSSocket, { request, answer }: Protocol): Promise<'answered' | 'closed'> {
  return new Promise((resolve) => {
    socket.setEncoding('utf8');
    socket.on('secureConnect', () => socket.write(request));
    socket.on('data', (text: string) => answer.test(text) && resolve('answered'));
    // Why does not matter: the client connects again.
    socket.on('error', () => {});
    socket.on('close', () => resolve('closed'));
  });
}

/** Asks over HTTPS. */
const ask: Ask = async (url, options) => {
  const asked = request(url, { ...options, ca: authority.own.certificate, agent: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode ?? 0 };
};

const trusted = { ca: authority.own.certificate, host: '127.0.0.1', servername: '' };

type Port = readonly [port: number, protocol: Protocol];

/** Clients stop at each moment, and go on when the server is replaced. */
async function replaced(server: SupervisedServer, ports: readonly Port[], replace: () => Promise<void>): Promise<void> {
  const clients = ports.flatMap(([port, protocol]) =>
    moments.map((moment) => {
      const way = new Way(port, moment);
      const socket = connectTls({ ...trusted, socket: way });
      return { port, protocol, moment, way, socket, outcome: converse(socket, protocol) };
    }),
  );
  await Promise.all(clients.map(({ way }) => way.reached));
  await replace();
  for (const { way } of clients) way.goOn();
  for (const { port, protocol, moment, socket, outcome } of clients) {
    const became = await outcome;
    socket.destroy();
    // One that no process had taken yet is the next one's.
    if (became === 'answered') assert.is.not(moment, 'behind the first message');
    const again = connectTls({ ...trusted, port });
    assert.is(await converse(again, protocol), 'answered', `${moment}: ${server.logged()}`);
    again.destroy();
  }
}

/** Clients connect again and again, and ask, while the server is replaced. */
async function meanwhile(ports: readonly Port[], replace: () => Promise<void>): Promise<void> {
  let isOver = false;
  const client = async ([port, protocol]: Port): Promise<number> => {
    let answered = 0;
    while (!isOver) {
      const socket = connectTls({ ...trusted, port });
      if ((await converse(socket, protocol)) === 'answered') answered++;
      socket.destroy();
    }
    return answered;
  };
  const clients = ports.flatMap((port) => [port, port, port]).map(client);
  await replace();
  isOver = true;
  for (const answered of await Promise.all(clients)) assert.ok(answered > 0);
}

const ways = { 'is upgraded': 'replace', 'is killed': 'kill' } as const;

for (const [what, way] of Object.entries(ways)) {
  handshakes(`of SIP over TLS and WSS end when the server ${what}, and clients connect again`, async () => {
    const server = await startSupervised({ tls });
    try {
      const ports: Port[] = [
        [server.tlsPort, sip],
        [server.wssPort, http],
      ];
      await replaced(server, ports, () => server[way]());
      await meanwhile(ports, () => server[way]());
    } finally {
      await server.close();
    }
  });

  handshakes(`of HTTPS end when the server ${what}, and clients connect again`, async () => {
    const server = await startSupervised({ tls, ask, more: { http: { tls: true } } });
    try {
      const ports: Port[] = [[server.httpPort, http]];
      await replaced(server, ports, () => server[way]());
      await meanwhile(ports, () => server[way]());
    } finally {
      await server.close();
    }
  });
}

handshakes.run();
