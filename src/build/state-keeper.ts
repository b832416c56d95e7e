import { readsNames } from '../bus/bus.ts';
import type { SipDriver } from '../drivers/sip/driver.ts';
import type { Marks } from '../lib/changes.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { ApplicationEvent, StateChange } from '../lib/state-lines.ts';
import type { StateStore } from '../stores/state-store.ts';
import { type Floors, savedParts, saversOf } from './saved-parts.ts';
import { writtenAtKey } from './saved-state.ts';

/**
 * The entries of a state store, by key: a path into the server's data (`ServerData`), and for an element of a list its
 * id behind a space; behind another space the name of a member, or a path into it, if these are written apart.
 * `sub <application> <topic>` has the references to a topic, and `seq <application>` the number of the last event where
 * none are kept.
 */
const keyOf = (path: string, id: string): string => `${path} ${encodedId(id)}`;

/** Most ids have nothing to encode. */
const encodedId = (id: string): string => (plainId.test(id) ? id : encodeURIComponent(id));
const plainId = /^[\w.-]+$/;

/** An entry of each element of a list: the element, or a member of it. */
type Item = {
  readonly path: string;
  /** Its place among the entries of its element, and what its key has behind the id. */
  readonly at: number;
  readonly suffix: string;
  one(id: string): readonly unknown[];
  /** What is taken out of it. */
  readonly apart: readonly Apart[];
};

/** A part of a member that is an entry of its own. */
type Apart = Pick<Item, 'at' | 'suffix'> & { readonly names: readonly string[]; readonly last: string };

/** What is written of one element, by the places of its entries: keys, values, and the round in which each was read. */
type Written = {
  keys: string[];
  json: (string | undefined)[];
  readIn: number[];
  /** The parts that were encoded last. */
  parts: unknown[];
};

/** The scope of a kind of mark: entries of the object with its id, and parts that are written whole. */
type Place = { items: Item[]; wholes: string[] };

type Part = (typeof savedParts)[string];
type Savers = ReturnType<typeof saversOf>;

/** The entries of a list's elements, each with its kinds of marks. */
function itemsOf(path: string, { each, changedBy }: Part, savers: Savers): (readonly [Item, readonly string[]])[] {
  if (!each) return [];
  const { one, members } = each;
  if (!members) return [[{ path, at: 0, suffix: '', one: (id) => one(savers, id), apart: [] }, changedBy]];
  let places = 0;
  return Object.entries(members.changedBy).map(([member, kinds]) => {
    const at = places++;
    const apart = (members.apart[member] ?? []).map((each): Apart => {
      const names = each.split('.');
      const last = names.pop() as string;
      return { names, last, at: places++, suffix: ` ${member}.${each}` };
    });
    return [{ path, at, suffix: ` ${member}`, one: (id) => members.one(savers, id, member), apart }, kinds];
  });
}

/** Takes a part out of a value that is nobody else's. Undefined: there is none. */
function takeOut(value: unknown, { names, last }: Apart): unknown {
  let place = value as Record<string, unknown> | undefined;
  for (const name of names) place = place?.[name] as Record<string, unknown> | undefined;
  const part = place?.[last];
  if (part !== undefined) place![last] = undefined;
  return part;
}

/** Pieces in which all channels are written again during one interval, so that no turn is long. */
const pieces = 10;

/** Whether an orderly end leaves an entry. The numbers and subscriptions of applications outlive it, as these do. */
function outlives(key: string): boolean {
  const [path = ''] = key.split(' ', 1);
  return path === 'seq' || path === 'sub' || savedParts[path]?.outlives === true;
}

/** Writes what changes to the store, before the outputs that tell of it leave, until the server's scope is closed. */
export function keepState(floors: Floors, sip: SipDriver, store: StateStore): { handOver(): void } {
  const { base, state } = floors;
  const keeper = new StateKeeper(floors, sip, store);
  const { interval } = base.config.state_store;
  base.runtime.turn.changed = ({ chart, id }) => base.changes.mark(chart, id);
  state.keeping.keeper = keeper;
  const unsubscribe = state.bus.subscribe(({ event }) => {
    if (event.type !== 'EndpointStateChange') return;
    base.changes.mark('endpoint', `${event.endpoint.technology}/${event.endpoint.resource}`);
  }, readsNames);
  state.mailboxes.onChanged(({ name }) => base.changes.mark('mailbox', name));
  base.changes.writeWith((marks) => keeper.write(marks));
  keeper.writeAll();
  for (const event of state.keeping.early.splice(0)) keeper.event(...event);
  let piece = 0;
  const again = (): unknown =>
    base.clock.setTimeout(
      () => {
        keeper.refresh(piece++ % pieces);
        timer = again();
      },
      (interval * 1000) / pieces,
    );
  let timer = again();
  base.scope.defer(() => {
    base.clock.clearTimeout(timer);
    unsubscribe();
    base.runtime.turn.changed = undefined;
    // From here on the objects of this server end. Phones stay registered, and applications may resume.
    base.changes.writeWith(undefined);
    keeper.leave();
    store.close();
  });
  return { handOver: () => keeper.handOver() };
}

