import type { RemoteInfo } from 'node:dgram';
import type { Clock } from '../../lib/clock.ts';
import { guarded, guardedClock } from '../../lib/guard.ts';
import type { Logger } from '../../lib/log.ts';
import { type ParseFailure, parseMessage, refuseMessage } from '../message/parse.ts';
import type { Frame } from '../message/stream-framer.ts';
import { formatVia } from '../message/via.ts';
import type { Gate } from './gate.ts';
import { createLocalAddresses } from './local-address.ts';
import { stampedVia } from './routing.ts';
import { TcpConnections, type TcpListener, type TcpOptions } from './tcp.ts';
import type { ConnectionLimits, TcpConnection } from './tcp-connection.ts';
import type {
  Listen,
  Listener,
  LocalAddress,
  MalformedHandler,
  MessageHandler,
  SendFailure,
  Source,
  Target,
  TransportCounts,
  Transports,
} from './transport.ts';
import { MAX_DATAGRAM_BYTES, type OpenUdp, openUdpSocket, type UdpSocket } from './udp.ts';

export type TransportsOptions = {
  readonly clock: Clock;
  readonly log: Logger;
  /** Times and sizes of TCP connections; what is left out has the default. */
  readonly limits?: TransportLimits;
  /** Opens UDP sockets; the system's when left out. */
  readonly openUdp?: OpenUdp | undefined;
  /** Decides which messages are read; without it all are. */
  readonly gate?: Pick<Gate, 'admits'> | undefined;
  /** Whether anybody at an address is known; without it everybody is. */
  readonly isKnownAddress?: ((address: string) => boolean) | undefined;
};

/** Limits of each TCP connection, and of all together. */
export type TransportLimits = Partial<
  ConnectionLimits & Pick<TcpOptions, 'maxConnections' | 'maxSourceConnections' | 'maxQueuedBytesInAll'>
>;

const defaultLimits = {
  connectTimeout: 5_000,
  idleTimeout: 1_800_000,
  partialTimeout: 30_000,
  firstMessageTimeout: 10_000,
  maxQueuedBytes: 65_536,
  maxConnections: 1_000,
  maxSourceConnections: 100,
  maxQueuedBytesInAll: 16_777_216,
};

type Bound = { readonly listener: Listener; readonly udp?: UdpSocket; readonly tcp?: TcpListener };

/** The sockets under the SIP stack: UDP and TCP over IPv4 and IPv6. Nothing is open before `bind`. */
export function createTransports(options: TransportsOptions): Transports {
  return new SocketTransports(options);
}

class SocketTransports implements Transports {
  readonly #log: Logger;
  readonly #openUdp: OpenUdp;
  readonly #gate: Pick<Gate, 'admits'> | undefined;
  readonly #tcp: TcpConnections;
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

  constructor({ clock, log, limits, openUdp = openUdpSocket, gate, isKnownAddress = () => true }: TransportsOptions) {
    this.#log = log;
    this.#openUdp = openUdp;
    this.#gate = gate;
    this.#localAddressFor = createLocalAddresses(clock);
    const all = { ...defaultLimits, ...limits };
    this.#tcp = new TcpConnections({
      clock: guardedClock(clock, log, 'a timer of a SIP connection'),
      limits: all,
      maxConnections: all.maxConnections,
      maxSourceConnections: all.maxSourceConnections,
      maxQueuedBytesInAll: all.maxQueuedBytesInAll,
      isKnownAddress,
      admits: (source) => gate?.admits(source) ?? true,
      onFrame: guarded(log, 'taking a SIP message from a stream', (frame: Frame, connection: TcpConnection) =>
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
    if (listen.protocol === 'tcp') {
      const tcp = await this.#tcp.listen(listen, id);
      return { listener: { ...listen, id, port: tcp.port }, tcp };
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
    if (!bound.udp) {
      this.#tcp.send(bytes, target, bound.listener.id, (failure) => this.#fail(failure, onFailure));
      return;
    }
    bound.udp.send(bytes, target.address, target.port, (cause) => {
      if (!cause) return;
      const isTooLarge = (cause as NodeJS.ErrnoException).code === 'EMSGSIZE';
      this.#fail({ reason: isTooLarge ? 'too-large' : 'io', target, cause }, onFailure);
    });
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
    return { host: advertisedHost ?? own, port: advertisedPort ?? port };
  }

  counts(): TransportCounts {
    return {
      received: this.#received,
      sent: this.#sent,
      malformed: this.#malformed,
      sendFailures: this.#sendFailures,
      connections: this.#tcp.size,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const listening = this.#bound.splice(0).map(closeBound);
    await Promise.all([...listening, this.#tcp.close()]);
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
    // Keep-alives: nothing but line ends, a zero byte, or STUN (RFC 5626 3.5.2), whose first two bits are zero.
    if (start === bytes.length || bytes[start]! < 4) return;
    if (this.#gate && !this.#gate.admits(source)) return;
    this.#take(start === 0 ? bytes : bytes.subarray(start), source);
  }

  #takeFrame(frame: Frame, connection: TcpConnection): void {
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
    if (message.kind === 'request') {
      const stamped = stampedVia(message.topVia!, source);
      if (stamped) message.setTopVia(formatVia(stamped));
    }
    this.#guard(() => this.#onMessage(message, source));
    return true;
  }

  #reportMalformed(failure: ParseFailure, source: Source): void {
    this.#malformed++;
    this.#log.debug({ problem: failure.problem, method: failure.method, source }, 'a malformed SIP message came in');
    this.#guard(() => this.#onMalformed(failure, source));
  }

  /** Whatever the layers above throw must not end the process or starve the other receivers. */
  #guard(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error({ error }, 'a receiver of SIP messages threw');
    }
  }
}

async function closeBound({ udp, tcp }: Bound): Promise<void> {
  await udp?.close();
  await tcp?.close();
}

/** Enough for literal addresses, and far cheaper than checking every digit for each send. */
function isIPv6Literal(address: string): boolean {
  return address.indexOf(':') >= 0;
}
