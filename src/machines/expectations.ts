/**
 * How long an object is expected to stay in a state at most, and what would end it: for those who look for what is stuck.
 * States that may last for ever have none. Nothing happens when it lasts longer.
 */
export type Expectations<State extends string> = {
  readonly [S in State]?: {
    /** ms. */
    readonly atMost: number;
    /** What it waits for, in words. */
    readonly waitsFor: string;
  };
};
