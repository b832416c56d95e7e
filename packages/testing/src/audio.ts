/** Linear samples of 16 bits at 8 kHz: what phones hear and say. */
export const samplesPerMs = 8;
const pieceMs = 100;
const piece = pieceMs * samplesPerMs;
/** Mean square of an amplitude of 30: below it is silence, as no phone is quite still. */
const silencePower = 30 ** 2;

const powerOf = (samples: Int16Array): number => {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return samples.length === 0 ? 0 : sum / samples.length;
};

/** How alike two pieces of one length are, from -1 to 1; loudness does not count. */
function likeness(one: Int16Array, other: Int16Array): number {
  let product = 0;
  let ones = 0;
  let others = 0;
  for (let at = 0; at < one.length; at++) {
    const a = one[at]!;
    const b = other[at] ?? 0;
    product += a * b;
    ones += a * a;
    others += b * b;
  }
  return ones === 0 || others === 0 ? 0 : product / Math.sqrt(ones * others);
}

/** What is looked for in what was heard. */
export type Pattern = { samples: Int16Array; anchor: number };

/** The loudest piece of audio is looked for first. */
export function patternOf(samples: Int16Array): Pattern {
  let anchor = 0;
  let most = -1;
  for (let at = 0; at + piece <= samples.length; at += piece) {
    const power = powerOf(samples.subarray(at, at + piece));
    if (power > most) [anchor, most] = [at, power];
  }
  return { samples, anchor };
}

/** How much of a pattern is not at this place, from 0 to 1: pieces that sound are compared one by one. */
function distanceAt(heard: Int16Array, { samples }: Pattern, at: number): number {
  let compared = 0;
  let alike = 0;
  for (let from = 0; from + piece <= samples.length; from += piece) {
    const wanted = samples.subarray(from, from + piece);
    if (powerOf(wanted) < silencePower) continue;
    compared++;
    alike += Math.max(0, likeness(wanted, heard.subarray(at + from, at + from + piece)));
  }
  return compared === 0 ? 1 : 1 - alike / compared;
}

/**
 * Finds the first place of a pattern from `from` on, in samples, where it differs by at most `distance` (0 to 1);
 * undefined if there is none. `looked` is where the search goes on when more has been heard.
 */
export function find(heard: Int16Array, pattern: Pattern, from: number, distance: number) {
  const { samples, anchor } = pattern;
  const wanted = samples.subarray(anchor, anchor + piece);
  const last = heard.length - samples.length;
  for (let at = from; at <= last; at++) {
    // A few samples tell most places apart.
    if (likeness(wanted.subarray(0, 80), heard.subarray(at + anchor, at + anchor + 80)) < 0.5) continue;
    if (likeness(wanted, heard.subarray(at + anchor, at + anchor + piece)) < 1 - 2 * distance) continue;
    if (distanceAt(heard, pattern, at) <= distance) return { at, looked: at };
  }
  return { at: undefined, looked: Math.max(from, last + 1) };
}

export function toneSamples(hertz: number, ms: number): Int16Array {
  return Int16Array.from({ length: ms * samplesPerMs }, (_, at) =>
    Math.round(8_000 * Math.sin((2 * Math.PI * hertz * at) / (1000 * samplesPerMs))),
  );
}

/** How much of the power of a piece is in one frequency, from 0 to 1 (Goertzel). */
export function purity(samples: Int16Array, hertz: number): number {
  const factor = 2 * Math.cos((2 * Math.PI * hertz) / (1000 * samplesPerMs));
  let before = 0;
  let last = 0;
  for (const sample of samples) [before, last] = [last, sample + factor * last - before];
  const power = (last * last + before * before - factor * last * before) / samples.length;
  const all = powerOf(samples) * samples.length;
  return all === 0 ? 0 : (2 * power) / all;
}

export type Heard = { fromMs: number; toMs: number; what: string };

/** What a piece is: silence, a tone of one frequency, or something else. */
function kindOf(samples: Int16Array): string {
  if (powerOf(samples) < silencePower) return 'silence';
  for (let hertz = 200; hertz <= 3_400; hertz += 10) if (purity(samples, hertz) > 0.85) return `a tone of ${hertz} Hz`;
  return 'sound';
}

/** What was heard, in order, from `from` (in samples) on; `named` are places of known prompts. */
export function describeAudio(heard: Int16Array, from: number, named: readonly Heard[] = []): Heard[] {
  const found: Heard[] = [];
  for (let at = from; at < heard.length; at += piece) {
    const fromMs = at / samplesPerMs;
    const toMs = Math.min(heard.length, at + piece) / samplesPerMs;
    const name = named.find((each) => each.fromMs < toMs - pieceMs / 2 && each.toMs > fromMs + pieceMs / 2);
    const what = name?.what ?? kindOf(heard.subarray(at, at + piece));
    const last = found.at(-1);
    if (last?.what === what) last.toMs = toMs;
    else found.push({ fromMs, toMs, what });
  }
  return found;
}

/** Whether the last so many ms were silent. */
export const isSilent = (heard: Int16Array, ms: number): boolean =>
  powerOf(heard.subarray(Math.max(0, heard.length - ms * samplesPerMs))) < silencePower;

/** What one call of a phone has heard: packets at their times, silence between them. */
export class Ear {
  #samples = new Int16Array(8_000);
  #length = 0;
  #stream: { ssrc: number; origin: number } | undefined;

  get heard(): Int16Array {
    return this.#samples.subarray(0, this.#length);
  }

  /** Puts a piece at its place. @param nowMs how long the call has been, in ms. */
  put(ssrc: number, timestamp: number, samples: Int16Array, nowMs: number): void {
    if (this.#stream?.ssrc !== ssrc)
      this.#stream = { ssrc, origin: Math.max(this.#length, Math.round(nowMs * samplesPerMs)) - timestamp };
    const at = this.#stream.origin + timestamp;
    // A timestamp that jumps begins a stream of its own.
    if (at < 0 || at > (nowMs + 2_000) * samplesPerMs) {
      this.#stream = undefined;
      return;
    }
    this.#grow(at + samples.length);
    this.#samples.set(samples, at);
  }

  /** Nothing came up to now: silence. */
  until(nowMs: number): void {
    this.#grow(Math.round(nowMs * samplesPerMs));
  }

  #grow(length: number): void {
    if (length > this.#samples.length) {
      const larger = new Int16Array(Math.max(length, 2 * this.#samples.length));
      larger.set(this.#samples);
      this.#samples = larger;
    }
    this.#length = Math.max(this.#length, length);
  }
}
