import type { Static } from 'typebox';
import { number, object, optional, text } from '../models/plain-schema.ts';
/**
 * The port between contact actors and the technology that registers and qualifies them. The technology reports
 * registrations; the contact's chart decides when to qualify and when it expires.
 */

/** A contact as a REGISTER or the configuration makes it. */
export const ContactDetails = object({
  /** Unique: `<aor>;<hash of uri>`. */
  id: text,
  /** SIP URI that requests are sent to. */
  uri: text,
  aor: text,
  technology: text,
  /** The endpoint resource that the AOR belongs to, e.g. `alice`. */
  endpoint: text,
  /** ms between OPTIONS; 0 = never qualified (`NonQualified`). */
  qualifyFrequencyMs: number,
  /** ms to wait for an answer. */
  qualifyTimeoutMs: number,
  /** ms until it expires; undefined = configured, never expires. */
  expiresMs: optional(number),
});
export type ContactDetails = Static<typeof ContactDetails>;

/** Reports of a technology about its contacts. */
export interface ContactHost {
  /** A new contact, or one whose registration was renewed (same id, new `expiresMs`). */
  registered(contact: ContactDetails): void;
  /** Unregistered by its owner or displaced by another. Unknown ids are ignored. */
  removed(id: string): void;
}

/** Services of a technology for contact charts. */
export interface ContactDriver {
  readonly technology: string;
  /** Sends an OPTIONS; resolves with the round trip in microseconds, rejects when there is no answer within the time. */
  qualify(contact: ContactDetails): Promise<number>;
  /** The registration has run out: forget where the endpoint is. */
  expired(contact: ContactDetails): void;
}