/** Adds an entry if it differs from what is written. */
function addEntry(
  written: Written,
  { at, suffix }: Pick<Item, 'at' | 'suffix'>,
  { path, id, value }: { path: string; id: string; value: unknown },
  changed: StateChange[],
): void {
  const json = value === undefined ? undefined : JSON.stringify(value);
  if (json === written.json[at]) return;
  written.json[at] = json;
  written.keys[at] ??= keyOf(path, id) + suffix;
  changed.push([written.keys[at]!, json]);
}

/** Turns marks into entries. */
class StateKeeper {
  readonly #floors: Floors;
  readonly #store: StateStore;
  readonly #savers: Savers;
  /** By kinds of marks. */
  readonly #places = new Map<string, Place>();
  /** By the paths of lists. */
  readonly #items = new Map<string, readonly Item[]>();
  /** By the paths of lists, and the ids of their elements. */
  readonly #written = new Map<string, SlotMap<string, Written>>();
  /** The channel of each Call-ID, and the Call-ID of each channel. */
  readonly #channels = new SlotMap<string, string>();
  readonly #callIds = new SlotMap<string, string>();
  /** Rounds of reading: an entry is read once in each. */
  #round = 0;
  /** Events and subscriptions that are not written yet. */
  #ready: StateChange[] = [];
  #events: ApplicationEvent[] = [];

  constructor(floors: Floors, sip: SipDriver, store: StateStore) {
    this.#floors = floors;
    this.#store = store;
    this.#savers = saversOf(floors, sip);
    for (const [path, part] of Object.entries(savedParts)) {
      const items = itemsOf(path, part, this.#savers);
      this.#written.set(path, new SlotMap());
      this.#items.set(
        path,
        items.map(([item]) => item),
      );
      for (const [item, kinds] of items) for (const kind of kinds) this.#placeOf(kind).items.push(item);
      if (!part.each) for (const kind of part.changedBy) this.#placeOf(kind).wholes.push(path);
    }
  }

