import type { RemoteInfo } from 'node:dgram';
import type { Clock } from '../../lib/clock.ts';
import { guarded, guardedClock } from '../../lib/guard.ts';
import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';
import type { ListeningSockets } from '../../lib/listening-sockets.ts';
import type { Logger } from '../../lib/log.ts';
import { isBindingRequest, writeBindingResponse } from '../../lib/stun.ts';
import { createTally } from '../../lib/tally.ts';
import type { TlsKeys } from '../../lib/tls.ts';
import { buildResponse } from '../message/build.ts';
import type { SipRequest } from '../message/message.ts';
import { type ParseFailure, parseMessage, refuseMessage } from '../message/parse.ts';
import type { Frame } from '../message/stream-framer.ts';
import { formatVia } from '../message/via.ts';
import type { Connection, ConnectionLimits } from './connection.ts';
import { Connections, type ConnectionsOptions, type StreamListener } from './connections.ts';
import { Intake } from './intake.ts';
import { kindOf } from './kind.ts';
import { createLocalAddresses } from './local-address.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { stampedVia } from './routing.ts';
import type {
  LeavingTransports,
  Listen,
  Listener,
  LocalAddress,
  MalformedHandler,
  MessageHandler,
  SendFailure,
  Source,
  Target,
  TrafficWatch,
  TransportCounts,
  Transports,
} from './transport.ts';
import { MAX_DATAGRAM_BYTES, type OpenUdp, openHeldUdp, openUdpSocket, type UdpSocket } from './udp.ts';

export type TransportsOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Times and sizes of connections; what is left out has the default. */
  readonly limits?: TransportLimits;
  /** Opens UDP sockets; the system's when left out. */
  readonly openUdp?: OpenUdp | undefined;
  /** Opens listening sockets of connections; left out: they are this process's alone. */
  readonly held?: ListeningSockets | undefined;
  /** Decides which messages are read; without it all are. */
  readonly rateLimiter?: Pick<RateLimiter, 'admits'> | undefined;
  /** Gets every received and sent message. */
  readonly traffic?: TrafficWatch | undefined;
  /** Counts limits that were reached. */
  readonly hit?: LimitHit | undefined;
  /** Whether anybody at an address is known; without it everybody is. */
  readonly isKnownAddress?: ((address: string) => boolean) | undefined;
  /** Whether a copy of this request is in work or answered; left out: none is. */
  readonly isBegun?: ((request: SipRequest) => boolean) | undefined;
  /** Certificates and authorities; without them there is no TLS. */
  readonly tls?: TlsKeys | undefined;
  /** Our address as peers see it that are not at one of our own networks; undefined where that is ours. */
  readonly outside?: ((peer: string) => string | undefined) | undefined;
  /** Whether a web page of that origin may connect over WebSocket; without it none may. */
  readonly allowsOrigin?: ((origin: string) => boolean) | undefined;
};

/** Limits of each connection, and of all together. */
export type TransportLimits = Partial<
  ConnectionLimits &
    Pick<
      ConnectionsOptions,
      'maxConnections' | 'maxSourceConnections' | 'maxSourceHandshakes' | 'handshakeTimeout' | 'maxQueuedBytesInAll'
    > & {
      /** UDP messages that may wait to be handled. */
      maxWaiting: number;
    }
>;

const defaultLimits = {
  connectTimeout: 5_000,
  idleTimeout: 1_800_000,
  partialTimeout: 30_000,
  firstMessageTimeout: 10_000,
  maxQueuedBytes: 65_536,
  maxConnections: 1_000,
  maxSourceConnections: 100,
  maxSourceHandshakes: 16,
  handshakeTimeout: 10_000,
  maxQueuedBytesInAll: 16_777_216,
  maxWaiting: 10_000,
};

type Bound = { readonly listener: Listener; readonly udp?: UdpSocket; readonly stream?: StreamListener };

/** The sockets under the SIP stack: UDP, TCP, TLS and WebSocket over IPv4 and IPv6. Nothing is open before `bind`. */
export function createTransports(options: TransportsOptions): Transports & LeavingTransports {
  return new SocketTransports(options);
}

