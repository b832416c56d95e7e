import type { Uri } from '../message/uri.ts';
import { formatUri } from '../message/uri.ts';
import type { Protocol, Target } from '../transport/transport.ts';
import type { Stack } from './stack.ts';

/** Where a URI leads before its host is resolved. */
type Place = { protocol: Protocol; host: string; port: number };

/** Whether text is an IPv4 or IPv6 address rather than a name. */
export const isLiteralAddress = (host: string): boolean => /^\d{1,3}(\.\d{1,3}){3}$/.test(host) || host.includes(':');

function placeOf(uri: Uri): Place | undefined {
  if (uri.scheme !== 'sip') return undefined;
  const transport = (uri.params['transport'] ?? 'udp').toLowerCase();
  if (transport !== 'udp' && transport !== 'tcp') return undefined;
  return { protocol: transport, host: uri.params['maddr'] ?? uri.host, port: uri.port ?? 5060 };
}

/**
 * Finds where a request for `uri` goes (RFC 3263, without NAPTR and SRV). Literal addresses are told at once, names
 * when they are resolved. @param found hears undefined when the URI leads nowhere that we can reach.
 */
export function locate(stack: Stack, uri: Uri, found: (target: Target | undefined) => void): void {
  const place = placeOf(uri);
  if (!place || isLiteralAddress(place.host)) {
    found(place && { protocol: place.protocol, address: place.host, port: place.port });
    return;
  }
  if (!stack.resolveHost) {
    stack.log.warn({ uri: formatUri(uri) }, 'a host name cannot be resolved here');
    found(undefined);
    return;
  }
  stack.resolveHost(place.host).then(
    (address) => found({ protocol: place.protocol, address, port: place.port }),
    (error: unknown) => {
      stack.log.info({ uri: formatUri(uri), error }, 'a host name could not be resolved');
      found(undefined);
    },
  );
}
