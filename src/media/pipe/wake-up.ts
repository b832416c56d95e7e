import type { Clock } from '../../lib/clock.ts';

/** Words of a wake-up: whether it is pending, its number, and a bit for each slot with news. */
const pendingWord = 0;
const numberWord = 1;
const firstBits = 2;
const bitWords = 128;

/** Slots of one wake-up. Pipes may share a slot, at the cost of one look each. */
export const wakeUpSlots = bitWords * 32;

/** Wakes a thread for which another one has something, before its next tick. */
export interface WakeUps {
  /** Wakes the watcher, in a turn of its own. */
  ring(wakeUp: Int32Array): void;
  /** Calls `woken` after each wake-up, once for several in quick succession. */
  watch(wakeUp: Int32Array, woken: () => void): void;
}

/** Memory of a thread's wake-up. @param number unique in the process. */
export function newWakeUp(number: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer((firstBits + bitWords) * Int32Array.BYTES_PER_ELEMENT);
  new Int32Array(memory)[numberWord] = number;
  return memory;
}

/** The number that a wake-up was made with. */
export function numberOf(wakeUp: Int32Array): number {
  return wakeUp[numberWord]!;
}

/** Marks a slot, and wakes the thread unless a wake-up is pending. */
export function wakeFor(wakeUps: WakeUps, wakeUp: Int32Array, slot: number): void {
  Atomics.or(wakeUp, firstBits + ((slot >> 5) & (bitWords - 1)), 1 << (slot & 31));
  if (Atomics.exchange(wakeUp, pendingWord, 1) === 0) wakeUps.ring(wakeUp);
}

/** Answers a wake-up: calls `told` once for each marked slot. */
export function answer(wakeUp: Int32Array, told: (slot: number) => void): void {
  Atomics.store(wakeUp, pendingWord, 0);
  for (let word = 0; word < bitWords; word++) {
    if (Atomics.load(wakeUp, firstBits + word) === 0) continue;
    const bits = Atomics.exchange(wakeUp, firstBits + word, 0);
    for (let bit = 0; bit < 32; bit++) if (bits & (1 << bit)) told(word * 32 + bit);
  }
}

/** Wake-ups between threads, by waiting on the shared memory. */
export const systemWakeUps = (clock: Pick<Clock, 'soon'>): WakeUps => ({
  ring: (wakeUp) => void Atomics.notify(wakeUp, pendingWord),
  watch(wakeUp, woken) {
    const wait = (): void => {
      const result = Atomics.waitAsync(wakeUp, pendingWord, 0);
      // Pending already: others have their turn first.
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

/** Wake-ups within one process, in order. */
export function inlineWakeUps(): WakeUps {
  const watching = new Map<number, () => void>();
  return {
    ring: (wakeUp) => queueMicrotask(() => watching.get(numberOf(wakeUp))?.()),
    watch: (wakeUp, woken) => void watching.set(numberOf(wakeUp), woken),
  };
}

/** Wakes no thread: it looks at its next tick. */
export const noWakeUps: WakeUps = { ring: () => {}, watch: () => {} };
