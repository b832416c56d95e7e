/**
 * The port between contact actors and the technology that registers and qualifies them. The technology reports
 * registrations; the contact's chart decides when to qualify and when it expires.
 */

/** A contact as a REGISTER or the configuration makes it. */
export type ContactDetails = {
  /** Unique: `<aor>;<hash of uri>`. */
  id: string;
  /** SIP URI that requests are sent to. */
  uri: string;
  aor: string;
  technology: string;
  /** The endpoint resource that the AOR belongs to, e.g. `alice`. */
  endpoint: string;
  /** ms between OPTIONS; 0 = never qualified (`NonQualified`). */
  qualifyFrequencyMs: number;
  /** ms to wait for an answer. */
  qualifyTimeoutMs: number;
  /** ms until it expires; undefined = configured, never expires. */
  expiresMs?: number;
};

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
