import type { Bus } from '../bus/bus.ts';
import {
  type Connection,
  createDelivery,
  type DeliveryOptions,
  type MessageCheck,
  type ReceiverDump,
} from '../bus/delivery.ts';
import { allBridges, allChannels, allDeviceStates, allEndpoints, type Topic } from '../bus/topics.ts';
import type { Clock } from '../lib/clock.ts';
import { lazily } from '../lib/lazily.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import {
  type ApplicationFact,
  type ApplicationInput,
  applicationMachine,
  isActiveApplication,
} from '../machines/application.ts';
import { type Application, longestApplicationName } from '../models/application.ts';
import { AriError } from '../models/errors.ts';
import type { AriEventBodyOf } from '../models/events.ts';
import { type Limits, requireWithin } from '../models/limits.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { EventsLost } from '../models/websocket-messages.ts';
import type { ApplicationDump, Dump } from './dumps.ts';
import { type EventSourceLookup, subjectOf, topicOf } from './event-sources.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { Registry } from './registry.ts';
import { type Actor, type Beginning, type Runtime, spawn } from './spawn.ts';

type ApplicationActor = Actor<typeof applicationMachine>;

/** A client's connection with the applications that it registers. */
export type ConnectRequest = Connection & {
  names: readonly string[];
  /** Subscribes the applications to all channels, bridges, endpoints and device states. */
  subscribeAll?: boolean | undefined;
  /**
   * For connections that this system makes: ApplicationRegistered is sent, now or only when {@link Connected.announce}
   * is called, and ApplicationUnregistered in the end.
   */
  announce?: boolean | 'whenAsked' | undefined;
  /**
   * It only hears: no calls enter its applications, and it cannot take over a name. Other clients can take over its names.
   */
  observes?: boolean | undefined;
  /** Applications that had events before, each with the number of the last one. Kept later events are sent first. */
  resume?: ReadonlyMap<string, number> | undefined;
  /** Whether its socket is open. For connections registered before they open; left out: always open. */
  isOpen?(): boolean;
  /** Made by this system, so the names may be as long as {@link longestOwnName}. */
  own?: boolean | undefined;
};

/** The events that an application resumes with. */
export type Resumption = {
  /** The events after its last one, in order, as they were written. */
  events: readonly string[];
  /** Number of missed events that are no longer kept; undefined if unknown. */
  lost: number | undefined;
};

/** A registered connection. */
export type Connected = {
  /**
   * An outbound connection has been made again: takes back the applications that others registered meanwhile, and sends
   * ApplicationRegistered once more.
   */
  announce(): void;
  /** The connection has closed; applications that it still owns become inactive. Idempotent. */
  close(): void;
};

type UserEventRequest = {
  application?: string | undefined;
  /** Event sources of the channels and endpoints that it is about. */
  source?: readonly string[] | undefined;
  /** Any value of the client. The members of an object appear in the event. */
  variables?: unknown;
};

export interface Applications {
  /** All applications known, inactive ones included. */
  list(): Iterable<Application>;
  /** Their names, in the same order. */
  names(): string[];
  /** @throws AriError applicationNotFound */
  get(name: string): Application;
  /**
   * Adds a reference to each source in order; at the first that fails it stops, keeping the earlier ones.
   * @throws AriError eventSourceRequired, applicationNotFound, eventSourceSchemeInvalid, eventSourceNotFound
   */
  subscribe(name: string, eventSources: readonly string[] | undefined): Application;
  /**
   * Removes a reference from each source in order, as {@link subscribe}. Sources that do not exist are refused.
   * @throws AriError also eventSourceNotSubscribed
   */
  unsubscribe(name: string, eventSources: readonly string[] | undefined): Application;
  /** Replaces the event filter. @throws AriError applicationNotFound, eventFilterInvalid */
  filter(name: string, body: unknown): Application;
  /**
   * Sends a ChannelUserevent to one application.
   * @throws AriError userEventApplicationRequired, applicationNotFound, eventSourceSchemeInvalid, userEventSourceNotFound
   */
  userEvent(eventName: string, request: UserEventRequest): void;
  /**
   * Registers applications; if it throws, none is registered.
   * @throws AriError applicationNameInvalid, applicationTaken, limitReached
   */
  connect(request: ConnectRequest): Connected;

