import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
} from 'xstate';
import { type Deadline, deadlinesOf, withDeadlines } from './deadlines.ts';
import { fastLogic } from './table-logic.ts';

/** xstate's types for a chart, its events and its snapshots, under our names. */
export type Chart = AnyStateMachine;
export type ChartEvent = EventObject;
export type Snapshot = AnyMachineSnapshot;

/** The dump of an actor: plain JSON, and all that its chart needs to go on. */
export type ActorDump = {
  chart: string;
  value: Snapshot['value'];
  context: Readonly<Record<string, unknown>>;
  /** The request that its last step followed from: what answers it later follows from it, too. */
  request?: string | undefined;
};

/** An effect of a transition, in xstate's form. */
export type Effect = { type: string; info: unknown; params: unknown; exec: (info: unknown, params: unknown) => void };
/** A timer to start, or to forget where it has no event. */
type Planned = { id: string; event?: EventObject; delayMs: number };
/** An action as charts hand it over to be executed. */
type Action = { type: string; info: unknown; params: unknown; exec: Effect['exec'] | undefined };

const nothing = (): void => {};
const none: readonly never[] = [];

/** The scope of an actor that is never started. */
function inertScope(): AnyActorScope {
  let found: AnyActorScope | undefined;
  const first = { status: 'active', output: undefined, error: undefined } as const;
  createActor({
    getInitialSnapshot: (scope: AnyActorScope) => {
      found = scope;
      return first;
    },
    transition: () => first,
    getPersistedSnapshot: () => first,
  });
  return found as AnyActorScope;
}
const inert = inertScope();

/** The snapshot of a chart that could not go on. */
export const failed = (snapshot: AnyMachineSnapshot, error: unknown): AnyMachineSnapshot =>
  ({ ...snapshot, status: 'error', error }) as AnyMachineSnapshot;

/**
 * Computes the transitions of a chart. It collects facts and effects and performs none. The same snapshot and event
 * always give the same result, so a step can be recomputed later.
 */
export class ChartRun {
  readonly machine: AnyStateMachine;
  /** Facts of the transitions since they were last taken, in order. */
  #facts: EventObject[] = [];
  #effects: Effect[] = [];
  planned: Planned[] = [];
  readonly #logic: AnyStateMachine;
  readonly #scope: AnyActorScope;

  /** The facts of the transition. Those of the next step are collected separately. */
  takeFacts(): readonly EventObject[] {
    if (this.#facts.length === 0) return none;
    const facts = this.#facts;
    this.#facts = [];
    return facts;
  }

  /** Its effects, likewise. */
  takeEffects(): readonly Effect[] {
    if (this.#effects.length === 0) return none;
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /**
   * @param scope of the actor that runs the chart; left out, the chart is only worked out.
   * @param self what effects know the actor by: the `self` of the scope when left out.
   */
  constructor(machine: AnyStateMachine, scope: AnyActorScope = inert, self: object = scope.self) {
    this.machine = machine;
    this.#logic = fastLogic(machine);
    const { id, sessionId, system } = scope;
    this.#scope = {
      self,
      id,
      sessionId,
      system,
      logger: nothing,
      defer: nothing,
      emit: nothing,
      stopChild: nothing,
      actionExecutor: (action: Action) => this.#collect(action),
    } as unknown as AnyActorScope;
  }

  /** The first snapshot. */
  begin(input: unknown): AnyMachineSnapshot {
    return this.#logic.getInitialSnapshot(this.#scope, input as never);
  }

  /** The saved snapshot. @throws Error if it belongs to another chart, or has an unknown state. */
  resume({ chart, value, context }: ActorDump): AnyMachineSnapshot {
    if (chart !== this.machine.id) throw new Error(`a dump of '${chart}' is none of '${this.machine.id}'`);
    return this.machine.resolveState({ value, context } as never);
  }

  /** The next snapshot; its status is `error` when the chart throws. */
  next(before: AnyMachineSnapshot, event: EventObject): AnyMachineSnapshot {
    try {
      return this.#logic.transition(before, event, this.#scope) as AnyMachineSnapshot;
    } catch (error) {
      return failed(before, error);
    }
  }

  #collect({ type, info, params, exec }: Action): void {
    if (type === 'xstate.emit') this.#facts.push((params as { event: EventObject }).event);
    else if (type === 'xstate.raise') {
      const { event, id, delay } = params as { event: EventObject; id?: string; delay?: number };
      // Without a delay the chart itself has it in its queue.
      if (delay !== undefined) this.planned.push({ id: id ?? event.type, event, delayMs: delay });
    } else if (type === 'xstate.cancel') this.planned.push({ id: (params as { sendId: string }).sendId, delayMs: 0 });
    else if (exec) this.#effects.push({ type, info, params, exec });
  }
}

/** Kind of a step: start, restore, event, expired deadline, or failed effect. */
export type Taking = 'begun' | 'restored' | 'taken' | 'expired' | 'crashed';

/** The part of a step that allows recomputing it from the previous snapshot. */
export type StepSource = {
  readonly taking: Taking;
  /** Wall-clock time in ms since the epoch. */
  readonly at: number;
  readonly event: EventObject;
  /** Of `expired` the id of the delay; of `restored` the snapshot that was restored. */
  readonly besides: string | AnyMachineSnapshot | undefined;
};

/** The result of a step. */
export type StepOutcome = {
  readonly after: AnyMachineSnapshot;
  readonly facts: readonly EventObject[];
  readonly effects: readonly Effect[];
};

/** Recomputes a step: the same snapshot, facts and effects, none of which is published or performed. */
export function workOut(run: ChartRun, before: AnyMachineSnapshot | undefined, source: StepSource): StepOutcome {
  const { taking, at, besides } = source;
  if (taking === 'restored') return { after: besides as AnyMachineSnapshot, facts: none, effects: none };
  const after =
    before === undefined ? run.begin((source.event as { input?: unknown }).input) : went(run, before, source);
  const crashed = after.status === 'error';
  const { planned } = run;
  const facts = run.takeFacts();
  const effects = run.takeEffects();
  run.planned = [];
  return {
    after: crashed ? after : replan(after, planned, at),
    facts: crashed ? none : facts,
    effects: crashed ? none : effects,
  };
}

function went(run: ChartRun, before: AnyMachineSnapshot, { taking, event, besides }: StepSource): AnyMachineSnapshot {
  if (taking === 'crashed') return failed(before, undefined);
  if (taking !== 'expired') return run.next(before, event);
  const left = new Map(Object.entries(deadlinesOf(before)));
  left.delete(besides as string);
  return run.next(withDeadlines(before, left), event);
}

/** Notes in the context what timers run after a transition, as the actor did when it started and forgot them. */
function replan(snapshot: AnyMachineSnapshot, planned: readonly Planned[], at: number): AnyMachineSnapshot {
  if (planned.length === 0 || snapshot.status !== 'active') return snapshot;
  const timers = new Map<string, Deadline>(Object.entries(deadlinesOf(snapshot)));
  let changed = false;
  for (const { id, event, delayMs } of planned) {
    changed = timers.delete(id) || changed;
    if (event === undefined) continue;
    timers.set(id, { at: at + delayMs, event });
    changed = true;
  }
  return changed ? withDeadlines(snapshot, timers) : snapshot;
}
