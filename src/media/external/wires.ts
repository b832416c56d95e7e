import { connect } from 'node:net';
import { WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';

/** Callbacks of a connection; none after `closed`, which comes once, and never after our own `end`. */
export type WireListener = {
  /** @param again reconnected: data in transit and pending requests are lost. */
  opened(local: { address: string; port: number }, again?: boolean): void;
  /** The octets are the listener's to keep. */
  received(octets: Uint8Array): void;
  /** A message of text, where there are messages. */
  told?(text: string): void;
  closed(reason: string): void;
};

/** A connection to a server. */
export interface Wire {
  /** Queues data; ignored if it is not open. */
  send(octets: Uint8Array | string): void;
  /** Octets that the far side has not taken yet. */
  readonly unsent: number;
  /** Stops reading; data already read may still arrive. */
  pause(): void;
  resume(): void;
  /** Closes the connection; an unresponsive peer is cut off. No further callbacks. */
  end(): void;
}

/** Target of a WebSocket. */
type WebSocketTarget = {
  url: string;
  headers: Readonly<Record<string, string>>;
  protocols: readonly string[];
  /** PEM of trusted authorities (wss); left out: Node's own. */
  authorities?: readonly string[] | undefined;
  /** Largest message that is taken, in octets. */
  mostOctets: number;
};

/** Connections of the engine; tests and simulations supply their own. */
export interface Wires {
  /** Connects over TCP; `host` is a name or an address. */
  connect(host: string, port: number, listener: WireListener): Wire;
  /** Opens a WebSocket. */
  openWebSocket(target: WebSocketTarget, listener: WireListener): Wire;
}

/** How long a far side may take to read what was said before the goodbye, in ms. */
const goodbyeMs = 2000;

/** TCP connections of node:net, WebSockets of ws. */
export const systemWires = (clock: Clock): Wires => ({
  openWebSocket: (target, listener) => openWebSocket(clock, target, listener),
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
      pause: () => void socket.pause(),
      resume: () => void socket.resume(),
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

function dial({ url, headers, protocols, authorities, mostOctets }: WebSocketTarget): WebSocket | undefined {
  try {
    return new WebSocket(url, [...protocols], {
      headers,
      maxPayload: mostOctets,
      rejectUnauthorized: true,
      ...(authorities && { ca: [...authorities] }),
      followRedirects: false,
      perMessageDeflate: false,
    });
  } catch {
    // A URL, a header or a protocol that cannot be.
    return undefined;
  }
}

function openWebSocket(clock: Clock, target: WebSocketTarget, listener: WireListener): Wire {
  const socket = dial(target);
  if (!socket) return nowhere(listener, 'its URL, headers or protocols cannot be used');
  let heard = true;
  let failure = 'the far side closed the connection';
  let local = { address: '', port: 0 };
  socket.once('upgrade', (response) => {
    local = { address: response.socket.localAddress ?? '', port: response.socket.localPort ?? 0 };
  });
  socket.once('open', () => {
    if (heard) listener.opened(local);
  });
  socket.on('message', (data, isBinary) => {
    if (!heard) return;
    if (isBinary) listener.received(data as Buffer);
    else listener.told?.(String(data));
  });
  socket.on('error', (error) => {
    failure = error.message;
  });
  socket.once('close', () => {
    if (!heard) return;
    heard = false;
    listener.closed(failure);
  });
  return {
    send(data) {
      // Told of an error by `close`; without a listener here ws would throw.
      if (heard && socket.readyState === WebSocket.OPEN) socket.send(data, () => {});
    },
    get unsent() {
      return socket.bufferedAmount;
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    end() {
      heard = false;
      if (socket.readyState === WebSocket.CLOSED) return;
      if (socket.readyState === WebSocket.CONNECTING) {
        socket.terminate();
        return;
      }
      socket.close(1000);
      const timer = clock.setTimeout(() => socket.terminate(), goodbyeMs);
      socket.once('close', () => clock.clearTimeout(timer));
    },
  };
}

const nowhere = (listener: WireListener, reason = 'there are no connections here'): Wire => {
  queueMicrotask(() => listener.closed(reason));
  return { send: () => {}, unsent: 0, pause: () => {}, resume: () => {}, end: () => {} };
};

/** No connections at all: where there is no network for them. */
export const noWires: Wires = {
  connect: (_host, _port, listener) => nowhere(listener),
  openWebSocket: (_target, listener) => nowhere(listener),
};
