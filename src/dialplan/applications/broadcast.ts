import type { BroadcastOutcome } from '../calls.ts';
import { type Application, type StepResult, waitFor } from './application.ts';
import { argumentsIn } from './texts.ts';

/** How long a call is offered when nothing is said, in ms. */
const standardMs = 500;
/** Longest that it may be, in ms. */
const longestMs = 60_000;

/** Longest pattern, and most repetitions in it: with these no name takes long to compare. */
const longestPattern = 100;
const mostRepetitions = 3;

/**
 * The pattern for names of applications; undefined if it is invalid or could be slow, because callers may supply parts.
 * Without a pattern all match.
 */
export function readPattern(text: string): RegExp | undefined {
  const repetitions = text.replaceAll(/\\./g, '').match(/[*+?{]/g)?.length ?? 0;
  if (text.length > longestPattern || repetitions > mostRepetitions || /(?:^|[^\\])\(/.test(text)) return undefined;
  try {
    return new RegExp(text);
  } catch {
    return undefined;
  }
}

/** Words for yes, in any case. */
const trueWords = /^(?:yes|true|y|t|1|on)$/i;

/** Milliseconds; undefined when the text is no number of them. */
function readMs(text: string): number | undefined {
  if (text === '') return standardMs;
  return /^\d{1,9}$/.test(text) ? Math.min(Number(text), longestMs) : undefined;
}

export const stasisBroadcast: Application = {
  name: 'StasisBroadcast',
  usage: 'StasisBroadcast([ms[,pattern[,arguments[,notify]]]]): offers the channel to several applications',
  check({ args }) {
    const [ms = '', pattern = ''] = args.map((each) => each.trim());
    if (readMs(ms) === undefined) return `"${ms}" is no number of milliseconds`;
    return readPattern(pattern) ? undefined : `"${pattern}" is no pattern that can be used`;
  },
  run: async (step): Promise<StepResult> => {
    const { channel, signal, position, args, warn } = step;
    const [ms = '', text = '', , notify = ''] = args.map((each) => each.trim());
    const pattern = readPattern(text);
    const timeoutMs = readMs(ms) ?? standardMs;
    channel.note('STASISSTATUS', '');
    let outcome: BroadcastOutcome = 'FAILED';
    if (!pattern) warn(`"${text}" is no pattern that can be used`);
    else
      await waitFor(signal, (finish) => {
        const offer = channel.callControl().broadcast({ timeoutMs, pattern, tellsLosers: trueWords.test(notify) });
        void offer.done.then((how) => {
          outcome = how;
          finish();
        }, finish);
        return offer.stop;
      });
    if (signal.aborted) return undefined;
    if (typeof outcome !== 'string')
      return {
        type: 'stasis',
        app: (outcome as { app: string }).app,
        args: argumentsIn(step, 2),
        next: { ...position, priority: position.priority + 1 },
      };
    channel.note('STASISSTATUS', outcome);
    return undefined;
  },
};
