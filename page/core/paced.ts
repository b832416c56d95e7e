/** Large messages are taken together, so that the page is drawn once for them. */

/** From this size on a message is large, in octets. */
const large = 8_000;
/** Between two times that large ones are taken, in ms. */
const pauseMs = 1_000;

type Timing = {
  now(): number;
  later(run: () => void, ms: number): unknown;
  cancel(timer: unknown): void;
};

const own: Timing = {
  now: () => Date.now(),
  later: (run, ms) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

/**
 * Takes messages in their order: small ones at once with all before them, large ones once a second.
 * @returns what hears a message of a size in octets, and what gives up those that wait
 */
export function paced<M>(take: (message: M) => void, { now, later, cancel }: Timing = own) {
  let waiting: M[] = [];
  let takenAt = Number.NEGATIVE_INFINITY;
  let timer: unknown;
  const takeAll = (): void => {
    cancel(timer);
    timer = undefined;
    takenAt = now();
    const all = waiting;
    waiting = [];
    for (const message of all) take(message);
  };
  return {
    hear(message: M, octets: number): void {
      waiting.push(message);
      const rest = takenAt + pauseMs - now();
      if (octets < large || rest <= 0) takeAll();
      else timer ??= later(takeAll, rest);
    },
    close(): void {
      cancel(timer);
      waiting = [];
    },
  };
}
