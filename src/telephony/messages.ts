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

/** A technology that can carry text messages and referrals. */
export interface MessageDriver {
  readonly technology: string;
  /**
   * Sends a text message to an endpoint (`alice`, `pjsip:alice`); resolves when the far side has accepted it.
   * Rejects with DriverError when there is no such endpoint or it cannot be reached, with Error when it was refused.
   * @param leaves called when the place of the endpoint is known and the message leaves
   */
  sendMessage(
    message: {
      from: string;
      to: string;
      body: string;
      variables?: Readonly<Record<string, string>>;
    },
    leaves?: () => void,
  ): Promise<void>;
  /** Asks an endpoint to call another party; resolves when it has accepted. Otherwise as `sendMessage`. */
  refer(
    request: {
      to: string;
      from?: string;
      referTo: string;
      /** Whether `referTo` is to be called through us rather than directly. */
      toSelf?: boolean;
      variables?: Readonly<Record<string, string>>;
      progress?(status: number, done: boolean): void;
    },
    leaves?: () => void,
  ): Promise<void>;
}