class SocketTransports implements Transports, LeavingTransports {
  readonly #log: Logger;
  readonly #openUdp: OpenUdp;
  readonly #outside: (peer: string) => string | undefined;
  readonly #rateLimiter: Pick<RateLimiter, 'admits'> | undefined;
  readonly #traffic: TrafficWatch | undefined;
  readonly #connections: Connections;
  readonly #intake: Intake;
  readonly #isBegun: (request: SipRequest) => boolean;
  readonly #localAddressFor: (peer: string) => string;
  readonly #bound: Bound[] = [];
  readonly #closedHandlers: ((connection: number, target: Target) => void)[] = [];
  #onMessage: MessageHandler = () => {};
  #onMalformed: MalformedHandler = () => {};
  #closed = false;
  #nextListener = 1;
  #received = 0;
  #sent = 0;
  #malformed = 0;
  #sendFailures = 0;

  constructor({
    clock,
    log,
    limits,
    held,
    openUdp = held ? openHeldUdp(held) : openUdpSocket,
    rateLimiter,
    isKnownAddress = () => true,
    isBegun = () => false,
    tls,
    allowsOrigin = () => false,
    outside = () => undefined,
    traffic,
    hit = uncounted,
  }: TransportsOptions) {
    const refusals = createTally(clock, log, 'peers were refused by the TLS check of SIP');
    this.#log = log;
    this.#isBegun = isBegun;
    this.#traffic = traffic;
    this.#openUdp = openUdp;
    this.#outside = outside;
    this.#rateLimiter = rateLimiter;
    this.#localAddressFor = createLocalAddresses(clock);
    const all = { ...defaultLimits, ...limits };
    this.#intake = new Intake({
      clock: guardedClock(clock, log, 'taking SIP datagrams'),
      most: all.maxWaiting,
      take: guarded(log, 'taking a SIP datagram', (bytes: Buffer, source: Source) => void this.#take(bytes, source)),
      callWaits: guarded(log, 'answering 100 Trying', (bytes, source) => this.#tellTrying(bytes, source)),
      full: () => hit('sip.limits.waiting'),
    });
    this.#connections = new Connections({
      clock: guardedClock(clock, log, 'a timer of a SIP connection'),
      limits: all,
      maxConnections: all.maxConnections,
      maxSourceConnections: all.maxSourceConnections,
      maxSourceHandshakes: all.maxSourceHandshakes,
      handshakeTimeout: all.handshakeTimeout,
      held,
      tls,
      allowsOrigin,
      onRefused: ({ address, port }, protocol, reason) => refusals({ protocol, address, port, reason }),
      onDistrusted: ({ address, port, serverName: name }, error) =>
        log.warn(
          { address, port, name, reason: error.message },
          'a SIP peer has no valid TLS certificate: nothing was sent to it',
        ),
      maxQueuedBytesInAll: all.maxQueuedBytesInAll,
      hit,
      isKnownAddress,
      admits: (source) => rateLimiter?.admits(source) ?? true,
      onFrame: guarded(log, 'taking a SIP message from a stream', (frame: Frame, connection: Connection) =>
        this.#takeFrame(frame, connection),
      ),
      onClosed: (connection, target) => {
        for (const handler of this.#closedHandlers) this.#guard(() => handler(connection, target));
      },
      onError: (error) => log.error({ error }, 'a listening SIP socket failed'),
    });
  }

  get listeners(): readonly Listener[] {
    return this.#bound.map(({ listener }) => listener);
  }

  async bind(listens: readonly Listen[]): Promise<readonly Listener[]> {
    const opened: Bound[] = [];
    try {
      for (const listen of listens) opened.push(await this.#open(listen));
    } catch (error) {
      await Promise.all(opened.map(closeBound));
      throw error;
    }
    this.#bound.push(...opened);
    return opened.map(({ listener }) => listener);
  }

  async #open(listen: Listen): Promise<Bound> {
    const id = this.#nextListener++;
    if (kindOf(listen.protocol).reliable) {
      const stream = await this.#connections.listen(listen, id);
      return { listener: { ...listen, id, port: stream.port }, stream };
    }
    const udp = await this.#openUdp({
      listen,
      onDatagram: guarded(this.#log, 'taking a SIP datagram', (bytes: Buffer, from: RemoteInfo) =>
        this.#takeDatagram(bytes, from, id),
      ),
      onError: (error) => this.#log.warn({ error }, 'a SIP socket reported an error'),
    });
    return { listener: { ...listen, id, port: udp.port }, udp };
  }

  onMessage(handler: MessageHandler): void {
    this.#onMessage = handler;
  }

  onMalformed(handler: MalformedHandler): void {
    this.#onMalformed = handler;
  }

  onConnectionClosed(handler: (connection: number, target: Target) => void): void {
    this.#closedHandlers.push(handler);
  }

  send(bytes: Buffer, target: Target, onFailure: (failure: SendFailure) => void = () => {}): void {
    const bound = this.#boundFor(target);
    const limit = isIPv6Literal(target.address) ? MAX_DATAGRAM_BYTES.udp6 : MAX_DATAGRAM_BYTES.udp4;
    if (this.#closed) this.#fail({ reason: 'closed', target }, onFailure);
    else if (!bound) this.#fail({ reason: 'no-listener', target }, onFailure);
    else if (target.port < 1 || target.port > 65535) this.#fail({ reason: 'io', target }, onFailure);
    else if (bound.udp && bytes.length > limit) this.#fail({ reason: 'too-large', target }, onFailure);
    else {
      try {
        this.#sendOver(bound, bytes, target, onFailure);
      } catch (cause) {
        this.#fail({ reason: 'io', target, cause }, onFailure);
      }
    }
  }

  #sendOver(bound: Bound, bytes: Buffer, target: Target, onFailure: (failure: SendFailure) => void): void {
    this.#sent++;
    this.#hear('out', bytes, target, bound.listener);
    if (!bound.udp) {
      this.#connections.send(bytes, target, bound.listener.id, (failure) => this.#fail(failure, onFailure));
      return;
    }
    bound.udp.send(bytes, target.address, target.port, (cause) => {
      if (!cause) return;
      const isTooLarge = (cause as NodeJS.ErrnoException).code === 'EMSGSIZE';
      this.#fail({ reason: isTooLarge ? 'too-large' : 'io', target, cause }, onFailure);
    });
  }

  #hear(direction: 'in' | 'out', bytes: Buffer, peer: Target, { host, port }: Listener): void {
    const traffic = this.#traffic;
    if (!traffic?.isHeard) return;
    const own = host === '0.0.0.0' || host === '::' ? this.#localAddressFor(peer.address) : host;
    this.#guard(() => traffic.hear(direction, bytes, { host: own, port }, peer));
  }

  #fail(failure: SendFailure, onFailure: (failure: SendFailure) => void): void {
    this.#sendFailures++;
    const { reason, target, cause } = failure;
    this.#log.debug({ reason, target, error: cause }, 'a SIP message was not sent');
    queueMicrotask(() => this.#guard(() => onFailure(failure)));
  }

  localAddress(target: Target): LocalAddress | undefined {
    const bound = this.#boundFor(target);
    if (!bound) return undefined;
    const { host, port, advertisedHost, advertisedPort } = bound.listener;
    const own = host === '0.0.0.0' || host === '::' ? this.#localAddressFor(target.address) : host;
    return { host: advertisedHost ?? this.#outside(target.address) ?? own, port: advertisedPort ?? port };
  }

  isConnected(target: Target): boolean {
    return !kindOf(target.protocol).reliable || this.#connections.has(target);
  }

  get waitedMs(): number {
    return this.#intake.waitedMs;
  }

  counts(): TransportCounts {
    return {
      received: this.#received,
      sent: this.#sent,
      malformed: this.#malformed,
      sendFailures: this.#sendFailures,
      connections: this.#connections.size,
    };
  }

  async leave(): Promise<void> {
    for (const { stream } of this.#bound) void stream?.close();
    await this.#connections.entered();
  }

  cut(): void {
    this.#connections.cut();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#intake.close();
    const listening = this.#bound.splice(0).map(closeBound);
    await Promise.all([...listening, this.#connections.close()]);
  }

  /** The listener the target names, else the first of its protocol and address family. */
  #boundFor(target: Target): Bound | undefined {
    let first: Bound | undefined;
    for (const bound of this.#bound) {
      const { id, protocol, host } = bound.listener;
      if (protocol !== target.protocol || isIPv6Literal(host) !== isIPv6Literal(target.address)) continue;
      if (id === target.listener) return bound;
      first ??= bound;
    }
    return first;
  }

  #takeDatagram(bytes: Buffer, from: RemoteInfo, listener: number): void {
    const source: Source = { protocol: 'udp', address: from.address, port: from.port, listener };
    let start = 0;
    while (start < bytes.length && (bytes[start] === 13 || bytes[start] === 10)) start++;
    // Keep-alives: nothing but line ends, a zero byte, or other STUN than a question, whose first two bits are zero.
    const isStun = start === 0 && bytes.length > 0 && isBindingRequest(bytes);
    if (start === bytes.length || (bytes[start]! < 4 && !isStun)) return;
    if (this.#rateLimiter && !this.#rateLimiter.admits(source)) return;
    // RFC 5626 4.4.2, 5.4: a phone finds out in this way whether its NAT still lets us through.
    if (isStun) this.#answerStun(bytes, source);
    else this.#intake.arrived(start === 0 ? bytes : bytes.subarray(start), source);
  }

  /** Answers an INVITE that has to wait with 100, outside any transaction, so that its sender does not repeat it. */
  #tellTrying(bytes: Buffer, source: Source): void {
    const result = parseMessage(bytes);
    if (!result.ok || result.message.kind !== 'request' || result.message.method !== 'INVITE') return;
    const { message } = result;
    // A 100 behind the final response would be wrong: the transaction repeats that when the copy has its turn.
    if (this.#isBegun(message)) return;
    const stamped = stampedVia(message.topVia!, source);
    if (stamped) message.setTopVia(formatVia(stamped));
    this.send(buildResponse(message, 100).toBuffer(), source);
  }

  #answerStun(request: Buffer, source: Source): void {
    const response = writeBindingResponse(request, source);
    if (response) this.send(response, source);
  }

  #takeFrame(frame: Frame, connection: Connection): void {
    if (frame.type === 'message' && this.#take(frame.bytes, connection.source)) connection.prove();
    if (frame.type !== 'broken') return;
    this.#received++;
    const head = frame.head && parseMessage(frame.head);
    const failure: ParseFailure = !head
      ? { problem: frame.problem, status: 400 }
      : head.ok
        ? refuseMessage(head.message, frame.problem, 400)
        : head.failure;
    this.#reportMalformed(failure, connection.source);
    connection.end();
  }

  /** False when it was no message. */
  #take(bytes: Buffer, source: Source): boolean {
    this.#received++;
    const result = parseMessage(bytes);
    if (!result.ok) {
      this.#reportMalformed(result.failure, source);
      return false;
    }
    const { message } = result;
    const listener = this.#traffic?.isHeard && this.#boundFor(source)?.listener;
    if (listener) this.#hear('in', bytes, source, listener);
    if (message.kind === 'request') {
      const stamped = stampedVia(message.topVia!, source);
      if (stamped) message.setTopVia(formatVia(stamped));
    }
    this.#guard(() => this.#onMessage(message, source));
    return true;
  }

  #reportMalformed(failure: ParseFailure, source: Source): void {
    this.#malformed++;
    this.#log.debug({ problem: failure.problem, method: failure.method, source }, 'received a malformed SIP message');
    this.#guard(() => this.#onMalformed(failure, source));
  }

  /** Exceptions of upper layers must not end the process or starve other receivers. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ error }, 'a receiver of SIP messages failed');
    }
  }
}

async function closeBound({ udp, stream }: Bound): Promise<void> {
  await udp?.close();
  await stream?.close();
}

/** Enough for literal addresses, and far cheaper than checking every digit for each send. */
function isIPv6Literal(address: string): boolean {
  return address.indexOf(':') >= 0;
}
