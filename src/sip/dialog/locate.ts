import { guarded } from '../../lib/guard.ts';
import { placesOf } from '../location/places.ts';
import type { Uri } from '../message/uri.ts';
import { formatUri } from '../message/uri.ts';
import { isHostName, literalAddress } from '../transport/address.ts';
import { kindOf, type Protocol, protocolOf } from '../transport/kind.ts';
import type { Target } from '../transport/transport.ts';
import type { Stack } from './stack.ts';

/** The target of a URI before its host is resolved. */
type Place = { protocol: Protocol; host: string; port: number };

/** Undefined when the scheme, the transport or the host is none that we can reach. */
function placeOf(uri: Uri): Place | undefined {
  if (uri.scheme !== 'sip' && uri.scheme !== 'sips') return undefined;
  const protocol = protocolOf(uri.scheme, uri.params['transport']);
  if (protocol === undefined) return undefined;
  const host = uri.params['maddr'] ?? uri.host;
  const address = literalAddress(host);
  if (address === undefined && !isHostName(host)) return undefined;
  return { protocol, host: address ?? host, port: uri.port ?? kindOf(protocol).defaultPort };
}

/**
 * Finds the destination of a request for `uri` (RFC 3263; without a name server only addresses of hosts).
 * @param found called once, never before this returns: with the first target (undefined if unreachable), and the
 * further ones.
 */
export function locate(
  stack: Stack,
  uri: Uri,
  found: (target: Target | undefined, others: readonly Target[]) => void,
): void {
  const told = guarded(stack.log, 'sending to a place that was found', found);
  // Never rejects: what `targetsOf` awaits is caught there.
  void targetsOf(stack, uri).then(([first, ...others]) => told(first, others));
}

async function targetsOf(stack: Stack, uri: Uri): Promise<readonly Target[]> {
  const places = await searched(stack, uri);
  if (places.length === 0) stack.log.info({ uri: formatUri(uri) }, 'a URI cannot be reached');
  return stack.targets?.inOrder(places) ?? places;
}

async function searched(stack: Stack, uri: Uri): Promise<readonly Target[]> {
  if (stack.names && (uri.scheme === 'sip' || uri.scheme === 'sips'))
    return placesOf(uri, {
      ...{ names: stack.names, speaks: speaks(stack), random: () => chance(stack) },
      ...(stack.locationLimits && { limits: stack.locationLimits() }),
    });
  const place = placeOf(uri);
  const address = place && (literalAddress(place.host) ?? (await resolved(stack, place.host)));
  return place && address !== undefined ? [targetAt(place, address)] : [];
}

/** A documentation address of each family; nothing is sent there (RFC 5737, RFC 3849). */
const anywhere = ['192.0.2.1', '2001:db8::1'] as const;

/** Whether there is a listener of ours for a protocol, and the family of an address. */
const speaks =
  ({ transports }: Stack) =>
  (protocol: Protocol, address?: string): boolean =>
    (address === undefined ? anywhere : [address]).some(
      (each) => transports.localAddress({ protocol, address: each, port: kindOf(protocol).defaultPort }) !== undefined,
    );

const chance = ({ ids }: Stack): number => Number.parseInt(ids.hex(8), 16) / 0x1_0000_0000;

/** The first address of a host that is of a version of IP; undefined when it has none, or cannot be asked for. */
export async function addressOfHost(stack: Stack, host: string, version: 4 | 6): Promise<string | undefined> {
  const known = await (stack.names ? stack.names.addresses(host).catch(() => []) : oneOf(resolved(stack, host)));
  return known
    .map(({ address }) => address)
    .find((address) => literalAddress(address) !== undefined && address.includes(':') === (version === 6));
}

const oneOf = async (address: Promise<string | undefined>) => [{ address: (await address) ?? '' }];

/** Over TLS the peer has to prove the name that it was found by. */
const targetAt = ({ protocol, host, port }: Place, address: string): Target => ({
  protocol,
  address,
  port,
  ...(host !== address && kindOf(protocol).secure && { serverName: host }),
});

async function resolved({ log, resolveHost }: Stack, host: string): Promise<string | undefined> {
  if (!resolveHost) return undefined;
  try {
    return literalAddress(await resolveHost(host));
  } catch (error) {
    log.info({ host, error }, 'a host name could not be resolved');
    return undefined;
  }
}
