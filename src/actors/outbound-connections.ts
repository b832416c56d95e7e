import type { Bus } from '../bus/bus.ts';
import type { LimitHit } from '../lib/limit-counts.ts';
import type { Logger } from '../lib/log.ts';
import { shownUrl } from '../lib/shown-url.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { createLifecycle } from '../machines/lifecycle.ts';
import { isConnected } from '../machines/outbound-connection.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { Connected } from './application-connections.ts';
import type { Applications } from './applications.ts';
import type { Dump, OutboundConnectionDump } from './dumps.ts';
import { type CallConnection, createOutboundCalls } from './outbound-calls.ts';
import { bindOutboundConnectionEffects, describeConnection, dropSocket } from './outbound-connection-effects.ts';
import {
  type Connection,
  type ConnectionStart,
  makeConnection,
  type NarrowOf,
  type OpenSocket,
  type OutboundConnectionSettings,
} from './outbound-connection-entry.ts';
import { type Runtime, spawn } from './spawn.ts';

type OutboundConnectionsOptions = {
  connections: readonly OutboundConnectionSettings[];
  applications: Pick<Applications, 'connect' | 'retire'>;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  /** Sees the charts of calls; left out: nobody. */
  tables?: TableWatch | undefined;
  /** Headers for the WebSocket that is made for the call of a channel. */
  headersOf?: ((channel: string) => Readonly<Record<string, string>>) | undefined;
  /** Bytes of events kept for an application that is away. */
  queueLimit: number;
  /** Counts dropped events. */
  hit?: LimitHit | undefined;
};

/** Owns the WebSockets that this system makes to applications. */
export interface OutboundConnections {
  /** Registers the applications of persistent connections and begins to make these; from now on calls get theirs. */
  start(open: OpenSocket, narrowOf?: NarrowOf): void;
  /**
   * A channel wants to enter an unregistered application. Undefined if none is configured under that name. Otherwise
   * resolves with the name of the instance for this call, `<app>:<channel name>`, once it is connected and registered.
   * Resolves with undefined after a failure. Never rejects.
   */
  admit(app: string, channel: { id: string; name: string }): Promise<string | undefined> | undefined;
  /** Every connection, with the events that wait for its application. */
  dump(): Pick<Dump, 'outboundConnections' | 'orphans'>;
  /**
   * Restores connections before {@link start}, which opens their sockets again. Connections that are no longer
   * configured end.
   */
  restore(dump: Pick<Dump, 'outboundConnections' | 'orphans'>): void;
  /** Connections for whose applications events wait, and how many. */
  waiting(): { readonly connection: string; readonly events: number }[];
  /** Connections there are, those being made included. */
  readonly size: number;
  /** Unregisters the applications and ends everything. */
  close(): void;
}

const dumpConnection = (connection: Connection | CallConnection): OutboundConnectionDump => ({
  actor: connection.actor.dump() as OutboundConnectionDump['actor'],
  name: connection.settings.name,
  ...('channelId' in connection ? { channelId: connection.channelId, left: connection.run.state !== 'inside' } : {}),
  waiting: [...connection.outbox.waiting()],
});

/** Starts the charts of connections. */
const createBegin =
  (machine: ReturnType<typeof bindOutboundConnectionEffects>, runtime: Runtime) =>
  <C extends Connection>(connection: C, { id, into, onEnded, from }: ConnectionStart<C>): void => {
    const { kind, connectionTimeoutMs, reconnectIntervalMs, reconnectAttempts } = connection.settings;
    spawn(machine, {
      id,
      ...(from ? { from } : { input: { id, kind, connectionTimeoutMs, reconnectIntervalMs, reconnectAttempts } }),
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

/** Opens the socket of a restored connection again, or counts it as lost. */
function revive({ actor }: Connection): void {
  if (actor.getSnapshot().matches('connecting')) actor.send({ type: 'socket.failed' });
  else if (isConnected(actor.getSnapshot())) actor.send({ type: 'socket.closed' });
}

/** Makes the owner of all connections to applications. */
export function createOutboundConnections(options: OutboundConnectionsOptions): OutboundConnections {
  const { connections, applications, bus, runtime, log, tables } = options;
  const persistent = new SlotMap<string, Connection>();
  const lifecycle = createLifecycle('made');
  /** Given by `start`. */
  let openSocket: OpenSocket | undefined;
  let narrowOf: NarrowOf = () => undefined;

  const register = ({ settings, names, outbox }: Connection, announce?: 'whenAsked'): Connected => {
    const { subscribeAll, target } = settings;
    return applications.connect({
      ...{ names, subscribeAll, announce, own: true, send: outbox.take, describe: shownUrl(target.url) },
      isOpen: () => outbox.isConnected,
      get narrow() {
        return narrowOf(target);
      },
    });
  };

  /** The socket is open: sends the registration of the application, then the queued events. */
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
    openSocket: () => (lifecycle.state === 'serving' ? openSocket : undefined),
    callHeaders: (connection) =>
      'channelId' in connection ? options.headersOf?.(String(connection.channelId)) : undefined,
    connected,
    log,
  });

  const begin = createBegin(machine, runtime);
  const make = (settings: OutboundConnectionSettings, names: readonly string[]) =>
    makeConnection(settings, names, options);
  const calls = createOutboundCalls({ connections, applications, bus, log, make, begin, tables });

  const startPersistent = (settings: OutboundConnectionSettings, from?: OutboundConnectionDump): void => {
    const connection = make(settings, settings.apps);
    if (from) connection.outbox.restore(from.waiting);
    connection.registration = register(connection, 'whenAsked');
    const ended = () => dropSocket(connection, 1001, 'the server is shutting down');
    begin(connection, { id: settings.name, into: persistent, onEnded: ended, from: from?.actor });
  };

  return {
    start(open, narrow = narrowOf) {
      narrowOf = narrow;
      openSocket = open;
      lifecycle.send({ type: 'start' });
      for (const connection of [...persistent.values(), ...calls.all()]) revive(connection);
      for (const settings of connections)
        if (settings.kind === 'persistent' && !persistent.has(settings.name)) startPersistent(settings);
    },

    admit: (app, channel) => (lifecycle.state === 'serving' ? calls.admit(app, channel) : undefined),

    dump: () => ({
      outboundConnections: [...persistent.values(), ...calls.all()].map(dumpConnection),
      orphans: calls.orphans(),
    }),

    restore({ outboundConnections, orphans }) {
      for (const dump of outboundConnections) {
        const settings = connections.find(({ name, kind }) => name === dump.name && kind === dump.actor.context.kind);
        if (!settings) continue;
        if (settings.kind === 'persistent') startPersistent(settings, dump);
        else calls.restore(settings, dump);
      }
      calls.restoreOrphans(orphans);
    },

    waiting: () =>
      [...persistent.values(), ...calls.all()].flatMap(({ settings, outbox }) => {
        const events = outbox.waiting().length;
        return events === 0 ? [] : [{ connection: settings.name, events }];
      }),
    get size() {
      return persistent.size + calls.size;
    },

    close() {
      lifecycle.send({ type: 'close' });
      for (const { actor } of [...persistent.values(), ...calls.all()]) actor.send({ type: 'system.closing' });
      calls.close();
    },
  };
}
