import type { Repeatable, ServerTransaction } from '../transaction/transaction.ts';
import type { Timing } from './stack.ts';

/** Names of the deadlines that repeating a 200 needs. */
export type OkDeadline = 'repeatOk' | 'okLost';

/** A 200 to INVITE that waits for its ACK: plain data. */
export type AcceptedData = {
  /** Key of the transaction that gave it. */
  readonly transaction: string;
  readonly cseq: number;
  /** The 200 carries an offer: the ACK has to bring the answer. */
  readonly offer: boolean;
  /** It answers the first INVITE of the call. */
  readonly first: boolean;
  /** ms between the last two. */
  readonly intervalMs: number;
};

type Times = { set(name: OkDeadline, ms: number): void; clear(name: OkDeadline): void };

/**
 * Repeats the 200 to an INVITE until its ACK: after T1, doubling up to T2, on every transport because the ACK is end to
 * end (RFC 3261 13.3.1.4). The deadline `okLost` is after 64·T1.
 */
export class OkRepeats {
  readonly #timing: Timing;
  readonly #times: Times;
  #accepted: { readonly transaction: Repeatable; readonly data: AcceptedData } | undefined;

  constructor(timing: Timing, times: Times) {
    this.#timing = timing;
    this.#times = times;
  }

  /** The 200 that waits; undefined when none does. */
  get accepted(): AcceptedData | undefined {
    return this.#accepted?.data;
  }

  /** Begins with the last response of a transaction, which has just been sent. */
  start(transaction: ServerTransaction, accepted: { offer: boolean; first: boolean }): void {
    const { t1Ms } = this.#timing;
    const data = { transaction: transaction.key, cseq: transaction.request.cseq.number, intervalMs: t1Ms, ...accepted };
    this.#accepted = { transaction, data };
    this.#times.set('repeatOk', t1Ms);
    this.#times.set('okLost', 64 * t1Ms);
  }

  /** Goes on where another process left off; its deadlines are set already. */
  resume(transaction: Repeatable, data: AcceptedData): void {
    this.#accepted = { transaction, data };
  }

  /** The deadline `repeatOk` is reached. */
  repeat(): void {
    if (!this.#accepted) return;
    const { transaction, data } = this.#accepted;
    transaction.repeat();
    const intervalMs = Math.min(data.intervalMs * 2, this.#timing.t2Ms);
    this.#accepted = { transaction, data: { ...data, intervalMs } };
    this.#times.set('repeatOk', intervalMs);
  }

  /** The ACK came, or is waited for no longer. */
  stop(): void {
    this.#accepted = undefined;
    this.#times.clear('repeatOk');
    this.#times.clear('okLost');
  }
}
