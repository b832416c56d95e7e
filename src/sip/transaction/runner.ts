import type { Clock } from '../../lib/clock.ts';
import { type Effect, type PlainEffect, type Row, type Timer, type TimerValues, timerDuration } from './tables.ts';

/** A table of any of the four transactions, as the runner sees it. */
type AnyTable = { readonly [state: string]: { readonly [input: string]: Row<string> } };

type TableName = 'inviteClient' | 'nonInviteClient' | 'inviteServer' | 'nonInviteServer';

/** A row that was taken: for tests and debug logs. */
export type Step = { readonly table: TableName; readonly state: string; readonly input: string; readonly to: string };

/** State of a transaction: plain data. */
export type RunnerData<State extends string> = {
  readonly state: State;
  /** The last interval of its retransmission timer, in ms. */
  readonly intervalMs: number;
  /** When each timer that runs is due, in ms since the Unix epoch. */
  readonly due: { readonly [timer in Timer]?: number };
};

/** The part of the layer that all transactions share. */
export type RunnerContext = {
  readonly clock: Clock;
  readonly timers: TimerValues;
  readonly inspect: ((step: Step) => void) | undefined;
  /** Hears of every change of a transaction; left out: nobody does. */
  readonly changed?: TransactionChanged | undefined;
};

/** Hears that a transaction has begun, changed or ended; `key` is its own. */
export type TransactionChanged = (kind: 'client' | 'server', key: string, callId: string, method: string) => void;

/** The transaction that a runner runs. An object and no callbacks: two transactions of each call are kept for 32 s. */
export interface Run {
  /** Carries out an effect that is no timer. */
  perform(effect: PlainEffect): void;
  /** The transaction has begun, changed or ended. */
  changed(): void;
  /** The transaction is terminated. */
  ended(): void;
}

/** A timer that runs. A transaction has two at most, so they form a list. */
type Running = { readonly timer: Timer; readonly id: unknown; readonly due: number; next: Running | undefined };

/**
 * Runs one transaction by its table: keeps state and timers, and passes other effects to `perform`. The new state is
 * set before its effects, so a called user may use the transaction.
 */
export class Runner<State extends string, Input extends string> {
  #state: State;
  readonly #name: TableName;
  readonly #table: AnyTable;
  readonly #context: RunnerContext;
  readonly #reliable: boolean;
  readonly #run: Run;
  #running: Running | undefined;
  /** The last interval of the retransmission timer (each table has one: A, E or G), in ms. */
  #interval = 0;
  #atOnce: Timer[] | undefined;

  constructor(options: {
    readonly name: TableName;
    readonly table: { readonly [state in State]: { readonly [input in Input]?: Row<State> } };
    readonly state: State;
    readonly reliable: boolean;
    readonly context: RunnerContext;
    readonly run: Run;
  }) {
    this.#name = options.name;
    this.#table = options.table as unknown as AnyTable;
    this.#state = options.state;
    this.#reliable = options.reliable;
    this.#context = options.context;
    this.#run = options.run;
  }

  get state(): State {
    return this.#state;
  }

  /** True when the table has a row for the input in the present state. */
  accepts(input: Input): boolean {
    return this.#table[this.#state]![input] !== undefined;
  }

  /** Takes the row for `input`; false when there is none and the input is ignored. */
  input(input: Input): boolean {
    const row = this.#table[this.#state]![input];
    if (!row) return false;
    this.#context.inspect?.({ table: this.#name, state: this.#state, input, to: row.to });
    const ends = row.to === 'terminated' && this.#state !== 'terminated';
    this.#state = row.to as State;
    this.#run.changed();
    if (ends) this.#stopAll();
    for (const effect of row.effects) this.#carryOut(effect);
    this.#fireAtOnce();
    if (ends) this.#run.ended();
    return true;
  }

  /** Ends the transaction in any state, without effects. */
  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated' as State;
    this.#run.changed();
    this.#stopAll();
    this.#run.ended();
  }

  dump(): RunnerData<State> {
    const { clock } = this.#context;
    const epoch = clock.now() - clock.monotonic();
    const due: { [timer in Timer]?: number } = {};
    for (let each = this.#running; each; each = each.next) due[each.timer] = epoch + each.due;
    return { state: this.#state, intervalMs: this.#interval, due };
  }

  /** Restores a saved transaction; overdue timers expire directly. */
  restore({ state, intervalMs, due }: RunnerData<State>): void {
    this.#state = state;
    this.#interval = intervalMs;
    const now = this.#context.clock.now();
    for (const [timer, at] of Object.entries(due) as [Timer, number][]) this.#plan(timer, Math.max(0, at - now));
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case 'start':
        this.#start(effect.timer, timerDuration(effect.timer, this.#context.timers, this.#reliable));
        break;
      case 'repeat': {
        const doubled = this.#interval * 2;
        // Timer A doubles without bound (17.1.1.2), E and G up to T2 (17.1.2.2, 17.2.1).
        this.#start(effect.timer, effect.timer === 'A' ? doubled : Math.min(doubled, this.#context.timers.t2));
        break;
      }
      case 'repeatAtT2':
        this.#start(effect.timer, this.#context.timers.t2);
        break;
      case 'stop':
        this.#context.clock.clearTimeout(this.#take(effect.timer)?.id);
        break;
      default:
        this.#run.perform(effect.type);
    }
  }

  #start(timer: Timer, duration: number | undefined): void {
    // An earlier effect of the row may have ended the transaction through its user.
    if (duration === undefined || this.#state === 'terminated') return;
    if (timer === 'A' || timer === 'E' || timer === 'G') this.#interval = duration;
    if (duration === 0) {
      (this.#atOnce ??= []).push(timer);
      return;
    }
    this.#plan(timer, duration);
  }

  #plan(timer: Timer, ms: number): void {
    const { clock } = this.#context;
    const id = clock.setTimeout(() => {
      this.#take(timer);
      this.input(`timer${timer}` as Input);
    }, ms);
    this.#take(timer);
    this.#running = { timer, id, due: clock.monotonic() + ms, next: this.#running };
  }

  /** Takes a timer out of those that run. */
  #take(timer: Timer): Running | undefined {
    let before: Running | undefined;
    for (let each = this.#running; each; before = each, each = each.next) {
      if (each.timer !== timer) continue;
      if (before) before.next = each.next;
      else this.#running = each.next;
      return each;
    }
    return undefined;
  }

  #fireAtOnce(): void {
    const due = this.#atOnce;
    if (!due) return;
    this.#atOnce = undefined;
    for (const timer of due) this.input(`timer${timer}` as Input);
  }

  #stopAll(): void {
    for (let each = this.#running; each; each = each.next) this.#context.clock.clearTimeout(each.id);
    this.#running = undefined;
  }
}
