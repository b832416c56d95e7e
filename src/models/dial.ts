/** How a Dial may end, in the words of the variable DIALSTATUS. */
export const dialOutcomes = ['ANSWER', 'BUSY', 'CONGESTION', 'NOANSWER', 'CHANUNAVAIL', 'CANCEL'] as const;
export type DialOutcome = (typeof dialOutcomes)[number];

/** The result of a Dial for the dialplan. */
export type DialResult = {
  status: DialOutcome;
  /** The Q.850 cause of the last target that failed, if nobody answered. */
  cause?: number;
  /** The channel that answered. */
  peer?: { name: string; number: string };
  /** How long both were joined, in ms. */
  answeredMs?: number;
  /** The answering party's subroutine released it, and the caller continues. */
  goesOn?: true;
  /** The key that the caller has left by. */
  left?: string;
};
