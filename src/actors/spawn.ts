import {
  type ActorLogic,
  type AnyActor,
  type AnyActorRef,
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EmittedFrom,
  type EventFrom,
  type EventObject,
  type InputFrom,
  type InspectionEvent,
  type Snapshot,
  type SnapshotFrom,
} from 'xstate';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Roster } from '../lib/slot-map.ts';
import { unasked } from '../machines/unasked.ts';
import { type ActorDump, ChartRun, type Effect, failed, type StepSource, type Taking } from './chart-run.ts';
import { type Deadline, deadlinesOf, withDeadlines } from './deadlines.ts';
import { type CommittedStep, type Contents, describeStep, restored, type Step } from './step.ts';
import { clockCause, createTurn, type KeptActor, type Perform, type Steppable, type Turn } from './turn.ts';

/** The parts that every actor runs on: one for the whole process. */
export type Runtime = {
  clock: Clock;
  log: Logger;
  turn: Turn;
  /** The actors that run now, of every chart. */
  actors: Roster<LiveActor>;
  /** The root of the actor system, whose children they are. */
  system: AnyActorRef;
  /** Hears of charts that run outside xstate, as xstate tells it of actors; undefined: nobody. */
  inspect: Inspect | undefined;
};

/** Hears what xstate tells inspectors of all actors: the actors, the events they take, and their snapshots. */
export type Inspect = (event: InspectionEvent) => void;

/** A running actor, as those see it who count them, or look at them from outside. */
export type LiveActor = KeptActor & { readonly id: string; readonly chart: string; getSnapshot(): AnyMachineSnapshot };

/** Makes what the actors of a process run on. */
export function createRuntime(clock: Clock, log: Logger, inspect?: Inspect): Runtime {
  const system = createActor(rootLogic, { id: 'hookswitch', ...(inspect && { inspect }) }).start();
  Object.assign(system.system, unlisted);
  return { clock, log, turn: createTurn(), actors: new Roster(), system, inspect };
}

/**
 * xstate's system keeps its actors in a Map that it only writes to. A table that turns over makes all that it refers to
 * old (docs/decisions/0028): 80 µs a call. `actors` tells who runs.
 */
const unlisted = { _register: (sessionId: string) => sessionId, _unregister: (): void => {} };

/** The root takes no part: that a child has ended is its owner's business. */
const root = { status: 'active', output: undefined, error: undefined } as const;
const rootLogic = { getInitialSnapshot: () => root, transition: () => root, getPersistedSnapshot: () => root };

type SpawnOptions<M extends AnyStateMachine> = {
  /** The object's public id, shown in logs. */
  id: string;
  runtime: Runtime;
  /**
   * Gets every fact in order, after the commit. `snapshot` is the state after the whole step, which may be later than
   * the fact. Exceptions are logged. Events sent from here are processed after the step.
   */
  onEmitted?: (fact: EmittedFrom<M>, snapshot: SnapshotFrom<M>) => void;
  /** Hears of every step that changed the snapshot, after its facts. As for facts, exceptions are logged. */
  onChanged?: (snapshot: SnapshotFrom<M>) => void;
  /**
   * Runs exactly once, after the last fact and effect: the chart reached a final state, or crashed with `error`. Release
   * here.
   */
  onEnded: (error?: unknown) => void;
  /** An effect threw. Left out, the actor crashes; else it goes on, and its other effects are performed. */
  onEffectFailed?: (error: unknown) => void;
  /** Gets the actor before its first fact, so that facts and effects of its first state find it. */
  onCreated?: (actor: Actor<M>) => void;
} & Beginning<InputFrom<M>>;

/** How an actor starts: with its chart's input, or from an earlier {@link Actor.dump}. */
export type Beginning<I> = { input: I; from?: undefined } | { input?: undefined; from: ActorDump };

/** A running chart. It ends by events that lead to a final state; there is no way to stop it from outside. */
export interface Actor<M extends AnyStateMachine> {
  readonly id: string;
  /**
   * Takes one step, with all that follows from it, before this returns; an actor that has ended ignores it. While facts
   * are being published the event waits until that step is over (`Turn`).
   */
  send(event: EventFrom<M>): void;
  /** The last committed state. */
  getSnapshot(): SnapshotFrom<M>;
  /** All that a chart needs to go on from here (`SpawnOptions.from`), its deadlines included. */
  dump(): ActorDump;
}

