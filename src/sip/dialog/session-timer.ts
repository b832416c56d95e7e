import type { HeaderLines } from '../message/build.ts';
import { deltaSeconds } from '../message/delta-seconds.ts';
import type { SipRequest } from '../message/message.ts';
import type { Timers } from './stack.ts';

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

/** Keeps a session alive that its peer wants watched (RFC 4028); sessions nobody asks it for have no limit. */
export interface SessionTimer {
  /** A re-INVITE, UPDATE or first INVITE of the peer's is accepted: the headers for its 2xx; time starts anew. */
  accept(request: SipRequest): HeaderLines;
  /** Headers for a re-INVITE of ours. */
  headers(): HeaderLines;
  /** Our re-INVITE was accepted: time starts anew. */
  renew(): void;
}

/**
 * @param refresh is called at half time when refreshing fell to us.
 * @param expired is called when nobody refreshed in time.
 */
export function createSessionTimer(timers: Timers, refresh: () => void, expired: () => void): SessionTimer {
  let seconds: number | undefined;
  let ours = false;
  let refreshing: unknown;
  let expiring: unknown;

  const restart = () => {
    timers.clear(refreshing);
    timers.clear(expiring);
    if (seconds === undefined) return;
    if (ours) refreshing = timers.start(refresh, seconds * 500);
    // A little before the end (RFC 4028 10), so that the peer still knows the dialog of our BYE.
    expiring = timers.start(expired, (seconds - Math.min(32, seconds / 3)) * 1000);
  };

  return {
    accept(request) {
      const wish = sessionExpires(request);
      const able = [...request.headerList('Supported'), ...request.headerList('Require')].includes('timer');
      seconds = wish?.seconds;
      ours = wish !== undefined && (wish.refresher === 'uas' || !able);
      restart();
      if (seconds === undefined) return [];
      const value = `${seconds};refresher=${ours ? 'uas' : 'uac'}`;
      return [['Session-Expires', value], ...(able && !ours ? [['Require', 'timer'] as const] : [])];
    },
    headers: () =>
      seconds === undefined
        ? []
        : [
            ['Supported', 'timer'],
            ['Session-Expires', `${seconds};refresher=${ours ? 'uac' : 'uas'}`],
          ],
    renew: restart,
  };
}
