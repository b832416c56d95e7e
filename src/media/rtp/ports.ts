import type { Clock } from '../../lib/clock.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import { SharedPort } from '../webrtc/shared-port.ts';
import type { PacketSocket, Sockets } from './sockets.ts';

/** An even port for RTP and the odd one above it for RTCP (RFC 3550 section 11). */
export type PortPair = { rtp: PacketSocket; rtcp: PacketSocket };

/** Beginning of the error when no port pair is free. */
export const noPortFree = 'no free pair of RTP ports';

type PortPoolOptions = {
  clock: Clock;
  sockets: Sockets;
  address: string;
  /** First and last port; 0 and 0: the system chooses. */
  range: { first: number; last: number };
  /** Which of how many equal shares of the range is drawn from first; other pools have the others. All when left out. */
  share?: { at: number; of: number };
  /** How long a pair stays bound and deaf after use, in ms. */
  drainMs: number;
  /** 32 random bits, unpredictable to others. */
  random32: () => number;
  /** The UDP port that sessions of browsers share, and its kernel buffer in octets; no port: each has a pair of its own. */
  browsers?: { readonly udpPort?: number; readonly udpBufferBytes?: number } | undefined;
  hit?: LimitHit | undefined;
};

/** Of a session: the port that it had before a loss, and whether it is a browser's. */
type Wanted = { port?: number | undefined; gathers?: boolean | undefined };

const freeChoiceAttempts = 64;
/** Draws of a pair at random before the range is searched from the last one drawn. */
const draws = 16;

/**
 * Allocates port pairs at random, so that the next call's ports are unknown. A released pair stays bound for a while:
 * late packets of the old call never reach a new one. Pools with different shares leave each other's pairs alone while
 * their own have room: the pairs of a lost thread are still free when its calls are opened again.
 */
export class PortPool {
  readonly #options: PortPoolOptions;
  readonly #firstEven: number;
  readonly #pairsInRange: number;
  /** RTP ports of pairs that sessions hold. */
  readonly #taken = new Set<number>();
  /** RTP ports of the range that need not be tried: taken, draining, or just being bound. */
  readonly #busy = new Set<number>();
  readonly #draining = new Map<PortPair, unknown>();
  readonly #waiting: (() => void)[] = [];
  readonly #shared: SharedPort | undefined;
  #closed = false;

  constructor(options: PortPoolOptions) {
    this.#options = options;
    const { udpPort: port = 0, udpBufferBytes: bufferBytes } = options.browsers ?? {};
    if (port > 0) this.#shared = new SharedPort({ ...options, port, bufferBytes });
    this.#firstEven = options.range.first + (options.range.first % 2);
    this.#pairsInRange = Math.max(0, Math.floor((options.range.last - this.#firstEven + 1) / 2));
  }

  /** Pairs held by sessions, without draining ones, and sessions of the shared port. */
  get used(): number {
    return this.#taken.size + (this.#shared?.used ?? 0);
  }

  /** The ports of a session. @throws Error as {@link acquire} and {@link acquireAt}, or when the shared one cannot be bound. */
  async take({ port, gathers }: Wanted): Promise<PortPair> {
    if (this.#shared && (port === undefined ? gathers : port === this.#options.browsers?.udpPort)) {
      const rtp = await this.#shared.open();
      // RTCP has the port of RTP.
      return { rtp, rtcp: rtp };
    }
    return port === undefined ? this.acquire() : this.acquireAt(port);
  }

