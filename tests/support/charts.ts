import * as assert from 'uvu/assert';
import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  createEmptyActor,
  type EventFromLogic,
  getNextTransitions,
  type InputFrom,
  type SnapshotFrom,
  transition,
} from 'xstate';
import { fastLogic } from '../../src/actors/table-logic.ts';

/**
 * Model-based tests of charts: walks everything a chart can do with given inputs and events, purely (no effect runs,
 * no time passes), and tells which declared states and transitions were never seen. `createTestModel` of xstate/graph
 * refuses charts with `after`, and its paths do not tell which of several guarded transitions was taken; hence our own
 * breadth-first walk.
 */

export type WalkOptions<M extends AnyStateMachine> = {
  /** What the chart is started with; one walk from each. */
  inputs: readonly InputFrom<M>[];
  /**
   * Samples of the events it may be sent, in every state; or those for a certain snapshot. The ends of delays
   * (`xstate.after…`) need no samples: wherever one is running it is taken to end.
   */
  events: readonly EventFromLogic<M>[] | ((snapshot: SnapshotFrom<M>) => readonly EventFromLogic<M>[]);
  /**
   * What of the context makes a difference to what follows, as anything that JSON can hold. Two snapshots with equal
   * state and key are walked once. Without a key, the state alone counts.
   */
  key?: (snapshot: SnapshotFrom<M>) => unknown;
  /** Gets each snapshot that is walked on from, once. */
  each?: (snapshot: SnapshotFrom<M>) => void;
  /** Most transitions to try before giving up: a key that never repeats would make the walk endless. */
  limit?: number;
};

/** One way to somewhere: the input and the events that lead there, shortest first found. */
export type Way = { input: unknown; events: readonly string[] };

export type Coverage = {
  /** Ids of the states that were entered, and a shortest way to each. */
  states: ReadonlyMap<string, Way>;
  /** The transitions that were taken, as the chart's own definitions, and a shortest way to each (its event included). */
  transitions: ReadonlyMap<AnyTransitionDefinition, Way>;
  /** How many transitions were tried, for those who tune `key` and `events`. */
  tried: number;
};

type Place = { snapshot: AnyMachineSnapshot; way: Way };

/**
 * Walks the chart. A guard or projection that throws fails the walk with the way to it.
 * @throws Error when more than `limit` (default 200,000) transitions were tried.
 */
export function coverChart<M extends AnyStateMachine>(machine: M, options: WalkOptions<M>): Coverage {
  const { inputs, events, key, each, limit = 200_000 } = options;
  const states = new Map<string, Way>();
  const transitions = new Map<AnyTransitionDefinition, Way>();
  const seen = new Set<string>();
  const queue: Place[] = [];
  const stepper = createStepper(machine);
  let tried = 0;

  const arrive = (step: Step, way: Way) => {
    // The source of a transition was active too: a state left before the first microstep ends shows nowhere else.
    const nodes = [...step.passed, step.snapshot]
      .flatMap(({ _nodes }) => _nodes)
      .concat(step.taken.map((t) => t.source));
    for (const node of nodes) if (!states.has(node.id)) states.set(node.id, way);
    for (const taken of step.taken) if (!transitions.has(taken)) transitions.set(taken, way);
    const { snapshot } = step;
    if (snapshot.status === 'error') throw new Error(`${describe(way)}: ${snapshot.error}`, { cause: snapshot.error });
    const mark = JSON.stringify([snapshot.value, snapshot.status, key?.(snapshot as SnapshotFrom<M>)]);
    if (seen.has(mark)) return;
    seen.add(mark);
    if (snapshot.status !== 'active') return;
    each?.(snapshot as SnapshotFrom<M>);
    queue.push({ snapshot, way });
  };

  for (const input of inputs) arrive(stepper.start(input), { input, events: [] });
  for (let place = queue.shift(); place; place = queue.shift()) {
    const { snapshot, way } = place;
    const samples = typeof events === 'function' ? events(snapshot as SnapshotFrom<M>) : events;
    for (const event of [...samples, ...endingDelays(snapshot)]) {
      if (++tried > limit)
        throw new Error(`more than ${limit} transitions: does the key take in something that grows?`);
      arrive(stepper.step(snapshot, event, way), { input: way.input, events: [...way.events, event.type] });
    }
  }
  return { states, transitions, tried };
}

/**
 * Fails when a declared state was never entered or a declared transition never taken, naming each.
 * `except` names what cannot be reached, as it is written in the failure, each with the reason why; an exception that
 * is not needed fails too.
 */
export function assertCovered(
  machine: AnyStateMachine,
  coverage: Coverage,
  { except = {} }: { except?: Readonly<Record<string, string>> } = {},
): void {
  const missed = [
    ...allNodes(machine.root)
      .filter((node) => !coverage.states.has(node.id))
      .map((node) => `state ${node.id}`),
    ...declaredTransitions(machine)
      .filter((transition) => !coverage.transitions.has(transition))
      .map(describeTransition),
  ];
  const unexpected = missed.filter((name) => !Object.hasOwn(except, name));
  const needless = Object.keys(except).filter((name) => !missed.includes(name));
  const problems = [
    ...unexpected.map((name) => `never reached: ${name}`),
    ...needless.map((name) => `excepted, but reached: ${name}`),
  ];
  if (problems.length > 0) throw new Error(`${machine.id}: ${problems.length} gaps\n  ${problems.join('\n  ')}`);
}

