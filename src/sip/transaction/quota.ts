import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';

/** How much server transactions may hold. */
export type TransactionLimits = {
  /** Live server transactions. */
  readonly transactions: number;
  /** Octets they may hold together: of the request before its final answer, of the answer after it. */
  readonly octets: number;
  /** Transactions of one unknown source; all unknown sources together have half of the whole. */
  readonly sourceTransactions: number;
  readonly sourceOctets: number;
};

export const defaultTransactionLimits: TransactionLimits = {
  transactions: 100_000,
  octets: 67_108_864,
  sourceTransactions: 200,
  sourceOctets: 1_048_576,
};

/** The part of the quota that one transaction holds. */
export type Reservation = { readonly stranger: string | undefined; octets: number };

type Share = { transactions: number; octets: number };

/** Counts the transactions and bytes of all sources, and of each unknown source. */
export class Quota {
  #limits: TransactionLimits;
  readonly #all: Share = { transactions: 0, octets: 0 };
  readonly #strangers: Share = { transactions: 0, octets: 0 };
  readonly #bySource = new Map<string, Share>();

  readonly #hit: LimitHit;

  /** @param hit is called with the bound that was met. */
  constructor(limits: TransactionLimits, hit: LimitHit = uncounted) {
    this.#limits = limits;
    this.#hit = hit;
  }

  /** Applies other limits; reservations stay. */
  reconfigure(limits: TransactionLimits): void {
    this.#limits = limits;
  }

  /**
   * Reserves a transaction of this many octets.
   * @param stranger the source's address if unknown; undefined for known ones, which only the total limits.
   * @returns undefined if the quota is used up.
   */
  take(stranger: string | undefined, octets: number): Reservation | undefined {
    const { transactions, octets: whole, sourceTransactions, sourceOctets } = this.#limits;
    const isFull = (share: Share, places: number, most: number, limit: '' | 'source_'): boolean => {
      if (share.transactions >= places) this.#hit(`sip.limits.${limit}transactions`);
      else if (share.octets + octets > most) this.#hit(`sip.limits.${limit}transaction_bytes`);
      else return false;
      return true;
    };
    if (isFull(this.#all, transactions, whole, '')) return undefined;
    if (stranger !== undefined) {
      if (isFull(this.#strangers, transactions / 2, whole / 2, '')) return undefined;
      const own = this.#bySource.get(stranger) ?? { transactions: 0, octets: 0 };
      if (isFull(own, sourceTransactions, sourceOctets, 'source_')) return undefined;
      this.#bySource.set(stranger, own);
    }
    const reservation: Reservation = { stranger, octets: 0 };
    this.#change(reservation, 1, octets);
    return reservation;
  }

  /** The transaction holds more or less than before; it keeps its place in any case. */
  resize(reservation: Reservation, octets: number): void {
    this.#change(reservation, 0, octets);
  }

  /** Gives the place back; once. */
  leave(reservation: Reservation): void {
    this.#change(reservation, -1, 0);
    if (reservation.stranger !== undefined && this.#bySource.get(reservation.stranger)?.transactions === 0)
      this.#bySource.delete(reservation.stranger);
  }

  #change(reservation: Reservation, places: number, octets: number): void {
    const more = octets - reservation.octets;
    reservation.octets = octets;
    add(this.#all, places, more);
    if (reservation.stranger === undefined) return;
    add(this.#strangers, places, more);
    add(this.#bySource.get(reservation.stranger)!, places, more);
  }
}

function add(share: Share, transactions: number, octets: number): void {
  share.transactions += transactions;
  share.octets += octets;
}
