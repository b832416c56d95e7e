import type { ChannelPart } from '../actors/channels.ts';
import { readsNames } from '../bus/bus.ts';
import type { SipDriver } from '../drivers/sip/driver.ts';
import type { Marks } from '../lib/changes.ts';
import { SlotMap } from '../lib/slot-map.ts';
import type { ApplicationEvent, StateChange, StateStore } from '../stores/state-store.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import type { Network } from './network.ts';
import { handedOverKey, writtenAtKey } from './saved-state.ts';
import { serverDataVersion } from './server-data.ts';
import type { State } from './state.ts';

type Floors = { base: Base; network: Network; state: State; calls: CallControl };

/**
 * The entries of a state store, by key: a path into the server's data (`ServerData`), and for an element of a list its
 * id behind a space; behind another space the name of a part, if its parts are written apart. `sub <application> <topic>`
 * has the references to a topic, and `seq <application>` the number of the last event where none are kept.
 */
const keyOf = (path: string, id: string): string => `${path} ${encodedId(id)}`;

/** Most ids have nothing to encode. */
const encodedId = (id: string): string => (plainId.test(id) ? id : encodeURIComponent(id));
const plainId = /^[\w.-]+$/;

/** Reads one element of a list as it is now; none when it has ended. */
type One = (id: string) => readonly unknown[];
/** Reads a list or value of its own whole. */
type Whole = () => unknown;

/** Where the objects of a kind of mark stand. */
type Place = { lists?: readonly (readonly [path: string, one: One, part?: string])[]; wholes?: readonly string[] };

/** Pieces in which all channels are written again during one interval, so that no turn is long. */
const pieces = 10;

/**
 * Entries that an orderly end leaves: everything else ends with the server's calls and connections. Calls that were hung up and
 * whose INVITE is still undecided are cancelled by the next server.
 */
const outlives = [
  ...['version', 'channelIds', 'endpoints', 'globals', 'deviceStates.kept', 'mailboxes', 'calls.applications '],
  ...['calls.connections', 'calls.contacts ', 'sip.driver.bindings ', 'seq ', 'sub '],
  ...['sip.driver.departing', 'sip.transactions.clients '],
];

/** Writes what changes to the store at the end of each turn, until the server's scope is closed. */
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
    // What follows is the end of this server's objects: phones stay registered, and applications may resume.
    base.changes.writeWith(undefined);
    keeper.leave();
    store.close();
  });
  return { handOver: () => keeper.handOver() };
}

/** Turns marks into entries. */
class StateKeeper {
  readonly #floors: Floors;
  readonly #store: StateStore;
  readonly #places: Readonly<Record<string, Place>>;
  readonly #wholes: Readonly<Record<string, Whole>>;
  /** The channel of each Call-ID, and the Call-ID of each channel. */
  readonly #channels = new SlotMap<string, string>();
  readonly #callIds = new SlotMap<string, string>();
  /** Events and subscriptions that are not written yet. */
  #ready: StateChange[] = [];
  #events: ApplicationEvent[] = [];

