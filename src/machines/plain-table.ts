import type { AnyStateMachine, EventFrom, StateValueFrom } from 'xstate';

/** The result of an event in a state of a plain chart: the next state, and the effects in order. */
type Row<State, Effect> = { readonly to: State; readonly effects: readonly Effect[] };

/** A plain chart by state and event. Without a row an event changes nothing. */
type PlainTable<M extends AnyStateMachine, Effect extends string> = Readonly<
  Record<
    StateValueFrom<M> & string,
    Readonly<Partial<Record<EventFrom<M>['type'], Row<StateValueFrom<M> & string, Effect>>>>
  >
>;

/** Charts by their tables. */
const machines = new WeakMap<object, AnyStateMachine>();

/**
 * Writes a plain chart as a table. Technologies run charts this way: one look-up for each event, no actor.
 * @throws Error if the chart has guards, delays, a context that changes, or actions on entry and exit.
 */
export function plainTable<M extends AnyStateMachine, Effect extends string>(machine: M): PlainTable<M, Effect> {
  const { root } = machine;
  const table: Record<string, Record<string, Row<string, string>>> = {};
  for (const node of Object.values(root.states)) {
    const { always = [], after, entry, exit, states } = node;
    if ([always, after, entry, exit, Object.keys(states)].some(({ length }) => Boolean(length)))
      throw new Error(`${node.id} is no plain state`);
    const rows: Record<string, Row<string, string>> = {};
    for (const [type, [transition, second]] of [...root.transitions, ...node.transitions]) {
      if (!transition || transition.guard !== undefined || second)
        throw new Error(`${type} in ${node.id} is no plain transition`);
      const effects = transition.actions.map((action) => (typeof action === 'string' ? action : nameOf(action)));
      const [{ key: to } = node] = transition.target ?? [];
      rows[type] = { to, effects };
    }
    table[node.key] = rows;
  }
  machines.set(table, machine);
  return table as PlainTable<M, Effect>;
}

/** The chart that was written as a table. @throws Error if {@link plainTable} did not write it. */
export function machineOf(table: object): AnyStateMachine {
  const machine = machines.get(table);
  if (!machine) throw new Error('this is no table of a chart');
  return machine;
}

function nameOf(action: unknown): string {
  const { type, params } = action as { type?: string; params?: unknown };
  if (type === undefined || type.startsWith('xstate.') || params !== undefined)
    throw new Error(`${type} is no plain effect`);
  return type;
}
