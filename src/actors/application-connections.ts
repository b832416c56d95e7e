import type { Connection, Delivery } from '../bus/delivery.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { applicationMachine } from '../machines/application.ts';
import { longestApplicationName } from '../models/application.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { EventsLost } from '../models/websocket-messages.ts';
import type { Outbox } from './outbox.ts';
import type { Registry } from './registry.ts';
import type { Actor } from './spawn.ts';
export type ApplicationActor = Actor<typeof applicationMachine>;

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

/** Longest name of an application that this system makes up itself. */
export const longestOwnName = 255;

function namesOf(requested: readonly string[], longest: number): readonly string[] {
  const names = [...new Set(requested)];
  if (names.length === 0) throw new AriError('applicationNameInvalid', { name: '' });
  for (const name of names)
    if (name === '' || name.length > longest) throw new AriError('applicationNameInvalid', { name });
  return names;
}

/** The events that an application resumes with. */
export type Resumption = {
  /** The events after its last one, in order, as they were written. */
  events: readonly string[];
  /** Number of missed events that are no longer kept; undefined if unknown. */
  lost: number | undefined;
};

/** What is kept of applications beside their charts. */
export type ApplicationTable = {
  registry: Registry<ApplicationActor>;
  connections: Map<string, Connection & Pick<ConnectRequest, 'isOpen'>>;
  /** Applications whose last registration was by an observer. */
  observed: Set<string>;
  /** Events of applications that were restored and are not connected again yet. */
  away: Map<string, Outbox>;
};

/** The events that are kept for applications, and what is said of those that are not. */
export type EventKeeping = {
  clock: Clock;
  /** `asterisk_id` of every event. */
  entityId: string;
  /** The events of an application behind a number, of which `made` were made so far. Left out, none are kept. */
  kept?: ((name: string, number: number, made: number) => Resumption) | undefined;
};

type Missed = { name: string; last: number; notBefore: number };

/** The kept events of an application behind its last one, of `made` events, and a message about those that are lost. */
export function eventsOf({ kept, entityId, clock }: EventKeeping, made: number, { name, last, notBefore }: Missed) {
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

type ApplicationConnectionsOptions = EventKeeping & {
  log: Logger;
  /** Most applications. */
  limit: number;
  table: ApplicationTable;
  delivery: Delivery;
  register(name: string): ApplicationActor;
};

/** Connects clients with their applications, as {@link Applications} describes it. */
export function createApplicationConnections(options: ApplicationConnectionsOptions) {
  const { log, limit, table, delivery, register } = options;
  const { registry, connections, observed, away } = table;
  let connectionCount = 0;

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
    const { events, lost } = eventsOf(options, delivery.figures(name).events, { name, last, notBefore });
    if (lost !== undefined) send(lost);
    for (const json of events) send(json);
  };

  const requireRegistrable = (names: readonly string[], observes: boolean): void => {
    const taken = observes ? names.find((name) => registry.has(name) && !observed.has(name)) : undefined;
    if (taken !== undefined) throw new AriError('applicationTaken', { name: taken });
    const added = names.filter((name) => !registry.has(name)).length;
    if (added > 0) requireWithin('applications', registry.size + added, limit);
  };

  return {
    requireRegistrable,

    /** Connections so far. */
    count: (): number => connectionCount,
    /** Numbers connections on from a count. */
    countFrom(count: number): void {
      connectionCount = count;
    },

    connect(request: ConnectRequest): Connected {
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
  };
}
