import { connect } from 'node:net';
import type { Clock } from '../../lib/clock.ts';

/** Hears what becomes of a connection; nothing after `closed`, which is told once, and never by our own `end`. */
export type WireListener = {
  opened(local: { address: string; port: number }): void;
  /** The octets are the listener's to keep. */
  received(octets: Uint8Array): void;
  closed(reason: string): void;
};

/** A connection to a server. */
export interface Wire {
  /** Sends behind what waits; on one that is not open nothing happens. */
  send(octets: Uint8Array): void;
  /** Octets that the far side has not taken yet. */
  readonly unsent: number;
  /** Says goodbye and lets go: a far side that does not take part is cut off. Nothing is heard any more. */
  end(): void;
}

/** Where the engine gets its connections from; tests and simulations put their own in its place. */
export interface Wires {
  /** Connects over TCP; `host` is a name or an address. */
  connect(host: string, port: number, listener: WireListener): Wire;
}

/** How long a far side may take to read what was said before the goodbye, in ms. */
const goodbyeMs = 2000;

/** TCP connections of node:net. */
export const tcpWires = (clock: Clock): Wires => ({
  connect(host, port, listener) {
    const socket = connect({ host, port, noDelay: true, keepAlive: true });
    let heard = true;
    const closed = (reason: string): void => {
      if (!heard) return;
      heard = false;
      socket.destroy();
      listener.closed(reason);
    };
    socket.once('connect', () => {
      if (heard) listener.opened({ address: socket.localAddress ?? '', port: socket.localPort ?? 0 });
    });
    socket.on('data', (octets) => {
      if (heard) listener.received(octets);
    });
    socket.on('error', (error) => closed(error.message));
    socket.once('close', () => closed('the far side closed the connection'));
    return {
      send: (octets) => {
        if (socket.writable && heard) socket.write(octets);
      },
      get unsent() {
        return socket.writableLength;
      },
      end() {
        if (!heard) return;
        heard = false;
        if (socket.connecting) {
          socket.destroy();
          return;
        }
        socket.destroySoon();
        const timer = clock.setTimeout(() => socket.destroy(), goodbyeMs);
        socket.once('close', () => clock.clearTimeout(timer));
      },
    };
  },
});

/** No connections at all: where there is no network for them. */
export const noWires: Wires = {
  connect(_host, _port, listener) {
    queueMicrotask(() => listener.closed('there are no connections here'));
    return { send: () => {}, unsent: 0, end: () => {} };
  },
};
