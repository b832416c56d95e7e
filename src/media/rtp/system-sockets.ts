import type { Clock } from '../../lib/clock.ts';
import { DescriptorLink } from '../../native/descriptor-link.ts';
import { loadHandoverCalls } from '../../native/handover-calls.ts';
import { HeldDescriptors } from '../../native/held-descriptors.ts';
import { InheritedSockets, type SupervisedThread } from '../../native/inherited.ts';
import { loadSystemCalls } from '../../native/system-calls.ts';
import { Descriptors } from './descriptors.ts';
import { EpollSockets, type HeldSockets } from './epoll-sockets.ts';
import { RelayedSockets, type RelayPort } from './relayed-sockets.ts';
import type { Sockets } from './sockets.ts';

/** Sockets of a media thread: Node's, native ones, or native ones if available. */
export type SocketKind = 'auto' | 'dgram' | 'native';

type SystemSocketsOptions = {
  kind: SocketKind;
  clock: Clock;
  /** List of descriptors to close when the thread is lost: see `descriptors.ts`. */
  descriptors: SharedArrayBuffer;
  /** Leads to the thread that holds sockets of Node. */
  relay: RelayPort;
  /** Packets that may be under way to that thread. */
  relayedPackets: number;
  /** Descriptors from this number on are left to others. */
  reservedFrom?: number | undefined;
  /** A supervisor holds the sockets of this process. */
  supervised?: SupervisedThread | undefined;
};

/** The sockets of a thread, and `openMore`: further ones on another clock, if they are the thread's own. */
type SystemSockets = {
  sockets: Sockets;
  openMore?: (clock: Clock) => Sockets & { close(): void };
  /** Returns freed memory to the system; left out if unsupported. */
  trimMemory?: (() => void) | undefined;
  /** The kind in effect, and the reason if it differs from the setting. */
  kind: SocketKind;
  reason?: string;
};

/**
 * Free memory at the end of a thread's arena that the C library gives back at once (M_TRIM_THRESHOLD). `malloc_trim` leaves it,
 * and the default grows with use: V8's compiler threads kept 9 MB.
 */
const trimThreshold = { parameter: -1, octets: 2_097_152 };

async function heldSockets({ link, inherited }: SupervisedThread, clock: Clock): Promise<HeldSockets> {
  const calls = await loadHandoverCalls();
  return {
    inherited: new InheritedSockets(inherited),
    descriptors: new HeldDescriptors(new DescriptorLink(calls, link), clock),
  };
}

/** The sockets of this system. */
export async function openSystemSockets({
  kind,
  clock,
  descriptors,
  relay,
  relayedPackets,
  reservedFrom,
  supervised,
}: SystemSocketsOptions): Promise<SystemSockets> {
  const dgram = () =>
    ({ sockets: new RelayedSockets({ port: relay, clock, most: relayedPackets }), kind: 'dgram' }) as const;
  if (kind === 'dgram') return dgram();
  try {
    const calls = await loadSystemCalls();
    const noted = new Descriptors(descriptors);
    calls.mallopt?.(trimThreshold.parameter, trimThreshold.octets);
    const openOn = (on: Clock, held?: HeldSockets) =>
      new EpollSockets({ calls, clock: on, descriptors: noted, reservedFrom, held });
    // Those of the warm-up live for a moment.
    const openMore = (on: Clock) => openOn(on);
    const held = supervised && (await heldSockets(supervised, clock));
    const trimMemory = (): void => void calls.malloc_trim?.(0);
    return { sockets: openOn(clock, held), openMore, trimMemory, kind: 'native' };
  } catch (error) {
    return { ...dgram(), reason: error instanceof Error ? error.message : String(error) };
  }
}
