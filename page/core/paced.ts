/** While much comes, messages are taken together, so that the page is drawn once for them. */

/** From so many octets in `pauseMs` on, messages wait for each other. */
const much = 8_000;
/** Between two times that messages are taken while much comes, in ms. */
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
 * Takes messages in their order: at once while little comes, else once a second.
 * @returns what hears a message of a size in octets, and what gives up those that wait
 */
export function paced<M>(take: (message: M) => void, { now, later, cancel }: Timing = own) {
  let waiting: M[] = [];
  /** What came within the last pause. */
  let came: { at: number; octets: number }[] = [];
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
      const at = now();
      came = [...came.filter((before) => before.at > at - pauseMs), { at, octets }];
      const rest = takenAt + pauseMs - at;
      if (rest <= 0 || came.reduce((sum, each) => sum + each.octets, 0) < much) takeAll();
      else timer ??= later(takeAll, rest);
    },
    close(): void {
      cancel(timer);
      waiting = [];
    },
  };
}
