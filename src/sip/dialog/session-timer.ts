import type { HeaderLines } from '../message/build.ts';
import type { SipMessage, SipRequest, SipResponse } from '../message/message.ts';
import { deltaSeconds } from '../message/scan.ts';

/** Shortest session that anybody may ask for, in seconds (RFC 4028 4). */
const MIN_SESSION_SECONDS = 90;

/** Values of a Session-Expires header. */
type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

/** Reads Session-Expires; undefined when it is missing or malformed. */
export function sessionExpires(message: SipMessage): SessionExpires | undefined {
  const match = /^\s*(\d+)\s*(?:;(.*))?$/.exec(message.header('Session-Expires') ?? '');
  const seconds = deltaSeconds(match?.[1]);
  if (!match || seconds === undefined) return undefined;
  const refresher = /(?:^|;)\s*refresher\s*=\s*(uac|uas)\s*(?:;|$)/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  return { seconds, refresher: refresher as SessionExpires['refresher'] };
}

/**
 * The headers of the 422 for a session below our minimum or that of the terms (RFC 4028 9); undefined if it is long
 * enough.
 */
export function tooShortSession(request: SipRequest, terms?: SessionTerms): HeaderLines | undefined {
  if (terms === 'off') return undefined;
  const minimum = Math.max(terms?.minimum ?? 0, MIN_SESSION_SECONDS);
  const session = sessionExpires(request);
  return session && session.seconds < minimum ? [['Min-SE', String(minimum)]] : undefined;
}

/** The option tag of RFC 4028. */
export const TIMER = 'timer';

/** Whether a peer understands session timers. */
const isAble = (request: SipRequest): boolean =>
  [...request.headerList('Supported'), ...request.headerList('Require')].some((tag) => tag.toLowerCase() === TIMER);

/** Our session-timer request to a peer (RFC 4028 7.1, 9). */
export type SessionWish = {
  seconds: number;
  /** The shortest session that we take, in s; at least 90. */
  minimum: number;
  /** Without the other side's understanding there is no call. */
  required?: boolean;
  /** We refresh by ourselves where the other side knows nothing of this. */
  always?: boolean;
};

/** How sessions with a peer are watched: as we requested, or not at all (`off`). Undefined: as the peer asks for. */
export type SessionTerms = SessionWish | 'off' | undefined;

/** The headers of an INVITE that asks for a watched session; what it supports and requires is said elsewhere. */
export const wishHeaders = ({ seconds, minimum }: SessionWish): HeaderLines => [
  ['Session-Expires', String(seconds)],
  ['Min-SE', String(Math.max(minimum, MIN_SESSION_SECONDS))],
];

/** The session that a 422 asks for, in s; undefined when it asks for none that is longer than ours (RFC 4028 7.3). */
export function longerSession(response: SipResponse, { seconds }: SessionWish): number | undefined {
  const minimum = shortestOf(response);
  return response.status === 422 && minimum !== undefined && minimum > seconds ? minimum : undefined;
}

/** The shortest session that a message takes, in s. */
const shortestOf = (message: SipMessage): number | undefined =>
  deltaSeconds(message.header('Min-SE')?.split(';')[0]?.trim());

/** Deadlines of a session timer: our refresh at half time, and expiry without a refresh. */
export type SessionDeadline = 'refreshSession' | 'sessionExpired';

/** The negotiated session timer, as plain data. */
export type SessionTimerData = {
  /** Undefined without a session timer. */
  readonly seconds?: number | undefined;
  /** Refreshing is our part. */
  readonly ours: boolean;
};

type Times = { set(name: SessionDeadline, ms: number): void; clear(name: SessionDeadline): void };

/** Session timer (RFC 4028): keeps a session alive if one side requests it; other sessions have no limit. */
export class SessionTimer {
  readonly #times: Times;
  readonly #terms: SessionTerms;
  #data: SessionTimerData;

  /** @param data where another process left off; its deadlines are set already. */
  constructor(times: Times, terms: SessionTerms, data: SessionTimerData = { ours: false }) {
    this.#times = times;
    this.#terms = terms;
    this.#data = data;
  }

  get data(): SessionTimerData {
    return this.#data;
  }

  /** The peer's INVITE, re-INVITE or UPDATE is accepted: returns the headers of the 2xx and restarts the timer. */
  accept(request: SipRequest): HeaderLines {
    const able = isAble(request);
    const requested = this.#terms === 'off' ? undefined : (sessionExpires(request) ?? this.#ownRequest(request, able));
    const ours = requested !== undefined && (requested.refresher === 'uas' || !able);
    this.#data = { seconds: requested?.seconds, ours };
    this.renew();
    if (requested === undefined) return [];
    const value = `${requested.seconds};refresher=${ours ? 'uas' : 'uac'}`;
    return [['Session-Expires', value], ...(able && !ours ? [['Require', TIMER] as const] : [])];
  }

  /** Our request to a peer without session timer (RFC 4028 9): we refresh then. */
  #ownRequest(request: SipRequest, able: boolean): SessionExpires | undefined {
    const terms = this.#terms;
    if (terms === undefined || terms === 'off' || !(terms.always || (terms.required && able))) return undefined;
    return { seconds: Math.max(terms.seconds, shortestOf(request) ?? 0), refresher: 'uas' };
  }

  /** The 2xx to an INVITE of ours, which may have asked for a watched session (RFC 4028 7.2); time starts. */
  agree(response: SipResponse): void {
    const requested = this.#terms;
    if (requested === undefined || requested === 'off') return;
    const told = sessionExpires(response);
    if (told) this.#data = { seconds: Math.max(told.seconds, MIN_SESSION_SECONDS), ours: told.refresher !== 'uas' };
    else this.#data = requested.always ? { seconds: requested.seconds, ours: true } : { ours: false };
    this.renew();
  }

  /** Headers for a re-INVITE of ours. */
  headers(): HeaderLines {
    const { seconds, ours } = this.#data;
    if (seconds === undefined) return [];
    return [
      ['Supported', TIMER],
      ['Session-Expires', `${seconds};refresher=${ours ? 'uac' : 'uas'}`],
    ];
  }

  /** Our re-INVITE was accepted: restarts the timer. */
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
