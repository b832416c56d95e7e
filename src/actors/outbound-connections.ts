import type { Bus } from '../bus/bus.ts';
import type { Logger } from '../lib/log.ts';
import type { Applications, Connected } from './applications.ts';
import { createOutboundCalls } from './outbound-calls.ts';
import { bindOutboundConnectionEffects, describeConnection, dropSocket } from './outbound-connection-effects.ts';
import {
  type Connection,
  makeConnection,
  type OpenSocket,
  type OutboundConnectionSettings,
} from './outbound-connection-entry.ts';
import { type Runtime, spawn } from './spawn.ts';

export type {
  OpenSocket,
  OutboundConnectionSettings,
  OutboundSocket,
  OutboundTarget,
  SocketReports,
} from './outbound-connection-entry.ts';

export type OutboundConnectionsOptions = {
  connections: readonly OutboundConnectionSettings[];
  applications: Pick<Applications, 'connect' | 'retire'>;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  /** Bytes of events kept for an application that is away. */
  queueLimit: number;
};

/** Owns the WebSockets that this system makes to applications. */
export interface OutboundConnections {
  /** Registers the applications of persistent connections and begins to make these; from now on calls get theirs. */
  start(open: OpenSocket): void;
  /**
   * A channel wants to enter an application that is not registered. Undefined: none is configured under that name.
   * Else the name of the instance for this call, `<app>:<channel name>`, once its socket is open and it is registered;
   * undefined when that came to nothing. Never rejects.
   */
  admit(app: string, channel: { id: string; name: string }): Promise<string | undefined> | undefined;
  /** Connections there are, those being made included. */
  readonly size: number;
  /** Unregisters the applications and ends everything. */
  close(): void;
}

/** Makes the owner of all connections to applications. */
export function createOutboundConnections(options: OutboundConnectionsOptions): OutboundConnections {
  const { connections, applications, bus, runtime, log } = options;
  const persistent = new Map<string, Connection>();
  let openSocket: OpenSocket | undefined;

  const register = ({ settings, names, outbox }: Connection, announce?: 'whenAsked'): Connected => {
    const { subscribeAll, target } = settings;
    return applications.connect({ names, subscribeAll, announce, own: true, send: outbox.take, describe: target.url });
  };

  /** The socket is open: what waited goes out, behind the word that the application is registered. */
  const connected = (connection: Connection): void => {
    connection.complained = false;
    log.info(describeConnection(connection), 'connected to applications');
    if (connection.settings.kind === 'call') {
      connection.registration = register(connection);
      const [instance = ''] = connection.names;
      calls.find(instance)?.decide(instance);
    } else connection.registration?.announce();
    connection.outbox.flush();
  };

  const machine = bindOutboundConnectionEffects({
    find: (id, kind) => (kind === 'call' ? calls.find(id) : persistent.get(id)),
    openSocket: () => openSocket,
    connected,
    log,
  });

  const begin = <C extends Connection>(connection: C, id: string, into: Map<string, C>, onEnded: () => void): void => {
    const { kind, connectionTimeoutMs, reconnectIntervalMs, reconnectAttempts } = connection.settings;
    spawn(machine, {
      id,
      input: { id, kind, connectionTimeoutMs, reconnectIntervalMs, reconnectAttempts },
      runtime,
      onCreated: (actor) => {
        connection.actor = actor;
        into.set(id, connection);
      },
      onEnded: () => {
        into.delete(id);
        connection.registration?.close();
        onEnded();
      },
    });
  };

  const make = (settings: OutboundConnectionSettings, names: readonly string[]) =>
    makeConnection(settings, names, options);
  const calls = createOutboundCalls({ connections, applications, bus, log, make, begin });

  const startPersistent = (settings: OutboundConnectionSettings): void => {
    const connection = make(settings, settings.apps);
    connection.registration = register(connection, 'whenAsked');
    begin(connection, settings.name, persistent, () => dropSocket(connection, 1001, 'the server is shutting down'));
  };

  return {
    start(open) {
      openSocket = open;
      for (const settings of connections) if (settings.kind === 'persistent') startPersistent(settings);
    },

    admit: (app, channel) => (openSocket ? calls.admit(app, channel) : undefined),

    get size() {
      return persistent.size + calls.size;
    },

    close() {
      openSocket = undefined;
      for (const { actor } of [...persistent.values(), ...calls.all()]) actor.send({ type: 'system.closing' });
      calls.close();
    },
  };
}
