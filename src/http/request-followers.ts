import type { Turn } from '../actors/turn.ts';
import type { Recorder } from '../recorder/recorder.ts';
import type { TracedRequest } from '../watch/tracing.ts';

/** Listeners of requests: steps follow from them, and they are recorded. */
export type RequestFollowers = {
  /** Carries a request out, so that what it leads to is known to follow from it. */
  following: Turn['following'];
  /** Records requests while it is on. */
  recorder?: Pick<Recorder, 'on' | 'requested' | 'isBehind' | 'settled'> | undefined;
  /** Tells traces of a request. @returns what to call when it is answered. Left out, nothing is traced. */
  traced?: ((request: TracedRequest) => (status: number) => void) | undefined;
  /** Put in front of the ids that are made here, so that those of two runs differ. */
  prefix: string;
};
