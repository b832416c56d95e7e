import { kindOf } from './kind.ts';
import type { Target } from './transport.ts';

/**
 * Known peers: held by a registered contact, a live dialog or an open request of ours, or trusted by the configuration.
 * Limits for strangers do not apply to them.
 */
export interface KnownPeers {
  /** Whether its exact port or connection is held, or its address is trusted. */
  isKnown(peer: Target): boolean;
  /** Whether anybody at that address is known: perhaps the same peer from another port, perhaps its neighbour. */
  hasNeighbour(address: string): boolean;
  /** Makes a peer known until `release`; may be called several times for one. */
  hold(peer: Target): void;
  /** Takes back one `hold` of the same peer. */
  release(peer: Target): void;
  /** Sets the one test for addresses that need no proof; it is asked for every packet of a stranger, so has to be quick. */
  trust(isTrusted: (address: string) => boolean): void;
  /** Number of held addresses: for leak checks. */
  readonly size: number;
}

/** Starts empty. */
export function createKnownPeers(): KnownPeers {
  /** Per address the number of holders of each port, and of each connection as a negative number. */
  const held = new Map<string, Map<number, number>>();
  let isTrusted = (_address: string) => false;
  const flowOf = ({ protocol, connection, port }: Target) =>
    connection !== undefined && kindOf(protocol).reliable ? -connection : port;

  return {
    isKnown(peer) {
      const flows = held.get(peer.address);
      // A connection of ours is held by its port until it has a number.
      return flows?.has(flowOf(peer)) || flows?.has(peer.port) || isTrusted(peer.address);
    },
    hasNeighbour: (address) => held.has(address) || isTrusted(address),
    trust(test) {
      isTrusted = test;
    },
    hold(peer) {
      const flows = held.get(peer.address) ?? new Map<number, number>();
      held.set(peer.address, flows);
      const flow = flowOf(peer);
      flows.set(flow, (flows.get(flow) ?? 0) + 1);
    },
    release(peer) {
      const flows = held.get(peer.address);
      const flow = flowOf(peer);
      const holders = flows?.get(flow);
      if (!flows || holders === undefined) return;
      if (holders > 1) flows.set(flow, holders - 1);
      else flows.delete(flow);
      if (flows.size === 0) held.delete(peer.address);
    },
    get size() {
      return held.size;
    },
  };
}
