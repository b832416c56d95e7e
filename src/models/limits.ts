import { AriError } from './errors.ts';

/** What clients may make no more of than a setting allows; names as in the configuration's `limits`. */
export type Limits = {
  /** Variables of one channel or bridge. */
  channel_variables: number;
  /** Variables of the whole system. */
  global_variables: number;
  /** Applications known at once. */
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

/**
 * Refuses what would be one too many. Asked before anything is changed.
 * @param held how many there would be.
 * @throws AriError limitReached, which names the setting.
 */
export function requireWithin(limit: keyof Limits, held: number, most: number): void {
  if (held > most) throw new AriError('limitReached', { limit, most: String(most) });
}
