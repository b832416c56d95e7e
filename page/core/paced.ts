/** While much comes, messages are taken together, so that the page is drawn once for them. */

/** From so many octets a second on, messages wait for each other. */
const much = 8_000;
/** As many a second, beside the largest message: the first one of a view is large, and the next is not to wait longer for it. */
const veryMuch = 12_000;

/** How long messages wait for each other after these sizes within a second, in ms. */
function pauseAfter(sizes: readonly number[]): number {
  const sum = sizes.reduce((all, each) => all + each, 0);
  if (sum - Math.max(...sizes) >= veryMuch) return 2_000;
  return sum >= much ? 1_000 : 0;
}

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
 * Takes messages in their order: at once while little comes, else once a second; once in two seconds while very much comes.
 * @returns what hears a message of a size in octets, and what gives up those that wait
 */
export function paced<M>(take: (message: M) => void, { now, later, cancel }: Timing = own) {
  let waiting: M[] = [];
  /** What came within the last second. */
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
      came = [...came.filter((before) => before.at > at - 1_000), { at, octets }];
      const rest = takenAt + pauseAfter(came.map((each) => each.octets)) - at;
      if (rest <= 0) takeAll();
      else timer ??= later(takeAll, rest);
    },
    close(): void {
      cancel(timer);
      waiting = [];
    },
  };
}
