import type { Clock } from '../../lib/clock.ts';
import { Descriptors } from './descriptors.ts';
import { dgramSockets } from './dgram-sockets.ts';
import { EpollSockets } from './epoll-sockets.ts';
import type { PacketSocket, Sockets } from './sockets.ts';
import { loadSystemCalls } from './system-calls.ts';

/** Which sockets a media thread uses: those of Node, those read by calls of the kernel, or these once it has many. */
export type SocketKind = 'auto' | 'dgram' | 'native';

/**
 * Sockets of a thread from which on those read by calls of the kernel cost less: below that, waking the thread every
 * millisecond costs more than it saves, and a packet that comes alone is heard sooner by node:dgram.
 */
const many = 16;

export type SystemSocketsOptions = {
  kind: SocketKind;
  clock: Clock;
  /** Where descriptors are written down that somebody has to close when the thread is lost: see `descriptors.ts`. */
  descriptors: SharedArrayBuffer;
};

/** The sockets of a thread, and `openMore`: those that it has many of, once more and on another clock, for whoever closes them. */
export type SystemSockets = {
  sockets: Sockets;
  openMore: (clock: Clock) => Sockets & { close(): void };
  /** Returns memory that the process has freed to the system; left out where that cannot be had. */
  trimMemory?: (() => void) | undefined;
  /** What they are in effect, and why that is not what was asked for. */
  kind: SocketKind;
  reason?: string;
};

/** The sockets of this system. */
export async function openSystemSockets({ kind, clock, descriptors }: SystemSocketsOptions): Promise<SystemSockets> {
  const dgram = { sockets: dgramSockets, openMore: () => ({ ...dgramSockets, close() {} }), kind: 'dgram' } as const;
  if (kind === 'dgram') return dgram;
  try {
    const calls = await loadSystemCalls();
    const noted = new Descriptors(descriptors);
    const openMore = (on: Clock) => new EpollSockets({ calls, clock: on, descriptors: noted });
    const native = openMore(clock);
    const trimMemory = (): void => void calls.malloc_trim?.(0);
    return { sockets: kind === 'native' ? native : manySockets(dgramSockets, native), openMore, trimMemory, kind };
  } catch (error) {
    return { ...dgram, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The first sockets that are open are `few`, those beyond are `more`. */
export function manySockets(few: Sockets, more: Sockets, most = many): Sockets {
  let open = 0;
  return {
    async bind(address, port) {
      if (open >= most) return more.bind(address, port);
      open++;
      try {
        return counted(await few.bind(address, port), () => open--);
      } catch (error) {
        open--;
        throw error;
      }
    },
  };
}

/** @param closed is called once. */
function counted(socket: PacketSocket, closed: () => void): PacketSocket {
  let isOpen = true;
  return {
    port: socket.port,
    copies: socket.copies,
    send: (packet, port, address) => socket.send(packet, port, address),
    listen: (listener) => socket.listen(listener),
    close() {
      if (isOpen) closed();
      isOpen = false;
      socket.close();
    },
  };
}
