import type { Clock } from '../lib/clock.ts';

/** What carries the messages of a cluster. */

export type LinkState = 'connecting' | 'up' | 'lost' | 'closed';

/** Why another node could not be asked. */
export type LinkFailure = 'timeout' | 'nobody' | 'down' | 'tooLarge' | 'full' | 'excluded';

export class LinkError extends Error {
  readonly failure: LinkFailure;

  constructor(failure: LinkFailure, cause?: unknown) {
    super(`the other node could not be asked: ${failure}`, { cause });
    this.failure = failure;
  }
}

/** Answers a request of another node. It never throws. */
export type Answerer = (data: Uint8Array) => Promise<Uint8Array>;

/**
 * Carries messages between nodes and keeps a table that they share. Messages of one node under one subject keep their
 * order. While it is down everything is refused, and nothing is kept for later.
 */
export interface ClusterLink {
  readonly state: LinkState;
  /** Largest message, in octets. */
  readonly largest: number;
  /** Why it is not up; undefined if it is. */
  readonly reason: string | undefined;
  /** Hears changes of {@link state}. */
  onState(listener: (state: LinkState) => void): void;
  /** Sends to all that {@link hear} the subject. @returns false if the message was dropped. */
  publish(subject: string, data: Uint8Array): boolean;
  /** Hears what is published under a subject, from other nodes and from this one. @returns a function that ends it. */
  hear(subject: string, listener: (data: Uint8Array) => void): () => void;
  /** Asks the one node that serves the subject. @throws (rejects) LinkError */
  request(subject: string, data: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Answers the requests of a subject. @returns a function that ends it. */
  serve(subject: string, answerer: Answerer): () => void;
  /** Puts a row into the shared table if there is none. @returns the row that was there. @throws (rejects) LinkError */
  claim(key: string, value: string): Promise<string | undefined>;
  /** Puts a row in the place of one that is still the same. @returns whether it was. @throws (rejects) LinkError */
  replace(key: string, before: string, value: string): Promise<boolean>;
  /** A row of the shared table. @throws (rejects) LinkError */
  find(key: string): Promise<string | undefined>;
  /** Removes a row; with `row` only if it is still that one. @throws (rejects) LinkError */
  release(key: string, row?: string): Promise<void>;
  /** All keys below a prefix. @throws (rejects) LinkError */
  keys(prefix: string): Promise<string[]>;
  /**
   * Puts a row into a table of its own if there is none. It goes by itself after the lifetime of answers that are kept.
   * @returns the row that was there. @throws (rejects) LinkError
   */
  reserve(key: string, value: string): Promise<string | undefined>;
  /**
   * Appends to what is kept under a subject.
   * @param after refused unless the last message of the subject has this position
   * @returns its position, which grows. @throws (rejects) LinkError
   */
  append(subject: string, data: Uint8Array, after?: number): Promise<number>;
  /** Drops what is kept under a subject before a position; without one all of it. @throws (rejects) LinkError */
  trim(subject: string, before?: number): Promise<void>;
  /** All that is kept under a subject, in order. @throws (rejects) LinkError */
  kept(subject: string): Promise<Uint8Array[]>;
  close(): Promise<void>;
}

/**
 * Tells when a link is not up for so long, and whenever it is up.
 * @param afterMs 0: never
 * @returns a function that ends it
 */
export function watchLink(
  link: Pick<ClusterLink, 'state' | 'onState'>,
  { clock, afterMs }: { clock: Clock; afterMs: number },
  tell: (isolated: boolean) => void,
): () => void {
  if (afterMs === 0) return () => {};
  let timer: unknown;
  const stop = (): void => {
    clock.clearTimeout(timer);
    timer = undefined;
  };
  const change = (state: LinkState): void => {
    if (state === 'connecting' || state === 'lost') timer ??= clock.setTimeout(() => tell(true), afterMs);
    else stop();
    if (state === 'up') tell(false);
  };
  link.onState(change);
  change(link.state);
  return stop;
}

/** @returns a function that waits until a link is up, for so many ms at most; then the link itself refuses. */
export function upWait(
  link: Pick<ClusterLink, 'state' | 'onState'>,
  clock: Pick<Clock, 'setTimeout' | 'clearTimeout'>,
): (mostMs: number) => Promise<void> {
  const waiting = new Set<() => void>();
  link.onState((state) => {
    if (state === 'up') for (const end of [...waiting]) end();
  });
  return (mostMs) =>
    new Promise((resolve) => {
      if (link.state === 'up') return resolve();
      const end = (): void => {
        clock.clearTimeout(timer);
        waiting.delete(end);
        resolve();
      };
      const timer = clock.setTimeout(end, mostMs);
      waiting.add(end);
    });
}
