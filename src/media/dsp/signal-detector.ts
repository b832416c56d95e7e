import { Goertzel } from './goertzel.ts';

/** A network signal: its tones in order. A signal that repeats one tone has one part. */
export type SignalPattern<Name extends string> = {
  name: Name;
  /** Frequencies that sound together, in Hz, and for how long, in ms; Infinity = without an end. */
  parts: readonly { hertz: readonly number[]; ms: number }[];
};

/** Time of a block, in ms: filters some 25 Hz apart. */
const blockMs = 40;
/** How much of all that sounds the frequencies of a signal must be together, and each of several, as power. */
const leastShare = 0.6;
const leastOfEach = 0.15;
/** Weakest sound, as amplitude. */
const weakest = 250;
/** Blocks that show a signal no other is like, and each part of one that has several. */
const blocksThatShow = 5;
const blocksOfPart = 4;
/** How far the length of a sound may be from what it should be, as a share; and how much longer one without an end is. */
const tolerance = 0.25;
const beyondOthers = 1.2;
/** Blocks of silence between the parts of a signal. */
const mostBetween = 3;

type Sound = { key: string; filters: readonly number[] };

/** Detects network signals by their tones, and by cadence if the tones are equal. */
export class SignalDetector<Name extends string> {
  readonly #patterns: readonly SignalPattern<Name>[];
  readonly #all: readonly SignalPattern<Name>[];
  readonly #filters: readonly Goertzel[];
  readonly #sounds: readonly Sound[];
  readonly #progress = new Map<Name, { part: number; silent: number }>();
  readonly #block: number;
  #filled = 0;
  #energy = 0;
  /** The present signal, and its number of blocks. */
  #sounding: string | undefined;
  #blocks = 0;

  /** @param all every known signal; @param wanted the signals to report. */
  constructor(all: readonly SignalPattern<Name>[], wanted: readonly Name[], sampleRate: number) {
    this.#all = all;
    this.#patterns = all.filter(({ name }) => wanted.includes(name));
    const parts = all.flatMap((pattern) => pattern.parts);
    const hertz = [...new Set(parts.flatMap((part) => part.hertz))];
    this.#filters = hertz.map((each) => new Goertzel(each, sampleRate));
    const sounds = new Map(parts.map((part) => [keyOf(part), part.hertz.map((each) => hertz.indexOf(each))]));
    this.#sounds = [...sounds].map(([key, filters]) => ({ key, filters }));
    this.#block = Math.round((sampleRate * blockMs) / 1000);
  }

  /** Takes the next samples. @returns the signals that have just been made out. */
  take(samples: Int16Array): Name[] {
    const found: Name[] = [];
    for (let from = 0; from < samples.length; ) {
      const to = Math.min(samples.length, from + this.#block - this.#filled);
      for (const filter of this.#filters) filter.take(samples, from, to);
      for (let index = from; index < to; index++) this.#energy += samples[index]! * samples[index]!;
      this.#filled += to - from;
      from = to;
      if (this.#filled === this.#block) found.push(...this.#judge(this.#heard()));
    }
    return found;
  }

  /** The signal in the full block; undefined if it is none. */
  #heard(): string | undefined {
    const powers = this.#filters.map((filter) => filter.power());
    const whole = this.#energy * this.#block * 0.5;
    this.#filled = 0;
    this.#energy = 0;
    if (whole < (weakest * this.#block * 0.5) ** 2) return undefined;
    const best = this.#sounds.find(({ filters }) => {
      const each = filters.map((index) => powers[index]! / whole);
      const sum = each.reduce((total, share) => total + share, 0);
      return sum >= leastShare && (each.length === 1 || each.every((share) => share >= leastOfEach));
    });
    return best?.key;
  }

  #judge(heard: string | undefined): Name[] {
    const [before, lasted] = [this.#sounding, this.#blocks];
    const goesOn = heard === before;
    this.#sounding = heard;
    this.#blocks = goesOn ? lasted + 1 : 1;
    return this.#patterns
      .filter((pattern) =>
        pattern.parts.length > 1 && new Set(pattern.parts.map(keyOf)).size === pattern.parts.length
          ? this.#follows(pattern, heard)
          : this.#lasts(pattern, heard, goesOn ? undefined : { key: before, blocks: lasted }),
      )
      .map(({ name }) => name);
  }

  /** A signal of one sound. @param ended what has just ended. */
  #lasts(
    { name, parts: [part] }: SignalPattern<Name>,
    heard: string | undefined,
    ended: { key: string | undefined; blocks: number } | undefined,
  ): boolean {
    const key = keyOf(part!);
    const like = this.#all.filter((other) => other.name !== name && other.parts.some((each) => keyOf(each) === key));
    if (like.length === 0) return heard === key && this.#blocks === blocksThatShow;
    if (part!.ms === Number.POSITIVE_INFINITY) {
      const longest = Math.max(...like.flatMap(({ parts }) => parts.map(({ ms }) => ms)).filter(Number.isFinite));
      return heard === key && this.#blocks === Math.ceil((longest * beyondOthers) / blockMs);
    }
    return ended?.key === key && Math.abs(ended.blocks * blockMs - part!.ms) <= part!.ms * tolerance;
  }

  /** A signal of several sounds, one after another. */
  #follows({ name, parts }: SignalPattern<Name>, heard: string | undefined): boolean {
    const progress = this.#progress.get(name) ?? { part: 0, silent: 0 };
    this.#progress.set(name, progress);
    if (heard === keyOf(parts[progress.part]!)) {
      progress.silent = 0;
      if (this.#blocks !== blocksOfPart) return false;
      progress.part = (progress.part + 1) % parts.length;
      return progress.part === 0;
    }
    const isBetween = heard === undefined || (progress.part > 0 && heard === keyOf(parts[progress.part - 1]!));
    progress.silent = heard === undefined ? progress.silent + 1 : 0;
    if (!isBetween || progress.silent > mostBetween) progress.part = 0;
    return false;
  }
}

const keyOf = ({ hertz }: { hertz: readonly number[] }): string => hertz.join('+');
