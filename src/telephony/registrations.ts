import type { Static } from 'typebox';
import { number, object, optional, text } from '../models/plain-schema.ts';
/**
 * The port between the registrations that call control keeps as actors and the technology that makes them. The technology
 * sends what is asked; the registration's chart decides when it is sent, sent again, and given up.
 */

/** A registration of an endpoint at a provider. */
export const RegistrationDetails = object({
  /** Unique: endpoint, registrar and registered user. */
  id: text,
  technology: text,
  /** The endpoint resource whose line it is. */
  endpoint: text,
  /** URI of the registrar. */
  server: text,
  /** URI that is registered: the address of record. */
  client: text,
  /** ms that are asked for. */
  expiresMs: number,
  /** Shortest time before a registration is refreshed, in ms, even if it ends earlier; left out by older versions. */
  shortestRefreshMs: optional(number),
  /** ms before the second try; doubled with every failure, up to the longest. */
  retryMs: number,
  longestRetryMs: number,
  /** ms before another try after a refusal for good; 0 = none. */
  rejectedRetryMs: number,
  /** The technology answers within so many ms, though no server does; as usual when left out. */
  longestAnswerMs: optional(number),
});
export type RegistrationDetails = Static<typeof RegistrationDetails>;

/** Result of a REGISTER. */
export type RegistrationAnswer =
  /** `expiresMs`: how long it lasts. `failoverMs`: how long all of its servers are waited for, if it has several. */
  | { type: 'accepted'; expiresMs: number; failoverMs?: number }
  /** Asked for too short a time (423); no less than this is taken. */
  | { type: 'tooBrief'; minimumMs: number }
  /** `reason`: status and phrase. `permanent`: the same will be refused again. `retryAfterMs`: no earlier than that. */
  | { type: 'refused'; reason: string; permanent: boolean; retryAfterMs?: number }
  | { type: 'unanswered'; reason: string };

/** Services of a technology for registration charts. */
export interface RegistrationDriver {
  readonly technology: string;
  /** Registers for so many ms, 0 takes it back. Never rejects. */
  register(registration: RegistrationDetails, expiresMs: number): Promise<RegistrationAnswer>;
  /** The registration is over: forget what is kept of it. */
  ended(registration: RegistrationDetails): void;
}

/** Reports of a technology about registrations. */
export interface RegistrationHost {
  /** Its connection is closed: the far side cannot be called over it. */
  connectionLost(id: string): void;
}
