import { isIP } from 'node:net';
import { type BuildResponseOptions, buildRequest, buildResponse } from '../../../src/sip/message/build.ts';
import type { SipMessage, SipRequest } from '../../../src/sip/message/message.ts';
import { parseMessage } from '../../../src/sip/message/parse.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { Step } from '../../../src/sip/transaction/runner.ts';
import type { ClientHandlers } from '../../../src/sip/transaction/transaction.ts';
import type { Protocol } from '../../../src/sip/transport/kind.ts';
import type {
  MalformedHandler,
  MessageHandler,
  SendFailure,
  Source,
  Target,
} from '../../../src/sip/transport/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';

export type Sent = { readonly message: SipMessage; readonly target: Target; readonly at: number };

/** A network of which the test is both ends: it keeps what is sent and hands in what it likes. */
export class FakeTransports {
  readonly sent: Sent[] = [];
  /** Answers to what was malformed repeat its headers: such ones are kept here when they shall be borne. */
  readonly malformed: Buffer[] = [];
  keepsMalformed = false;
  /** Connections that are closed. */
  readonly #gone = new Set<number>();
  readonly #clock: ManualClock;
  readonly #start: number;
  failWith: SendFailure['reason'] | undefined;
  #onMessage: MessageHandler = () => {};
  #onMalformed: MalformedHandler = () => {};
  #onClosed: (connection: number, target: Target) => void = () => {};

  constructor(clock: ManualClock) {
    this.#clock = clock;
    this.#start = clock.now();
  }

  onMessage(handler: MessageHandler): void {
    this.#onMessage = handler;
  }

  onMalformed(handler: MalformedHandler): void {
    this.#onMalformed = handler;
  }

  onConnectionClosed(handler: (connection: number, target: Target) => void): void {
    this.#onClosed = handler;
  }

  /** The connection to a peer is gone. */
  closeConnection({ connection, ...target }: Target): void {
    this.#gone.add(connection!);
    this.#onClosed(connection!, target);
  }

  isConnected({ connection }: Target): boolean {
    return connection === undefined || !this.#gone.has(connection);
  }

  localAddress(): { host: string; port: number } {
    return { host: '192.0.2.1', port: 5060 };
  }

  send(bytes: Buffer, target: Target, onFailure?: (failure: SendFailure) => void): void {
    const reason = this.failWith;
    if (reason) {
      queueMicrotask(() => onFailure?.({ reason, target }));
      return;
    }
    if (isIP(target.address) === 0) throw new TypeError(`"${target.address}" is no address to send to`);
    const result = parseMessage(bytes);
    if (!result.ok && this.keepsMalformed) return void this.malformed.push(bytes);
    if (!result.ok) throw new Error(`sent a malformed message: ${result.failure.problem}`);
    this.sent.push({ message: result.message, target, at: this.#clock.now() - this.#start });
  }

  /** Hands in a message as it would come from the network. */
  deliver(message: SipMessage | string, source: Source = peer('udp')): void {
    const bytes = typeof message === 'string' ? Buffer.from(message.replaceAll(/\r?\n/g, '\r\n')) : message.toBuffer();
    this.deliverOctets(bytes, source);
  }

  /** Hands in octets, whatever they are. */
  deliverOctets(bytes: Buffer, source: Source = peer('udp')): void {
    const result = parseMessage(bytes);
    if (result.ok) this.#onMessage(result.message, source);
    else this.#onMalformed(result.failure, source);
  }

  /** What was sent since the last call, as [ms since the start, first word and status or method]. */
  take(): [at: number, what: string][] {
    return this.sent.splice(0).map(({ message, at }) => [at, whatIs(message)]);
  }
}

export function whatIs(message: SipMessage): string {
  return message.kind === 'request' ? message.method : `${message.status} ${message.cseq.method}`;
}

export function peer(protocol: Protocol, port = 5070): Source {
  return { protocol, address: '192.0.2.9', port, listener: 1, connection: protocol === 'tcp' ? 7 : undefined };
}

const silent = () => {};
const noLog = { trace: silent, debug: silent, info: silent, warn: silent, error: silent };

/** A layer on simulated time and network, and the lists of what its users were told. */
export function createBench(options: { onStep?: (step: Step) => void; protocol?: Protocol } = {}) {
  const clock = new ManualClock();
  const transports = new FakeTransports(clock);
  let ids = 0;
  const hex = (digits: number) => (++ids).toString(16).padStart(digits, '0');
  const errors: string[] = [];
  const log = {
    ...noLog,
    error: (_: object, text: string) => errors.push(text),
    child: () => log,
    enabled: () => false,
  };
  const layer = createTransactionLayer({
    transports,
    clock,
    ids: { mark: '', channel: () => hex(8), uuid: () => hex(8), hex, secret: hex },
    log,
    inspect: options.onStep,
  });
  const told: string[] = [];
  const handlers: ClientHandlers = {
    onProvisional: (response) => told.push(`provisional ${response.status}`),
    onFinal: (response) => told.push(`final ${response.status}`),
    onTimeout: () => told.push('timeout'),
    onTransportError: (failure) => told.push(`transport error ${failure.reason}`),
    onTerminated: () => told.push('terminated'),
  };
  const target: Target = peer(options.protocol ?? 'udp');
  return { clock, transports, layer, told, errors, handlers, target };
}

/** A request of ours; its To has no tag. */
export function outgoing(method: string): SipRequest {
  return buildRequest({
    method,
    uri: 'sip:bob@192.0.2.9',
    from: '<sip:alice@192.0.2.1>;tag=from1',
    to: '<sip:bob@192.0.2.9>',
    callId: 'call-1',
    cseq: 7,
    routes: ['<sip:proxy.example.com;lr>'],
  });
}

/** A request of the peer's. */
export function incoming(
  method: string,
  options: { branch?: string; callId?: string; toTag?: string } = {},
): SipRequest {
  return buildRequest({
    method,
    uri: 'sip:service@192.0.2.1',
    from: '<sip:carol@192.0.2.9>;tag=carol1',
    to: `<sip:service@192.0.2.1>${options.toTag ? `;tag=${options.toTag}` : ''}`,
    callId: options.callId ?? 'call-2',
    cseq: 1,
  }).prepend('Via', `SIP/2.0/UDP 192.0.2.9:5070;branch=${options.branch ?? 'z9hG4bKone'};rport=5070`);
}

/** The peer's answer to a request of ours. */
export function answer(request: SipRequest, status: number, options: BuildResponseOptions = {}) {
  return buildResponse(request, status, { toTag: 'peer1', ...options });
}

/** Lets callbacks that wait for the end of the present work run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
