import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  EmittedFrom,
  EventFrom,
  EventObject,
  InputFrom,
  SnapshotFrom,
  StateValue,
} from 'xstate';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { Roster } from '../lib/slot-map.ts';
import { unasked } from '../machines/unasked.ts';
import { type ActorDump, ChartRun, type Effect, failed, type StepSource, type Taking } from './chart-run.ts';
import { type Deadline, deadlinesOf, withDeadlines } from './deadlines.ts';
import { type CommittedStep, type Contents, describeStep, restored, type Step } from './step.ts';
import { clockCause, createTurn, type Followed, type KeptActor, type Steppable, type Turn } from './turn.ts';

/** What every actor runs on: one for the whole process. */
export type Runtime = {
  clock: Clock;
  log: Logger;
  turn: Turn;
  /** The actors that run now, of every chart. */
  actors: Roster<LiveActor>;
};

/** A running actor, as those see it who count them, or look at them from outside. */
export type LiveActor = KeptActor & { readonly id: string; readonly chart: string; getSnapshot(): AnyMachineSnapshot };

/** Makes what the actors of a process run on. */
export const createRuntime = (clock: Clock, log: Logger): Runtime => ({
  clock,
  log,
  turn: createTurn(),
  actors: new Roster(),
});

export type SpawnOptions<M extends AnyStateMachine> = {
  /** The object's public id, shown in logs. */
  id: string;
  runtime: Runtime;
  /**
   * Hears every fact in order, after the commit: `snapshot` is the state that the whole step led to, which for a fact of
   * an intermediate step is later than the fact. What it throws is logged and harms nobody; what it sends to actors
   * reaches them when the step is over.
   */
  onEmitted?: (fact: EmittedFrom<M>, snapshot: SnapshotFrom<M>) => void;
  /**
   * Runs exactly once, after the last fact and effect: the chart reached a final state, or crashed with `error`. Release
   * here.
   */
  onEnded: (error?: unknown) => void;
  /** An effect threw. Left out, the actor crashes; else it goes on, and its other effects are performed. */
  onEffectFailed?: (error: unknown) => void;
  /** Gets the actor before its first fact is told, so that facts and effects of its first state already find it. */
  onCreated?: (actor: Actor<M>) => void;
} & Beginning<InputFrom<M>>;

/** What an actor begins with: the input of its chart, or what {@link Actor.dump} gave of an earlier one. */
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
  /** Hears of every step that changed the snapshot, after its facts. @returns a function that ends that. */
  watch(listener: (snapshot: SnapshotFrom<M>) => void): () => void;
  /** All that a chart needs to go on from here (`SpawnOptions.from`), its deadlines included. */
  dump(): ActorDump;
}

/**
 * The only place where charts run: one root actor per call-control object, so that a crash stays inside it. The chart
 * (xstate's own logic, or its table) says what comes next, purely; here that is committed, published and performed, in
 * this order, the same for every actor (`Turn`). The actor is started when this returns. One that goes on from a dump
 * enters no state anew: it tells no facts, no effect runs, and what is overdue comes due at once.
 */
export function spawn<M extends AnyStateMachine>(machine: M, options: SpawnOptions<M>): Actor<M> {
  const running = new RunningActor(machine, options.id, options as unknown as Options);
  const actor = running as unknown as Actor<M>;
  running.start(options, () => options.onCreated?.(actor));
  return actor;
}

type Timer = Deadline & { handle: unknown };
type Watcher = (snapshot: AnyMachineSnapshot) => void;
type Options = Pick<SpawnOptions<AnyStateMachine>, 'runtime' | 'onEnded' | 'onEmitted' | 'onEffectFailed'>;

const nothing = (): void => {};
const none: readonly never[] = [];
const nothingFollows: Followed = { publish: nothing, perform: nothing };

class RunningActor implements Steppable, KeptActor {
  readonly id: string;
  note: unknown;
  readonly #run: ChartRun;
  readonly #options: Options;
  #snapshot!: AnyMachineSnapshot;
  #watchers: readonly Watcher[] = none;
  /** The timers that run, by id. */
  #timers: Map<string, Timer> | undefined;
  /** Its number among those that run. */
  #number = 0;
  /** The request that its last step followed from. */
  #request: string | undefined;

  constructor(machine: AnyStateMachine, id: string, options: Options) {
    this.id = id;
    this.#run = new ChartRun(machine, id, this);
    this.#options = options;
  }

  get machine(): AnyStateMachine {
    return this.#run.machine;
  }

  get chart(): string {
    return this.machine.id;
  }

  send(event: EventObject): void {
    this.#options.runtime.turn.send(this, event);
  }

  getSnapshot(): AnyMachineSnapshot {
    return this.#snapshot;
  }

  watch(listener: Watcher): () => void {
    this.#watchers = [...this.#watchers, listener];
    return () => {
      this.#watchers = this.#watchers.filter((other) => other !== listener);
    };
  }

