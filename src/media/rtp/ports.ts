import type { Clock } from '../../lib/clock.ts';
import type { PacketSocket, Sockets } from './sockets.ts';

/** An even port for RTP and the odd one above it for RTCP (RFC 3550 section 11). */
export type PortPair = { rtp: PacketSocket; rtcp: PacketSocket };

export type PortPoolOptions = {
  clock: Clock;
  sockets: Sockets;
  address: string;
  /** First and last port; 0 and 0 = whatever the operating system gives. */
  range: { first: number; last: number };
  /** How long a pair stays bound and deaf after use, in ms. */
  drainMs: number;
};

const freeChoiceAttempts = 64;

/**
 * Gives out pairs of ports in turn, so that a port rests as long as possible before it is used again, and keeps a
 * pair that was given back bound for a while: what still arrives for the old call never reaches a new one.
 */
export class PortPool {
  readonly #options: PortPoolOptions;
  readonly #firstEven: number;
  readonly #pairsInRange: number;
  readonly #taken = new Set<number>();
  readonly #draining = new Map<PortPair, unknown>();
  #waiting: (() => void)[] = [];
  #next = 0;
  #closed = false;

  constructor(options: PortPoolOptions) {
    this.#options = options;
    this.#firstEven = options.range.first + (options.range.first % 2);
    this.#pairsInRange = Math.max(0, Math.floor((options.range.last - this.#firstEven + 1) / 2));
  }

  /** Pairs held by sessions; those that only drain are not counted. */
  get used(): number {
    return this.#taken.size;
  }

  /** Binds a pair. @throws Error when the range has no free pair left, also after those draining are free. */
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
      if (this.#draining.size === 0) {
        const { first, last } = this.#options.range;
        throw new Error(`no free pair of RTP ports in ${first}-${last} on ${this.#options.address}`);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Takes a pair back. */
  release(pair: PortPair): void {
    if (!this.#taken.delete(pair.rtp.port)) return;
    pair.rtp.listen(undefined);
    pair.rtcp.listen(undefined);
    const timer = this.#options.clock.setTimeout(() => this.#drained(pair), this.#options.drainMs);
    this.#draining.set(pair, timer);
  }

  /** Closes what drains. Pairs held by sessions are theirs to give back before. */
  close(): void {
    this.#closed = true;
    for (const [pair, timer] of this.#draining) {
      this.#options.clock.clearTimeout(timer);
      closePair(pair);
    }
    this.#draining.clear();
    this.#wake();
  }

  #drained(pair: PortPair): void {
    this.#draining.delete(pair);
    closePair(pair);
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  async #bindInRange(): Promise<PortPair | undefined> {
    for (let attempt = 0; attempt < this.#pairsInRange; attempt++) {
      const port = this.#firstEven + 2 * (this.#next++ % this.#pairsInRange);
      if (this.#taken.has(port)) continue;
      const pair = await this.#bindPair(port);
      if (pair) return pair;
    }
    return undefined;
  }

  async #bindAny(): Promise<PortPair | undefined> {
    for (let attempt = 0; attempt < freeChoiceAttempts; attempt++) {
      const chosen = await this.#options.sockets.bind(this.#options.address, 0);
      const even = chosen.port % 2 === 0;
      const other = await this.#tryBind(even ? chosen.port + 1 : chosen.port - 1);
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

  /** Undefined when the port is taken, also by others. @throws whatever else prevents binding (no such address). */
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
