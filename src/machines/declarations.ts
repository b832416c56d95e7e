import type { AnyStateMachine, EventFrom } from 'xstate';

/**
 * Declares an effect of a chart by name and parameters. The chart only names it; `actors/` binds the real one with
 * `machine.provide`, once, at start-up. Running a chart whose effect was never bound throws and names the effect.
 */
export const effect =
  <P = undefined>(name: string) =>
  (_args: unknown, _params: P): void => {
    throw new Error(`effect '${name}' was not provided`);
  };

/**
 * Events that a chart ignores, and why. Every event is decided in every state: handled, refused with a named error, or
 * ignored for a reason given here. A file that exports `<noun>Machine` exports `<noun>Ignores` beside it. A test fails
 * on undecided events; the state diagrams show the ignored ones.
 */
export type Ignores<M extends AnyStateMachine> = readonly {
  events: readonly EventFrom<M>['type'][];
  /** Paths of states (`reachable.resting`), with their inner states. Left out: every state that does not handle it. */
  in?: readonly string[];
  /** A half-sentence that says why nothing has to happen. */
  why: string;
}[];

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

/** The longest timer, 24.8 days in ms. Longer times are renewed or requested again long before. */
export const longestTimeout = 2_147_483_647;
