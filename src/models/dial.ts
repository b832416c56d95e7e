/** How a Dial may end, in the words of the variable DIALSTATUS. */
export const dialOutcomes = ['ANSWER', 'BUSY', 'CONGESTION', 'NOANSWER', 'CHANUNAVAIL', 'CANCEL'] as const;
export type DialOutcome = (typeof dialOutcomes)[number];
