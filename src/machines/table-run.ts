import type { AnyStateMachine } from 'xstate';
import { machineOf } from './plain-table.ts';

/** States and events as a table: the next state, and the effects in order. Without a row an event changes nothing. */
type Table<State extends string, Type extends string, Effect extends string> = Readonly<
  Record<State, Readonly<Partial<Record<Type, { readonly to: State; readonly effects: readonly Effect[] }>>>>
>;

/** Carries out an effect. It gets the event that asked for it: one of those that name the effect in the table. */
type Perform<Event, Host> = { perform(event: Event, host: Host): void }['perform'];

/** The effects of a table, by name. */
export type TableEffects<Effect extends string, Event, Host = void> = Readonly<Record<Effect, Perform<Event, Host>>>;

/** Effects that get the object they act on. So all runs of a table share them, and a run needs no functions of its own. */
export class EffectsOn<Effect extends string, Event, Host> {
  readonly host: Host;
  readonly effects: TableEffects<Effect, Event, Host>;

  constructor(host: Host, effects: TableEffects<Effect, Event, Host>) {
    this.host = host;
    this.effects = effects;
  }
}

/** Sees runs of tables, as inspectors and the recorder see actors. */
export interface TableWatch {
  /** A run of a chart begins in a state, for an object. */
  begin(machine: AnyStateMachine, object: string, state: string): SeenRun;
}

/** A run that is watched. */
export interface SeenRun {
  /** A step: the state after it, and its effects, which `perform` performs. */
  take(event: { type: string }, to: string, effects: readonly string[], perform: () => void): void;
}

/** The watcher of a run, and the object of the run. */
export type Watched = {
  readonly watch: TableWatch | undefined;
  readonly id: string;
  /** Steps that leave the state as it is are not told. */
  readonly only?: 'moves';
  /** Watched from its first step on, if that is not its end: most of these runs take no other. */
  readonly lazily?: true;
};

/** Runs a table: takes the next state, then performs the effects in order. */
export class TableRun<State extends string, Event extends { type: string }, Effect extends string, Host = void> {
  #state: State;
  readonly #table: Table<State, Event['type'], Effect>;
  readonly #effects: TableEffects<Effect, Event, Host>;
  readonly #host: Host;
  #seen: SeenRun | undefined;
  #unseen: Watched | undefined;
  readonly #onlyMoves: boolean;

  constructor(
    table: Table<State, Event['type'], Effect>,
    state: NoInfer<State>,
    effects: TableEffects<NoInfer<Effect>, Event> | EffectsOn<NoInfer<Effect>, Event, Host>,
    watched?: Watched,
  ) {
    this.#table = table;
    this.#state = state;
    const isShared = effects instanceof EffectsOn;
    this.#effects = isShared ? effects.effects : (effects as TableEffects<Effect, Event, Host>);
    this.#host = (isShared ? effects.host : undefined) as Host;
    this.#onlyMoves = watched?.only === 'moves';
    if (watched?.lazily) this.#unseen = watched;
    else this.#seen = watched?.watch?.begin(machineOf(table), watched.id, state);
  }

  get state(): State {
    return this.#state;
  }

  /** Whether an event would do something in this state. */
  takes(type: Event['type']): boolean {
    return this.#table[this.#state][type] !== undefined;
  }

  /** @returns false if the event is ignored in this state. */
  send(event: Event): boolean {
    const row = this.#table[this.#state][event.type as Event['type']];
    if (!row) return false;
    if (this.#unseen) this.#begin(this.#unseen, row.to);
    const seen = this.#onlyMoves && row.to === this.#state ? undefined : this.#seen;
    this.#state = row.to;
    if (seen) seen.take(event, row.to, row.effects, () => this.#perform(row.effects, event));
    else this.#perform(row.effects, event);
    return true;
  }

  #begin({ watch, id }: Watched, to: State): void {
    this.#unseen = undefined;
    const [next] = Object.keys(this.#table[to]);
    if (next !== undefined) this.#seen = watch?.begin(machineOf(this.#table), id, this.#state);
  }

  #perform(effects: readonly Effect[], event: Event): void {
    for (const effect of effects) this.#effects[effect](event, this.#host);
  }
}
