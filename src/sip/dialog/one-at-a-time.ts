import type { SipResponse } from '../message/message.ts';

/** State of requests that are sent one at a time: plain data. */
export type OneAtATimeData = {
  /** One waits for its final response. */
  readonly busy: boolean;
  /** One is to be sent as soon as nothing stands in the way. */
  readonly wanted: boolean;
  /** The peer asked for a pause (491, 500): a deadline ends it. */
  readonly waiting: boolean;
};

export type OneAtATimeOptions = {
  /** How long to wait after a 491 (RFC 3261 14.1), in ms: {@link glareMs}. */
  glareMs(): number;
  /** Whether nothing else of the dialog stands in the way. */
  canStart(): boolean;
  /** Calls `waited` after `ms`. */
  wait(ms: number): void;
  /** A 2xx to one of them. */
  accepted(response: SipResponse): void;
  /** The peer has lost the dialog, or never responded: the final status. */
  lost(status: number): void;
};

export const nothingAsked: OneAtATimeData = { busy: false, wanted: false, waiting: false };

/**
 * Wait after glare (RFC 3261 14.1), in ms: 2.1 to 4 s for the owner of the Call-ID, up to 2 s for the other, in steps
 * of 10 ms.
 * @param random 16 random bits.
 */
export const glareMs = (random: number, ownsCallId: boolean): number =>
  ownsCallId ? 2100 + (random % 191) * 10 : (random % 201) * 10;

/** Requests inside a dialog of which one at a time is under way; several wishes meanwhile become one. */
export abstract class OneAtATime<Data extends OneAtATimeData, Options extends OneAtATimeOptions> {
  protected readonly options: Options;
  #data: Data;

  constructor(options: Options, data: Data) {
    this.options = options;
    this.#data = data;
  }

  get data(): Data {
    return this.#data;
  }

  /** True while one waits for its final response. */
  get busy(): boolean {
    return this.#data.busy;
  }

  /** Sends one now, or after what is under way. */
  start(): void {
    this.change({ wanted: true });
    this.proceed();
  }

  /** Something that stood in the way is gone. */
  proceed(): void {
    const { wanted, busy, waiting } = this.#data;
    if (wanted && !busy && !waiting && this.options.canStart()) this.begin();
  }

  /** The pause is over. */
  waited(): void {
    this.change({ waiting: false });
    this.proceed();
  }

  /** No request is under way: sends the pending one, as the data say then. */
  protected abstract begin(): void;

  /** The peer asks for a later retry: after `ms`, or after the glare time of RFC 3261 14.1. */
  protected pause(ms: number = this.options.glareMs()): void {
    this.change({ wanted: true, waiting: true });
    this.options.wait(ms);
  }

  protected change(change: Partial<Data> | Partial<OneAtATimeData>): void {
    this.#data = { ...this.#data, ...change };
  }
}
