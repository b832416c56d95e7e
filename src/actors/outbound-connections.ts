import type { ActorRefFrom } from 'xstate';
import type { Bus, Publication } from '../bus/bus.ts';
import type { Logger } from '../lib/log.ts';
import { outboundConnectionMachine } from '../machines/outbound-connection.ts';
import { type Applications, type Connected, longestOwnName } from './applications.ts';
import { createOutbox, type Outbox } from './outbox.ts';
import { type Runtime, spawn } from './spawn.ts';

/** Where an application waits for our WebSocket. */
export type OutboundTarget = {
  /** `ws://host[:port]/path`. */
  url: string;
  /** Sub-protocols offered. */
  protocols: readonly string[];
  /** Sent as Basic credentials, unless empty. */
  username: string;
  password: string;
  /** The user of the interface whose rights the application has in requests over the socket. */
  localUser: string;
};

/** What a socket tells, each at most once: `opened` or `failed`, and after `opened` in the end `closed`. */
export type SocketReports = {
  /** @param send takes an event as JSON text; never throws. */
  opened(send: (json: string) => void): void;
  failed(reason: string): void;
  closed(): void;
};

/** Ends a socket, or the attempt to open it; it may still tell afterwards that it is closed. */
export type OutboundSocket = { close(code: number, reason: string): void };

/** Begins to open a socket for applications. Never throws; tells nothing before it has returned. */
export type OpenSocket = (target: OutboundTarget, names: readonly string[], told: SocketReports) => OutboundSocket;

export type OutboundConnectionSettings = {
  name: string;
  /** One connection that is always there, or one for each call. */
  kind: 'persistent' | 'call';
  target: OutboundTarget;
  apps: readonly string[];
  subscribeAll: boolean;
  connectionTimeoutMs: number;
  reconnectIntervalMs: number;
  reconnectAttempts: number;
};

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

type Connection = {
  readonly settings: OutboundConnectionSettings;
  /** Applications registered through it. */
  readonly names: readonly string[];
  readonly outbox: Outbox;
  actor: ActorRefFrom<typeof outboundConnectionMachine>;
  /** Counts sockets, so that one given up is not heard any more. */
  attempt: number;
  socket: OutboundSocket | undefined;
  registration: Connected | undefined;
  /** Whether the log says that the application cannot be reached. */
  complained: boolean;
};

/** A connection for a call; `left` once the call has left the application, or never entered it. */
type CallConnection = Connection & {
  readonly channelId: string;
  readonly verdict: Promise<string | undefined>;
  readonly decide: (instance: string | undefined) => void;
  left: boolean;
};