  /**
   * Whether a client may register applications now. An observer may only take a name that is free or held by another
   * observer.
   * @throws AriError applicationTaken, limitReached.
   */
  requireRegistrable(names: readonly string[], observes: boolean): void;

  /** Ends all subscriptions of an application that is inactive, so that it is gone; others are left as they are. */
  retire(name: string): void;

  /** Whether channels may enter the application. */
  isActive(name: string): boolean;
  /** Whether its connection is open. An outbound one may be away while channels still enter. */
  isConnected(name: string): boolean;
  /** Call control subscribes an application by one reference; an unknown application is ignored. */
  addInterest(name: string, topic: Topic): void;
  /** Takes such a reference away; one that is not there is ignored. */
  removeInterest(name: string, topic: Topic): void;
  /** Removes all subscriptions to an object that has ended. */
  forget(topic: Topic): void;
  /** The events of an application after a number, as far as they are kept, and a message about those that are not. */
  eventsAfter(name: string, number: number): { events: readonly string[]; lost?: string };
  /** As `Delivery.figures`. */
  figures(name: string): { events: number; missed: number; unread: number };
  /** Applications that were connected to a server before this one, and how many events wait for them to come back. */
  waiting(): { readonly application: string; readonly events: number }[];
  /** Every application, with what it is subscribed to and what it was sent. */
  dump(name?: string): Pick<Dump, 'applications' | 'connections'>;
  /**
   * Takes applications up again. For one that had a connection events wait until it has one again, or until
   * {@link settle}; what waits beyond {@link ApplicationsOptions.queueLimit} is lost.
   */
  restore(dump: Pick<Dump, 'applications' | 'connections'>): void;
  /** Connections that were not made again by now are gone: their applications are inactive. */
  settle(): void;
  /** Stops delivering. */
  close(): void;
}

type ApplicationsOptions = {
  bus: Bus;
  clock: Clock;
  log: Logger;
  runtime: Runtime;
  /** `asterisk_id` of every event. */
  entityId: string;
  resolve: EventSourceLookup;
  /** Applications that there may be, and subscriptions of one when a client adds to them; any number when left out. */
  limits?: Pick<Limits, 'applications' | 'subscriptions'> | undefined;
  /** Bytes of events that wait for an application that was restored and is not connected yet; none when left out. */
  queueLimit?: number | undefined;
  /** Counts events that are dropped because too many wait. */
  hit?: LimitHit | undefined;
  /** Gets every event made for an application. */
  recorder?: DeliveryOptions['recorder'];
  /** Trace context of events. */
  traced?: DeliveryOptions['traced'];
  /** The events of an application behind a number, of which `made` were made so far. Left out, none are kept. */
  kept?: ((name: string, number: number, made: number) => Resumption) | undefined;
  /** The connection of an application has gone, or is there again. */
  presenceChanged?: ((name: string, present: boolean) => void) | undefined;
  /** Checks every outgoing event; for development mode. */
  check?: MessageCheck | undefined;
};

/** Longest name of an application that this system makes up itself. */
export const longestOwnName = 255;

/** Names of Asterisk for subscriptions to all objects of a type. */
const allNames: ReadonlyMap<Topic, string> = new Map([
  [allChannels, '__AST_CHANNEL_ALL_TOPIC'],
  [allBridges, '__AST_BRIDGE_ALL_TOPIC'],
  [allEndpoints, '__AST_ENDPOINT_ALL_TOPIC'],
  [allDeviceStates, '__AST_DEVICE_STATE_ALL_TOPIC'],
]);

function namesOf(requested: readonly string[], longest: number): readonly string[] {
  const names = [...new Set(requested)];
  if (names.length === 0) throw new AriError('applicationNameInvalid', { name: '' });
  for (const name of names)
    if (name === '' || name.length > longest) throw new AriError('applicationNameInvalid', { name });
  return names;
}