  constructor(floors: Floors, sip: SipDriver, store: StateStore) {
    this.#floors = floors;
    this.#store = store;
    const { base, network, state, calls } = floors;
    const part = (name: ChannelPart): readonly [string, One, string] => [
      'calls.channels',
      (id) => calls.channels.dumpPart(id, name),
      name,
    ];
    const [leg, story] = [part('leg'), ['calls.legs', (id: string) => base.story.dump(id)] as const];
    const bridge: Place = { lists: [['calls.bridges', (id) => calls.meeting?.bridges.dump(id) ?? []]] };
    const transaction = (kind: 'client' | 'server'): One => {
      return (key) => [network.transactions.dumpOne(kind, key)].filter((each) => each !== undefined);
    };
    this.#places = {
      // Effects of a channel's charts change its leg.
      channel: {
        lists: [part('life'), part('companionId'), part('subroutines'), leg, story],
        wholes: ['channelIds', 'calls.creators', 'sip.driver.departing'],
      },
      ownership: { lists: [part('ownership'), leg, story] },
      channelAudio: { lists: [part('audio'), leg] },
      leg: { lists: [leg] },
      bridge: { ...bridge, wholes: ['calls.creators'] },
      bridgeVideo: bridge,
      playback: { lists: [['calls.playbacks', (id) => calls.playbacks.dump(id)]] },
      liveRecording: { lists: [['calls.recordings', (name) => calls.recordings.dump(name)]] },
      application: {
        lists: [
          [
            'calls.applications',
            // Each subscription is an entry of its own.
            (name) => state.applications.dump(name).applications.map((each) => ({ ...each, subscriptions: [] })),
          ],
        ],
        wholes: ['calls.connections'],
      },
      contact: { lists: [['calls.contacts', (id) => state.contacts.dump(id)]] },
      registration: { wholes: ['calls.registrations', 'sip.driver.lines'] },
      watcher: { wholes: ['calls.watchers', 'sip.driver.subscriptions'] },
      transfer: { wholes: ['calls.transfers'] },
      consultation: { wholes: ['calls.consultations'] },
      dial: { wholes: ['calls.dials'] },
      featureKeys: { wholes: ['calls.dials'] },
      outboundConnection: { wholes: ['calls.outboundConnections', 'calls.orphans'] },
      endpoint: { lists: [['endpoints', (name) => state.endpoints.dump(name.toLowerCase())]] },
      device: {
        lists: [
          ['deviceStates.kept', (device) => state.deviceStates.dump(device).kept],
          ['deviceStates.uses', (device) => state.deviceStates.dump(device).uses],
          ['deviceStates.published', (device) => state.deviceStates.dump(device).published],
        ],
      },
      // Marks of the SIP floor.
      client: { lists: [['sip.transactions.clients', transaction('client')]] },
      server: { lists: [['sip.transactions.servers', transaction('server')]] },
      binding: { lists: [['sip.driver.bindings', (id) => sip.dumpPart('bindings', id)]] },
      departing: { wholes: ['sip.driver.departing'] },
      outsideRefers: { wholes: ['sip.driver.outsideRefers'] },
      subscriptions: { wholes: ['sip.driver.subscriptions'] },
      lines: { wholes: ['sip.driver.lines'] },
    };
    this.#wholes = {
      version: () => serverDataVersion,
      channelIds: () => base.ids.channels,
      globals: () => state.globals.dump(),
      mailboxes: () => state.mailboxes.list(),
      'calls.connections': () => state.applications.dump('').connections,
      'calls.registrations': () => state.registrations.dump(),
      'calls.watchers': () => state.watchers.dump(),
      'calls.transfers': () => calls.meeting?.transfers?.dump(),
      'calls.consultations': () => calls.meeting?.consultations?.dump(),
      'calls.dials': () => calls.meeting?.dials?.dump(),
      'calls.outboundConnections': () => calls.outbound.dump().outboundConnections,
      'calls.orphans': () => calls.outbound.dump().orphans,
      'calls.creators': () => (state.objectOwnership.size > 0 ? state.objectOwnership.dump() : undefined),
      'sip.driver.departing': () => sip.dumpPart('departing'),
      'sip.driver.outsideRefers': () => sip.dumpPart('outsideRefers'),
      'sip.driver.subscriptions': () => sip.dumpPart('subscriptions'),
      'sip.driver.lines': () => sip.dumpPart('lines'),
    };
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
    /** A channel's leg is a part of several kinds: it is read once. */
    const seen = new Set<string>();
    for (const id of this.#ofCalls(marks.get('call'))) this.#addOnes(this.#places['leg']!, id, changed, seen);
    for (const [kind, ids] of marks) {
      const place = this.#places[kind];
      if (!place) continue;
      for (const path of place.wholes ?? []) wholes.add(path);
      if (!place.lists) continue;
      for (const id of ids) {
        this.#addOnes(place, id, changed, seen);
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
    const { network, state, calls } = this.#floors;
    const devices = state.deviceStates.dump();
    const channelIds = calls.channels.all().map(({ id }) => id);
    const contacts = state.contacts.dump().map(({ context }) => context.contact.id);
    const all: Record<string, readonly string[]> = {
      ...{ channel: channelIds, ownership: channelIds, channelAudio: channelIds },
      bridge: calls.meeting?.bridges.list().map(({ id }) => id) ?? [],
      playback: calls.playbacks.dump().map(({ actor }) => actor.context.id),
      liveRecording: calls.recordings.dump().map(({ plan }) => plan.name),
      application: state.applications.names(),
      contact: contacts,
      binding: contacts,
      endpoint: state.endpoints.dump().map(({ technology, resource }) => `${technology}/${resource}`),
      device: [
        ...devices.kept.map(({ name }) => name),
        ...[...devices.uses, ...devices.published].map(([name]) => name),
      ],
      client: network.transactions.keys('client'),
      server: network.transactions.keys('server'),
    };
    for (const [kind, ids] of Object.entries(all))
      for (const id of ids) this.#addOnes(this.#places[kind]!, id, changed);
    for (const id of channelIds) this.#follow(id, changed);
    for (const path of Object.keys(this.#wholes)) this.#addWhole(path, changed);
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
    for (let piece = 0; piece < pieces; piece++) this.refresh(piece);
    this.#store.commit([
      [writtenAtKey, String(base.clock.now())],
      [handedOverKey, 'true'],
    ]);
  }

  /** Leaves to the next process what outlives an orderly end. */
  leave(): void {
    const ending = [...this.#store.keys()].filter((key) => !outlives.some((path) => key.startsWith(path)));
    this.#store.commit(ending.map((key): StateChange => [key, undefined]));
  }

  /** Writes again what changes without a mark: a piece of all channels, or what they hear. */
  refresh(piece: number): void {
    const changed: StateChange[] = [];
    const { calls } = this.#floors;
    if (piece === 0) {
      this.#store.check();
      for (const path of ['globals', 'mailboxes']) this.#addWhole(path, changed);
      for (const each of calls.playbacks.dump())
        this.#addOnes(this.#places['playback']!, each.actor.context.id, changed);
      for (const each of calls.recordings.dump())
        this.#addOnes(this.#places['liveRecording']!, each.plan.name, changed);
    }
    calls.channels.all().forEach(({ id }, index) => {
      if (index % pieces !== piece) return;
      for (const kind of ['channel', 'ownership', 'channelAudio']) this.#addOnes(this.#places[kind]!, id, changed);
    });
    const { clock, config } = this.#floors.base;
    changed.push([writtenAtKey, String(clock.now() - config.state_store.interval * 1000)]);
    this.#store.commit(changed);
  }

  #addOnes({ lists = [] }: Place, id: string, changed: StateChange[], seen?: Set<string>): void {
    for (const [path, one, part] of lists) {
      const key = part === undefined ? keyOf(path, id) : `${keyOf(path, id)} ${part}`;
      if (seen?.has(key)) continue;
      seen?.add(key);
      const [value] = one(id);
      changed.push([key, value === undefined ? undefined : JSON.stringify(value)]);
    }
  }

  #addWhole(path: string, changed: StateChange[]): void {
    const value = this.#wholes[path]?.();
    changed.push([path, value === undefined ? undefined : JSON.stringify(value)]);
  }

  #ofCalls(callIds: ReadonlySet<string> | undefined): string[] {
    if (!callIds) return [];
    return [...callIds].flatMap((callId) => this.#channels.get(callId) ?? []);
  }

  /** Keeps the Call-ID of a channel while it lives. Of one that has ended no part stays. */
  #follow(id: string, changed: StateChange[]): void {
    const entry = this.#floors.calls.channels.find(id);
    if (!entry) for (const kind of ['ownership', 'channelAudio']) this.#addOnes(this.#places[kind]!, id, changed);
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
