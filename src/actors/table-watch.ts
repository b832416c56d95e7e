import type { AnyMachineSnapshot, AnyStateMachine, EventObject, InspectionEvent } from 'xstate';
import type { SeenRun, TableWatch } from '../machines/table-run.ts';
import type { LiveActor, Runtime } from './spawn.ts';
import { type CommittedStep, describeStep, type Step } from './step.ts';

/**
 * Lists the runs of tables among the actors and shows them to inspectors. The recorder and other listeners hear of
 * their steps. A run ends in a final state. The recorder hears of it from the first step on, when its object is known.
 */
export const createTableWatch = (runtime: Runtime): TableWatch => ({
  begin: (machine, object, state) => new WatchedTable(runtime, machine, object, state),
});

const none: readonly never[] = [];
const nothing = (): void => {};

/** The snapshots of charts without context, by state. They are made once. */
const snapshots = new WeakMap<AnyStateMachine, Map<string, AnyMachineSnapshot>>();

function snapshotOf(machine: AnyStateMachine, state: string): AnyMachineSnapshot {
  let known = snapshots.get(machine);
  if (!known) snapshots.set(machine, (known = new Map()));
  const found = known.get(state);
  if (found) return found;
  const made = machine.resolveState({ value: state, context: {} } as never);
  known.set(state, made);
  return made;
}

class WatchedTable implements LiveActor, SeenRun {
  readonly id: string;
  readonly machine: AnyStateMachine;
  note: unknown;
  readonly #runtime: Runtime;
  readonly #number: number;
  #snapshot: AnyMachineSnapshot;
  #isTold = false;

  constructor(runtime: Runtime, machine: AnyStateMachine, id: string, state: string) {
    this.#runtime = runtime;
    this.machine = machine;
    this.id = id;
    this.#snapshot = snapshotOf(machine, state);
    this.#number = runtime.actors.add(this);
    this.#inspect({ type: '@xstate.actor' });
  }

  /** The run as inspectors know actors. */
  get sessionId(): string {
    return `table:${this.#number}`;
  }

  get logic(): { config: unknown } {
    return { config: this.machine.config };
  }

  get _parent(): Runtime['system'] {
    return this.#runtime.system;
  }

  #inspect(told: { type: InspectionEvent['type']; [member: string]: unknown }): void {
    const { inspect, system } = this.#runtime;
    inspect?.({ ...told, actorRef: this, rootId: system.sessionId } as unknown as InspectionEvent);
  }

  get chart(): string {
    return this.machine.id;
  }

  getSnapshot(): AnyMachineSnapshot {
    return this.#snapshot;
  }

  take(event: EventObject, to: string, effects: readonly string[], perform: () => void): void {
    const { turn, actors, inspect } = this.#runtime;
    const before = this.#snapshot;
    const after = snapshotOf(this.machine, to);
    this.#snapshot = after;
    const isRecorded = turn.keeper !== undefined || turn.heard;
    const told = inspect || isRecorded ? plain(event) : event;
    if (inspect) {
      this.#inspect({ type: '@xstate.event', event: told, sourceRef: undefined });
      this.#inspect({ type: '@xstate.snapshot', event: told, snapshot: after });
    }
    if (isRecorded) {
      if (!this.#isTold) this.#tellFirst(before);
      this.#isTold = true;
      const step: TableStep = {
        taking: 'taken',
        event: told,
        besides: undefined,
        before,
        after,
        effects: effectsOf(effects),
      };
      turn.beside((seq, causedBy) => this.#tell(step, seq, causedBy), perform);
    } else perform();
    if (after.status !== 'active') actors.remove(this.#number);
  }

  #tellFirst(snapshot: AnyMachineSnapshot): void {
    const step: TableStep = {
      taking: 'restored',
      event: firstEvent,
      besides: snapshot,
      before: undefined,
      after: snapshot,
      effects: none,
    };
    this.#runtime.turn.beside((seq, causedBy) => this.#tell(step, seq, causedBy), nothing);
  }

  /** The step is one literal: a copy by spread that grows would have a hidden class of its own each time. */
  #tell({ taking, event, besides, before, after, effects }: TableStep, seq: number, causedBy: Step['causedBy']): void {
    const { turn, clock, log } = this.#runtime;
    const whole: CommittedStep = {
      kind: 'step',
      order: 0,
      seq,
      causedBy,
      request: turn.request,
      object: this.id,
      chart: this.chart,
      at: clock.now(),
      taking,
      event,
      besides,
      before,
      after,
      facts: none,
      effects,
    };
    const failed = (error: unknown) => log.error({ id: this.id, error }, 'a listener of steps failed');
    try {
      turn.keeper?.(whole, this);
    } catch (error) {
      failed(error);
    }
    if (turn.heard) turn.tell(describeStep(whole, before), failed);
  }
}

type TableStep = Pick<CommittedStep, 'taking' | 'event' | 'besides' | 'before' | 'after' | 'effects'>;

const firstEvent: EventObject = { type: 'xstate.init' };

/** Effects as steps have them, by the list of a row of a table. */
const known = new WeakMap<readonly string[], CommittedStep['effects']>();

function effectsOf(types: readonly string[]): CommittedStep['effects'] {
  let found = known.get(types);
  if (!found) {
    found = types.map((type) => ({ type, info: undefined, params: undefined, exec: nothing }));
    known.set(types, found);
  }
  return found;
}

const isPlain = (value: unknown): boolean => ['string', 'number', 'boolean'].includes(typeof value);

/** An event without members that are no plain values: requests, promises and the like. */
const plain = (event: EventObject): EventObject =>
  Object.values(event).every(isPlain)
    ? event
    : (Object.fromEntries(Object.entries(event).filter(([, value]) => isPlain(value))) as EventObject);
