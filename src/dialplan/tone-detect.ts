import type { ToneSignal } from '../telephony/media.ts';
import { readOptions, splitArguments } from './arguments.ts';
import type { DialplanFunction } from './function.ts';
import type { DialplanChannel } from './host.ts';
import type { Position } from './position.ts';

/** How long a tone must sound where nothing is said of that, in ms. */
const standardToneMs = 500;
/** Highest frequency there is in any format, in Hz, longest tone, in ms, highest threshold, in dB, and most times. */
const most = { hertz: 24_000, toneMs: 3_600_000, decibels: 60, times: 1_000_000 } as const;

/** Letters that ask for signals of the network. */
const signalLetters: Readonly<Record<string, ToneSignal>> = { a: 'information', b: 'busy', c: 'dial', p: 'ringing' };
/** All letters. Asterisk's `s` hides the tone from the peer; that is not supported. */
const letters = 'abcdghnprtx';

const isWhole = (text: string): boolean => /^\d{1,9}$/.test(text);

/** A place as written: `[[context,]extension,]priority or label`, what is missing as the channel is; undefined for none. */
function place(channel: DialplanChannel, written: string): Position | undefined {
  const { dialplan } = channel.channel();
  const parts = splitArguments(written).map((each) => each.trim());
  const [target = '', extension = dialplan.exten, context = dialplan.context] = parts.reverse();
  if (parts.length > 3 || !channel.system.placeExists(context, extension, target)) return undefined;
  const priority = isWhole(target) ? Number(target) : channel.system.priorityOf(context, extension, target);
  return priority === undefined ? undefined : { context, extension, priority };
}

/** The places that `g` (what the far side says) and `h` (what it hears) name; the letter of one that is none. */
function places(
  channel: DialplanChannel,
  options: ReadonlyMap<string, string>,
): { in?: Position; out?: Position } | 'g' | 'h' {
  const to: { in?: Position; out?: Position } = {};
  for (const [letter, direction] of [
    ['g', 'in'],
    ['h', 'out'],
  ] as const) {
    const written = options.get(letter);
    if (written === undefined) continue;
    const found = place(channel, written);
    if (!found) return letter;
    to[direction] = found;
  }
  return to;
}

/** The text behind the second comma, and the parts before. */
function split(text: string): [hertz: string, duration: string, options: string] {
  const [hertz = '', duration = '', ...options] = text.split(',');
  return [hertz.trim(), duration.trim(), options.join(',').trim()];
}

/** Which number is none, or out of its bounds, and which these are; undefined when all are as they must be. */
function wrongNumber(hertz: string, duration: string, decibels: string, times: string): string | undefined {
  const within = (text: string, highest: number, lowest = 0): boolean =>
    isWhole(text) && Number(text) >= lowest && Number(text) <= highest;
  if (!within(hertz, most.hertz)) return `the frequency is 0 to ${most.hertz} Hz`;
  if (duration !== '' && !within(duration, most.toneMs)) return `the duration is 0 to ${most.toneMs} ms`;
  if (!within(decibels, most.decibels)) return `option d is 0 to ${most.decibels} dB`;
  return within(times, most.times, 1) ? undefined : `option n is 1 to ${most.times} times`;
}

/**
 * `TONE_DETECT(frequency[,duration in ms[,options]])=`, with any value: reports the tone. 0 Hz detects signals only.
 * Options: `r` only from the far side, `t` only to it, `x` ends it. `a` special information tones, `b` busy, `c` dial
 * tone, `p` ringing, detected at their begin; `d(x)` dB above all other sound. `g(position)` and `h(position)` jump
 * after a tone (from, to the far side), `n(x)` times. One tone per channel. `TONE_DETECT(rx)` and `TONE_DETECT(tx)`
 * read the counts.
 */
export const toneDetect: DialplanFunction = {
  read(channel, text) {
    const heard = channel.tonesHeard();
    const direction = text.trim().toLowerCase();
    if (!heard || (direction !== 'rx' && direction !== 'tx')) return undefined;
    return String(direction === 'rx' ? heard.in : heard.out);
  },
  write(channel, text) {
    const [hertz, duration, written] = split(text);
    const options = readOptions(written);
    const unknown = [...options.keys()].find((letter) => !letters.includes(letter));
    if (unknown === 's') return 'option s is not supported: the tone cannot be hidden from the peer';
    if (unknown !== undefined) return `there is no option ${unknown}, but ${[...letters].join(', ')}`;
    if (options.has('x')) {
      channel.detectTone(undefined);
      return true;
    }
    const signals = Object.keys(signalLetters).flatMap((letter) => (options.has(letter) ? signalLetters[letter]! : []));
    const [decibels, times = '1'] = [options.get('d'), options.get('n')];
    const wrong = wrongNumber(hertz, duration, decibels ?? '0', times);
    if (wrong !== undefined) return wrong;
    if (Number(hertz) === 0 && signals.length === 0) return 'a frequency of 0 Hz needs an option of a, b, c, p';
    const durationMs = Number(duration) || standardToneMs;
    const to = places(channel, options);
    if (typeof to === 'string') return `option ${to} names no location of the dialplan`;
    const [received, sent] = [options.has('r'), options.has('t')];
    const direction = received === sent ? 'both' : received ? 'in' : 'out';
    channel.detectTone(
      {
        hertz: Number(hertz),
        durationMs,
        direction,
        ...(decibels !== undefined && { thresholdDb: Number(decibels) }),
        ...(signals.length > 0 && { signals }),
      },
      { times: Number(times), to },
    );
    return true;
  },
};
