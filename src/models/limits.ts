import type { LimitHit } from '../lib/limit-counts.ts';
import { AriError, type AriErrorCode } from './errors.ts';

/** The settings behind refusals by a limit, by code. */
const bounds: Readonly<Partial<Record<AriErrorCode, string>>> = {
  requestBodyTooLarge: 'http.limits.body',
  serviceTimeout: 'http.limits.answer_timeout',
  tooManyPipelined: 'http.limits.pipelined',
  tooManyLogIns: 'http.limits.password_queue',
  tooManyTokens: 'http.tokens.most',
  tooManyListeners: 'listening.most',
  tooManyOfUser: 'http.users.channels',
  bridgeFull: 'bridges.channels',
  tooManyBridges: 'bridges.most',
  tooManyRecordings: 'recordings.live',
};

/** The setting behind a refusal by a limit; undefined for others. */
function limitOf({ code, parameters }: AriError): string | undefined {
  return code === 'limitReached' ? `limits.${parameters['limit']}` : bounds[code];
}

/** Limits of clients' objects; names as in `limits`. */
export type Limits = {
  /** Variables of one channel or bridge. */
  channel_variables: number;
  /** Variables of the whole system. */
  global_variables: number;
  /** Applications known at the same time. */
  applications: number;
  /** Subscriptions of one application, those of its channels among them, beyond which clients cannot add any. */
  subscriptions: number;
  /** Playbacks that play and wait on one channel. */
  playbacks: number;
  mailboxes: number;
  /** Device states that are kept. */
  device_states: number;
  /** Objects of dynamic configuration. */
  dynamic_objects: number;
};

/** Counts the limit behind a refusal, if any. */
export function countLimit(refusal: AriError, hit: LimitHit): void {
  const limit = limitOf(refusal);
  if (limit !== undefined) hit(limit);
}

/**
 * Refuses what would be one too many. Asked before anything is changed.
 * @param held how many there would be.
 * @throws AriError limitReached, which names the setting.
 */
export function requireWithin(limit: keyof Limits, held: number, most: number): void {
  if (held > most) throw new AriError('limitReached', { limit, most: String(most) });
}