/**
 * The only place where charts run: one xstate actor per call-control object, so that a crash stays inside it. Its logic
 * (xstate's own, or a table) computes the next snapshot. xstate commits it and emits the facts; then the effects are
 * performed. The order is the same for every actor (`Turn`). The actor is started when this returns. A restored actor
 * enters no state again: no facts, no effects. Overdue deadlines expire directly.
 */
export function spawn<M extends AnyStateMachine>(machine: M, options: SpawnOptions<M>): Actor<M> {
  const running = new RunningActor(machine, options.id, options as unknown as Options);
  const actor = running as unknown as Actor<M>;
  running.launch(options, () => options.onCreated?.(actor));
  return actor;
}

type Timer = Deadline & { handle: unknown };
type Options = Pick<
  SpawnOptions<AnyStateMachine>,
  'runtime' | 'onEnded' | 'onEmitted' | 'onChanged' | 'onEffectFailed'
>;

const nothing = (): void => {};
const none: readonly never[] = [];

/**
 * An xstate actor and its logic. xstate holds the snapshot, emits facts and shows inspectors what happens; the turn says
 * when a step is taken, and effects are performed when xstate is done with it.
 */
class RunningActor implements Steppable, KeptActor, ActorLogic<AnyMachineSnapshot, EventObject, unknown> {
  readonly id: string;
  readonly machine: AnyStateMachine;
  note: unknown;
  readonly #options: Options;
  /** The actor as xstate knows it. */
  #ref!: AnyActor;
  #run!: ChartRun;
  /** The error of a failed start. */
  #refusal: { error: unknown } | undefined;
  /** The timers that run, by id. */
  #timers: Map<string, Timer> | undefined;
  /** Its number among running actors. */
  #number = 0;
  /** The request that its last step followed from. */
  #request: string | undefined;
  /** The step in progress, and the result of the last one. */
  #taking: Taking = 'begun';
  #seq = 0;
  #causedBy: Step['causedBy'];
  #besides: StepSource['besides'];
  #failure: unknown;
  #step: CommittedStep | undefined;

  constructor(machine: AnyStateMachine, id: string, options: Options) {
    this.id = id;
    this.machine = machine;
    this.#options = options;
  }

  get chart(): string {
    return this.machine.id;
  }

  /** The chart, for inspectors. */
  get config(): unknown {
    return this.machine.config;
  }

  send(event: EventObject): void {
    this.#options.runtime.turn.send(this, event);
  }

  getSnapshot(): AnyMachineSnapshot {
    return this.#ref.getSnapshot();
  }

  dump(): ActorDump {
    const dump = this.#ref.getPersistedSnapshot() as unknown as ActorDump;
    return this.#request === undefined ? dump : { ...dump, request: this.#request };
  }

  launch({ input, from }: Beginning<unknown>, onCreated: () => void): void {
    const { runtime, onEmitted } = this.#options;
    this.#number = runtime.actors.add(this);
    runtime.turn.start((seq, causedBy) => {
      this.#expect(from ? 'restored' : 'begun', seq, causedBy);
      const { id } = this;
      const snapshot = from as unknown as Snapshot<unknown> | undefined;
      this.#ref = createActor(this, { id, input, snapshot, parent: runtime.system } as never);
      if (this.#refusal) throw this.#refusal.error;
      if (onEmitted) this.#ref.on('*', this.#emitted as never);
      if (from) this.#goOnFrom(from);
      onCreated();
      const { effects } = this.#step as CommittedStep;
      return { publish: () => void this.#ref.start(), perform: () => this.#perform(effects) };
    });
  }

  /** Plans again what the context says is to come, in the order in which it is due. */
  #goOnFrom({ request }: ActorDump): void {
    this.#request = request;
    const now = this.#options.runtime.clock.now();
    const deadlines = Object.entries(deadlinesOf(this.getSnapshot()));
    if (deadlines.length === 0) return;
    this.#timers = new Map();
    for (const [id, { at, event }] of deadlines.toSorted(([, a], [, b]) => a.at - b.at))
      this.#timers.set(id, this.#startTimer(id, { at, event }, at - now));
  }

  /** A report that answers a request follows from it, however late. Spontaneous reports of the far side do not. */
  requestOf({ type }: EventObject): string | undefined {
    return this.#request === undefined || unasked.has(type) ? undefined : this.#request;
  }

  commit(event: EventObject, seq: number, causedBy: Step['causedBy']): Perform | undefined {
    this.#expect('taken', seq, causedBy);
    return this.#take(event);
  }

  /** The one place where xstate takes an event: it is committed and its facts are published when this returns. */
  #take(event: EventObject): Perform | undefined {
    if (this.getSnapshot().status !== 'active') return undefined;
    this.#ref.send(event as never);
    const { effects, before, after } = this.#step as CommittedStep;
    if (effects.length === 0 && (before === after || after.status === 'active')) return nothing;
    return () => this.#perform(effects);
  }

