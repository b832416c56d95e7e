import type { Bus } from '../bus/bus.ts';
import {
  type Connection,
  createDelivery,
  type Delivery,
  type DeliveryOptions,
  type EventNumbers,
  type MessageCheck,
  type ReceiverDump,
  type Relayed,
} from '../bus/delivery.ts';
import type { Topic } from '../bus/topics.ts';
import { lazily } from '../lib/lazily.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import {
  type ApplicationFact,
  type ApplicationInput,
  applicationMachine,
  isActiveApplication,
} from '../machines/application.ts';
import type { Application } from '../models/application.ts';
import type { Limits } from '../models/limits.ts';
import {
  type ApplicationActor,
  type ApplicationTable,
  type Connected,
  type ConnectRequest,
  createApplicationConnections,
} from './application-connections.ts';
import { createApplicationSubscriptions, type UserEventRequest } from './application-subscriptions.ts';
import type { ApplicationDump, Dump } from './dumps.ts';
import type { EventSourceLookup } from './event-sources.ts';
import { createOutbox } from './outbox.ts';
import { Registry } from './registry.ts';
import { createResumptions, type Departure, type ResumptionOptions, type ReturnAsked } from './resumptions.ts';
import { type Beginning, type Runtime, spawn } from './spawn.ts';

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

  /** Delivers an event that another server has made for an application that is connected to this one. */
  relay(name: string, json: string, relayed: Relayed): void;
  /** What another node of the cluster needs to go on with an application that is connected to it now. */
  departure(name: string, asked: ReturnAsked): Departure;
  /** Goes on with the numbers of an application in place of another node. @returns the epoch of the next ones */
  adopt(name: string, numbers: EventNumbers): string;
  /** Another node numbers the events of an application, also while it has no connection; undefined ends that. */
  missTo(name: string, connection: Connection | undefined): void;
  /** An application that is not awaited any more is gone if it has neither a connection nor a subscription. */
  review(name: string): void;

  /** Ends all subscriptions of an application that is inactive, so that it is gone; others are left as they are. */
  retire(name: string): void;

  /** Whether channels may enter the application. */
  isActive(name: string): boolean;
  /** Whether its connection is open. An outbound one may be away while channels still enter. */
  isConnected(name: string): boolean;
  /** Its state, as its chart names it; `gone` for an unknown one. */
  state(name: string): string;
  /** Call control subscribes an application by one reference; an unknown application is ignored. */
  addInterest(name: string, topic: Topic): void;
  /** Whether it has a subscription to one object or topic. */
  isSubscribed(name: string, topic: Topic): boolean;
  /** Takes such a reference away; one that is not there is ignored. */
  removeInterest(name: string, topic: Topic): void;
  /** Removes all subscriptions to an object that has ended. */
  forget(topic: Topic): void;
  /** The kept events of an application after a number, and a message about those that are no longer kept. */
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

type ApplicationsOptions = Omit<ResumptionOptions, 'delivery'> & {
  bus: Bus;
  log: Logger;
  runtime: Runtime;
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
  /** Names of epochs, as {@link DeliveryOptions}. */
  epoch?: DeliveryOptions['epoch'];
  /** Whether an application without connection and subscriptions is kept; left out: none is. */
  isAwaited?: ((name: string) => boolean) | undefined;
  /** The connection of an application has gone, or is there again. */
  presenceChanged?: ((name: string, present: boolean) => void) | undefined;
  /** Checks every outgoing event; for development mode. */
  check?: MessageCheck | undefined;
};

const unlimited = { applications: Number.POSITIVE_INFINITY, subscriptions: Number.POSITIVE_INFINITY };

type Parts = { options: ApplicationsOptions; table: ApplicationTable; delivery: Delivery };
type Start = (name: string, beginning: Beginning<ApplicationInput>) => ApplicationActor;

/** Starts the charts of applications, binds their effects, and releases what they held. */
function createStart({ options, table, delivery }: Parts): Start {
  const { runtime, log } = options;
  const { registry, connections, observed, away } = table;

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
        if (!delivery.isHeld(context.name) && !options.isAwaited?.(context.name))
          self.send({ type: 'subscriptions.ended' });
      },
    },
  });

  const publish = (name: string, fact: ApplicationFact): void => {
    const replaced = connections.get(fact.connection);
    if (replaced) delivery.send(name, replaced, { type: 'ApplicationReplaced' });
  };

  return (name, beginning) =>
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
}

type Numbers = Pick<ReturnType<typeof createApplicationConnections>, 'count' | 'countFrom'>;