export function createOutboundConnections(options: OutboundConnectionsOptions): OutboundConnections {
  const { connections, applications, bus, runtime, log, queueLimit } = options;
  const perCall = new Map(
    connections.filter(({ kind }) => kind === 'call').flatMap((each) => each.apps.map((app) => [app, each] as const)),
  );
  const persistent = new Map<string, Connection>();
  /** By instance. */
  const calls = new Map<string, CallConnection>();
  /** Instances whose connection went before their call: instance to channel id. */
  const orphans = new Map<string, string>();
  let openSocket: OpenSocket | undefined;
  let unsubscribe: (() => void) | undefined;

  const find = (id: string, kind: 'persistent' | 'call'): Connection | undefined =>
    kind === 'call' ? calls.get(id) : persistent.get(id);

  const complain = (connection: Connection, reason: string): void => {
    const { settings, names, complained } = connection;
    const about = { connection: settings.name, applications: names, url: settings.target.url, reason };
    if (complained) log.debug(about, 'an application still cannot be reached');
    else log.warn(about, 'an application cannot be reached');
    connection.complained = true;
  };

  /** What the socket opened now tells; nothing once another one has taken its place. */
  const reports = (connection: Connection): SocketReports => {
    const attempt = ++connection.attempt;
    const whileCurrent = (then: () => void): void => {
      if (connection.attempt === attempt) then();
    };
    return {
      opened: (send) =>
        whileCurrent(() => {
          connection.outbox.connected(send);
          connection.actor.send({ type: 'socket.opened' });
        }),
      failed: (reason) =>
        whileCurrent(() => {
          complain(connection, reason);
          connection.actor.send({ type: 'socket.failed' });
        }),
      closed: () =>
        whileCurrent(() => {
          connection.outbox.disconnected();
          const { settings, names } = connection;
          const about = { connection: settings.name, applications: names, url: settings.target.url };
          if (settings.kind === 'persistent') log.warn(about, 'the connection to applications is lost');
          else log.debug(about, 'the application has closed the connection of its call');
          connection.complained = true;
          connection.actor.send({ type: 'socket.closed' });
        }),
    };
  };

  const dropSocket = (connection: Connection, code: number, reason: string): void => {
    connection.attempt++;
    connection.outbox.disconnected();
    connection.socket?.close(code, reason);
    connection.socket = undefined;
  };

  const machine = outboundConnectionMachine.provide({
    actions: {
      openSocket: ({ context }) => {
        const connection = find(context.id, context.kind);
        if (!connection || !openSocket) return;
        connection.socket = openSocket(connection.settings.target, connection.names, reports(connection));
      },
      dropSocket: ({ context }) => {
        const connection = find(context.id, context.kind);
        if (!connection) return;
        complain(connection, 'no answer in time');
        dropSocket(connection, 1000, 'too late');
      },
    },
  });

  const register = (connection: Connection, announce?: 'whenAsked'): Connected => {
    const { settings, names, outbox } = connection;
    const { subscribeAll, target } = settings;
    return applications.connect({ names, subscribeAll, announce, own: true, send: outbox.take, describe: target.url });
  };

  /** The socket is open: what waited goes out, behind the word that the application is registered. */
  const connected = (connection: Connection): void => {
    const { settings, names, outbox } = connection;
    connection.complained = false;
    log.info({ connection: settings.name, applications: names, url: settings.target.url }, 'connected to applications');
    if (settings.kind === 'call') {
      connection.registration = register(connection);
      calls.get(names[0] ?? '')?.decide(names[0]);
    } else connection.registration?.announce();
    outbox.flush();
  };

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
      onEmitted: () => connected(connection),
      onEnded: () => {
        into.delete(id);
        connection.registration?.close();
        onEnded();
      },
    });
  };

  const makeConnection = (settings: OutboundConnectionSettings, names: readonly string[]): Connection => ({
    settings,
    names,
    outbox: createOutbox({ limit: queueLimit, log: log.child({ applications: names.join(',') }) }),
    actor: undefined as never,
    attempt: 0,
    socket: undefined,
    registration: undefined,
    complained: false,
  });

  const startPersistent = (settings: OutboundConnectionSettings): void => {
    const connection = makeConnection(settings, settings.apps);
    connection.registration = register(connection, 'whenAsked');
    begin(connection, settings.name, persistent, () => dropSocket(connection, 1001, 'the server is shutting down'));
  };

  /* ---- Connections for calls ------------------------------------------------------------------------------------ */

  const callEnded = (instance: string, channelId: string): void => {
    const connection = calls.get(instance);
    if (connection?.channelId === channelId) {
      connection.left = true;
      connection.actor.send({ type: 'call.ended' });
    } else if (orphans.get(instance) === channelId) {
      orphans.delete(instance);
      applications.retire(instance);
    }
    watchCalls();
  };

  const listen = ({ event, to }: Publication): void => {
    if (event.type === 'StasisEnd' && to !== undefined) callEnded(to, event.channel.id);
    else if (event.type === 'StasisStart' && to !== undefined) {
      const connection = calls.get(to);
      if (connection?.channelId !== event.channel.id) return;
      connection.left = false;
      connection.actor.send({ type: 'call.entered' });
    } else if (event.type === 'ChannelDestroyed') {
      const { id } = event.channel;
      for (const [instance, { channelId }] of [...calls]) if (channelId === id) callEnded(instance, id);
      for (const [instance, channelId] of [...orphans]) if (channelId === id) callEnded(instance, id);
    }
  };

  /** Events are only looked at while there are calls with a connection of their own. */
  const watchCalls = (): void => {
    const wanted = calls.size + orphans.size > 0;
    if (wanted) unsubscribe ??= bus.subscribe(listen);
    else {
      unsubscribe?.();
      unsubscribe = undefined;
    }
  };

  const connectCall = (settings: OutboundConnectionSettings, instance: string, channelId: string): CallConnection => {
    let decide!: CallConnection['decide'];
    const verdict = new Promise<string | undefined>((resolve) => {
      decide = resolve;
    });
    const call: CallConnection = Object.assign(makeConnection(settings, [instance]), {
      channelId,
      verdict,
      decide,
      left: true,
    });
    begin(call, instance, calls, () => {
      dropSocket(call, 1000, 'the call has left');
      decide(undefined);
      // While the call is in the application somebody else may take it over under the instance's name.
      if (call.left) applications.retire(instance);
      else orphans.set(instance, channelId);
      watchCalls();
    });
    watchCalls();
    return call;
  };

  return {
    start(open) {
      openSocket = open;
      for (const settings of connections) if (settings.kind === 'persistent') startPersistent(settings);
    },

    admit(app, { id, name }) {
      const settings = openSocket && perCall.get(app);
      if (!settings) return undefined;
      const instance = `${app}:${name}`;
      if (instance.length > longestOwnName) {
        log.warn({ application: app, channel: name }, 'a channel name is too long for an application of its own');
        return undefined;
      }
      const existing = calls.get(instance);
      existing?.actor.send({ type: 'call.entered' });
      return (existing ?? connectCall(settings, instance, id)).verdict;
    },

    get size() {
      return persistent.size + calls.size;
    },

    close() {
      openSocket = undefined;
      for (const { actor } of [...persistent.values(), ...calls.values()]) actor.send({ type: 'system.closing' });
      orphans.clear();
      watchCalls();
    },
  };
}