  #expect(taking: Taking, seq: number, causedBy: Step['causedBy'], besides?: StepSource['besides']): void {
    this.#taking = taking;
    this.#seq = seq;
    this.#causedBy = causedBy;
    this.#besides = besides;
  }

  /* ---- The logic that xstate runs ---------------------------------------------------------------------------------- */

  getInitialSnapshot(scope: AnyActorScope, input: unknown): AnyMachineSnapshot {
    return this.#begin(scope, { type: 'xstate.init', input } as EventObject, () => this.#run.begin(input));
  }

  restoreSnapshot(from: Snapshot<unknown>, scope: AnyActorScope): AnyMachineSnapshot {
    return this.#begin(scope, { type: restored }, () => this.#run.resume(from as unknown as ActorDump));
  }

  getPersistedSnapshot({ value, context }: AnyMachineSnapshot): Snapshot<unknown> {
    return { chart: this.chart, value, context } as unknown as Snapshot<unknown>;
  }

  transition(before: AnyMachineSnapshot, event: EventObject, scope: AnyActorScope): AnyMachineSnapshot {
    const taking = this.#taking;
    const ready = taking === 'expired' && this.#timers ? withDeadlines(before, this.#timers) : before;
    const next = taking === 'crashed' ? failed(before, this.#failure) : this.#run.next(ready, event);
    return this.#settle(before, next, event, scope);
  }

  #begin(scope: AnyActorScope, event: EventObject, begin: () => AnyMachineSnapshot): AnyMachineSnapshot {
    this.#run = new ChartRun(this.machine, scope, this);
    try {
      const first = begin();
      if (this.#taking === 'restored') this.#besides = first;
      return this.#settle(undefined, first, event, scope);
    } catch (error) {
      // xstate keeps what is thrown here to itself.
      this.#refusal = { error };
      throw error;
    }
  }

  /** Starts the timers of a transition; facts and effects wait for the commit. */
  #settle(
    before: AnyMachineSnapshot | undefined,
    next: AnyMachineSnapshot,
    event: EventObject,
    scope: AnyActorScope,
  ): AnyMachineSnapshot {
    const run = this.#run;
    const { turn, clock } = this.#options.runtime;
    const crashed = next.status === 'error';
    // A transition that failed half-way has no facts and effects.
    const told = run.takeFacts();
    const named = run.takeEffects();
    const facts = crashed ? none : told;
    const effects = crashed ? none : named;
    const isKept = turn.keeper !== undefined || turn.heard;
    const at = isKept || run.planned.length > 0 ? clock.now() : 0;
    const after = run.planned.length > 0 ? this.#plan(next, at) : next;
    if (after.status !== 'active') this.#forgetTimers();
    const { request } = turn;
    this.#mark(before, after, effects.length, request);
    this.#request = request;
    // biome-ignore format: one object, made for every step
    this.#step = {
      kind: 'step', order: 0, seq: this.#seq, at, object: this.id, chart: this.chart, taking: this.#taking, event,
      besides: this.#besides, before, after, facts, effects, causedBy: this.#causedBy, request,
    };
    // A first step that crashed is committed without it.
    if (isKept && before === undefined) this.#tell(this.#step);
    if (isKept || facts.length > 0 || before !== after) scope.defer(this.#committed(scope));
    return after;
  }

  /** Tells that what {@link dump} gives has changed, or what the effects change. */
  #mark(before: unknown, after: unknown, effects: number, request: string | undefined): void {
    const { changed } = this.#options.runtime.turn;
    if (changed && (before !== after || effects > 0 || request !== this.#request)) changed(this);
  }

  /** Runs when the snapshot has become the actor's state. */
  #committed(scope: AnyActorScope): () => void {
    const step = this.#step as CommittedStep;
    return () => {
      if (step.before !== undefined) this.#tell(step);
      for (const fact of step.facts) scope.emit(fact);
      if (step.before !== step.after) this.#changed(step.after);
    };
  }

  readonly #emitted = (fact: EventObject): void => {
    const { onEmitted, runtime } = this.#options;
    try {
      onEmitted?.(fact as never, this.getSnapshot() as never);
    } catch (error) {
      runtime.log.error({ id: this.id, fact: fact.type, error }, 'publishing a fact failed');
    }
  };

  /** Publishes a step: as it is to the keeper, described to listeners. */
  #tell(step: CommittedStep): void {
    const { turn, log } = this.#options.runtime;
    const failed = (error: unknown) => log.error({ id: this.id, error }, 'a listener of steps failed');
    try {
      turn.keeper?.(step, this);
    } catch (error) {
      failed(error);
    }
    if (turn.heard) turn.tell(describeStep(step, step.before as Contents | undefined), failed);
  }

  #changed(snapshot: AnyMachineSnapshot): void {
    const { onChanged, runtime } = this.#options;
    try {
      onChanged?.(snapshot as never);
    } catch (error) {
      runtime.log.error({ id: this.id, error }, 'publishing a change failed');
    }
  }

  /* ---- Effects ------------------------------------------------------------------------------------------------------ */

  #perform(effects: readonly Effect[]): void {
    const { status, error: crash } = this.getSnapshot();
    const watch = effects.length === 0 ? undefined : this.#options.runtime.turn.effects;
    for (const { type, info, params, exec } of effects) {
      try {
        if (watch) watch(this, type, () => exec(info, params));
        else exec(info, params);
      } catch (error) {
        this.#effectFailed(error);
        if (this.getSnapshot().status === 'error') return;
      }
    }
    if (status === 'done') this.#end();
    else if (status === 'error') {
      this.#options.runtime.log.error({ id: this.id, machine: this.chart, error: crash }, 'an actor crashed');
      this.#end(crash);
    }
  }

  #effectFailed(error: unknown): void {
    const { onEffectFailed, runtime } = this.#options;
    if (onEffectFailed) this.#guarded(() => onEffectFailed(error));
    else if (this.getSnapshot().status !== 'active')
      runtime.log.error({ id: this.id, machine: this.chart, error }, 'an effect of an ended actor failed');
    else runtime.turn.send(this.#crash(error), { type: 'effect.failed' });
  }

  /** The step that ends an actor whose effect failed. */
  #crash(error: unknown): Steppable {
    return {
      ...{ id: this.id, chart: this.chart },
      requestOf: () => this.#request,
      commit: (event, seq, causedBy) => {
        this.#failure = error;
        this.#expect('crashed', seq, causedBy);
        return this.#take(event);
      },
    };
  }

  /* ---- Deadlines -------------------------------------------------------------------------------------------------- */

  /** Starts and forgets the timers that the transition asked for, and notes in the context which ones run. */
  #plan(snapshot: AnyMachineSnapshot, now: number): AnyMachineSnapshot {
    const { planned } = this.#run;
    this.#run.planned = [];
    if (snapshot.status !== 'active') return snapshot;
    const timers = (this.#timers ??= new Map<string, Timer>());
    let changed = false;
    for (const { id, event, delayMs } of planned) {
      changed = this.#forget(id) || changed;
      if (event === undefined) continue;
      timers.set(id, this.#startTimer(id, { at: now + delayMs, event }, delayMs));
      changed = true;
    }
    return changed ? withDeadlines(snapshot, timers) : snapshot;
  }

  #startTimer(id: string, deadline: Deadline, delayMs: number): Timer {
    const { clock, turn } = this.#options.runtime;
    const timer: Timer = { at: deadline.at, event: deadline.event, handle: undefined };
    const due = () => turn.send(this.#expire(id, timer), timer.event, clockCause);
    if (delayMs > 0) timer.handle = clock.setTimeout(due, delayMs);
    else clock.soon(due);
    return timer;
  }

  /** The step at the end of a delay; nothing when it was given up meanwhile. */
  #expire(id: string, timer: Timer): Steppable {
    const { id: actorId, chart } = this;
    return {
      id: actorId,
      chart,
      requestOf: () => this.#request,
      commit: (event, seq, causedBy) => {
        const timers = this.#timers;
        if (timers?.get(id) !== timer) return undefined;
        timers.delete(id);
        this.#expect('expired', seq, causedBy, id);
        return this.#take(event);
      },
    };
  }

  #forget(id: string): boolean {
    const timer = this.#timers?.get(id);
    if (timer === undefined) return false;
    this.#options.runtime.clock.clearTimeout(timer.handle);
    return this.#timers?.delete(id) ?? false;
  }

  #forgetTimers(): void {
    for (const id of this.#timers?.keys() ?? []) this.#forget(id);
  }

  #end(error?: unknown): void {
    this.#options.runtime.actors.remove(this.#number);
    this.#guarded(() => this.#options.onEnded(error));
  }

  /** An exception of an owner, at an actor's end or in an effect, must not stop the others. */
  #guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#options.runtime.log.error({ id: this.id, error }, 'releasing an ended actor failed');
    }
  }
}
