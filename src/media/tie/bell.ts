import type { Clock } from '../../lib/clock.ts';

/** Words of a bell: whether it was rung, its number, and then a bit for each slot that something happened in. */
const rungWord = 0;
const numberWord = 1;
const firstBits = 2;
const bitWords = 128;

/** Slots of one bell. Ties may share one; that costs only looking. */
export const bellSlots = bitWords * 32;

/** How a thread learns that another has something for it, without waiting for its tick. */
export interface Bells {
  /** Lets whoever watches the bell know, in a turn of its own. */
  ring(bell: Int32Array): void;
  /** Calls `woken` after each ring, once for several that came close together. */
  watch(bell: Int32Array, woken: () => void): void;
}

/** Memory of a thread's bell. @param number tells bells of one process apart. */
export function newBell(number: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((firstBits + bitWords) * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(memory)[numberWord] = number;
  return memory;
}

/** The number that a bell was made with. */
export function numberOf(bell: Int32Array): number {
  return bell[numberWord]!;
}

/** Marks a slot and rings, unless the bell was rung and not answered yet. */
export function ringFor(bells: Bells, bell: Int32Array, slot: number): void {
  Atomics.or(bell, firstBits + ((slot >> 5) & (bitWords - 1)), 1 << (slot & 31));
  if (Atomics.exchange(bell, rungWord, 1) === 0) bells.ring(bell);
}

/** Answers a bell: tells each slot that was marked, once. */
export function answer(bell: Int32Array, told: (slot: number) => void): void {
  Atomics.store(bell, rungWord, 0);
  for (let word = 0; word < bitWords; word++) {
    if (Atomics.load(bell, firstBits + word) === 0) continue;
    const bits = Atomics.exchange(bell, firstBits + word, 0);
    for (let bit = 0; bit < 32; bit++) if (bits & (1 << bit)) told(word * 32 + bit);
  }
}

/** Bells between threads: whoever watches waits for a change of the memory itself. */
export const systemBells = (clock: Pick<Clock, 'soon'>): Bells => ({
  ring: (bell) => void Atomics.notify(bell, rungWord),
  watch(bell, woken) {
    const wait = (): void => {
      const result = Atomics.waitAsync(bell, rungWord, 0);
      // Rung already: others have their turn first.
      if (result.async) void result.value.then(wake);
      else clock.soon(wake);
    };
    const wake = (): void => {
      woken();
      wait();
    };
    wait();
  },
});

/** Bells of threads that are none: they ring in the same process, in the order in which they were rung. */
export function inlineBells(): Bells {
  const watching = new Map<number, () => void>();
  return {
    ring: (bell) => queueMicrotask(() => watching.get(numberOf(bell))?.()),
    watch: (bell, woken) => void watching.set(numberOf(bell), woken),
  };
}

/** Nobody is woken: what waits is found at the next tick. */
export const noBells: Bells = { ring: () => {}, watch: () => {} };
