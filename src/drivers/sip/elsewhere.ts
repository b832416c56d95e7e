import { guarded } from '../../lib/guard.ts';
import type { Logger } from '../../lib/log.ts';
import type { NamedCall } from '../../models/call-elsewhere.ts';
import { locate } from '../../sip/dialog/locate.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { Endpoints } from './endpoints.ts';
import type { LegCoreOptions } from './leg-data.ts';
import { transferableChannel } from './replacing.ts';
import { firstElsewhere, numbered, type Resolved } from './resource.ts';
import type { Destination, Moved, PlacesElsewhere, Services } from './services.ts';

/** Phones of other nodes of a cluster, and what other nodes ask about ours. */

type Elsewhere = NonNullable<Resolved['elsewhere']>;

/**
 * Looks for the phones of an endpoint at the other nodes. It never rejects, and ends in bounded time.
 * @param ended called at the end; with false when a node did not answer
 */
export function seekPhones(
  elsewhere: Elsewhere,
  log: Logger,
  {
    about,
    ...told
  }: {
    about: { channel: string; endpoint: string };
    found(destinations: readonly Destination[]): void;
    ended(isWhole: boolean): void;
  },
): Promise<void> {
  const found = guarded(log, 'calling a phone of another node', told.found);
  const ended = guarded(log, 'calling the phones of other nodes', told.ended);
  return elsewhere(found).then((silent) => {
    if (silent.length > 0) log.warn({ ...about, nodes: silent }, 'nodes did not say whether they reach an endpoint');
    ended(silent.length === 0);
  });
}

/** The peer for which our SDP's address is chosen: the first target, to be resolved if the choice depends on it. */
export function towards({ stack }: Services, resolved: Resolved): Pick<LegCoreOptions, 'peer' | 'findPeer'> {
  const peerOf = (first: Destination): Promise<Target | undefined> => {
    const { target } = first;
    if (target) return Promise.resolve(target);
    return new Promise((resolve) => locate(stack, first.routes[0]?.uri ?? first.uri, resolve));
  };
  const [first] = resolved.destinations();
  const { elsewhere } = resolved;
  if (first?.target || (!first && !elsewhere)) return { peer: first?.target };
  if (first) return { peer: undefined, findPeer: () => peerOf(first) };
  return {
    peer: undefined,
    findPeer: async () => {
      const one = await firstElsewhere(elsewhere!);
      return one && peerOf(one);
    },
  };
}

/** Where an endpoint has registered here, for another node; `through` makes a target one that it can use. */
function registeredPlaces(
  { bindings, endpoints }: Pick<Services, 'bindings' | 'endpoints'>,
  { endpoint: name, number }: { endpoint: string; number?: string | undefined },
  through: (target: Target) => Target,
): Destination[] {
  const endpoint = endpoints.named(name);
  const registered = bindings.of(endpoint?.name ?? '').filter(({ expiresAt }) => expiresAt !== undefined);
  return registered.map(({ uri, target, routes }) => ({
    ...{ uri: numbered(uri, number), routes },
    target: target && through(target),
  }));
}

/** What other nodes ask about the phones of this one. `remove` ends a binding. */
export const phonesForOthers = (services: Services, remove: (id: string) => void): PhonesForOthers => ({
  channelOf({ endpoint, protocolId: callId, localTag: toTag, remoteTag: fromTag }) {
    const transferor = services.endpoints.named(endpoint);
    return transferor && transferableChannel(services, transferor, { callId, toTag, fromTag });
  },
  registeredPlaces: (asked, through) => registeredPlaces(services, asked, through),
  flowTo: services.bindings.flowTo,
  movedAway(moved) {
    const before = services.bindings.ofPhone(moved);
    if (before) remove(before.id);
  },
});

export interface PhonesForOthers {
  /** Where an endpoint has registered here. @param through makes a target one that the other node can use */
  registeredPlaces(
    asked: { endpoint: string; number?: string | undefined },
    through: (target: Target) => Target,
  ): Destination[];
  /** The channel of a call here that a transfer at another node names, if its transferor may transfer it. */
  channelOf(named: NamedCall): string | undefined;
  /** The connection over which an endpoint has registered a URI. */
  readonly flowTo: Services['bindings']['flowTo'];
  /** A phone has registered at another node: what it had registered here ends. */
  movedAway(moved: Moved): void;
}

/** Tells other nodes how many calls an endpoint has, where that is bounded. */
export const countCalls = (elsewhere: PlacesElsewhere | undefined, endpoints: Pick<Endpoints, 'named'>) =>
  elsewhere &&
  ((name: string, calls: number): void => {
    if ((endpoints.named(name)?.allowance?.calls ?? 0) > 0) elsewhere.tellCalls(name, calls);
  });
