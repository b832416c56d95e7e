/** Phones and callers of the scale benchmark: plain datagrams, so that they cost less than what is measured. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { systemClock } from '../src/lib/clock.ts';
import { createIds } from '../src/lib/ids.ts';
import { createDigestClient } from '../src/sip/auth/client.ts';

type Answer = { status: number; text: string };

const ids = createIds(systemClock);
/** A request is sent again after this long, in ms. */
const againMs = 500;

/** A socket that sends requests of many phones and finds the final responses by Call-ID and CSeq. */
export class Phones {
  readonly #socket: Socket;
  readonly #port: number;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #address: string;

  private constructor(socket: Socket, address: string, port: number) {
    this.#socket = socket;
    this.#address = `${address}:${socket.address().port}`;
    this.#port = port;
    socket.on('message', (octets) => {
      const text = String(octets);
      const status = Number(/^SIP\/2\.0 (\d+)/.exec(text)?.[1]);
      if (!(status >= 200)) return;
      const key = keyOf(text);
      this.#waiting.get(key)?.({ status, text });
      this.#waiting.delete(key);
    });
  }

  /** @param port of the server. */
  static async open(address: string, port: number): Promise<Phones> {
    const socket = createSocket({ type: 'udp4', recvBufferSize: 4_000_000 }).bind(0, address);
    await once(socket, 'listening');
    return new Phones(socket, address, port);
  }

  /** Registers a phone for an hour. @throws Error if the server refuses. */
  async register(user: string, sequence: number): Promise<void> {
    const target = 'sip:127.0.0.1';
    const digest = createDigestClient([{ username: user, password: user }], ids);
    const head = (cseq: number, more: string) =>
      `REGISTER ${target} SIP/2.0\r\nVia: SIP/2.0/UDP ${this.#address};branch=z9hG4bK${user}-${cseq};rport\r\n` +
      `From: <sip:${user}@127.0.0.1>;tag=${user}\r\nTo: <sip:${user}@127.0.0.1>\r\nCall-ID: ${user}\r\n` +
      `CSeq: ${cseq} REGISTER\r\nContact: <sip:${user}@${this.#address}>\r\nExpires: 3600\r\nMax-Forwards: 70\r\n${more}` +
      'Content-Length: 0\r\n\r\n';
    const first = await this.#ask(head(sequence, ''));
    const value = /WWW-Authenticate: (.*)\r\n/.exec(first.text)?.[1] ?? '';
    digest.challenged([{ from: 'WWW-Authenticate', value }]);
    const more = digest.authorize('REGISTER', target).map((header) => `${header.name}: ${header.value}\r\n`);
    const { status, text } = await this.#ask(head(sequence + 1, more.join('')));
    if (status !== 200) throw new Error(`REGISTER was refused: ${text}`);
  }

  /** Makes a call that the server answers. @returns what hangs it up. @throws Error if the server refuses. */
  async call(extension: string): Promise<() => Promise<void>> {
    const id = ids.uuid();
    const [address, port] = this.#address.split(':');
    const sdp = `v=0\r\no=- 1 1 IN IP4 ${address}\r\ns=-\r\nc=IN IP4 ${address}\r\nt=0 0\r\nm=audio ${port} RTP/AVP 0\r\n`;
    const target = `sip:${extension}@127.0.0.1:${this.#port}`;
    const head = (method: string, cseq: number, to: string, uri: string, body = '') =>
      `${method} ${uri} SIP/2.0\r\nVia: SIP/2.0/UDP ${this.#address};branch=z9hG4bK${id}${method};rport\r\n` +
      `From: <sip:scale@${address}>;tag=${id}\r\nTo: <${target}>${to}\r\nCall-ID: ${id}\r\nCSeq: ${cseq} ${method}\r\n` +
      `Contact: <sip:scale@${this.#address}>\r\nMax-Forwards: 70\r\n` +
      `${body && 'Content-Type: application/sdp\r\n'}Content-Length: ${body.length}\r\n\r\n${body}`;
    const { status, text } = await this.#ask(head('INVITE', 1, '', target, sdp));
    const tag = `;tag=${/^To:.*;tag=([^\r;]+)/im.exec(text)?.[1]}`;
    const remote = /^Contact: <([^>]+)>/im.exec(text)?.[1] ?? target;
    this.#send(head('ACK', 1, tag, status === 200 ? remote : target));
    if (status !== 200) throw new Error(`INVITE was refused: ${text}`);
    return async () => void (await this.#ask(head('BYE', 2, tag, remote)));
  }

  close(): void {
    this.#socket.close();
  }

  #send(text: string): void {
    this.#socket.send(text, this.#port, '127.0.0.1');
  }

  async #ask(text: string): Promise<Answer> {
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(keyOf(text), resolve));
    this.#send(text);
    const again = setInterval(() => this.#send(text), againMs);
    const answer = await answered;
    clearInterval(again);
    return answer;
  }
}

const keyOf = (text: string): string =>
  `${/^Call-ID: (.*)\r$/im.exec(text)?.[1]} ${/^CSeq: (.*)\r$/im.exec(text)?.[1]}`;
