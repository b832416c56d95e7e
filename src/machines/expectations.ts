/**
 * The longest expected time in each state, and what ends it, to find stuck objects. States without limit have none.
 * Exceeding it has no effect on the object.
 */
export type Expectations<State extends string> = {
  readonly [S in State]?: {
    /** ms. */
    readonly atMost: number;
    /** The awaited event, in words. */
    readonly waitsFor: string;
  };
};
