/** The port for text messages and referrals outside calls: the commands and reports of a technology. */

/** A text message that came in. */
export type ReceivedMessage = {
  /** URIs as in the message. */
  from: string;
  to: string;
  body: string;
  /** The endpoint it came from. */
  endpoint: string;
  /** Headers of the sender's own, by name. */
  headers: Readonly<Record<string, string>>;
};

/** A text to send. */
export type OutgoingMessage = {
  /** `sip:bob@host`, `"Bob" <sip:bob@host>` or a number. */
  from: string;
  /** `alice`, `pjsip:alice`, `pjsip:alice/sip:alice@10.0.0.9`. */
  to: string;
  body: string;
  /** Become headers of the MESSAGE; names that are SIP's own are left out. */
  variables?: Readonly<Record<string, string>>;
};

/** Asks an endpoint to call another party, outside any call. */
export type ReferRequest = {
  /** The endpoint that is to call: `alice`, `pjsip:alice`. */
  to: string;
  /** The sender; default: the endpoint's own name. */
  from?: string;
  /** The party to call: an endpoint, a SIP URI, or a number. */
  referTo: string;
  /** Whether `referTo` is to be called through us rather than directly. */
  toSelf?: boolean;
  variables?: Readonly<Record<string, string>>;
  /** Hears each status the far side tells (sipfrag); `done` with the last. 408 when it stops telling. */
  progress?(status: number, done: boolean): void;
};

/** A technology that can carry text messages and referrals. */
export interface MessageDriver {
  readonly technology: string;
  /**
   * Sends a text message to an endpoint (`alice`, `pjsip:alice`); resolves when the far side has accepted it.
   * Rejects with DriverError when there is no such endpoint or it cannot be reached, with Error when it was refused.
   * @param leaves called when the place of the endpoint is known and the message leaves
   */
  sendMessage(message: OutgoingMessage, leaves?: () => void): Promise<void>;
  /** Asks an endpoint to call another party; resolves when it has accepted. Otherwise as `sendMessage`. */
  refer(request: ReferRequest, leaves?: () => void): Promise<void>;
}
