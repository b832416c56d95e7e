import type { AnyStateMachine, AnyStateNode, EventObject } from 'xstate';
import type { Merge } from './merge.ts';

/**
 * A flat chart (without nested states) as a table: the transitions of each state and event, with guards and actions
 * already looked up. `table-logic.ts` runs it.
 */

export type Arguments = { context: unknown; event: EventObject };

/** A number of values known in advance, or made from context and event. */
type Params = unknown | ((args: Arguments) => unknown);

type Guard = { check: (args: Arguments, params: unknown) => boolean; params: Params };

/** An action that xstate makes: resolved within the transition, executed when the actor is ready for effects. */
export type Builtin = {
  type: string;
  /** Of `assign`: the function that gives the change, or the change by members. */
  assignment?: unknown;
  /** Of `assign`: what makes the new context, from its first use on. */
  merge?: Merge;
  /** Of `emit`: the fact, or the function that gives it. */
  event?: unknown;
  resolve(...args: unknown[]): [snapshot: { context: unknown }, params: unknown, actions: undefined];
  execute(scope: unknown, params: unknown): void;
};
/** An action of the chart's own: an effect. */
type Effect = (args: unknown, params: unknown) => void;

/** `type` is what an inspector shows. Exactly one of `effect` and `builtin` is there. */
export type Action = { type: string; params: Params; effect: Effect | undefined; builtin: Builtin | undefined };

/** `target` is left out if no state is left, also if the chart names the source state. */
export type Transition = { guard: Guard | undefined; actions: readonly Action[]; target: Place | undefined };

export type Place = {
  /** The state's name, which is the value of snapshots in it. */
  readonly value: string;
  /** `_nodes` of a snapshot: the chart's root, and the state. */
  readonly nodes: AnyStateNode[];
  readonly final: boolean;
  readonly entry: readonly Action[];
  readonly exit: readonly Action[];
  readonly always: readonly Transition[];
  /** The state's own transitions, then those of the whole chart, in the order in which they are tried. */
  readonly on: ReadonlyMap<string, readonly Transition[]>;
};

type TransitionTable = {
  readonly places: ReadonlyMap<string, Place>;
  readonly initial: Place;
  /** Actions on entering the chart, before those of its initial state. */
  readonly entry: readonly Action[];
  /** Actions on leaving it, after those of its final state. */
  readonly exit: readonly Action[];
};

const builtins: ReadonlySet<string> = new Set(['xstate.assign', 'xstate.emit', 'xstate.raise', 'xstate.cancel']);

/** Thrown and caught within this file: the chart has something that the table has no column for. */
class NotTabular extends Error {}

/**
 * Makes the table of a chart. Undefined if the chart has features that tables lack: nested or parallel states, history,
 * tags, outputs, child actors, wildcards, combined guards, an `always` without target, or actions other than effects,
 * assign, emit, raise and cancel.
 */
export function tabulate(machine: AnyStateMachine): TransitionTable | undefined {
  try {
    return write(machine);
  } catch (error) {
    if (error instanceof NotTabular) return undefined;
    throw error;
  }
}

function write(machine: AnyStateMachine): TransitionTable {
  const root: AnyStateNode = machine.root;
  const states: AnyStateNode[] = Object.values(root.states);
  demand(root.type === 'compound' && root.output === undefined && !root.always, 'a plain root');
  demand(machine.options.maxIterations === Number.POSITIVE_INFINITY, 'no limit of iterations');
  for (const node of [root, ...states])
    demand(node.tags.length === 0 && node.invoke.length === 0, 'no tags, no actors');

  const actionOf = (reference: unknown): Action => {
    const { type, params, resolved } = lookUp(reference, machine.implementations.actions);
    if (!('resolve' in resolved)) return { type, params, effect: resolved as Effect, builtin: undefined };
    const builtin = resolved as unknown as Builtin;
    demand(builtins.has(builtin.type), 'known actions');
    return { type: builtin.type, params, effect: undefined, builtin };
  };
  const guardOf = (reference: unknown): Guard | undefined => {
    if (reference === undefined) return undefined;
    const { params, resolved } = lookUp(reference, machine.implementations.guards);
    demand(!('check' in resolved), 'plain guards');
    return { check: resolved as Guard['check'], params };
  };

  // Targets are other places, so each place is made first and its transitions are filled in afterwards.
  const drafts = states.map((node) => {
    demand(node.type === 'atomic' || node.type === 'final', 'flat states');
    demand(node.output === undefined, 'no outputs');
    const on = new Map<string, Transition[]>();
    const always: Transition[] = [];
    const place: Place = {
      value: node.key,
      nodes: [root, node],
      final: node.type === 'final',
      entry: node.entry.map(actionOf),
      exit: node.exit.map(actionOf),
      always,
      on,
    };
    return { node, place, on, always };
  });
  const placeOf = new Map(drafts.map(({ node, place }) => [node, place]));

  const transitionOf = (definition: AnyStateNode['transitions'] extends Map<string, (infer T)[]> ? T : never) => {
    const { source, target: targets = [], reenter, guard, actions } = definition;
    demand(targets.length <= 1, 'one target');
    demand(source !== root || !reenter, 'a root that is entered once');
    const [target] = targets;
    const place = target && placeOf.get(target);
    demand(target === undefined || place !== undefined, 'states as targets');
    return {
      guard: guardOf(guard),
      actions: actions.map(actionOf),
      target: reenter || target !== source ? place : undefined,
    };
  };

  for (const { node, on, always } of drafts) {
    for (const [type, definitions] of [...node.transitions, ...root.transitions]) {
      demand(!type.includes('*'), 'no wildcards');
      on.set(type, [...(on.get(type) ?? []), ...definitions.map(transitionOf)]);
    }
    for (const definition of node.always ?? []) always.push(transitionOf(definition));
    demand(
      always.every(({ target }) => target !== undefined),
      'an always that leads somewhere',
    );
  }

  const initial = placeOf.get(root.initial.target[0]!);
  demand(initial !== undefined, 'an initial state');
  return {
    places: new Map(drafts.map(({ place }) => [place.value, place])),
    initial: initial!,
    entry: [...root.entry, ...root.initial.actions].map(actionOf),
    exit: root.exit.map(actionOf),
  };
}

function demand(met: boolean, what: string): void {
  if (!met) throw new NotTabular(what);
}

/** Resolves a function, a name, or a name with parameters. */
function lookUp(reference: unknown, named: Readonly<Record<string, unknown>>) {
  if (typeof reference === 'function')
    return { type: reference.name || '(anonymous)', params: undefined, resolved: reference };
  const { type, params } = typeof reference === 'string' ? { type: reference } : (reference as Partial<Named>);
  const resolved = named[type ?? ''];
  demand(typeof resolved === 'function', 'functions behind names');
  return { type: type ?? '', params, resolved: resolved as (...args: never[]) => unknown };
}
type Named = { type: string; params: Params };