/** Dump and restore of all applications. */
function createSaved({ options, table, delivery }: Parts, start: Start, numbers: Numbers) {
  const { log, queueLimit = 0, hit } = options;
  const { registry, connections, observed, away } = table;
  return {
    dump: (name?: string): Pick<Dump, 'applications' | 'connections'> => ({
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
      connections: numbers.count(),
    }),

    restore(dump: Pick<Dump, 'applications' | 'connections'>): void {
      numbers.countFrom(dump.connections);
      for (const { actor, observes, waiting = [], ...rest } of dump.applications) {
        const { name } = actor.context;
        delivery.restore(name, rest as ReceiverDump);
        if (observes) observed.add(name);
        if (!isActiveApplication(start(name, { from: actor }).getSnapshot())) continue;
        const outbox = createOutbox({ limit: queueLimit, log: log.child({ application: name }), hit });
        outbox.restore(waiting);
        away.set(name, outbox);
        delivery.attach(name, { send: outbox.take, describe: 'not connected again yet' }, false);
      }
    },

    settle(): void {
      for (const actor of registry.all()) {
        const { connection } = actor.getSnapshot().context;
        if (connection === '' || connections.has(connection)) continue;
        away.delete(actor.id);
        actor.send({ type: 'disconnect', connection });
      }
    },
  };
}

/** Owns every application: its chart, its connection, its place in delivery. */
export function createApplications(options: ApplicationsOptions): Applications {
  const { bus, clock, log, runtime, entityId, resolve, check, limits = unlimited } = options;
  const table: ApplicationTable = {
    registry: new Registry<ApplicationActor>('applicationNotFound'),
    connections: new Map(),
    observed: new Set(),
    away: new Map(),
  };
  const { registry, connections, observed, away } = table;

  const delivery = createDelivery({
    bus,
    clock,
    log,
    entityId,
    check,
    recorder: options.recorder,
    traced: options.traced,
    epoch: options.epoch,
    request: () => runtime.turn.request,
    onReleased: (name) => {
      if (!options.isAwaited?.(name)) registry.find(name)?.send({ type: 'subscriptions.ended' });
    },
  });

  const resumptions = createResumptions({ ...options, delivery });
  const start = createStart({ options, table, delivery });
  const register = (name: string): ApplicationActor => {
    delivery.add(name);
    return start(name, { input: { name } });
  };
  const { model, ...subscriptions } = createApplicationSubscriptions({
    ...{ bus, registry, delivery, resolve },
    limit: limits.subscriptions,
  });

  const { connect, requireRegistrable, ...numbers } = createApplicationConnections({
    ...options,
    limit: limits.applications,
    table,
    delivery,
    resumptions,
    register,
  });
  const names = (): string[] => registry.all().map((actor) => actor.getSnapshot().context.name);
  return {
    ...subscriptions,
    ...{ connect, requireRegistrable },
    ...createSaved({ options, table, delivery }, start, numbers),
    list: () => lazily(names(), (name) => (registry.has(name) ? model(name) : undefined)),
    names,

    get: (name) => model(registry.get(name).getSnapshot().context.name),

    retire: (name) => registry.find(name)?.send({ type: 'subscriptions.ended' }),

    isActive(name) {
      const actor = registry.find(name);
      return actor !== undefined && !observed.has(name) && isActiveApplication(actor.getSnapshot());
    },
    state: (name) => String(registry.find(name)?.getSnapshot().value ?? 'gone'),
    isConnected(name) {
      const { connection } = registry.find(name)?.getSnapshot().context ?? {};
      const made = connection === undefined ? undefined : connections.get(connection);
      return made !== undefined && made.isOpen?.() !== false;
    },
    isSubscribed: (name, topic) => delivery.isSubscribed(name, topic),
    addInterest: (name, topic) => void delivery.subscribe(name, topic),
    removeInterest: (name, topic) => void delivery.unsubscribe(name, topic),
    forget: (topic) => delivery.forget(topic),
    eventsAfter: (name, number) => resumptions.after(name, number),
    figures: (name) => delivery.figures(name),
    relay: (name, json, relayed) => delivery.relay(name, json, relayed),
    departure(name, asked) {
      const given = resumptions.departure(name, asked);
      delivery.giveAway(name);
      return given;
    },
    adopt(name, numbers) {
      if (!registry.has(name)) register(name);
      delivery.adopt(name, numbers);
      return delivery.placeOf(name).epoch;
    },
    missTo: (name, connection) => delivery.missTo(name, connection),
    review(name) {
      if (!delivery.isHeld(name)) registry.find(name)?.send({ type: 'subscriptions.ended' });
    },
    waiting: () => [...away].map(([application, outbox]) => ({ application, events: outbox.waiting().length })),

    close: () => delivery.close(),
  };
}
