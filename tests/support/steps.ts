/**
 * Counts work instead of time: every character that a string method or a regular expression has to look at is a step.
 * What takes steps out of proportion to its input can be made to take hours by whoever sends the input.
 */

export class TooManySteps extends Error {
  override readonly name = 'TooManySteps';
}

type Method = (this: unknown, ...args: never[]) => unknown;
type Cost = (subject: string, result: unknown, args: readonly unknown[]) => number;

const whole: Cost = (subject) => subject.length;
const one: Cost = () => 1;
/** From where the search begins to where it ends. */
const searched: Cost = (subject, result, [, from]) => {
  const start = typeof from === 'number' ? from : 0;
  return Math.max(1, typeof result === 'number' && result >= 0 ? result - start : subject.length - start);
};
const made: Cost = (_, result) => 1 + String(result).length;

const strings: Readonly<Record<string, Cost>> = {
  ...{ charAt: one, codePointAt: one, startsWith: one, endsWith: one, at: one },
  ...{ indexOf: searched, lastIndexOf: whole, includes: whole, search: whole },
  ...{ slice: made, substring: made, repeat: made, padStart: made, padEnd: made },
  ...{ trim: whole, trimStart: whole, trimEnd: whole, toLowerCase: whole, toUpperCase: whole },
  ...{ split: whole, replace: whole, replaceAll: whole, match: whole, matchAll: whole },
};

/** What a linear expression looks at: a sticky one that fits only what it took. */
const matched = (pattern: RegExp, text: string, from: number, found: boolean): number =>
  pattern.sticky && found ? Math.max(1, pattern.lastIndex - from) : Math.max(1, text.length - from);

/**
 * Runs `fn` and counts its steps; gives up as soon as there are more than `limit`.
 * @throws TooManySteps, also when `fn` has swallowed it.
 */
export function countSteps(limit: number, fn: () => void): number {
  let steps = 0;
  let inside = false;
  const count = (more: number) => {
    steps += more;
    if (steps > limit) throw new TooManySteps(`more than ${limit} steps`);
  };
  /** Counts a call that the program makes, not those that it makes in its turn. */
  const counting =
    <T>(
      cost: (self: T, result: unknown, args: readonly unknown[], from: number) => number,
      from: (self: T) => number,
    ) =>
    (original: Method): Method =>
      // None of them has more arguments, or another meaning for one that is undefined.
      function (this: unknown, first, second) {
        if (inside) return original.call(this, first, second);
        const begin = from(this as T);
        let result: unknown;
        inside = true;
        try {
          result = original.call(this, first, second);
        } finally {
          inside = false;
        }
        count(cost(this as T, result, [first, second], begin));
        return result;
      };
  const ofString = (cost: Cost) => counting(cost, () => 0);
  const ofPattern = counting<RegExp>(
    (pattern, result, [text], from) => matched(pattern, String(text), from, Boolean(result)),
    (pattern) => (pattern.sticky || pattern.global ? pattern.lastIndex : 0),
  );
  const { charCodeAt } = String.prototype;
  const restore = [
    // Called for nearly every character: it counts on its own, and fast.
    wrap(
      String.prototype,
      'charCodeAt',
      () =>
        function (this: unknown, at: number) {
          if (++steps > limit) count(0);
          return charCodeAt.call(this as string, at);
        } as Method,
    ),
    ...Object.entries(strings).map(([name, cost]) => wrap(String.prototype, name, ofString(cost))),
    ...['exec', 'test'].map((name) => wrap(RegExp.prototype, name, ofPattern)),
  ];
  try {
    fn();
  } finally {
    for (const undo of restore) undo();
  }
  if (steps > limit) throw new TooManySteps(`more than ${limit} steps`);
  return steps;
}

function wrap(owner: object, name: string, around: (original: Method) => Method): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name)!;
  Object.defineProperty(owner, name, { ...before, value: around(before.value as Method) });
  return () => void Object.defineProperty(owner, name, before);
}
