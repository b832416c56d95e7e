import type { Layout } from './layout.ts';

/** Writes the first counter block: salt, source and index, which together are never the same twice (RFC 3711 4.1.1). */
export function writeCounterStart(into: Uint8Array, salt: Uint8Array, { ssrc, index }: Layout): void {
  into.fill(0, 0, 16);
  into.set(salt);
  xorWord(into, 4, ssrc);
  xorWord(into, 8, Math.floor(index / 0x1_0000));
  xorHalf(into, 12, index % 0x1_0000);
}

/** Writes the start of Galois/counter mode: two zeros, the source, and the index at the end, over the salt (RFC 7714 8.1, 9.1). */
export function writeGcmStart(into: Uint8Array, salt: Uint8Array, { ssrc, index }: Layout): void {
  into.set(salt);
  xorWord(into, 2, ssrc);
  xorWord(into, 6, Math.floor(index / 0x1_0000));
  xorHalf(into, 10, index % 0x1_0000);
}

function xorWord(into: Uint8Array, at: number, value: number): void {
  xorHalf(into, at, value >>> 16);
  xorHalf(into, at + 2, value);
}

function xorHalf(into: Uint8Array, at: number, value: number): void {
  into[at]! ^= (value >>> 8) & 255;
  into[at + 1]! ^= value & 255;
}
