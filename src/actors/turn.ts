import type { AnyStateMachine } from 'xstate';
import type { CommittedStep, Step } from './step.ts';

/** An actor, as the turn sees it. */
export type Steppable = {
  readonly id: string;
  readonly chart: string;
  /**
   * Takes the event, commits the next state, and publishes the facts. No effect runs. Gives what performs them; undefined
   * when the event comes to nothing, because the actor has ended. Never throws.
   */
  commit(event: { type: string }, seq: number, causedBy: Step['causedBy']): Perform | undefined;
  /** The request that an event answers. Left out: none. */
  requestOf?(event: { type: string }): string | undefined;
};

/** Performs an effect of an actor by calling `run`, once; what that throws it throws on. */
export type EffectWatch = (
  actor: { readonly id: string; readonly chart: string },
  effect: string,
  run: () => void,
) => void;

/** A running actor as keepers of steps see it. */
export interface KeptActor {
  readonly machine: AnyStateMachine;
  /** Private data of the keeper. */
  note: unknown;
}

/** Keeps steps. */
type StepKeeper = (step: CommittedStep, actor: KeptActor) => void;

/** Performs the effects of a step. Never throws. */
export type Perform = () => void;

/** The first step of an actor, which is committed: its facts are published, then its effects are performed. */
type Begun = { publish(): void; perform: Perform };

/**
 * Orders the steps of all actors: one at a time, with its consequences.
 *
 * - A step is committed, its facts are published, then its effects run. When the actor has ended, its owner releases
 *   its resources last. No uncommitted state, fact or effect is visible.
 * - An effect may send to any actor. That actor's step and its consequences are complete when `send` returns.
 * - Events that fact listeners send wait until the step is over. So facts keep the order of commits.
 */
export interface Turn {
  /** Sends an event to an actor: directly, or after the present step while its facts are published. */
  send(actor: Steppable, event: { type: string }, cause?: string): void;
  /** Commits an actor's first step directly. Its consequences may wait, as for {@link send}. */
  start(commit: (seq: number, causedBy: Step['causedBy']) => Begun): void;
  /** Numbers a step of a chart that runs as a table, publishes it, and performs its effects. */
  beside(publish: (seq: number, causedBy: Step['causedBy']) => void, perform: Perform): void;
  /** Runs a task after all steps. Use it for long chains of steps, which would nest otherwise. */
  afterwards(task: () => void): void;
  /** Runs something whose steps have an outside cause, by its name. */
  because<T>(cause: string, run: () => T): T;
  /** Carries out a client's request: what it leads to, now and later, follows from that request. */
  following<T>(request: string, run: () => T): T;
  /** Id of the request that what is under way follows from. */
  readonly request: string | undefined;
  /**
   * Keeps every step from now on, by reference, so that describing it can wait. There is one who keeps; what it throws
   * goes where {@link listen}'s goes. @returns a function that ends that.
   */
  keep(keeper: StepKeeper): () => void;
  /** Calls back for every step of every actor. Exceptions are logged. */
  listen(listener: (step: Step) => void): () => void;
  /** Performs effects in place of the turn, to measure them; at most one. */
  effects: EffectWatch | undefined;
  /** Names the actor whose step is taken, for those who ask after a crash what was worked on; at most one. */
  mark: { begin(kind: string, id: string): void; end(): void } | undefined;
  /** Hears of every actor whose state has changed, that has begun or has ended; at most one. */
  changed: ((actor: { readonly id: string; readonly chart: string }) => void) | undefined;
  /** Whether steps have to be described for listeners. */
  readonly heard: boolean;
  /** The keeper of steps. */
  readonly keeper: StepKeeper | undefined;
  /** Passes a step to the listeners; exceptions go to `failed`. */
  tell(step: Step, failed: (error: unknown) => void): void;
}

/** Cause of steps by expired deadlines. */
export const clockCause = 'clock';

/** Cause of the steps that a request leads to directly. */
export const requestCause = (id: string): string => `request ${id}`;

/** Makes the turn of a process. There is one, so that all actors share it. */
export const createTurn = (): Turn => new ProcessTurn();

const none: readonly never[] = [];

