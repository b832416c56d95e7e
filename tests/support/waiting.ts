/**
 * How long a fact may take that a test waits for: far longer than it ever does, and only then a failure. It is counted
 * in turns that this process was given: a machine that stands still or is busy does not use it up.
 */
const turnMs = 50;
const turns = 3600;

/** Between the first two questions, and the most between two, in ms. Each pause is a quarter longer than the last. */
const firstPauseMs = 2;
const longestPauseMs = 25;

/** What `patience` comes to on a machine with nothing else to do, in ms. */
export const patienceMs = turns * turnMs;

/** Calls `late`, unless what it gives back is called before patience ends. */
export function patience(late: () => void): () => void {
  let left = turns;
  const timer = setInterval(() => {
    if (--left > 0) return;
    clearInterval(timer);
    late();
  }, turnMs);
  return () => clearInterval(timer);
}

/**
 * Resolves once a condition holds: it is looked at now, and by all of `looks` whenever something has come.
 * @throws Error with what `late` says when it does not come to hold; what `holds` throws.
 */
export function untilHolds(looks: Set<() => void>, holds: () => boolean, late: () => string): Promise<void> {
  return new Promise((resolve, reject) => {
    const over = (settle: () => void) => {
      end();
      looks.delete(look);
      settle();
    };
    const look = () => {
      try {
        if (holds()) over(resolve);
      } catch (error) {
        over(() => reject(error));
      }
    };
    const end = patience(() => over(() => reject(new Error(late()))));
    looks.add(look);
    look();
  });
}

/** The first of what `find` finds, now or whenever something has come. @throws Error as `untilHolds` does. */
export async function untilFound<T>(looks: Set<() => void>, find: () => T | undefined, late: () => string): Promise<T> {
  let found: T | undefined;
  await untilHolds(looks, () => (found = find()) !== undefined, late);
  return found as T;
}

/** What a promise resolves with. @throws Error with what `late` says when it does not in time. */
export async function inTime<T>(promise: Promise<T>, late: () => string): Promise<T> {
  let end = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    end = patience(() => reject(new Error(late())));
  });
  return Promise.race([promise, ended]).finally(end);
}

/**
 * Asks again and again until the answer is yes: for what nobody tells of.
 * @throws Error with what `late` says when it does not come to be.
 */
export async function untilAsked(holds: () => Promise<boolean> | boolean, late: () => string): Promise<void> {
  let isLate = false;
  let pauseMs = firstPauseMs;
  const end = patience(() => {
    isLate = true;
  });
  try {
    while (!(await holds())) {
      if (isLate) throw new Error(late());
      // Who is asked, and everybody else on this machine, gets a turn, which asking without a pause would take.
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      pauseMs = Math.min(pauseMs * 1.25, longestPauseMs);
    }
  } finally {
    end();
  }
}
