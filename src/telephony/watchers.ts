import type { Static } from 'typebox';
import { list, number, object, text } from '../models/plain-schema.ts';
/**
 * The port between watcher actors and the technology of subscriptions. The technology accepts subscriptions and sends
 * NOTIFYs; the watcher's chart decides when, and when they end.
 */

/** A phone's subscription, until it expires. */
export const WatcherDetails = object({
  /** Unique: that of the dialog which the subscription made. */
  id: text,
  technology: text,
  /** The endpoint resource that subscribed. */
  endpoint: text,
  /** Its topics, in lower case: `device:pjsip/alice`, `mailbox:alice`. Each change causes a NOTIFY. */
  topics: list(text),
  /** Lifetime in ms unless renewed; 0: a single NOTIFY. */
  expiresMs: number,
  /** Shortest interval between NOTIFYs, in ms. */
  intervalMs: number,
});
export type WatcherDetails = Static<typeof WatcherDetails>;

/** Reason of a subscription's end, for the subscriber (RFC 6665 4.1.3). */
export type WatcherEnd =
  /** Its time is over, or it took it back. */
  | 'timeout'
  /** The subject no longer exists. */
  | 'noresource'
  /** The subscriber is no longer known. */
  | 'rejected'
  /** The system stops: to be tried again somewhat later. */
  | 'probation';

/** Result of a NOTIFY. */
export type WatcherAnswer =
  | { type: 'answered' }
  /** Not sent: the state has not changed. */
  | { type: 'unneeded' }
  /** Not possible now: retry no earlier than that. */
  | { type: 'deferred'; waitMs: number }
  /** It does not answer, or knows nothing of a subscription. */
  | { type: 'lost'; reason: string };

/** Services of a technology for watcher charts. */
export interface WatcherDriver {
  readonly technology: string;
  /** Tells how things stand now; `end`: and that this was the last time. Never rejects. */
  tellWatcher(id: string, end?: WatcherEnd): Promise<WatcherAnswer>;
  /** The watcher is over: forget what is kept of it. */
  watcherEnded(id: string): void;
}

/** Reports of a technology about its watchers. Unknown ids are ignored. */
export interface WatcherHost {
  /** A new or renewed subscription (same id): it gets the present state. */
  subscribed(watcher: WatcherDetails): void;
  /** The phone unsubscribed: it gets a final NOTIFY. */
  unsubscribed(id: string): void;
  /** Its topics have changed. */
  moved(id: string, topics: readonly string[]): void;
  /** The subject has ended. */
  gone(id: string, end: WatcherEnd): void;
  /** Something has changed. */
  changed(topic: string): void;
}