  dump(): ActorDump {
    const { value, context } = this.#snapshot;
    return {
      chart: this.chart,
      value: value as StateValue,
      context: context as ActorDump['context'],
      ...(this.#request !== undefined && { request: this.#request }),
    };
  }

  start({ input, from }: Beginning<unknown>, onCreated: () => void): void {
    this.#number = this.#options.runtime.actors.add(this);
    const first = from ? { type: restored } : { type: 'xstate.init', input };
    this.#options.runtime.turn.start((seq, causedBy) => {
      const next = from ? this.#run.resume(from) : this.#run.begin(input);
      const taking = from ? 'restored' : 'begun';
      const followed = this.#committed(taking, undefined, next, first, seq, causedBy, from && next);
      if (from) this.#goOnFrom(from);
      onCreated();
      return followed;
    });
  }

  /** Plans again what the context says is to come, in the order in which it is due. */
  #goOnFrom({ request }: ActorDump): void {
    this.#request = request;
    const now = this.#options.runtime.clock.now();
    const deadlines = Object.entries(deadlinesOf(this.#snapshot));
    if (deadlines.length === 0) return;
    this.#timers = new Map();
    for (const [id, { at, event }] of deadlines.toSorted(([, a], [, b]) => a.at - b.at))
      this.#timers.set(id, this.#startTimer(id, { at, event }, at - now));
  }

  /** What answers a request follows from it, however late it comes; what the far side does by itself does not. */
  requestOf({ type }: EventObject): string | undefined {
    return this.#request === undefined || unasked.has(type) ? undefined : this.#request;
  }

  commit(event: EventObject, seq: number, causedBy: Step['causedBy']): Followed | undefined {
    const before = this.#snapshot;
    if (before.status !== 'active') return undefined;
    return this.#committed('taken', before, this.#run.next(before, event), event, seq, causedBy);
  }

  /** The one place where a snapshot becomes the actor's state. */
  #committed(
    taking: Taking,
    before: AnyMachineSnapshot | undefined,
    next: AnyMachineSnapshot,
    event: EventObject,
    seq: number,
    causedBy: Step['causedBy'],
    besides?: StepSource['besides'],
  ): Followed {
    const run = this.#run;
    const { turn, clock } = this.#options.runtime;
    const crashed = next.status === 'error';
    // What a transition asked for that failed half-way never happened.
    const facts = crashed || run.facts.length === 0 ? none : run.facts;
    const effects = crashed || run.effects.length === 0 ? none : run.effects;
    if (run.facts.length > 0) run.facts = [];
    if (run.effects.length > 0) run.effects = [];
    const isKept = turn.keeper !== undefined || turn.heard;
    const at = isKept || run.planned.length > 0 ? clock.now() : 0;
    if (run.planned.length > 0) next = this.#plan(next, at);
    if (next.status !== 'active') this.#forgetTimers();
    this.#snapshot = next;
    const { request } = turn;
    this.#request = request;
    if (isKept) {
      const { id: object, chart } = this;
      // biome-ignore format: one object, made for every step
      this.#tell({
        kind: 'step', order: 0, seq, at, object, chart, taking, event, besides, before, after: next, facts, effects,
        causedBy, request,
      });
    }
    if (before === next && facts.length === 0 && effects.length === 0) return nothingFollows;
    return {
      publish: () => this.#publish(facts, next, before === next ? none : this.#watchers),
      perform: () => this.#perform(effects, next),
    };
  }

  /** Tells of a step: to who keeps it as it is, to who listens described. */
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

  #publish(facts: readonly EventObject[], snapshot: AnyMachineSnapshot, watchers: readonly Watcher[]): void {
    const { onEmitted, runtime } = this.#options;
    if (onEmitted)
      for (const fact of facts) {
        try {
          onEmitted(fact as never, snapshot as never);
        } catch (error) {
          runtime.log.error({ id: this.id, fact: fact.type, error }, 'publishing a fact failed');
        }
      }
    for (const watcher of watchers) {
      try {
        watcher(snapshot);
      } catch (error) {
        runtime.log.error({ id: this.id, error }, 'a watcher of an actor failed');
      }
    }
  }

  #perform(effects: readonly Effect[], { status, error: crash }: AnyMachineSnapshot): void {
    const watch = effects.length === 0 ? undefined : this.#options.runtime.turn.effects;
    for (const { type, info, params, exec } of effects) {
      try {
        if (watch) watch(this, type, () => exec(info, params));
        else exec(info, params);
      } catch (error) {
        this.#effectFailed(error);
        if (this.#snapshot.status === 'error') return;
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
    else if (this.#snapshot.status !== 'active')
      runtime.log.error({ id: this.id, machine: this.chart, error }, 'an effect of an ended actor failed');
    else runtime.turn.send(this.#crash(error), { type: 'effect.failed' });
  }

  /** The step that ends an actor whose effect failed. */
  #crash(error: unknown): Steppable {
    return {
      requestOf: () => this.#request,
      commit: (event, seq, causedBy) => {
        const before = this.#snapshot;
        return this.#committed('crashed', before, failed(before, error), event, seq, causedBy);
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
    const timer: Timer = { ...deadline, handle: undefined };
    const due = () => turn.send(this.#expire(id, timer), timer.event, clockCause);
    if (delayMs > 0) timer.handle = clock.setTimeout(due, delayMs);
    else clock.soon(due);
    return timer;
  }

  /** The step at the end of a delay; nothing when it was given up meanwhile. */
  #expire(id: string, timer: Timer): Steppable {
    return {
      requestOf: () => this.#request,
      commit: (event, seq, causedBy) => {
        const timers = this.#timers;
        if (timers?.get(id) !== timer) return undefined;
        timers.delete(id);
        const before = this.#snapshot;
        const next = this.#run.next(withDeadlines(before, timers), event);
        return this.#committed('expired', before, next, event, seq, causedBy, id);
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

  /** What an owner does when its actor ends, or an effect failed, must not hold up the others. */
  #guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#options.runtime.log.error({ id: this.id, error }, 'releasing an ended actor failed');
    }
  }
}
