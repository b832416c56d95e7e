import type { Clock } from '../../lib/clock.ts';
import { guarded } from '../../lib/guard.ts';
import type { Ids } from '../../lib/ids.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import type { NameServer } from '../location/names.ts';
import type { LocationLimits } from '../location/places.ts';
import type { TargetMemory } from '../location/target-memory.ts';
import type { TransactionLayer } from '../transaction/transaction.ts';
import type { KnownPeers } from '../transport/known-peers.ts';
import type { Probes } from '../transport/probes.ts';
import type { Transports } from '../transport/transport.ts';

/** Timer values of RFC 3261 17.1.1.1 in ms. */
export type Timing = { t1Ms: number; t2Ms: number };

/** `announceDelayMs` as usual. */
export const defaultAnnounceDelayMs = 500;

/** Common dependencies of dialogs and calls. */
export type Stack = {
  transactions: TransactionLayer;
  transports: Pick<Transports, 'send' | 'localAddress' | 'isConnected'>;
  clock: Clock;
  ids: Ids;
  log: Logger;
  timing: Timing;
  /** Places that one call may ring at or be answered by; any number when left out. */
  mostBranches?: number;
  /** Reliable provisional responses of one call that may wait for a PRACK; as usual when left out. */
  waitingProvisional?: number;
  /** Counts limits that were reached. */
  hit?: LimitHit;
  /**
   * Time after its ACK in which a call gets no re-INVITE without a new offer, in ms. Phones send their own then. Read
   * each time, so it may change; default: the usual time.
   */
  announceDelayMs?: () => number;
  /** Value of User-Agent and Server. */
  userAgent: string;
  /** Learns the peers of live dialogs. */
  peers?: Pick<KnownPeers, 'hold' | 'release'>;
  /** DNS lookups; left out: only addresses of hosts. */
  names?: NameServer;
  /** Limits of DNS results, read at each lookup, so they may change; default: the usual ones. */
  locationLimits?: () => LocationLimits;
  /** Which servers have failed of late; without it each request begins with the first that DNS names. */
  targets?: TargetMemory;
  /** Asks UDP servers that do not answer whether they are there; without it they are waited for. */
  probes?: Probes;
  /** The address of a host name; without it only literal addresses can be reached. */
  resolveHost?: (host: string) => Promise<string>;
};

/** Timers of one owner, which can all be cleared together. Exceptions are logged and only end the owner. */
export class Timers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #what: string;
  readonly #failed: (() => void) | undefined;
  readonly #set = new Set<unknown>();

  /**
   * @param what is said of the owner in the log.
   * @param failed hears that a timer threw, so that the owner can be given up.
   */
  constructor({ clock, log }: Pick<Stack, 'clock' | 'log'>, what: string, failed?: () => void) {
    this.#clock = clock;
    this.#log = log;
    this.#what = `a timer of ${what}`;
    this.#failed = failed;
  }

  /** Runs `fn` once after `ms`; the result is good for `clear`. */
  start(fn: () => void, ms: number): unknown {
    const run = guarded(this.#log, this.#what, fn, this.#failed);
    const id = this.#clock.setTimeout(() => {
      this.#set.delete(id);
      run();
    }, ms);
    this.#set.add(id);
    return id;
  }

  clear(id: unknown): void {
    if (this.#set.delete(id)) this.#clock.clearTimeout(id);
  }

  clearAll(): void {
    for (const id of this.#set) this.#clock.clearTimeout(id);
    this.#set.clear();
  }

  get size(): number {
    return this.#set.size;
  }
}
