import type { Static } from 'typebox';
import { marked, number, object, oneOf, optional, text } from './plain-schema.ts';

/** How a Dial may end, in the words of the variable DIALSTATUS. */
const dialOutcomes = ['ANSWER', 'BUSY', 'CONGESTION', 'NOANSWER', 'CHANUNAVAIL', 'CANCEL'] as const;
export type DialOutcome = (typeof dialOutcomes)[number];

/** The result of a Dial for the dialplan. */
export const DialResult = object({
  status: oneOf(...dialOutcomes),
  /** The Q.850 cause of the last target that failed, if nobody answered. */
  cause: optional(number),
  /** The channel that answered. */
  peer: optional(object({ name: text, number: text })),
  /** How long both were joined, in ms. */
  answeredMs: optional(number),
  /** The answering party's subroutine released it, and the caller continues. */
  goesOn: marked,
  /** The key that the caller has left by. */
  left: optional(text),
});
export type DialResult = Static<typeof DialResult>;
