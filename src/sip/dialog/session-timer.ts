import type { HeaderLines } from '../message/build.ts';
import { deltaSeconds } from '../message/delta-seconds.ts';
import type { SipRequest } from '../message/message.ts';

/** Shortest session that anybody may ask for, in seconds (RFC 4028 4). */
const MIN_SESSION_SECONDS = 90;

/** What a Session-Expires header asks for. */
export type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

/** Reads Session-Expires; undefined when it is missing or malformed. */
export function sessionExpires(request: SipRequest): SessionExpires | undefined {
  const match = /^\s*(\d+)\s*(?:;(.*))?$/.exec(request.header('Session-Expires') ?? '');
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
