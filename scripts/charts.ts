import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** Reads charts: what each state handles, with which guards, effects and facts. Shared by what is generated from them. */

/** One alternative of what an event does in a state, in words. */
export type Handling = {
  /** Name of the guard; '' for none. */
  guard: string;
  /** Target states; none when the state is kept. */
  targets: readonly AnyStateNode[];
  effects: readonly string[];
  facts: readonly string[];
  /** Events the chart sends itself. */
  raised: readonly string[];
  /** Whether something is kept in the context. */
  keeps: boolean;
};

/** All states below `node` in the order they are declared, itself not included. */
export const descendants = (node: AnyStateNode): AnyStateNode[] =>
  Object.values(node.states).flatMap((child) => [child, ...descendants(child)]);

/** States that hold no others. */
export const leavesOf = (node: AnyStateNode): AnyStateNode[] =>
  [node, ...descendants(node)].filter((each) => Object.keys(each.states).length === 0);

/** Transitions that `node` itself declares: on events, after delays, always. */
export const transitionsOf = (node: AnyStateNode): AnyTransitionDefinition[] => [
  ...[...node.transitions.values()].flat(),
  ...(node.always ?? []),
];

/** `after dialTimeout`, `always`, or the event as it is called. */
export function eventName(eventType: string): string {
  if (eventType === '') return 'always';
  const after = /^xstate\.after\.([^.]+)\./.exec(eventType);
  if (after) return /^\d+$/.test(after[1]!) ? `after ${after[1]} ms` : `after ${after[1]}`;
  const done = /^xstate\.(done|error)\.(actor|state)\.(.*)$/.exec(eventType);
  return done ? `${done[3]} ${done[1]}` : eventType;
}

/** Reads one transition. */
export function readTransition(transition: AnyTransitionDefinition, machine: AnyStateMachine): Handling {
  const actions = readActions(transition.actions, machine, [transition.eventType]);
  return { guard: guardName(transition.guard), targets: transition.target ?? [], ...actions };
}

export type Actions = Pick<Handling, 'effects' | 'facts' | 'raised' | 'keeps'>;

/**
 * Sorts actions into named effects, emitted facts and raised events; of changes to the context only that there are any.
 * @param eventTypes events the actions may run on: facts made by a function are found by running it on each.
 */
export function readActions(
  actions: readonly unknown[],
  machine: AnyStateMachine,
  eventTypes: readonly string[],
): Actions {
  const found = { effects: [] as string[], facts: [] as string[], raised: [] as string[], keeps: false };
  for (const action of actions) {
    const { type, event } = (typeof action === 'string' ? { type: action } : action) as {
      type?: string;
      event?: unknown;
    };
    if (type === 'xstate.emit') found.facts.push(typeOfMade(event, eventTypes));
    else if (type === 'xstate.raise') {
      // A delay raises its own end; that is shown where it ends.
      const raised = typeOfMade(event, eventTypes);
      if (!raised.startsWith('xstate.')) found.raised.push(raised);
    } else if (type === 'xstate.assign') found.keeps = true;
    else if (type && type in machine.implementations.actions) found.effects.push(type);
  }
  return found;
}

/** The `type` of an event that is given, or made by a function of context and event. */
function typeOfMade(event: unknown, eventTypes: readonly string[]): string {
  if (typeof event !== 'function') return (event as { type: string }).type;
  for (const type of eventTypes) {
    try {
      const made = event({ context: anything(), event: anything({ type }) }) as { type?: unknown };
      if (typeof made.type === 'string') return made.type;
    } catch {
      // Made for another event.
    }
  }
  return '(depends on the event)';
}

/** A value that has every member, each of them again such a value. */
function anything(known: Record<string, unknown> = {}): unknown {
  return new Proxy(() => '', {
    get: (_, key) => (key in known ? known[key as string] : key === Symbol.toPrimitive ? () => '' : anything()),
    has: () => true,
    apply: () => anything(),
  });
}

function guardName(guard: unknown): string {
  if (guard === undefined) return '';
  if (typeof guard === 'string') return guard;
  const { type, check, guards } = guard as { type?: string; check?: unknown; guards?: unknown[] };
  if (check && guards) return `${type?.replace('xstate.', '') ?? 'combined'}(${guards.map(guardName).join(', ')})`;
  return type ?? 'guard';
}

