import type { LimitHit } from '../../lib/limit-counts.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';

/** The option of reliable provisional responses (RFC 3262 8.1). */
export const RELIABLE = '100rel';

/**
 * Reliable provisional responses of a call (RFC 3262). `no`: callers that require them are refused. `asked`: if the
 * other side requires them. `able`: also if a caller supports them. `required`: calls without them fail.
 */
export type Reliability = 'no' | 'asked' | 'able' | 'required';

/** Whether a message lists an option in a header such as Supported or Require. */
export const hasOption = (
  message: SipRequest | SipResponse,
  header: 'Supported' | 'Require',
  option: string,
): boolean => message.headerList(header).some((each) => each.toLowerCase() === option);

/** Whether the provisional responses to an INVITE are to be reliable (RFC 3262 3). */
export function wantsReliable(invite: SipRequest, how: Reliability): boolean {
  if (how === 'no') return false;
  return hasOption(invite, 'Require', RELIABLE) || (how !== 'asked' && hasOption(invite, 'Supported', RELIABLE));
}

/** A number of 1 to 10 digits within bounds; undefined for anything else. */
function numberIn(text: string | undefined, lowest: number, highest: number): number | undefined {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const number = Number(text);
  return number >= lowest && number <= highest ? number : undefined;
}

/** The RSeq of a response that is reliable (RFC 3262 7.1); undefined for one that is not. */
export function reliableNumber(response: SipResponse): number | undefined {
  if (response.status <= 100 || response.status >= 200 || response.toTag === undefined) return undefined;
  if (!hasOption(response, 'Require', RELIABLE)) return undefined;
  return numberIn(response.header('RSeq')?.trim(), 1, 2 ** 32 - 1);
}

/** The response that a PRACK acknowledges (RFC 3262 7.2). */
type Acknowledged = { readonly rseq: number; readonly cseq: number; readonly method: string };

/** Reads RAck; undefined when it is missing or malformed. */
export function acknowledgedBy(prack: SipRequest): Acknowledged | undefined {
  const parts = (prack.header('RAck') ?? '').trim().split(/[ \t]+/);
  const [rseq, cseq] = [numberIn(parts[0], 1, 2 ** 32 - 1), numberIn(parts[1], 0, 2 ** 32 - 1)];
  const method = parts[2];
  if (parts.length !== 3 || rseq === undefined || cseq === undefined || !method) return undefined;
  return { rseq, cseq, method };
}

/** Names of the deadlines that repeating a provisional response needs. */
export type ReliableDeadline = 'repeatReliable' | 'reliableLost';

/** A provisional response as its maker gave it: plain data. */
type Provisional = { readonly status: number; readonly sdp?: string };

/** State of a call's reliable provisional responses: plain data. */
export type ReliableData<Response extends Provisional> = {
  /** RSeq of the last one; 0 before the first. */
  readonly rseq: number;
  /** The response that waits for its PRACK, and the last retransmission interval in ms. */
  readonly waiting?: { readonly response: Response; readonly intervalMs: number };
  /** Responses behind it, in order; only the newest of each status. */
  readonly queue: readonly Response[];
  /** A description was sent in one of them, and its PRACK has come. */
  readonly settled: boolean;
};

type ReliableOptions<Response extends Provisional> = {
  t1Ms: number;
  /** Responses that may wait; of more the oldest are left out. */
  most?: number | undefined;
  /** Counts this limit. */
  hit?: LimitHit | undefined;
  /** The first RSeq, from 1 to 2^31-1. */
  firstNumber(): number;
  /** Sends one with its RSeq, or the same once more. */
  send(response: Response, rseq: number): void;
  set(name: ReliableDeadline, ms: number): void;
  clear(name: ReliableDeadline): void;
};

/** The response that a PRACK acknowledges, or none. */
type Acknowledgement<Response> = { readonly response: Response } | undefined;

const fresh = { rseq: 0, queue: [], settled: false } as const;

/** `most` as usual: enough for every status there is a sense in. */
const usualMost = 8;

/**
 * Provisional responses repeated until their PRACK (RFC 3262 3): one at a time, after T1, then doubling. The deadline
 * `reliableLost` is after 64·T1.
 */
export class ReliableResponses<Response extends Provisional> {
  readonly #options: ReliableOptions<Response>;
  #data: ReliableData<Response>;

  /** @param data where another process left off; its deadlines are set already. */
  constructor(options: ReliableOptions<Response>, data: ReliableData<Response> = fresh) {
    this.#options = options;
    this.#data = data;
  }

  get data(): ReliableData<Response> {
    return this.#data;
  }

  /** A description waits for its PRACK: the 2xx has to wait with it (RFC 3262 3). */
  get holdsAnswer(): boolean {
    return this.#data.waiting?.response.sdp !== undefined;
  }

  /** Offer and answer are done, and both sides know: what follows carries no description (RFC 6337 3.1.1). */
  get settled(): boolean {
    return this.#data.settled;
  }

  /** Sends one now, or when those before it are acknowledged. */
  tell(response: Response): void {
    const { waiting, queue } = this.#data;
    if (!waiting) return void this.#send(response);
    const { most = usualMost, hit } = this.#options;
    const all = [...queue.filter(({ status }) => status !== response.status), response];
    if (all.length > most) hit?.('sip.waiting_provisional');
    this.#change({ queue: all.slice(-most) });
  }

  /** The deadline `repeatReliable` is reached. */
  repeat(): void {
    const { waiting, rseq } = this.#data;
    if (!waiting) return;
    const intervalMs = waiting.intervalMs * 2;
    this.#change({ waiting: { ...waiting, intervalMs } });
    this.#options.send(waiting.response, rseq);
    this.#options.set('repeatReliable', intervalMs);
  }

  /** Handles a PRACK: its response is no longer repeated. {@link next} sends the next one. */
  acknowledge(acknowledged: Acknowledged | undefined, inviteCseq: number): Acknowledgement<Response> {
    const { waiting, rseq, settled } = this.#data;
    if (!waiting || acknowledged?.rseq !== rseq) return undefined;
    if (acknowledged.cseq !== inviteCseq || acknowledged.method !== 'INVITE') return undefined;
    this.#stop();
    this.#change({ settled: settled || waiting.response.sdp !== undefined });
    return { response: waiting.response };
  }

  /** Sends what has waited for the last PRACK. */
  next(): void {
    const [response, ...queue] = this.#data.queue;
    if (!response || this.#data.waiting) return;
    this.#change({ queue });
    this.#send(response);
  }

  /** The final response is given: nothing more is repeated, though the PRACK of the last one may still come. */
  end(): void {
    this.#options.clear('repeatReliable');
    this.#options.clear('reliableLost');
    this.#change({ queue: [] });
  }

  #send(response: Response): void {
    const { t1Ms } = this.#options;
    const rseq = this.#data.rseq === 0 ? this.#options.firstNumber() : this.#data.rseq + 1;
    this.#change({ rseq, waiting: { response, intervalMs: t1Ms } });
    this.#options.send(response, rseq);
    this.#options.set('repeatReliable', t1Ms);
    this.#options.set('reliableLost', 64 * t1Ms);
  }

  #stop(): void {
    const { waiting: _over, ...rest } = this.#data;
    this.#data = rest;
    this.#options.clear('repeatReliable');
    this.#options.clear('reliableLost');
  }

  #change(change: Partial<ReliableData<Response>>): void {
    this.#data = { ...this.#data, ...change };
  }
}