const membersOf = (body: unknown): object =>
  typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};

const unlimited = { applications: Number.POSITIVE_INFINITY, subscriptions: Number.POSITIVE_INFINITY };

type Missed = { name: string; last: number; notBefore: number };

/** The kept events of an application behind its last one, of `made` events, and a message about those that are lost. */
function eventsOf({ kept, entityId, clock }: ApplicationsOptions, made: number, { name, last, notBefore }: Missed) {
  const from = Math.max(last, notBefore);
  const nothingKept: Resumption = { events: [], lost: from === made ? 0 : undefined };
  const { events, lost: gone } = kept && from !== made ? kept(name, from, made) : nothingKept;
  const lost = gone === undefined ? undefined : gone + (from - last);
  if (lost === 0) return { events };
  const told: EventsLost = {
    type: 'EventsLost',
    application: name,
    asterisk_id: entityId,
    timestamp: formatTimestamp(clock.now()),
    after: last,
    ...(lost === undefined ? {} : { lost }),
  };
  return { events, lost: JSON.stringify(told) };
}

/** Owns every application: its chart, its connection, its place in delivery. */
export function createApplications(options: ApplicationsOptions): Applications {
  const { bus, clock, log, runtime, entityId, resolve, check, limits = unlimited, queueLimit = 0 } = options;
  const registry = new Registry<ApplicationActor>('applicationNotFound');
  const connections = new Map<string, Connection & Pick<ConnectRequest, 'isOpen'>>();
  /** Applications whose last registration was by an observer. */
  const observed = new Set<string>();
  /** Events of applications that were restored and are not connected again yet. */
  const away = new Map<string, Outbox>();
  let connectionCount = 0;

  const delivery = createDelivery({
    bus,
    clock,
    log,
    entityId,
    check,
    recorder: options.recorder,
    traced: options.traced,
    request: () => runtime.turn.request,
    onReleased: (name) => registry.find(name)?.send({ type: 'subscriptions.ended' }),
  });

  const machine = applicationMachine.provide({
    actions: {
      attachConnection: ({ context }, { connection, subscribeAll }) => {
        const target = connections.get(connection);
        if (target) delivery.attach(context.name, target, subscribeAll);
        options.presenceChanged?.(context.name, true);
      },
      detachConnection: ({ context }) => {
        delivery.detach(context.name);
        options.presenceChanged?.(context.name, false);
      },
      reviewSubscriptions: ({ context, self }) => {
        if (!delivery.isHeld(context.name)) self.send({ type: 'subscriptions.ended' });
      },
    },
  });

  const publish = (name: string, fact: ApplicationFact): void => {
    const replaced = connections.get(fact.connection);
    if (replaced) delivery.send(name, replaced, { type: 'ApplicationReplaced' });
  };

  const register = (name: string): ApplicationActor => {
    delivery.add(name);
    return start(name, { input: { name } });
  };

  const start = (name: string, beginning: Beginning<ApplicationInput>): ApplicationActor =>
    spawn(machine, {
      id: name,
      ...beginning,
      runtime,
      onCreated: (actor) => registry.add(name, actor),
      onEmitted: (fact) => publish(name, fact),
      onEnded: () => {
        registry.remove(name);
        observed.delete(name);
        away.delete(name);
        delivery.remove(name);
        log.info({ application: name }, 'an application is gone');
      },
    });

  const model = (name: string): Application => {
    const ids: Record<string, string[]> = { channel: [], bridge: [], endpoint: [], deviceState: [] };
    for (const topic of delivery.topicsOf(name)) {
      const colon = topic.indexOf(':');
      ids[topic.slice(0, colon)]?.push(allNames.get(topic) ?? topic.slice(colon + 1));
    }
    const { allowed, disallowed } = delivery.filterOf(name);
    const sorted = (type: string): string[] => (ids[type] ?? []).sort();
    return {
      name,
      channel_ids: sorted('channel'),
      bridge_ids: sorted('bridge'),
      endpoint_ids: sorted('endpoint'),
      device_names: sorted('deviceState'),
      events_allowed: [...allowed],
      events_disallowed: [...disallowed],
    };
  };

  const each = (
    name: string,
    eventSources: readonly string[] | undefined,
    missing: 'eventSourceNotFound' | 'eventSourceNotSubscribed',
    apply: (topic: Topic) => void,
  ): Application => {
    if (!eventSources || eventSources.length === 0) throw new AriError('eventSourceRequired');
    registry.get(name);
    for (const source of eventSources) apply(topicOf(source, resolve, missing));
    return model(name);
  };

  /** Continues after the last event that the client names, if events are kept, else with those that waited. */
  const comeBack = (name: string, { send, narrow }: Connection, last: number | undefined): void => {
    const outbox = away.get(name);
    away.delete(name);
    if (last !== undefined && (options.kept || !outbox))
      resume(name, send, last, narrow && delivery.narrowedAfter(name, narrow.by));
    else if (outbox) {
      outbox.connected(send);
      outbox.flush();
    }
  };

  /** @param notBefore events up to this number are not sent. */
  const resume = (name: string, send: Connection['send'], last: number, notBefore = 0): void => {
    const { events, lost } = eventsAfter(name, last, notBefore);
    if (lost !== undefined) send(lost);
    for (const json of events) send(json);
  };

  const eventsAfter = (name: string, last: number, notBefore = 0) =>
    eventsOf(options, delivery.figures(name).events, { name, last, notBefore });

  const requireRegistrable: Applications['requireRegistrable'] = (names, observes) => {
    const taken = observes ? names.find((name) => registry.has(name) && !observed.has(name)) : undefined;
    if (taken !== undefined) throw new AriError('applicationTaken', { name: taken });
    const added = names.filter((name) => !registry.has(name)).length;
    if (added > 0) requireWithin('applications', registry.size + added, limits.applications);
  };

  const names = (): string[] => registry.all().map((actor) => actor.getSnapshot().context.name);
  return {
    requireRegistrable,
    list: () => lazily(names(), (name) => (registry.has(name) ? model(name) : undefined)),
    names,

    get: (name) => model(registry.get(name).getSnapshot().context.name),

    subscribe(name, eventSources) {
      const held = delivery.topicsOf(name);
      if (registry.has(name) && held.length + (eventSources?.length ?? 0) > limits.subscriptions) {
        const wanted = (eventSources ?? []).map((source) => topicOf(source, resolve, 'eventSourceNotFound'));
        const all = new Set([...held, ...wanted]);
        if (all.size > held.length) requireWithin('subscriptions', all.size, limits.subscriptions);
      }
      return each(name, eventSources, 'eventSourceNotFound', (topic) => void delivery.subscribe(name, topic));
    },

    unsubscribe: (name, eventSources) =>
      each(name, eventSources, 'eventSourceNotSubscribed', (topic) => {
        if (!delivery.unsubscribe(name, topic)) throw new AriError('eventSourceNotSubscribed');
      }),

    filter(name, body) {
      registry.get(name);
      delivery.setFilter(name, body);
      return model(name);
    },

    userEvent(eventName, { application, source = [], variables }) {
      if (!application) throw new AriError('userEventApplicationRequired');
      registry.get(application);
      const event: AriEventBodyOf<'ChannelUserevent'> = {
        type: 'ChannelUserevent',
        eventname: eventName,
        userevent: { ...membersOf(variables), eventname: eventName },
        ...subjectOf(source, resolve),
      };
      bus.publish({ event, topics: [], to: application });
    },

    connect(request) {
      const { subscribeAll = false, announce = false, observes = false, describe, isOpen } = request;
      const names = namesOf(request.names, request.own ? longestOwnName : longestApplicationName);
      // Registrations by the configuration or for a call are not refused.
      if (!announce) requireRegistrable(names, observes);
      const id = `connection-${++connectionCount}`;
      const connection: Connection & Pick<ConnectRequest, 'isOpen'> = {
        ...(isOpen && { isOpen }),
        send: (json) => request.send(json),
        describe,
        unread: () => request.unread?.() ?? 0,
        get narrow() {
          return request.narrow;
        },
      };
      connections.set(id, connection);
      const owned = (): readonly string[] =>
        names.filter((name) => registry.find(name)?.getSnapshot().context.connection === id);
      const take = (): void => {
        const mine = owned();
        for (const name of names.filter((each) => !mine.includes(each))) {
          (registry.find(name) ?? register(name)).send({ type: 'connect', connection: id, subscribeAll });
          comeBack(name, connection, request.resume?.get(name));
          if (observes) observed.add(name);
          else observed.delete(name);
        }
      };
      take();
      // The owner of a socket that is not open yet reports it later.
      const tellsLater = announce === 'whenAsked';
      if (!tellsLater) log.info({ applications: names, connection: describe }, 'applications are connected');
      const tell = (type: 'ApplicationRegistered' | 'ApplicationUnregistered'): void => {
        for (const name of owned()) delivery.send(name, connection, { type });
      };
      if (announce === true) tell('ApplicationRegistered');
      return {
        announce() {
          take();
          for (const name of owned()) delivery.review(name);
          tell('ApplicationRegistered');
        },
        close() {
          if (announce) tell('ApplicationUnregistered');
          for (const name of owned()) registry.find(name)?.send({ type: 'disconnect', connection: id });
          if (connections.delete(id) && !tellsLater)
            log.info({ applications: names, connection: describe }, 'applications are disconnected');
        },
      };
    },

    retire: (name) => registry.find(name)?.send({ type: 'subscriptions.ended' }),

    isActive(name) {
      const actor = registry.find(name);
      return actor !== undefined && !observed.has(name) && isActiveApplication(actor.getSnapshot());
    },
    isConnected(name) {
      const { connection } = registry.find(name)?.getSnapshot().context ?? {};
      const made = connection === undefined ? undefined : connections.get(connection);
      return made !== undefined && made.isOpen?.() !== false;
    },
    addInterest: (name, topic) => void delivery.subscribe(name, topic),
    removeInterest: (name, topic) => void delivery.unsubscribe(name, topic),
    forget: (topic) => delivery.forget(topic),
    eventsAfter: (name, number) => eventsAfter(name, number),
    figures: (name) => delivery.figures(name),
    waiting: () => [...away].map(([application, outbox]) => ({ application, events: outbox.waiting().length })),

    dump: (name) => ({
      applications: registry.those(name).map((actor): ApplicationDump => {
        const { filter, narrowed, ...rest } = delivery.dump(actor.id);
        const { allowed, disallowed } = filter;
        const own = actor.dump() as ApplicationDump['actor'];
        const waiting = away.get(actor.id)?.waiting();
        return {
          actor: own,
          filter: { allowed: [...allowed], disallowed: [...disallowed] },
          ...rest,
          ...(observed.has(actor.id) ? { observes: true } : {}),
          ...(narrowed && { narrowed }),
          ...(waiting ? { waiting: [...waiting] } : {}),
        };
      }),
      connections: connectionCount,
    }),

    restore(dump) {
      connectionCount = dump.connections;
      for (const { actor, observes, waiting = [], ...rest } of dump.applications) {
        const { name } = actor.context;
        delivery.restore(name, rest as ReceiverDump);
        if (observes) observed.add(name);
        if (!isActiveApplication(start(name, { from: actor }).getSnapshot())) continue;
        const outbox = createOutbox({ limit: queueLimit, log: log.child({ application: name }), hit: options.hit });
        outbox.restore(waiting);
        away.set(name, outbox);
        delivery.attach(name, { send: outbox.take, describe: 'not connected again yet' }, false);
      }
    },

    settle() {
      for (const actor of registry.all()) {
        const { connection } = actor.getSnapshot().context;
        if (connection === '' || connections.has(connection)) continue;
        away.delete(actor.id);
        actor.send({ type: 'disconnect', connection });
      }
    },

    close: () => delivery.close(),
  };
}
