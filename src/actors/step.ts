import type { AnyMachineSnapshot, EventObject, StateValue } from 'xstate';
import type { StepOutcome, StepSource } from './chart-run.ts';

/**
 * The result of one event on one actor: the view of charts from outside. A step is published when it is committed,
 * before its facts and effects. All members are plain JSON.
 */
export type Step = {
  /** Counts the steps of the whole process, without gaps; begins with 1. */
  seq: number;
  /** Wall-clock time in ms since the epoch. */
  at: number;
  /** Public id of the actor's object. */
  object: string;
  /** Id of its chart. Several actors may stand behind one object, each with another chart. */
  chart: string;
  /** The event; `xstate.init` at the start, {@link restored} after a restore. */
  event: EventObject;
  /** Its state before and after, as the chart names it. Before its first step there was none. */
  from: StateValue | undefined;
  to: StateValue;
  /** In order. */
  facts: readonly EventObject[];
  /** Effects in order, performed after this step is published. */
  effects: readonly { type: string; params: unknown }[];
  /** The step whose facts or effects sent the event, or the name of an outside cause; undefined if unknown. */
  causedBy: number | string | undefined;
  /** Id of the client's request that it follows from, directly or not; left out without one. */
  request?: string;
  /** Enough to make the snapshot after the step of the one before: see {@link replay}. */
  change: Change;
};

/** A snapshot of a chart, by its parts. */
export type Contents = { status: string; value: StateValue; context: object };

/**
 * A committed step: references to immutable data. Nothing is compared, copied or written for it; {@link describeStep}
 * makes a {@link Step} on demand.
 */
export type CommittedStep = StepSource &
  StepOutcome & {
    readonly kind: 'step';
    /** Position in the recorder, which sets it. */
    order: number;
    readonly seq: number;
    readonly object: string;
    readonly chart: string;
    readonly before: AnyMachineSnapshot | undefined;
    readonly causedBy: Step['causedBy'];
    readonly request: string | undefined;
  };

/** Describes a step. `before` is what the object's chart was before it; left out, its change holds everything. */
export const describeStep = (step: CommittedStep, before: Contents | undefined): Step => ({
  seq: step.seq,
  at: step.at,
  object: step.object,
  chart: step.chart,
  event: step.event,
  from: step.before?.value as StateValue | undefined,
  to: step.after.value as StateValue,
  facts: step.facts,
  effects: step.effects.map(({ type, params }) => ({ type, params })),
  causedBy: step.causedBy,
  ...(step.request === undefined ? {} : { request: step.request }),
  change: changeOf(before, step.after as Contents),
});

/** The changed part of a snapshot. */
export type Change = {
  /** Left out while it stays `active`; `error` of an actor that crashed. */
  status?: 'done' | 'error';
  /** The state, if it is different. */
  value?: StateValue;
  /** Members of the context that are new or have another value. */
  set?: Readonly<Record<string, unknown>>;
  /** Members of the context that are gone. */
  unset?: readonly string[];
};

/** The event of the first step of an actor that was restored from a dump. */
export const restored = 'actor.restored';

/** The part of a snapshot that steps show. */
export type SnapshotImage = {
  status: 'active' | 'done' | 'error';
  value: StateValue;
  context: Readonly<Record<string, unknown>>;
};

/** The change between two snapshots; everything if there was none before. */
function changeOf(before: Contents | undefined, after: Contents): Change {
  const { status, value, context } = after;
  const change: { -readonly [K in keyof Change]: Change[K] } = {};
  if (status === 'done' || status === 'error') change.status = status;
  if (before === undefined || before.value !== value) change.value = value;
  if (before?.context === context) return change;
  const old = (before?.context ?? {}) as Record<string, unknown>;
  const set = Object.entries(context).filter(
    ([name, member]) => !Object.hasOwn(old, name) || !Object.is(old[name], member),
  );
  const unset = Object.keys(old).filter((name) => !Object.hasOwn(context, name));
  if (set.length > 0) change.set = Object.fromEntries(set);
  if (unset.length > 0) change.unset = unset;
  return change;
}

/** The snapshot that a change leads to, from the one before; the first one needs none. */
export function replay(before: SnapshotImage | undefined, { status, value, set, unset = [] }: Change): SnapshotImage {
  const kept = Object.entries(before?.context ?? {}).filter(([name]) => !unset.includes(name));
  return {
    status: status ?? 'active',
    value: value ?? before?.value ?? '',
    context: { ...Object.fromEntries(kept), ...set },
  };
}
