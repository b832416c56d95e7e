/**
 * The port between the watchers that call control keeps as actors and the technology that phones subscribe over. The
 * technology takes the subscription and sends what is told; the watcher's chart decides when it is told, and when it ends.
 */

/** A phone that wants to be told how something stands, until its time is over. */
export type WatcherDetails = {
  /** Unique: that of the dialog which the subscription made. */
  id: string;
  technology: string;
  /** The endpoint resource that subscribed. */
  endpoint: string;
  /** What it is told about, in small letters: `device:pjsip/alice`, `mailbox:alice`. A change of any of them is told. */
  topics: readonly string[];
  /** ms that it lasts unless it is renewed; 0: it is told once. */
  expiresMs: number;
  /** ms between two times that it is told of a change. */
  intervalMs: number;
};

/** Why a subscription ends, as the subscriber is told it (RFC 6665 4.1.3). */
export type WatcherEnd =
  /** Its time is over, or it took it back. */
  | 'timeout'
  /** What it watches is not there any more. */
  | 'noresource'
  /** Who subscribed is not known any more. */
  | 'rejected'
  /** The system stops: to be tried again somewhat later. */
  | 'probation';

/** What came of telling a watcher. */
export type WatcherAnswer =
  | { type: 'answered' }
  /** Nothing was sent: it was told just that before. */
  | { type: 'unneeded' }
  /** It cannot be told now, and asks to be told again no earlier than that. */
  | { type: 'deferred'; waitMs: number }
  /** It does not answer, or knows nothing of a subscription. */
  | { type: 'lost'; reason: string };

/** What a technology does for a watcher's chart. */
export interface WatcherDriver {
  readonly technology: string;
  /** Tells how things stand now; `end`: and that this was the last time. Never rejects. */
  tellWatcher(id: string, end?: WatcherEnd): Promise<WatcherAnswer>;
  /** The watcher is over: forget what is kept of it. */
  watcherEnded(id: string): void;
}

/** What a technology tells of its watchers. Unknown ids are ignored. */
export interface WatcherHost {
  /** A new subscription, or one that was renewed (same id): it is told at once how things stand. */
  subscribed(watcher: WatcherDetails): void;
  /** Taken back by the phone: it is told once more. */
  unsubscribed(id: string): void;
  /** What it is told about is something else from now on. */
  moved(id: string, topics: readonly string[]): void;
  /** There is nothing to be told about any more. */
  gone(id: string, end: WatcherEnd): void;
  /** Something has changed. */
  changed(topic: string): void;
}
