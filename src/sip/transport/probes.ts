import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Target } from './transport.ts';

/**
 * Sends a keep-alive to a UDP port from its own socket, and reports an ICMP refusal by network or host.
 * @param refused called at most once, and never before this returns.
 * @returns closes the socket.
 */
export type OpenProbe = (address: string, port: number, refused: () => void) => () => void;

/** ICMP errors as the system reports them (icmp(7)). Other failures are local. */
const refusals: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH']);

/** Phones and servers skip this between messages (RFC 3261 7.5). */
const keepAlive = Buffer.from('\r\n\r\n');

/** Only a connected socket hears ICMP errors; the socket that all messages share is not connected. */
export const openUdpProbe: OpenProbe = (address, port, refused) => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  let isOpen = true;
  const close = (): void => {
    if (isOpen) socket.close();
    isOpen = false;
  };
  const failed = (error: NodeJS.ErrnoException | null): void => {
    if (!error || !isOpen) return;
    close();
    if (refusals.has(error.code)) refused();
  };
  socket.on('error', failed);
  // With a function Node hands it failures to connect; without one they are events.
  socket.connect(port, address, () => isOpen && socket.send(keepAlive, failed));
  return close;
};

type Probe = { readonly waiting: Set<() => void>; readonly close: () => void };

/** Asks of silent UDP servers whether they are there at all. Requests to one server share a socket. */
export class Probes {
  readonly #open: OpenProbe;
  readonly #most: () => number;
  readonly #hit: LimitHit;
  readonly #probes = new Map<string, Probe>();

  /** @param most servers that are asked at a time; read at each question, so that it can change meanwhile. */
  constructor(open: OpenProbe, most: () => number, hit: LimitHit) {
    this.#open = open;
    this.#most = most;
    this.#hit = hit;
  }

  /** Servers that are being asked. */
  get size(): number {
    return this.#probes.size;
  }

  /**
   * Asks a server.
   * @param refused hears it at most once if no packet reaches its port; nothing comes if there are too many questions already.
   * @returns ends the question; `refused` is not called afterwards.
   */
  ask({ address, port }: Target, refused: () => void): () => void {
    const key = `${address} ${port}`;
    const probe = this.#probes.get(key) ?? this.#begin(key, address, port);
    if (!probe) return () => {};
    // Its own identity: two requests may hand in the same function.
    const told = (): void => refused();
    probe.waiting.add(told);
    return () => {
      if (!probe.waiting.delete(told) || probe.waiting.size > 0) return;
      this.#probes.delete(key);
      probe.close();
    };
  }

  #begin(key: string, address: string, port: number): Probe | undefined {
    if (this.#probes.size >= this.#most()) {
      if (this.#most() > 0) this.#hit('sip.dns.most_probes');
      return undefined;
    }
    const waiting = new Set<() => void>();
    const close = this.#open(address, port, () => {
      this.#probes.delete(key);
      for (const told of [...waiting]) if (waiting.delete(told)) told();
    });
    const probe = { waiting, close };
    this.#probes.set(key, probe);
    return probe;
  }

  /** Ends all questions. */
  close(): void {
    for (const { close, waiting } of this.#probes.values()) {
      waiting.clear();
      close();
    }
    this.#probes.clear();
  }
}
