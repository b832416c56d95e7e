import { printable } from './scan.ts';

/** Codes of Warning that we send (RFC 3261 20.43). */
export const warnings = {
  incompatibleProtocol: 302,
  incompatibleAddress: 301,
  noSuchMedia: 304,
  incompatibleFormat: 305,
  other: 399,
} as const;

export type WarningCode = (typeof warnings)[keyof typeof warnings];

/** A Warning header that tells people at the other side why we refuse; only what can be printed gets into it. */
export const warningHeader = (text: string, code: WarningCode = warnings.other): readonly [string, string] => [
  'Warning',
  `${code} hookswitch "${printable(text).replace(/["\\]/g, "'")}"`,
];
