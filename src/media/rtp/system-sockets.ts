import type { Clock } from '../../lib/clock.ts';
import { Descriptors } from './descriptors.ts';
import { EpollSockets } from './epoll-sockets.ts';
import { RelayedSockets, type RelayPort } from './relayed-sockets.ts';
import type { Sockets } from './sockets.ts';
import { loadSystemCalls } from './system-calls.ts';

/** Which sockets a media thread uses: those of Node, those read by calls of the kernel, or these where they can be had. */
export type SocketKind = 'auto' | 'dgram' | 'native';

type SystemSocketsOptions = {
  kind: SocketKind;
  clock: Clock;
  /** Where descriptors are written down that somebody has to close when the thread is lost: see `descriptors.ts`. */
  descriptors: SharedArrayBuffer;
  /** Leads to the thread that holds sockets of Node. */
  relay: RelayPort;
  /** Packets that may be under way to that thread. */
  relayedPackets: number;
  /** Descriptors from this number on are left to others. */
  reservedFrom?: number | undefined;
};

/** The sockets of a thread, and `openMore`: the same once more and on another clock, where they are the thread's own. */
type SystemSockets = {
  sockets: Sockets;
  openMore?: (clock: Clock) => Sockets & { close(): void };
  /** Returns memory that the process has freed to the system; left out where that cannot be had. */
  trimMemory?: (() => void) | undefined;
  /** What they are in effect, and why that is not what was asked for. */
  kind: SocketKind;
  reason?: string;
};

/** The sockets of this system. */
export async function openSystemSockets({
  kind,
  clock,
  descriptors,
  relay,
  relayedPackets,
  reservedFrom,
}: SystemSocketsOptions): Promise<SystemSockets> {
  const dgram = () =>
    ({ sockets: new RelayedSockets({ port: relay, clock, most: relayedPackets }), kind: 'dgram' }) as const;
  if (kind === 'dgram') return dgram();
  try {
    const calls = await loadSystemCalls();
    const noted = new Descriptors(descriptors);
    const openMore = (on: Clock) => new EpollSockets({ calls, clock: on, descriptors: noted, reservedFrom });
    const trimMemory = (): void => void calls.malloc_trim?.(0);
    return { sockets: openMore(clock), openMore, trimMemory, kind: 'native' };
  } catch (error) {
    return { ...dgram(), reason: error instanceof Error ? error.message : String(error) };
  }
}
