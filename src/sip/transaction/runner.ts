import type { Clock } from '../../lib/clock.ts';
import { type Effect, type Row, type Timer, type TimerValues, timerDuration } from './tables.ts';

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
  readonly #perform: (effect: Exclude<Effect['type'], 'start' | 'repeat' | 'repeatAtT2' | 'stop'>) => void;
  readonly #onTerminated: () => void;
  readonly #onChanged: () => void;
  readonly #running = new Map<Timer, { readonly id: unknown; readonly due: number }>();
  /** The last interval of the retransmission timer (each table has one: A, E or G), in ms. */
  #interval = 0;
  #atOnce: Timer[] | undefined;

  constructor(options: {
    readonly name: TableName;
    readonly table: { readonly [state in State]: { readonly [input in Input]?: Row<State> } };
    readonly state: State;
    readonly reliable: boolean;
    readonly context: RunnerContext;
    readonly perform: (effect: Exclude<Effect['type'], 'start' | 'repeat' | 'repeatAtT2' | 'stop'>) => void;
    readonly onTerminated: () => void;
    readonly onChanged: () => void;
  }) {
    this.#name = options.name;
    this.#table = options.table as unknown as AnyTable;
    this.#state = options.state;
    this.#reliable = options.reliable;
    this.#context = options.context;
    this.#perform = options.perform;
    this.#onTerminated = options.onTerminated;
    this.#onChanged = options.onChanged;
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
    this.#onChanged();
    if (ends) this.#stopAll();
    for (const effect of row.effects) this.#run(effect);
    this.#fireAtOnce();
    if (ends) this.#onTerminated();
    return true;
  }

  /** Ends the transaction in any state, without effects. */
  terminate(): void {
    if (this.#state === 'terminated') return;
    this.#state = 'terminated' as State;
    this.#onChanged();
    this.#stopAll();
    this.#onTerminated();
  }

  dump(): RunnerData<State> {
    const { clock } = this.#context;
    const epoch = clock.now() - clock.monotonic();
    const due = Object.fromEntries([...this.#running].map(([timer, running]) => [timer, epoch + running.due]));
    return { state: this.#state, intervalMs: this.#interval, due };
  }

  /** Restores a saved transaction; overdue timers expire directly. */
  restore({ state, intervalMs, due }: RunnerData<State>): void {
    this.#state = state;
    this.#interval = intervalMs;
    const now = this.#context.clock.now();
    for (const [timer, at] of Object.entries(due) as [Timer, number][]) this.#plan(timer, Math.max(0, at - now));
  }

  #run(effect: Effect): void {
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
        this.#context.clock.clearTimeout(this.#running.get(effect.timer)?.id);
        this.#running.delete(effect.timer);
        break;
      default:
        this.#perform(effect.type);
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
      this.#running.delete(timer);
      this.input(`timer${timer}` as Input);
    }, ms);
    this.#running.set(timer, { id, due: clock.monotonic() + ms });
  }

  #fireAtOnce(): void {
    const due = this.#atOnce;
    if (!due) return;
    this.#atOnce = undefined;
    for (const timer of due) this.input(`timer${timer}` as Input);
  }

  #stopAll(): void {
    for (const { id } of this.#running.values()) this.#context.clock.clearTimeout(id);
    this.#running.clear();
  }
}
