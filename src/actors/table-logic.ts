import type { AnyActorScope, AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import { createMerge } from './merge.ts';
import {
  type Action,
  type Arguments,
  type Builtin,
  type Place,
  type Transition,
  tabulate,
} from './transition-table.ts';

/**
 * Runs charts as tables. xstate computes each transition from scratch: sets and sorted lists of states to leave and
 * enter, and a snapshot for every assignment. In a flat chart all of that follows from source and target. A table gives
 * the same guards, actions, facts and timers in the same order, at a tenth of the cost (docs/decisions/0006). The chart
 * stays the only description. The tests of each chart compare both step by step.
 */

const tables = new WeakMap<AnyStateMachine, AnyStateMachine>();

/** The logic to run a chart with: its table, or the chart itself where there is none. Asked again, the same. */
export function fastLogic<M extends AnyStateMachine>(machine: M): M {
  let logic = tables.get(machine);
  if (logic === undefined) {
    logic = makeLogic(machine);
    tables.set(machine, logic);
  }
  return logic as M;
}

function makeLogic(machine: AnyStateMachine): AnyStateMachine {
  const table = tabulate(machine);
  if (table === undefined) return machine;
  const { places, initial } = table;
  const blank: AnyMachineSnapshot = machine.resolveState({ value: initial.value, context: {} } as never);
  const contextOf: unknown = machine.config.context;

  const getInitialSnapshot = (scope: AnyActorScope, input: unknown): AnyMachineSnapshot => {
    const event = { type: 'xstate.init', input };
    try {
      const context =
        typeof contextOf === 'function' ? contextOf({ spawn, input, self: scope.self }) : (contextOf ?? {});
      const step = new Macrostep(blank, table.exit, scope).from(initial, context, event);
      step.perform(table.entry);
      step.enter(initial);
      return step.settle();
    } catch (error) {
      return { ...blank, status: 'error', error } as AnyMachineSnapshot;
    }
  };

  const transition = (snapshot: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope): AnyMachineSnapshot => {
    const place = places.get(snapshot.value as string);
    const candidates = place?.on.get(event.type);
    // The runtime's own events (stop, errors of actors) are its own matter.
    if (place === undefined || (candidates === undefined && event.type.startsWith('xstate.')))
      return machine.transition(snapshot, event, scope);
    const chosen = candidates && choose(candidates, { context: snapshot.context, event });
    if (chosen === undefined && place.always.length === 0) return snapshot;
    const step = new Macrostep(snapshot, table.exit, scope).from(place, snapshot.context, event);
    if (chosen) step.take(chosen);
    return step.settle();
  };

  return Object.assign(Object.create(machine) as AnyStateMachine, { getInitialSnapshot, transition });
}

/** Actors of call control have no children. They reach each other by effects. */
const spawn = (): never => {
  throw new Error('a chart makes no actors');
};

/** The arguments of an action. An assignment also gets `spawn`. */
type Info = Arguments & { self: unknown; system: unknown; spawn: typeof spawn };

/** With parameters as they are for this context and event. */
const paramsOf = (params: unknown, args: Arguments): unknown => (typeof params === 'function' ? params(args) : params);

function choose(candidates: readonly Transition[], args: Arguments): Transition | undefined {
  for (const candidate of candidates) {
    const { guard } = candidate;
    if (guard === undefined || guard.check(args, paramsOf(guard.params, args))) return candidate;
  }
  return undefined;
}

/** A snapshot as xstate makes it: the same members in the same order. */
const snapshotOf = (from: AnyMachineSnapshot, place: Place, context: unknown, status: 'active' | 'done') =>
  ({
    status,
    output: undefined,
    error: undefined,
    machine: from.machine,
    context,
    _nodes: place.nodes,
    value: place.value,
    tags: from.tags,
    children: from.children,
    historyValue: from.historyValue,
    matches: from.matches,
    hasTag: from.hasTag,
    can: from.can,
    getMeta: from.getMeta,
    toJSON: from.toJSON,
  }) as AnyMachineSnapshot;

/** One event and all transitions that follow from it (`always`, raised events). */
class Macrostep {
  readonly #from: AnyMachineSnapshot;
  readonly #exit: readonly Action[];
  readonly #scope: AnyActorScope;
  readonly #raised: EventObject[] = [];
  #place!: Place;
  #context: unknown;
  #event!: EventObject;
  #done = false;

  constructor(from: AnyMachineSnapshot, exit: readonly Action[], scope: AnyActorScope) {
    this.#from = from;
    this.#exit = exit;
    this.#scope = scope;
  }

  /** Begins with an event in a state. */
  from(place: Place, context: unknown, event: EventObject): this {
    this.#place = place;
    this.#context = context;
    this.#event = event;
    return this;
  }

  take({ target, actions }: Transition): void {
    if (target) this.perform(this.#place.exit);
    this.perform(actions);
    if (target) this.enter(target);
  }

  enter(place: Place): void {
    this.#place = place;
    this.perform(place.entry);
    if (!place.final) return;
    this.#done = true;
    this.perform(place.exit);
    this.perform(this.#exit);
  }

  /** Goes on as long as something follows. Gives the snapshot it began with when all is as it was. */
  settle(): AnyMachineSnapshot {
    while (!this.#done) {
      const always = choose(this.#place.always, { context: this.#context, event: this.#event });
      if (always) {
        this.take(always);
        continue;
      }
      const raised = this.#raised.shift();
      if (raised === undefined) break;
      this.#event = raised;
      const chosen = choose(this.#place.on.get(raised.type) ?? [], { context: this.#context, event: raised });
      if (chosen) this.take(chosen);
    }
    const { context, value } = this.#from;
    if (!this.#done && context === this.#context && value === this.#place.value) return this.#from;
    return snapshotOf(this.#from, this.#place, this.#context, this.#done ? 'done' : 'active');
  }

  perform(actions: readonly Action[]): void {
    if (actions.length === 0) return;
    const scope = this.#scope;
    const { self, system } = scope;
    // Actions do not change their arguments, so all get the same object while the context stays.
    let info: Info = { context: this.#context, event: this.#event, self, system, spawn };
    for (const action of actions) {
      if (info.context !== this.#context) info = { ...info, context: this.#context };
      const params = paramsOf(action.params, info);
      if (action.builtin) this.#performBuiltin(action.builtin, info, params);
      else scope.actionExecutor({ type: action.type, info, params, exec: action.effect } as never);
    }
  }

  #performBuiltin(builtin: Builtin, info: Info, params: unknown): void {
    if (builtin.type === 'xstate.assign') {
      builtin.merge ??= createMerge();
      this.#context = builtin.merge(this.#context as object, changeOf(builtin.assignment, info, params));
      return;
    }
    const scope = this.#scope;
    let resolved: unknown;
    if (builtin.type === 'xstate.emit')
      resolved = { event: typeof builtin.event === 'function' ? builtin.event(info, params) : builtin.event };
    else {
      const now = snapshotOf(this.#from, this.#place, this.#context, 'active');
      [, resolved] = builtin.resolve(scope, now, info, params, builtin, { internalQueue: this.#raised });
    }
    const exec = () => builtin.execute(scope, resolved);
    scope.actionExecutor({ type: builtin.type, info, params: resolved, exec } as never);
  }
}

/** The result of an assignment: one function, or one for each member. */
function changeOf(assignment: unknown, args: object, params: unknown): object {
  if (typeof assignment === 'function') return assignment(args, params);
  const members = Object.entries(assignment as object);
  return Object.fromEntries(
    members.map(([name, member]) => [name, typeof member === 'function' ? member(args, params) : member]),
  );
}
