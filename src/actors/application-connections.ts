import type { Connection, Delivery } from '../bus/delivery.ts';
import type { Logger } from '../lib/log.ts';
import type { applicationMachine } from '../machines/application.ts';
import { longestApplicationName } from '../models/application.ts';
import { AriError } from '../models/errors.ts';
import { requireWithin } from '../models/limits.ts';
import type { Outbox } from './outbox.ts';
import type { Registry } from './registry.ts';
import type { Bookmark, Resumptions } from './resumptions.ts';
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
  /** Where each application that was connected before goes on. Kept later events are sent first. */
  resume?: ReadonlyMap<string, Bookmark> | undefined;
  /** It tells which events it has handled. Without a bookmark it goes on behind the last of these. */
  acknowledges?: boolean | undefined;
  /** Whether its socket is open. For connections registered before they open; left out: always open. */
  isOpen?(): boolean;
  /** The group that it is the connection of, the same at all nodes of a cluster. */
  group?: string | undefined;
  /** The group is about to be at another node. @returns a function that is called when the application is there */
  moves?(): () => void;
  /** Closes its WebSocket with a code (RFC 6455 7.4.1). */
  cut?(code: number, reason: string): void;
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
  /**
   * The client has handled all events of an application up to a number. False for an event that was never made, and for
   * an application that is not this connection's.
   */
  acknowledge(application: string, seq: number): boolean;
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

/** What is kept of applications beside their charts. */
export type ApplicationTable = {
  registry: Registry<ApplicationActor>;
  connections: Map<string, Connection & Pick<ConnectRequest, 'isOpen'>>;
  /** Applications whose last registration was by an observer. */
  observed: Set<string>;
  /** Events of applications that were restored and are not connected again yet. */
  away: Map<string, Outbox>;
};

type ApplicationConnectionsOptions = {
  log: Logger;
  /** Most applications. */
  limit: number;
  table: ApplicationTable;
  delivery: Delivery;
  resumptions: Pick<Resumptions, 'comeBack'>;
  register(name: string): ApplicationActor;
};

/** Connects clients with their applications, as {@link Applications} describes it. */
export function createApplicationConnections(options: ApplicationConnectionsOptions) {
  const { log, limit, table, delivery, resumptions, register } = options;
  const { registry, connections, observed, away } = table;
  let connectionCount = 0;

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
        send: (json, topics) => request.send(json, topics),
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
          const outbox = away.get(name);
          away.delete(name);
          const { resume, acknowledges } = request;
          resumptions.comeBack({ name, connection, outbox, bookmark: resume?.get(name), acknowledges });
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
        acknowledge: (name, seq) => owned().includes(name) && delivery.acknowledge(name, seq),
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
