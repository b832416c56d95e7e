import type { Logger } from '../lib/log.ts';
import { shownUrl } from '../lib/shown-url.ts';
import { outboundConnectionMachine } from '../machines/outbound-connection.ts';
import type { Connection, OpenSocket, SocketReports } from './outbound-connection-entry.ts';

type OutboundConnectionEffectsOptions = {
  find(id: string, kind: 'persistent' | 'call'): Connection | undefined;
  /** Opens sockets; undefined before the start and after the end. */
  openSocket(): OpenSocket | undefined;
  /** Headers for the call that a connection is for. */
  callHeaders?: ((connection: Connection) => Readonly<Record<string, string>> | undefined) | undefined;
  /** The socket of a connection is open. */
  connected(connection: Connection): void;
  log: Logger;
};

/** Binds what the chart of a connection asks for: its socket. */
export function bindOutboundConnectionEffects(options: OutboundConnectionEffectsOptions) {
  const { find, openSocket, callHeaders, connected, log } = options;
  return outboundConnectionMachine.provide({
    actions: {
      openSocket: ({ context }) => {
        const connection = find(context.id, context.kind);
        if (!connection) return;
        const { settings, names } = connection;
        const headers = callHeaders?.(connection);
        const target = headers ? { ...settings.target, headers } : settings.target;
        connection.socket = openSocket()?.(target, names, reports(connection, log));
      },
      dropSocket: ({ context }) => {
        const connection = find(context.id, context.kind);
        if (!connection) return;
        complain(connection, 'no answer in time', log);
        dropSocket(connection, 1000, 'too late');
      },
      registerApplications: ({ context }) => {
        const connection = find(context.id, context.kind);
        if (connection) connected(connection);
      },
    },
  });
}

/** Closes a connection's socket and ignores its reports. `code`: see RFC 6455 section 7.4. */
export function dropSocket(connection: Connection, code: number, reason: string): void {
  connection.attempt++;
  connection.outbox.disconnected();
  connection.socket?.close(code, reason);
  connection.socket = undefined;
}

/** A connection as logs show it. */
export const describeConnection = ({ settings, names }: Connection) => ({
  connection: settings.name,
  applications: names,
  url: shownUrl(settings.target.url),
});

function complain(connection: Connection, reason: string, log: Logger): void {
  const about = { ...describeConnection(connection), reason };
  if (connection.complained) log.debug(about, 'an application still cannot be reached');
  else log.warn(about, 'an application cannot be reached');
  connection.complained = true;
}

/** Reports of the present socket; reports of earlier ones are ignored. */
function reports(connection: Connection, log: Logger): SocketReports {
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
        complain(connection, reason, log);
        connection.actor.send({ type: 'socket.failed' });
      }),
    closed: () =>
      whileCurrent(() => {
        connection.outbox.disconnected();
        const about = describeConnection(connection);
        if (connection.settings.kind === 'persistent') log.warn(about, 'the connection to applications is lost');
        else log.debug(about, 'the application has closed the connection of its call');
        connection.complained = true;
        connection.actor.send({ type: 'socket.closed' });
      }),
  };
}
