import { connect, type Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';

type OutflowOptions = {
  address: string;
  port: number;
  /** Octets that may wait to be read by the other side, or for a connection; what comes beyond is left out. */
  queue: number;
  clock: Clock;
  /**
   * Hears that the connection is there, or is not (`reason` says why); and of one that is there, that the other side does not
   * read and packets are left out (`full`), and that it has read all that waited for it (`drained`).
   */
  told: (news: { type: 'connected' | 'full' | 'drained' } | { type: 'lost'; reason: string }) => void;
  /** How a connection is begun; the system's own where left out. */
  dial?: (target: { host: string; port: number }) => Socket;
};

/** Packets that flow to one place over TCP, in order. Nothing waits for it, and nothing is read of it. */
interface Outflow {
  /** Sends a packet, now or when there is a connection. False when it is left out. */
  send(packet: Buffer): boolean;
  /** Packets that were left out, and those that were under way when a connection was lost. */
  readonly left: number;
  /** Lets go of the connection, or of the wait for one; what waits is counted as left out. */
  close(): void;
}

/** The first wait for a new connection, and the longest, in ms: each is twice the one before. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;
/** A connection that takes longer than this to come about is given up, in ms. */
const connectTimeoutMs = 10_000;

/** Opens one; connects at once, and again whenever the connection is lost. */
export function openOutflow({ address, port, queue, clock, told, dial = connect }: OutflowOptions): Outflow {
  /** Packets that wait for a connection. */
  let waiting: Buffer[] = [];
  let waitingOctets = 0;
  let left = 0;
  let socket: Socket | undefined;
  let isOpen = false;
  let isFull = false;
  let waitMs = firstWaitMs;
  let timer: unknown;
  let closed = false;

  const write = (packet: Buffer): void => {
    socket?.write(packet, (error) => {
      if (error) left++;
    });
  };

  const drained = (): void => {
    if (!isFull) return;
    isFull = false;
    told({ type: 'drained' });
  };

  const open = (): void => {
    const opened = dial({ host: address, port });
    socket = opened;
    let reason = 'the other side closed the connection';
    timer = clock.setTimeout(() => opened.destroy(new Error('no connection came about in time')), connectTimeoutMs);
    opened.on('error', (error) => {
      reason = error.message;
    });
    opened.on('connect', () => {
      clock.clearTimeout(timer);
      isOpen = true;
      waitMs = firstWaitMs;
      for (const packet of waiting) write(packet);
      waiting = [];
      waitingOctets = 0;
      told({ type: 'connected' });
    });
    opened.on('drain', drained);
    // Nothing is expected; unread it would keep the end of the connection from being heard.
    opened.resume();
    opened.on('close', () => {
      clock.clearTimeout(timer);
      isOpen = false;
      isFull = false;
      if (closed) return;
      told({ type: 'lost', reason });
      timer = clock.setTimeout(open, waitMs);
      waitMs = Math.min(2 * waitMs, longestWaitMs);
    });
  };

  open();
  return {
    send(packet) {
      const held = isOpen ? (socket?.writableLength ?? 0) : waitingOctets;
      if (closed || held + packet.length > queue) {
        left++;
        if (isOpen && !isFull && !closed) {
          isFull = true;
          told({ type: 'full' });
        }
        return false;
      }
      // Of a queue smaller than what the stream itself lets wait, nobody says that it is empty again.
      if (held === 0) drained();
      if (isOpen) write(packet);
      else {
        waiting.push(packet);
        waitingOctets += packet.length;
      }
      return true;
    },
    get left() {
      return left;
    },
    close() {
      closed = true;
      clock.clearTimeout(timer);
      left += waiting.length;
      waiting = [];
      // What was written is sent; a side that does not read is not waited for.
      if (isOpen) socket?.end();
      if (!isOpen || (socket?.writableLength ?? 0) > 0) socket?.destroy();
    },
  };
}
