import type { AnyStateMachine, EventFrom } from 'xstate';

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
