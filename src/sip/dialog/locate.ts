import { guarded } from '../../lib/guard.ts';
import type { Uri } from '../message/uri.ts';
import { formatUri } from '../message/uri.ts';
import { isHostName, literalAddress } from '../transport/address.ts';
import { kindOf, type Protocol, protocolOf } from '../transport/kind.ts';
import type { Target } from '../transport/transport.ts';
import type { Stack } from './stack.ts';

/** Where a URI leads before its host is resolved. */
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
 * Finds where a request for `uri` goes (RFC 3263, without NAPTR and SRV).
 * @param found hears it once and never before this has returned, also when there is nothing to resolve; undefined when
 * the URI leads nowhere that we can reach.
 */
export function locate(stack: Stack, uri: Uri, found: (target: Target | undefined) => void): void {
  // Never rejects: what `targetOf` awaits is caught there.
  void targetOf(stack, uri).then(guarded(stack.log, 'sending to a place that was found', found));
}

async function targetOf(stack: Stack, uri: Uri): Promise<Target | undefined> {
  const place = placeOf(uri);
  const address = place && (literalAddress(place.host) ?? (await resolved(stack, place.host)));
  if (place && address !== undefined) return targetAt(place, address);
  stack.log.info({ uri: formatUri(uri) }, 'a URI leads nowhere that can be reached from here');
  return undefined;
}

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
