import { connect, type Socket } from 'node:net';
import type { Clock } from '../../lib/clock.ts';

type OutflowOptions = {
  address: string;
  port: number;
  /** Octets that may wait to be read by the other side, or for a connection; what comes beyond is left out. */
  queue: number;
  clock: Clock;
  /**
   * Reports the connection or its failure (`reason`). While connected: `full` when the other side does not read and
   * packets are dropped, `drained` when it has read everything.
   */
  told: (news: { type: 'connected' | 'full' | 'drained' } | { type: 'lost'; reason: string }) => void;
  /** How a connection is begun; the system's own where left out. */
  dial?: (target: { host: string; port: number }) => Socket;
};

/** Packets that flow to one place over TCP, in order. Nothing waits for it, and nothing is read of it. */
interface Outflow {
  /** Sends a packet, now or when there is a connection. False when it is left out. */
  send(packet: Buffer): boolean;
  /** Dropped packets, and packets in transit when a connection was lost. */
  readonly left: number;
  /** Closes the connection, or stops opening one; waiting packets count as dropped. */
  close(): void;
}

/** The first wait for a new connection, and the longest, in ms: each is twice the one before. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;
/** A connection that takes longer than this to come about is given up, in ms. */
const connectTimeoutMs = 10_000;

/** Opens a connection, and opens it again whenever it is lost. */
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
      // A queue smaller than the stream's own buffer gets no drain event.
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
      // Sends written data; does not wait for a side that does not read.
      if (isOpen) socket?.end();
      if (!isOpen || (socket?.writableLength ?? 0) > 0) socket?.destroy();
    },
  };
}
