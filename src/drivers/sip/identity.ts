import { createDigestClient, type DigestClient } from '../../sip/auth/client.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import { formatNameAddr, type NameAddr, parseNameAddr } from '../../sip/message/name-addr.ts';
import { printable } from '../../sip/message/scan.ts';
import { sipUri } from '../../sip/message/uri.ts';
import { isHostName, literalAddress } from '../../sip/transport/address.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { Party } from '../../telephony/driver.ts';
import type { EndpointConfig } from './config.ts';
import { localHost, type Services } from './services.ts';

/** Our From towards an endpoint: the caller's identity, unless the endpoint wants another. */
export function fromAddress(services: Services, endpoint: EndpointConfig, caller: Party, target: Target): NameAddr {
  const host = ownHost(services, endpoint, target);
  const user = endpoint.fromUser || printable(caller.number) || 'anonymous';
  const displayName = printable(caller.name);
  return { ...(displayName && { displayName }), uri: sipUri({ user, host }), params: {} };
}

/** The endpoint's `fromDomain`, when it is a host at all; else what we are for the peer. */
function ownHost(services: Services, { fromDomain = '' }: EndpointConfig, target: Target): string {
  return literalAddress(fromDomain) ?? (isHostName(fromDomain) ? fromDomain : localHost(services, target));
}

/** What we answer an endpoint's challenges with; undefined when it has no outbound credentials. */
export function digestClient({ stack }: Services, endpoint: EndpointConfig): DigestClient | undefined {
  return endpoint.outboundAuth && createDigestClient([endpoint.outboundAuth], stack.ids);
}

/** Between trusted parties the caller is asserted (RFC 3325 9.1). */
export function identityHeaders(
  services: Services,
  endpoint: EndpointConfig,
  caller: Party,
  target: Target,
): HeaderLines {
  if (!endpoint.trustIdentity || printable(caller.number) === '') return [];
  const uri = sipUri({ user: printable(caller.number), host: ownHost(services, endpoint, target) });
  return [['P-Asserted-Identity', formatNameAddr({ displayName: printable(caller.name), uri })]];
}

/** A From made of an address as applications write it: a name-addr, a SIP URI, or a bare number. */
export function senderAddress(services: Services, endpoint: EndpointConfig, text: string, target: Target): NameAddr {
  const address = /sips?:|</i.test(text) ? parseNameAddr(text) : undefined;
  return address ? { ...address, params: {} } : fromAddress(services, endpoint, { name: '', number: text }, target);
}