class ProcessTurn implements Turn {
  effects: EffectWatch | undefined;
  changed: Turn['changed'];
  mark: Turn['mark'];
  #listeners: readonly ((step: Step) => void)[] = [];
  #keeper: StepKeeper | undefined;
  #seq = 0;
  #cause: Step['causedBy'];
  #request: string | undefined;
  /** Whether a step is being committed or published. */
  #busy = false;
  /** Steps within effects of steps. */
  #depth = 0;
  /** Consequences of the step being published. */
  #waiting: (() => void)[] = [];
  #afterwards: (() => void)[] = [];

  send(actor: Steppable, event: { type: string }, cause: Step['causedBy'] = this.#cause): void {
    const request = this.#request;
    if (this.#busy) this.#waiting.push(() => this.#take(actor, event, cause, request));
    else this.#take(actor, event, cause, request);
  }

  start(commit: (seq: number, causedBy: Step['causedBy']) => Begun): void {
    const seq = ++this.#seq;
    const busy = this.#busy;
    let begun: Begun;
    this.#busy = true;
    try {
      begun = commit(seq, this.#cause);
    } finally {
      this.#busy = busy;
    }
    const request = this.#request;
    const publish = (): Perform => {
      begun.publish();
      return begun.perform;
    };
    if (busy) this.#waiting.push(() => this.#step(publish, seq, request));
    else this.#step(publish, seq, request);
  }

  beside(publish: (seq: number, causedBy: Step['causedBy']) => void, perform: Perform): void {
    const before = this.#cause;
    const seq = ++this.#seq;
    publish(seq, before);
    this.#cause = seq;
    try {
      perform();
    } finally {
      this.#cause = before;
    }
  }

  afterwards(task: () => void): void {
    const request = this.#request;
    if (this.#depth === 0) task();
    else if (request === undefined) this.#afterwards.push(task);
    else this.#afterwards.push(() => this.following(request, task));
  }

  because<T>(cause: string, run: () => T): T {
    const before = this.#cause;
    this.#cause = cause;
    try {
      return run();
    } finally {
      this.#cause = before;
    }
  }

  following<T>(request: string, run: () => T): T {
    const before = this.#request;
    this.#request = request;
    try {
      return this.because(requestCause(request), run);
    } finally {
      this.#request = before;
    }
  }

  get request(): string | undefined {
    return this.#request;
  }

  keep(keeper: StepKeeper): () => void {
    this.#keeper = keeper;
    return () => {
      if (this.#keeper === keeper) this.#keeper = undefined;
    };
  }

  get keeper(): StepKeeper | undefined {
    return this.#keeper;
  }

  listen(listener: (step: Step) => void): () => void {
    const own = (step: Step): void => listener(step);
    this.#listeners = [...this.#listeners, own];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== own);
    };
  }

  get heard(): boolean {
    return this.#listeners.length > 0;
  }

  tell(step: Step, failed: (error: unknown) => void): void {
    for (const listener of this.#listeners) {
      try {
        listener(step);
      } catch (error) {
        failed(error);
      }
    }
  }

  #take(actor: Steppable, event: { type: string }, cause: Step['causedBy'], from: string | undefined): void {
    const seq = ++this.#seq;
    this.mark?.begin(actor.chart, actor.id);
    const taken = this.#step(() => actor.commit(event, seq, cause), seq, from ?? actor.requestOf?.(event));
    // An event that came to nothing is no step.
    if (!taken && this.#seq === seq) this.#seq--;
    this.mark?.end();
  }

  /** Publishes a step, performs its effects, then runs the steps that its facts caused. @returns whether it was one */
  #step(publish: () => Perform | undefined, seq: number, request: string | undefined): boolean {
    const causeBefore = this.#cause;
    const requestBefore = this.#request;
    this.#cause = seq;
    this.#request = request;
    this.#depth++;
    this.#busy = true;
    let perform: Perform | undefined;
    try {
      perform = publish();
    } finally {
      this.#busy = false;
    }
    // Consequences of the facts belong to this step: effects below may publish, too.
    const waiting = this.#takeWaiting();
    perform?.();
    for (const take of waiting) take();
    this.#depth--;
    this.#cause = causeBefore;
    this.#request = requestBefore;
    if (this.#depth === 0 && this.#afterwards.length > 0) this.#finish();
    return perform !== undefined;
  }

  /** An empty list stays: the consequences of other steps must not enter this one. */
  #takeWaiting(): readonly (() => void)[] {
    if (this.#waiting.length === 0) return none;
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  #finish(): void {
    const tasks = this.#afterwards;
    this.#afterwards = [];
    for (const task of tasks) task();
  }
}
