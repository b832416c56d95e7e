import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';

/** The part of a running server that signals are about. */
type Stoppable = {
  /** How many channels there are. */
  channels(): number;
  /** Takes no new calls; resolves when none is left, at the latest after the drain time-out. */
  drain(): Promise<void>;
  /** Hangs up every call, so that a drain comes to its end. */
  hangupAll(): void;
  /** Ends everything. */
  close(): Promise<void>;
};

/** Signals within this time of a counted one are duplicates: a terminal and a parent both send theirs, ms apart. */
const sameSignalMs = 1_000;

/**
 * Handles SIGINT and SIGTERM: the first drains, the second hangs up the remaining calls, the third ends everything.
 * `done` is called when the server is closed, or with the error.
 * @returns the handler of a signal.
 */
export function createStopSignals(
  server: Stoppable,
  { clock, log, say, drainTimeoutMs }: { clock: Clock; log: Logger; say(line: string): void; drainTimeoutMs: number },
  done: (error?: unknown) => void,
): (signal: string) => void {
  let counted = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  const finish = (closed: Promise<void>): void => void closed.then(() => done(), done);

  const tell = (fields: object, sentence: string): void => {
    log.info(fields, sentence);
    say(sentence);
  };
  const drain = (signal: string): void => {
    const channels = server.channels();
    const waiting =
      channels === 0
        ? ''
        : `; waiting at most ${drainTimeoutMs / 1000} s for ${channels} channel${channels === 1 ? '' : 's'}, another signal hangs up`;
    tell({ signal, channels }, `stopping: no new calls${waiting}`);
    finish(server.drain().then(() => server.close()));
  };

  return (signal) => {
    if (clock.monotonic() - countedAt < sameSignalMs) return;
    countedAt = clock.monotonic();
    counted++;
    if (counted === 1) drain(signal);
    else if (counted === 2) {
      tell({ signal, channels: server.channels() }, 'stopping now: calls are hung up, another signal drops them');
      server.hangupAll();
    } else {
      tell({ signal, channels: server.channels() }, 'stopping without a word to anybody');
      finish(server.close());
    }
  };
}