  #placeOf(kind: string): Place {
    const place = this.#places.get(kind) ?? { items: [], wholes: [] };
    this.#places.set(kind, place);
    return place;
  }

  /** An application has so many references to a topic. */
  subscribed(application: string, topic: string, count: number): void {
    this.#ready.push([keyOf(keyOf('sub', application), topic), count > 0 ? String(count) : undefined]);
    this.#floors.base.changes.mark('event', application);
  }

  /** An application's filter has changed, or who uses its connection. */
  changed(application: string): void {
    this.#floors.base.changes.mark('application', application);
  }

  /** Keeps an event of an application, and no more than `state_store.events`. */
  event(application: string, seq: number, json: string): void {
    if (this.#floors.base.config.state_store.events > 0) this.#events.push([application, seq, json]);
    else this.#ready.push([keyOf('seq', application), String(seq)]);
    this.#floors.base.changes.mark('event', application);
  }

  /** Writes what is marked. */
  write(marks: Marks): void {
    const changed: StateChange[] = this.#ready;
    const events = this.#events;
    this.#ready = [];
    this.#events = [];
    const wholes = new Set<string>();
    // A channel's leg is a part of several kinds: it is read once.
    this.#round++;
    for (const id of this.#ofCalls(marks.get('call'))) this.#addOnes(this.#placeOf('leg').items, id, changed);
    for (const [kind, ids] of marks) {
      const place = this.#places.get(kind);
      if (!place) continue;
      for (const path of place.wholes) wholes.add(path);
      for (const id of ids) {
        this.#addOnes(place.items, id, changed);
        if (kind === 'channel') this.#follow(id, changed);
        if (kind === 'application') this.#forget(id, changed);
      }
    }
    for (const path of wholes) this.#addWhole(path, changed);
    this.#store.commit(changed, events);
  }

  /** Writes everything that this process has begun with. Entries of the process before that are no more go. */
  writeAll(): void {
    const changed: StateChange[] = [];
    this.#round++;
    const { state, calls } = this.#floors;
    for (const [path, { each }] of Object.entries(savedParts))
      if (each) for (const id of each.ids(this.#savers)) this.#addOnes(this.#items.get(path)!, id, changed);
      else this.#addWhole(path, changed);
    for (const { id } of calls.channels.all()) this.#follow(id, changed);
    for (const { actor, subscriptions } of state.applications.dump().applications)
      for (const [topic, count] of subscriptions)
        changed.push([keyOf(keyOf('sub', actor.context.name), topic), String(count)]);
    const known = new Set(changed.map(([key]) => key));
    const isOver = (key: string): boolean => !known.has(key) && !key.startsWith('seq ');
    this.#store.commit([
      ...[...this.#store.left.keys()].filter(isOver).map((key): StateChange => [key, undefined]),
      ...changed,
    ]);
  }

  /** Writes everything as it is now, for a process that goes on from it directly. */
  handOver(): void {
    const { base } = this.#floors;
    base.changes.commit();
    this.#store.compact();
    for (let piece = 0; piece < pieces; piece++) this.refresh(piece);
    this.#store.commit([[writtenAtKey, String(base.clock.now())]]);
  }

  /** Leaves to the next process what outlives an orderly end. */
  leave(): void {
    const ending = [...this.#store.keys()].filter((key) => !outlives(key));
    this.#store.commit(ending.map((key): StateChange => [key, undefined]));
  }

  /** Writes again what changes without a mark: a piece of all channels, or what they hear. */
  refresh(piece: number): void {
    // A channel is not written without the events of its changes.
    this.#floors.base.changes.commit();
    const changed: StateChange[] = [];
    this.#round++;
    if (piece === 0) this.#store.check();
    for (const [path, { each, changesUnmarked }] of Object.entries(savedParts)) {
      if (changesUnmarked === undefined || (changesUnmarked === 'together' && piece !== 0)) continue;
      if (!each) this.#addWhole(path, changed);
      else
        for (const [index, id] of each.ids(this.#savers).entries())
          if (changesUnmarked === 'together' || index % pieces === piece)
            this.#addOnes(this.#items.get(path)!, id, changed);
    }
    const { clock, config } = this.#floors.base;
    changed.push([writtenAtKey, String(clock.now() - config.state_store.interval * 1000)]);
    this.#store.commit(changed);
  }

  /** Adds entries of an element that differ from what is written. */
  #addOnes(items: readonly Item[], id: string, changed: StateChange[]): void {
    for (const item of items) {
      const { path, at, one, apart } = item;
      const all = this.#written.get(path)!;
      let written = all.get(id);
      if (written?.readIn[at] === this.#round) continue;
      const [value] = one(id);
      if (value === undefined && written?.json[at] === undefined) continue;
      if (!written) all.set(id, (written = { keys: [], json: [], readIn: [], parts: [] }));
      written.readIn[at] = this.#round;
      for (const part of apart) {
        const taken = takeOut(value, part);
        if (taken === written.parts[part.at]) continue;
        written.parts[part.at] = taken;
        addEntry(written, part, { path, id, value: taken }, changed);
      }
      addEntry(written, item, { path, id, value }, changed);
      if (value === undefined && written.json.every((each) => each === undefined)) all.delete(id);
    }
  }

  #addWhole(path: string, changed: StateChange[]): void {
    const value = savedParts[path]?.whole(this.#savers);
    changed.push([path, value === undefined ? undefined : JSON.stringify(value)]);
  }

  #ofCalls(callIds: ReadonlySet<string> | undefined): string[] {
    if (!callIds) return [];
    return [...callIds].flatMap((callId) => this.#channels.get(callId) ?? []);
  }

  /** Keeps the Call-ID of a channel while it lives. Of one that has ended no part stays. */
  #follow(id: string, changed: StateChange[]): void {
    const entry = this.#floors.calls.channels.find(id);
    if (!entry) this.#addOnes(this.#items.get('calls.channels')!, id, changed);
    const callId = entry?.leg.protocolId;
    const before = this.#callIds.get(id);
    if (callId === before) return;
    if (before !== undefined) this.#channels.delete(before);
    if (callId) {
      this.#callIds.set(id, callId);
      this.#channels.set(callId, id);
    } else this.#callIds.delete(id);
  }

  /** Nothing of an application stays that is no more. */
  #forget(application: string, changed: StateChange[]): void {
    if (this.#floors.state.applications.dump(application).applications.length > 0) return;
    changed.push([keyOf('seq', application), undefined]);
    this.#events = this.#events.filter(([name]) => name !== application);
    this.#store.forgetEvents(application);
  }
}
