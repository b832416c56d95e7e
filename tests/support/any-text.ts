import fc from 'fast-check';

/** Code points that are none: halves of surrogate pairs. */
const [surrogates, afterSurrogates] = [0xd800, 0xe000];

/**
 * Any code point, as the unit of `fc.string`. The library's own (`unit: 'binary'`) keeps a table of all of them, 80 MB for as
 * long as the process lives.
 */
export const anyCodePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10ffff - (afterSurrogates - surrogates) })
  .map((number) => String.fromCodePoint(number < surrogates ? number : number + afterSurrogates - surrogates));
