import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { awaitsSocket, externalConnectionMachine } from '../machines/external-connection.ts';
import { DriverError } from '../telephony/driver.ts';
import type { ConnectionHost, ConnectionSocket } from '../telephony/external.ts';
import { type Actor, type Runtime, spawn } from './spawn.ts';

type ExternalConnectionsOptions = {
  runtime: Runtime;
  log: Logger;
  /** Time limit for a server to accept a connection, in ms. */
  connectionTimeoutMs: number;
  /** Time limit for a server to open its connection to us, in ms. */
  arrivalTimeoutMs: number;
  /** Behind a restart: further attempts to connect, and the pause before each, in ms. */
  resumption: { attempts: number; intervalMs: number };
  /** Connections there may be at a time. */
  most: number;
};

/** Owns the connections of channels to servers outside. */
interface ExternalConnections extends ConnectionHost {
  /** Connections there are, those being made included. */
  readonly size: number;
}

/** Makes the owner of connections. A connection ends with its channel's leg at the latest. */
export function createExternalConnections(options: ExternalConnectionsOptions): ExternalConnections {
  const { runtime, log, connectionTimeoutMs, arrivalTimeoutMs, resumption, most } = options;
  const sockets = new SlotMap<string, ConnectionSocket>();

  const machine = onFirstUse(() =>
    externalConnectionMachine.provide({
      actions: {
        openSocket: ({ context }) => sockets.get(context.id)?.open(),
        closeSocket: ({ context }) => sockets.get(context.id)?.close(),
        tellStarted: ({ context }) => sockets.get(context.id)?.told({ type: 'started' }),
        tellRestarted: ({ context }) => sockets.get(context.id)?.told({ type: 'restarted' }),
        tellUnreached: ({ context }) => tellLost(context, 'unreached'),
        tellLost: ({ context }) => tellLost(context, 'lost'),
      },
    }),
  );

  const tellLost = ({ id, reason }: { id: string; reason: string }, type: 'unreached' | 'lost'): void => {
    log.info({ channel: id, reason }, 'the connection to an external server is lost');
    sockets.get(id)?.told({ type, reason });
  };

  return {
    open(id, socket, { maker, resumes }) {
      if (sockets.has(id)) throw new DriverError('resource', `'${id}' is being connected already`);
      if (sockets.size >= most) throw new DriverError('capacity', `there are ${most} connections already`);
      let actor: Actor<ReturnType<typeof machine>> | undefined;
      // A server that has not come in its time does not come in another.
      const attempts = maker === 'us' ? resumption.attempts : 0;
      spawn(machine(), {
        id,
        input: {
          ...{ id, connectionTimeoutMs: maker === 'us' ? connectionTimeoutMs : arrivalTimeoutMs },
          ...(resumes && { resumes: { ...resumption, attempts } }),
        },
        runtime,
        onCreated: (created) => {
          actor = created;
          sockets.set(id, socket);
        },
        onEnded: (error) => {
          sockets.delete(id);
          if (error === undefined) return;
          socket.close();
          socket.told({ type: 'lost', reason: 'an internal error' });
        },
      });
      return {
        tell: (event) => actor?.send(event),
        release: () => actor?.send({ type: 'leg.released' }),
        get isAwaited() {
          return actor !== undefined && awaitsSocket(actor.getSnapshot());
        },
        get lostBy() {
          return sockets.has(id) ? undefined : actor?.getSnapshot().context.reason;
        },
      };
    },
    get size() {
      return sockets.size;
    },
  };
}
