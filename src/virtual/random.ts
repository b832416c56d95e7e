import type { Clock } from '../lib/clock.ts';
import type { CountedIds } from '../lib/ids.ts';

/** A seeded random source: each call gives the next number in [0, 1). */
export type Random = () => number;

/** Numbers that follow from a seed (the "mulberry" step on 32 bits): spread well, and of no use for secrets. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** 32 bits at a time. */
export const createRandom32 = (random: Random) => (): number => Math.floor(random() * 2 ** 32);

/**
 * Identifiers that follow from a seed, in the forms of the real ones. They can be guessed: for simulations only.
 * @param mark that of a node of a cluster
 */
export function createSeededIds(clock: Clock, random: Random, mark = ''): CountedIds {
  const pick = (alphabet: string, length: number): string =>
    Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
  const hex = (digits: number): string => pick('0123456789abcdef', digits);
  let counter = 0;
  return {
    mark,
    channel: () => `${mark}${Math.floor(clock.now() / 1000)}.${counter++}`,
    get channels() {
      return counter;
    },
    goOn(channels) {
      counter = channels;
    },
    uuid: () => `${mark}${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    hex,
    secret: (length) => pick('ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789', length),
  };
}
