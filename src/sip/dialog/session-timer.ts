import type { HeaderLines } from '../message/build.ts';
import { deltaSeconds } from '../message/delta-seconds.ts';
import type { SipMessage, SipRequest, SipResponse } from '../message/message.ts';

/** Shortest session that anybody may ask for, in seconds (RFC 4028 4). */
const MIN_SESSION_SECONDS = 90;

/** What a Session-Expires header asks for. */
export type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

/** Reads Session-Expires; undefined when it is missing or malformed. */
export function sessionExpires(message: SipMessage): SessionExpires | undefined {
  const match = /^\s*(\d+)\s*(?:;(.*))?$/.exec(message.header('Session-Expires') ?? '');
  const seconds = deltaSeconds(match?.[1]);
  if (!match || seconds === undefined) return undefined;
  const refresher = /(?:^|;)\s*refresher\s*=\s*(uac|uas)\s*(?:;|$)/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  return { seconds, refresher: refresher as SessionExpires['refresher'] };
}

/**
 * The headers of the 422 for a session that would have to be refreshed all the time, first or renewed (RFC 4028 9);
 * undefined when it is long enough.
 */
export function tooShortSession(request: SipRequest): HeaderLines | undefined {
  const session = sessionExpires(request);
  return session && session.seconds < MIN_SESSION_SECONDS ? [['Min-SE', String(MIN_SESSION_SECONDS)]] : undefined;
}

/** What an INVITE of ours asks for (RFC 4028 7.1). */
export type SessionWish = {
  seconds: number;
  /** The shortest session that we take, in s; at least 90. */
  minimum: number;
  /** Without the other side's understanding there is no call. */
  required?: boolean;
  /** We refresh by ourselves where the other side knows nothing of this. */
  always?: boolean;
};

/** The headers of an INVITE that asks for a watched session; what it supports and requires is said elsewhere. */
export const wishHeaders = ({ seconds, minimum }: SessionWish): HeaderLines => [
  ['Session-Expires', String(seconds)],
  ['Min-SE', String(Math.max(minimum, MIN_SESSION_SECONDS))],
];

/** The session that a 422 asks for, in s; undefined when it asks for none that is longer than ours (RFC 4028 7.3). */
export function longerSession(response: SipResponse, { seconds }: SessionWish): number | undefined {
  const minimum = deltaSeconds(response.header('Min-SE')?.split(';')[0]?.trim());
  return response.status === 422 && minimum !== undefined && minimum > seconds ? minimum : undefined;
}

/** Names of the deadlines of a session timer: half time when refreshing fell to us, and nobody refreshed in time. */
export type SessionDeadline = 'refreshSession' | 'sessionExpired';

/** What both sides agreed on: plain data. */
export type SessionTimerData = {
  /** Undefined while nobody asks for a limit. */
  readonly seconds?: number | undefined;
  /** Refreshing is our part. */
  readonly ours: boolean;
};

type Times = { set(name: SessionDeadline, ms: number): void; clear(name: SessionDeadline): void };

/** Keeps a session alive that its peer wants watched (RFC 4028); sessions nobody asks it for have no limit. */
export class SessionTimer {
  readonly #times: Times;
  #data: SessionTimerData;

  /** @param data where another process left off; its deadlines are set already. */
  constructor(times: Times, data: SessionTimerData = { ours: false }) {
    this.#times = times;
    this.#data = data;
  }

  get data(): SessionTimerData {
    return this.#data;
  }

  /** A re-INVITE, UPDATE or first INVITE of the peer's is accepted: the headers for its 2xx; time starts anew. */
  accept(request: SipRequest): HeaderLines {
    const wish = sessionExpires(request);
    const able = [...request.headerList('Supported'), ...request.headerList('Require')].includes('timer');
    const ours = wish !== undefined && (wish.refresher === 'uas' || !able);
    this.#data = { seconds: wish?.seconds, ours };
    this.renew();
    if (wish === undefined) return [];
    const value = `${wish.seconds};refresher=${ours ? 'uas' : 'uac'}`;
    return [['Session-Expires', value], ...(able && !ours ? [['Require', 'timer'] as const] : [])];
  }

  /** The 2xx to an INVITE of ours that asked for a watched session (RFC 4028 7.2); time starts. */
  agree(response: SipResponse, wish: SessionWish): void {
    const told = sessionExpires(response);
    if (told) this.#data = { seconds: Math.max(told.seconds, MIN_SESSION_SECONDS), ours: told.refresher !== 'uas' };
    else this.#data = wish.always ? { seconds: wish.seconds, ours: true } : { ours: false };
    this.renew();
  }

  /** Headers for a re-INVITE of ours. */
  headers(): HeaderLines {
    const { seconds, ours } = this.#data;
    if (seconds === undefined) return [];
    return [
      ['Supported', 'timer'],
      ['Session-Expires', `${seconds};refresher=${ours ? 'uac' : 'uas'}`],
    ];
  }

  /** Our re-INVITE was accepted: time starts anew. */
  renew(): void {
    const { seconds, ours } = this.#data;
    this.#times.clear('refreshSession');
    this.#times.clear('sessionExpired');
    if (seconds === undefined) return;
    if (ours) this.#times.set('refreshSession', seconds * 500);
    // A little before the end (RFC 4028 10), so that the peer still knows the dialog of our BYE.
    this.#times.set('sessionExpired', (seconds - Math.min(32, seconds / 3)) * 1000);
  }
}