/** Every event the chart names, in the order of its states; delays and `always` not included. */
export function eventTypesOf(machine: AnyStateMachine): string[] {
  const types = [machine.root, ...descendants(machine.root)].flatMap((node) => [...node.transitions.keys()]);
  return [...new Set(types)].filter((type) => !type.startsWith('xstate.'));
}

/**
 * The handling of an event in a leaf, from its own declarations up to those of `region`; undefined if it is not
 * handled. Alternatives behind one without a guard are unreachable and left out.
 */
export function handlingOf(
  leaf: AnyStateNode,
  eventType: string,
  region: AnyStateNode,
  machine: AnyStateMachine,
): Handling[] | undefined {
  const found: Handling[] = [];
  for (let node: AnyStateNode | undefined = leaf; node; node = node.parent) {
    for (const transition of node.transitions.get(eventType) ?? node.transitions.get(familyOf(eventType)) ?? []) {
      const handling = readTransition(transition, machine);
      found.push(handling);
      if (handling.guard === '') return found;
    }
    if (node === region) break;
  }
  return found.length > 0 ? found : undefined;
}

/** `leg.*` of `leg.answered`. */
const familyOf = (eventType: string) => (eventType.includes('.') ? eventType.replace(/\.[^.]*$/, '.*') : '*');

/** The regions of a parallel chart, or the chart itself: what has one state at a time. */
export function regionsOf(node: AnyStateNode): AnyStateNode[] {
  if (node.type === 'parallel') return Object.values(node.states).flatMap(regionsOf);
  const nested = Object.values(node.states).filter(
    (child) => descendants(child).some((each) => each.type === 'parallel') || child.type === 'parallel',
  );
  return [node, ...nested.flatMap(regionsOf)];
}

/** The decision about an event in a state: handled, refused, ignored with a reason, or undecided. */
export type Decision =
  | { type: 'handled'; handling: readonly Handling[]; refused?: string }
  | { type: 'refused'; error: string }
  /** An operation that the chart allows, and that is no event of it. */
  | { type: 'allowed' }
  | { type: 'ignored'; why: string; refused?: string }
  | { type: 'undecided' };

/** An entry of the list `<noun>Ignores` beside a chart. */
export type Ignored = { events: readonly string[]; in?: readonly string[]; why: string };

/** Whether the state is transient, so that no event can arrive in it. */
export const isTransient = (node: AnyStateNode): boolean =>
  (node.always ?? []).some(({ guard }) => guard === undefined);

const isNothing = ({ targets, effects, facts, raised, keeps }: Handling): boolean =>
  targets.length + effects.length + facts.length + raised.length === 0 && !keeps;

/** The entry by which an event is ignored in a state. */
export const ignoredBy = (leaf: AnyStateNode, eventType: string, ignores: readonly Ignored[]): Ignored | undefined =>
  ignores.find(
    ({ events, in: states }) =>
      events.includes(eventType) && (states === undefined || states.some((state) => isInState(leaf, state))),
  );

/** Whether a leaf is a state, or lies in it; states are named by their path (`reachable.resting`). */
export const isInState = (leaf: AnyStateNode, state: string): boolean =>
  `${leaf.path.join('.')}.`.startsWith(`${state}.`);

/** The decision about an event in a leaf. `refused`: the error for clients, with ` sometimes` if it depends. */
export function decisionOf(
  leaf: AnyStateNode,
  eventType: string,
  { region, machine, ignores, refused }: DecisionSources,
): Decision {
  const handling = handlingOf(leaf, eventType, region, machine)?.filter((each) => !isNothing(each)) ?? [];
  if (refused !== undefined && !refused.endsWith('sometimes')) return { type: 'refused', error: refused };
  const sometimes = refused === undefined ? {} : { refused };
  if (handling.length > 0) return { type: 'handled', handling, ...sometimes };
  if (!eventTypesOf(machine).includes(eventType)) return { type: 'allowed' };
  const ignored = ignoredBy(leaf, eventType, ignores);
  return ignored ? { type: 'ignored', why: ignored.why, ...sometimes } : { type: 'undecided' };
}

export type DecisionSources = {
  region: AnyStateNode;
  machine: AnyStateMachine;
  ignores: readonly Ignored[];
  refused: string | undefined;
};
