import type { AnyStateMachine, EventFrom } from 'xstate';

/**
 * What a chart ignores, and why. Every event that a chart knows is decided in every state: handled, refused with a named
 * error, or ignored for a reason that is given here. A file that exports `<noun>Machine` exports `<noun>Ignores` beside
 * it; a test fails on what is decided nowhere, and the state diagrams show which it is.
 */
export type Ignores<M extends AnyStateMachine> = readonly {
  events: readonly EventFrom<M>['type'][];
  /** Paths of states (`reachable.resting`), states inside them included. Left out: wherever they are not handled. */
  in?: readonly string[];
  /** A half-sentence that says why nothing has to happen. */
  why: string;
}[];
