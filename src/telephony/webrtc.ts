import type { Leg, Report } from './driver.ts';

/** Notifications to a page about calls to its name. */
export type BrowserNews =
  /** A call waits for an offer; `call` names it. */
  | { type: 'incoming'; call: string; caller: { name: string; number: string } }
  /** A call of the page was accepted. */
  | { type: 'answered'; call: string }
  /** A call is over, or no longer waits: another page took it, or its caller gave up. `cause` is Q.850. */
  | { type: 'ended'; call: string; cause: number };

/** The offer of a browser. */
type BrowserOffer = {
  channelId: string;
  /** SDP. */
  offer: string;
  /** Whose session it is: only it may change and end it. */
  owner: string;
  /** Address of the browser's request, if known. It decides which of our addresses is offered. */
  peer: string | undefined;
  /** Formats that may be used, by Asterisk's names, the preferred one first; undefined: all that are configured. */
  formats: readonly string[] | undefined;
};

/** SDP for a browser, and the session that it belongs to. */
export type BrowserAnswer = {
  /** Names the session in requests. */
  session: string;
  channelId: string;
  sdp: string;
  /** The name of our ICE credentials: changes with each restart. */
  tag: string;
};

/** A browser's call whose offer is answered, and that waits for its channel. */
export type PreparedBrowserCall = BrowserAnswer & {
  name: string;
  /** Makes the channel's leg. Called once, unless it is abandoned. */
  open(report: Report): Leg;
  /** Releases it: there will be no channel. */
  abandon(): void;
};

/**
 * What a browser sends about its session: another offer, or a fragment of SDP with ICE alone (RFC 8840). `ifMatch` has the tags
 * of which one must be that of the session, or `*` (RFC 9110 13.1.1); a fragment needs it (RFC 9725 4.3).
 */
type BrowserChange = { session: string; owner: string; body: string; ifMatch?: string | undefined };

/** Calls of browsers over HTTP, without SIP (RFC 9725). */
export interface BrowserDriver {
  readonly technology: string;
  /** How many sessions there are. */
  readonly size: number;
  /** Opens a port and answers an offer. @throws DriverError (rejects) `format`, `capacity`; nothing is left open then. */
  prepare(offer: BrowserOffer): Promise<PreparedBrowserCall>;
  /**
   * Takes a call that waits for its owner.
   * @returns undefined when there is none, or another page has it. @throws DriverError (rejects) `format`, `capacity`.
   */
  take(call: string, offer: Omit<BrowserOffer, 'channelId' | 'formats'>): Promise<BrowserAnswer | undefined>;
  /**
   * Applies a change.
   * @returns undefined when there is no such session; an answer without SDP when there is nothing to say.
   * @throws DriverError (rejects) `format` for one that cannot be read or agreed on, `data` for ICE of the past, `condition`
   * for a fragment without `ifMatch`.
   */
  change(
    change: BrowserChange,
  ): Promise<(Omit<BrowserAnswer, 'sdp'> & { sdp?: string; isFragment: boolean }) | undefined>;
  /** The browser hangs up, or refuses a call that waits. @returns false when there is no such session. */
  end(session: string, owner: string): boolean;
  /** A page of that owner hears of its calls, until the returned function is called. */
  listen(owner: string, told: (news: BrowserNews) => void): () => void;
}
