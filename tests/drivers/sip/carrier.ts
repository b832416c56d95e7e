import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  type BuildResponseOptions,
  buildRequest,
  buildResponse,
  type HeaderLines,
} from '../../../src/sip/message/build.ts';
import type { SipMessage, SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import { parseMessage } from '../../../src/sip/message/parse.ts';
import { isControl } from '../../support/rtp-peer.ts';
import { untilHolds } from '../../support/waiting.ts';

/** Audio at a port of this machine, in one format. */
export const audioAt = (port: number, direction = 'sendrecv'): string =>
  [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    `m=audio ${port} RTP/AVP 0`,
    'a=rtpmap:0 PCMU/8000',
    `a=${direction}`,
    '',
  ].join('\r\n');

/** The other side of a line, octet by octet: it says what a test tells it to, and keeps what it hears, in order. */
export class Carrier {
  readonly #socket: Socket;
  readonly #heard: SipMessage[] = [];
  readonly #wakes = new Set<() => void>();
  #there = 0;
  #branches = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (data, { port }) => {
      if (isControl(data)) return;
      const parsed = parseMessage(data);
      if (!parsed.ok) throw new Error(parsed.failure.problem);
      this.#there = port;
      this.#heard.push(parsed.message);
      for (const wake of [...this.#wakes]) wake();
    });
  }

  /** @param address that it sends from. */
  static async open(address = '127.0.0.1'): Promise<Carrier> {
    const socket = createSocket('udp4');
    socket.bind(0, address);
    await once(socket, 'listening');
    return new Carrier(socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  get uri(): string {
    return `sip:127.0.0.1:${this.port}`;
  }

  /** The next message that fits, heard or to be heard; those before it are forgotten. */
  async next<M extends SipMessage>(fits: (message: SipMessage) => message is M): Promise<M> {
    await untilHolds(
      this.#wakes,
      () => this.#heard.some(fits),
      () => 'never heard',
    );
    return this.#heard.splice(0, this.#heard.findIndex(fits) + 1).at(-1) as M;
  }

  request(method: string): Promise<SipRequest> {
    return this.next((message): message is SipRequest => message.kind === 'request' && message.method === method);
  }

  /** The next response to a request of that method, of that call where one is named, 100 aside. */
  response(method: string, callId?: string): Promise<SipResponse> {
    return this.next(
      (message): message is SipResponse =>
        message.kind === 'response' &&
        message.status > 100 &&
        message.cseq.method === method &&
        (callId === undefined || message.callId === callId),
    );
  }

  /** Answers a request. */
  reply(request: SipRequest, status: number, { sdp, ...options }: BuildResponseOptions & { sdp?: string } = {}): void {
    this.#send(
      buildResponse(request, status, {
        toTag: 'carrier',
        contact: `<${this.uri}>`,
        ...(sdp !== undefined && { contentType: 'application/sdp', body: sdp }),
        ...options,
      }),
    );
  }

  /** Sends a request to a port of this machine. */
  send({
    method,
    port = this.#there,
    number = 1,
    callId = 'carrier-call',
    tag = 'carrier',
    from = `<sip:400@127.0.0.1>`,
    toTag,
    user = '600',
    headers = [],
    sdp,
    contentType = 'application/sdp',
    contact = `<${this.uri}>`,
    branch = `z9hG4bK-${++this.#branches}-${this.port}`,
  }: {
    method: string;
    port?: number;
    number?: number;
    callId?: string;
    tag?: string;
    from?: string;
    toTag?: string | undefined;
    user?: string;
    headers?: HeaderLines;
    sdp?: string;
    contentType?: string;
    /** '' leaves it out. */
    contact?: string;
    branch?: string;
  }): void {
    const uri = `sip:${user}@127.0.0.1:${port}`;
    const message = buildRequest({
      method,
      uri,
      from: `${from};tag=${tag}`,
      to: `<${uri}>${toTag === undefined ? '' : `;tag=${toTag}`}`,
      callId,
      cseq: number,
      ...(contact && { contact }),
      headers,
      ...(sdp !== undefined && { contentType: contentType || undefined, body: sdp }),
    });
    this.#there = port;
    this.#send(message.prepend('Via', `SIP/2.0/UDP 127.0.0.1:${this.port};branch=${branch}`));
  }

  async close(): Promise<void> {
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  #send(message: SipMessage): void {
    this.#socket.send(message.toBuffer(), this.#there, '127.0.0.1');
  }
}
