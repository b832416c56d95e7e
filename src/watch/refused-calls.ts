import type { Clock } from '../lib/clock.ts';
import { createLineBudget } from '../lib/line-budget.ts';
import type { RefusedCall } from '../models/refused-call.ts';
import type { RefusedOffer } from '../telephony/driver.ts';

/** Characters that are kept of what a caller chose. */
const mostCharacters = 128;
const minuteMs = 60_000;

type RefusedCallsOptions = {
  clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Entries that are kept by now. */
  most: () => number;
  /** Calls in a minute that the listener hears of. */
  perMinute: number;
};

/** Inbound calls that were refused before they had a channel: a bounded list, in which calls that are alike are one. */
export interface RefusedCalls {
  add(offer: RefusedOffer): void;
  /** The newest first. */
  list(): RefusedCall[];
  /** How many there were since the start. */
  readonly total: number;
  /** Hears of each refused call within the budget; `leftOut` is the number of those before it that it did not hear of. */
  listen(listener: (call: RefusedCall, leftOut: number) => void): void;
}

/** Alike: from one address for one endpoint, refused for one reason. A flood of calls is one entry. */
const isAlike = (one: RefusedCall, other: RefusedCall): boolean =>
  one.status === other.status &&
  one.reason === other.reason &&
  one.endpoint === other.endpoint &&
  addressOf(one) === addressOf(other);

const addressOf = ({ source }: RefusedCall): string => source.slice(0, source.lastIndexOf(':'));

export function createRefusedCalls({ clock, most, perMinute }: RefusedCallsOptions): RefusedCalls {
  const kept: RefusedCall[] = [];
  const budget = createLineBudget(clock, perMinute, minuteMs);
  let total = 0;
  let heard = (_call: RefusedCall, _leftOut: number): void => {};
  return {
    add({ protocolId, ...offer }) {
      const at = clock.now();
      total++;
      const { from, to, reason } = offer;
      const call: RefusedCall = {
        ...{ first: at, last: at, count: 1 },
        ...offer,
        ...{ from: from.slice(0, mostCharacters), to: to.slice(0, mostCharacters) },
        ...{ reason: reason.slice(0, mostCharacters), protocol_id: protocolId.slice(0, mostCharacters) },
      };
      const place = kept.findIndex((other) => isAlike(other, call));
      const [before] = place < 0 ? [] : kept.splice(place, 1);
      kept.unshift(before ? { ...call, first: before.first, count: before.count + 1 } : call);
      kept.length = Math.min(kept.length, most());
      budget.write((leftOut) => heard(call, leftOut));
    },
    list: () => [...kept],
    get total() {
      return total;
    },
    listen(listener) {
      heard = listener;
    },
  };
}