  /**
   * Binds a pair, or waits for a draining one. @throws Error if no pair is free and every draining one is awaited
   * already.
   */
  async acquire(): Promise<PortPair> {
    for (;;) {
      if (this.#closed) throw new Error('the media ports are closed');
      const pair = this.#options.range.last === 0 ? await this.#bindAny() : await this.#bindInRange();
      if (pair) {
        if (this.#closed) {
          closePair(pair);
          continue;
        }
        this.#taken.add(pair.rtp.port);
        return pair;
      }
      if (this.#waiting.length >= this.#draining.size) {
        const { first, last } = this.#options.range;
        throw new Error(`${noPortFree} in ${first}-${last} on ${this.#options.address}`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Binds the pair whose RTP port is `port`, after a loss. @throws Error if it fails. */
  async acquireAt(port: number): Promise<PortPair> {
    if (this.#busy.has(port)) throw new Error(`the RTP port ${port} is in use`);
    this.#busy.add(port);
    const pair = await this.#bindPair(port).catch(() => undefined);
    if (pair && !this.#closed) {
      this.#taken.add(port);
      return pair;
    }
    this.#busy.delete(port);
    if (pair) closePair(pair);
    throw new Error(`the RTP port ${port} could not be opened again`);
  }

  /** Takes a pair back. */
  release(pair: PortPair): void {
    if (pair.rtp.port === this.#options.browsers?.udpPort) pair.rtp.close();
    if (!this.#taken.delete(pair.rtp.port)) return;
    pair.rtp.listen(undefined);
    pair.rtcp.listen(undefined);
    pair.rtp.retire?.();
    pair.rtcp.retire?.();
    const timer = this.#options.clock.setTimeout(() => this.#drained(pair), this.#options.drainMs);
    this.#draining.set(pair, timer);
  }

  /** Closes what drains. Pairs held by sessions are theirs to give back before. */
  close(): void {
    this.#closed = true;
    this.#shared?.close();
    for (const [pair, timer] of this.#draining) {
      this.#options.clock.clearTimeout(timer);
      closePair(pair);
    }
    this.#draining.clear();
    for (const resume of this.#waiting.splice(0)) resume();
  }

  /** A pair is free: the first waiting request continues. All together would compete for it. */
  #drained(pair: PortPair): void {
    this.#draining.delete(pair);
    this.#busy.delete(pair.rtp.port);
    closePair(pair);
    this.#waiting.shift()?.();
  }

  async #bindInRange(): Promise<PortPair | undefined> {
    const { at, of } = this.#options.share ?? { at: 0, of: 1 };
    for (let share = 0; share < of; share++) {
      const pair = await this.#bindInShare((at + share) % of, of);
      if (pair) return pair;
    }
    return undefined;
  }

  async #bindInShare(at: number, of: number): Promise<PortPair | undefined> {
    const first = Math.floor((at * this.#pairsInRange) / of);
    const pairs = Math.floor(((at + 1) * this.#pairsInRange) / of) - first;
    const start = this.#draw(first, pairs);
    for (let attempt = 0; attempt < pairs; attempt++) {
      const port = this.#firstEven + 2 * (first + ((start + attempt) % pairs));
      if (this.#busy.has(port)) continue;
      this.#busy.add(port);
      let pair: PortPair | undefined;
      try {
        pair = await this.#bindPair(port);
      } finally {
        if (!pair) this.#busy.delete(port);
      }
      if (pair) return pair;
    }
    return undefined;
  }

  /** Index in a share of a pair to try first: a free one, if a few draws meet one. */
  #draw(first: number, pairs: number): number {
    let index = 0;
    for (let draw = 0; draw < draws; draw++) {
      index = Math.floor((this.#options.random32() / 0x1_0000_0000) * pairs);
      if (!this.#busy.has(this.#firstEven + 2 * (first + index))) break;
    }
    return index;
  }

  async #bindAny(): Promise<PortPair | undefined> {
    for (let attempt = 0; attempt < freeChoiceAttempts; attempt++) {
      const chosen = await this.#options.sockets.bind(this.#options.address, 0);
      const even = chosen.port % 2 === 0;
      const beside = even ? chosen.port + 1 : chosen.port - 1;
      const isOfBrowsers = [chosen.port, beside].includes(this.#options.browsers?.udpPort || -1);
      const other = isOfBrowsers ? undefined : await this.#tryBind(beside);
      if (other) return even ? { rtp: chosen, rtcp: other } : { rtp: other, rtcp: chosen };
      chosen.close();
    }
    return undefined;
  }

  async #bindPair(port: number): Promise<PortPair | undefined> {
    const rtp = await this.#tryBind(port);
    if (!rtp) return undefined;
    const rtcp = await this.#tryBind(port + 1);
    if (rtcp) return { rtp, rtcp };
    rtp.close();
    return undefined;
  }

  /** Undefined if the port is in use. @throws other errors (no such address). */
  async #tryBind(port: number): Promise<PacketSocket | undefined> {
    try {
      return await this.#options.sockets.bind(this.#options.address, port);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'EADDRINUSE' || code === 'EACCES') return undefined;
      throw error;
    }
  }
}

function closePair(pair: PortPair): void {
  pair.rtp.close();
  pair.rtcp.close();
}