/** The delays that run in a snapshot, in ms by their name, and by number where they have none. */
export function delaysIn<M extends AnyStateMachine>(machine: M, snapshot: SnapshotFrom<M>): Record<string, number> {
  const { context, _nodes: nodes } = snapshot as AnyMachineSnapshot;
  const names = (nodes as AnyStateNode[]).flatMap(({ after }) => after.map(({ delay }) => String(delay)));
  const { delays } = machine.implementations as { delays: Record<string, number | ((args: unknown) => number)> };
  const length = (name: string): number => {
    const delay = delays[name];
    return typeof delay === 'function' ? delay({ context, event: { type: '' } }) : (delay ?? Number(name));
  };
  return Object.fromEntries(names.map((name) => [name, length(name)]));
}

/** Where a chart is after one more event. */
export const onward = <M extends AnyStateMachine>(machine: M, snapshot: unknown, event: EventFromLogic<M>) =>
  transition(machine, snapshot as SnapshotFrom<M>, event)[0] as SnapshotFrom<M>;

/** Where a chart is when a delay that runs in it has ended. */
export function afterDelay<M extends AnyStateMachine>(machine: M, snapshot: unknown, name: string): SnapshotFrom<M> {
  const types = endingDelays(snapshot as AnyMachineSnapshot).map(({ type }) => type);
  const type = types.find((each) => each.startsWith(`xstate.after.${name}.`));
  if (type === undefined) throw new Error(`${name} does not run; ${types.join(', ') || 'nothing does'}`);
  return onward(machine, snapshot, { type } as EventFromLogic<M>);
}

/** Every transition a chart declares: on events, after delays, always; each guarded alternative by itself. */
export const declaredTransitions = (machine: AnyStateMachine): AnyTransitionDefinition[] =>
  allNodes(machine.root).flatMap((node) => [...[...node.transitions.values()].flat(), ...(node.always ?? [])]);

const allNodes = (node: AnyStateNode): AnyStateNode[] => [node, ...Object.values(node.states).flatMap(allNodes)];

/** `channel.life.ring on answer [isIncoming] -> channel.life.up`, with a number where several look the same. */
export function describeTransition(transition: AnyTransitionDefinition): string {
  const { source, eventType, guard, target, actions } = transition;
  const twins = [...(source.transitions.get(eventType) ?? []), ...(source.always ?? [])];
  const place = twins.length > 1 ? ` #${twins.indexOf(transition) + 1}` : '';
  const name = typeof guard === 'string' ? guard : (guard as { type?: string } | undefined)?.type;
  const condition = guard ? ` [${name ?? 'guard'}]` : '';
  const what = target ? ` -> ${target.map((node) => node.id).join(', ')}` : actions.length > 0 ? '' : ' (ignored)';
  return `${source.id} ${eventType === '' ? 'always' : `on ${eventType}`}${place}${condition}${what}`;
}

const describe = ({ input, events }: Way) => `with ${JSON.stringify(input)} after [${events.join(', ')}]`;

const endingDelays = (snapshot: AnyMachineSnapshot) =>
  [...new Set(getNextTransitions(snapshot).map(({ eventType }) => eventType))]
    .filter((type) => type.startsWith('xstate.after.'))
    .map((type) => ({ type }));

type Step = {
  snapshot: AnyMachineSnapshot;
  /** Snapshots passed through within the step: states left again at once by `always` or raised events. */
  passed: readonly AnyMachineSnapshot[];
  taken: readonly AnyTransitionDefinition[];
};

/**
 * Moves a chart without running anything, by xstate and by the table that the server runs it as, and fails where the two
 * differ. One scope serves all steps: making one per step is what is slow.
 */
function createStepper(machine: AnyStateMachine) {
  const actor = createEmptyActor();
  let passed: AnyMachineSnapshot[] = [];
  let taken: AnyTransitionDefinition[] = [];
  let performed: unknown[] = [];
  actor.system.inspect((inspected) => {
    if (inspected.type !== '@xstate.microstep') return;
    passed.push(inspected.snapshot as AnyMachineSnapshot);
    taken.push(...inspected._transitions);
  });
  const ignore = () => {};
  const scope = {
    self: actor,
    id: '',
    sessionId: '',
    system: actor.system,
    logger: ignore,
    defer: ignore,
    emit: ignore,
    stopChild: ignore,
    actionExecutor: ({ type, params }: { type: string; params: unknown }) => performed.push({ type, params }),
  } as unknown as AnyActorScope;
  const fast = fastLogic(machine);

  const seen = (move: () => AnyMachineSnapshot) => {
    performed = [];
    try {
      const { value, status, context, _nodes, output, error } = move();
      return { value, status, context, nodes: _nodes.map(({ id }) => id).toSorted(), output, error, performed };
    } catch (error) {
      return { error, performed };
    }
  };
  const record = (move: (logic: AnyStateMachine) => AnyMachineSnapshot, way: () => string): Step => {
    passed = [];
    taken = [];
    let step: Step;
    try {
      step = { snapshot: move(machine), passed, taken };
    } catch (error) {
      throw new Error(`${way()}: ${(error as Error).message}`, { cause: error });
    }
    if (fast !== machine)
      assert.equal(
        seen(() => move(fast)),
        seen(() => move(machine)),
        `by table, ${way()}`,
      );
    return step;
  };
  return {
    start: (input: unknown) =>
      record(
        (logic) => logic.getInitialSnapshot(scope, input),
        () => `started with ${JSON.stringify(input)}`,
      ),
    step: (snapshot: AnyMachineSnapshot, event: { type: string }, way: Way) =>
      record(
        (logic) => logic.transition(snapshot, event, scope) as AnyMachineSnapshot,
        () => `${describe(way)}, on ${event.type}`,
      ),
  };
}
