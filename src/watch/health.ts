import type { Clock } from '../lib/clock.ts';

/** Whether the server works, for monitoring. */
export interface Health {
  /** Whether calls can be taken: it does not drain, and audio is at work. Never rejects. */
  ready(): Promise<boolean>;
}

type HealthOptions = {
  clock: Clock;
  /** No further calls are accepted. */
  isDraining(): boolean;
  /** Resolves when the media thread has answered. */
  askMedia(): Promise<unknown>;
  /** Longest that it may take to answer, in ms. */
  answerMs: number;
};

/** How long an answer holds, in ms: anybody may ask, as often as they like. */
const holdsMs = 500;

/** Makes the judge of a server's health. */
export function createHealth({ clock, isDraining, askMedia, answerMs }: HealthOptions): Health {
  let asked: { at: number; alive: Promise<boolean> } | undefined;

  const isMediaAlive = (): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = clock.setTimeout(() => resolve(false), answerMs);
      const tell = (alive: boolean) => () => {
        clock.clearTimeout(timer);
        resolve(alive);
      };
      askMedia().then(tell(true), tell(false));
    });

  return {
    async ready() {
      if (isDraining()) return false;
      const now = clock.monotonic();
      if (!asked || now - asked.at >= holdsMs) asked = { at: now, alive: isMediaAlive() };
      return asked.alive;
    },
  };
}
