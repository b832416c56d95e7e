import { SlotMap } from '../../lib/slot-map.ts';
import type { UsageAnswer } from '../../sip/dialog/usage-handlers.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';

/**
 * Accepts a REFER. Outside the call it has a subscription of its own: reports go to `outside`.
 * @returns the response.
 */
export type ReferReceiver = (request: SipRequest, outside?: OutsideSubscriber) => UsageAnswer;

/** Senders of REFERs outside calls, by the key of their subscription's dialog. */
export type OutsideSubscriber = { readonly key: string; readonly tell: TellSubscriber };

/** Sends a NOTIFY with a message fragment; inside a call its result is reported under the label. */
export type TellSubscriber = (label: string, headers: HeaderLines, fragment: string) => void;

/** The view of a leg for other parts of the driver. */
type LegAccess = {
  readonly channelId: string;
  /** How its call is shown; undefined while there is none to be seen. */
  view(): CallView | undefined;
  readonly receiveRefer: ReferReceiver;
};

/** The entry of one leg in the counts, until it is removed. */
export type LegToken = LegAccess & { readonly endpoint: string };

/** A call of an endpoint as BLF shows it (RFC 4235 4.1), seen from the phone. */
export type CallView = {
  /** Unique among the calls of the endpoint. */
  id: string;
  /** Call-ID and the tags of the phone and of us, as far as there are any; left out for watchers that may not use them. */
  callId?: string;
  localTag?: string | undefined;
  remoteTag?: string | undefined;
  /** Whether the phone calls or is called. */
  direction: 'initiator' | 'recipient';
  /** Asked for · rings, or hears something before the answer · stands. */
  state: 'trying' | 'early' | 'confirmed';
  /** The phone has put it on hold. */
  held: boolean;
};

/** The legs there are, counted by endpoint. */
export class Legs {
  readonly #all = new Map<string, Set<LegToken>>();
  readonly #byChannel = new SlotMap<string, LegToken>();
  #size = 0;
  #listener: (endpoint: string) => void = () => {};
  readonly #counted: ((endpoint: string, legs: number) => void) | undefined;

  /** @param counted hears how many legs an endpoint has, whenever that changes */
  constructor(counted?: (endpoint: string, legs: number) => void) {
    this.#counted = counted;
  }

  /** Counts a leg until {@link remove}. */
  add(endpoint: string, access: LegAccess): LegToken {
    const token = { ...access, endpoint };
    this.#byChannel.set(token.channelId, token);
    const legs = this.#all.get(endpoint) ?? new Set();
    this.#all.set(endpoint, legs.add(token));
    this.#size++;
    this.#counted?.(endpoint, legs.size);
    return token;
  }

  /** Removes a leg from the counts. Idempotent. */
  remove(token: LegToken): void {
    const legs = this.#all.get(token.endpoint);
    if (!legs?.delete(token)) return;
    if (this.#byChannel.get(token.channelId) === token) this.#byChannel.delete(token.channelId);
    this.#size--;
    if (legs.size === 0) this.#all.delete(token.endpoint);
    this.#counted?.(token.endpoint, legs.size);
    this.changed(token.endpoint);
  }

  /** How many calls an endpoint has, those included that ring or are being placed. */
  of(endpoint: string): number {
    return this.#all.get(endpoint)?.size ?? 0;
  }

  /** The leg of a channel. */
  ofChannel(channelId: string): LegToken | undefined {
    return this.#byChannel.get(channelId);
  }

  /** The calls of an endpoint that can be seen, oldest first. */
  callsOf(endpoint: string): CallView[] {
    return [...(this.#all.get(endpoint) ?? [])].flatMap(({ view }) => view() ?? []);
  }

  /** A call of the endpoint has changed. */
  changed(endpoint: string): void {
    this.#listener(endpoint);
  }

  /** Sets the listener to changes. It replaces the earlier one. */
  onChanged(listener: (endpoint: string) => void): void {
    this.#listener = listener;
  }

  get size(): number {
    return this.#size;
  }
}
