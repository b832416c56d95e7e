import { createDigestClient, type DigestClient } from '../../sip/auth/client.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import { formatNameAddr, type NameAddr, parseNameAddr } from '../../sip/message/name-addr.ts';
import { printable } from '../../sip/message/scan.ts';
import { sipUri } from '../../sip/message/uri.ts';
import { isHostName, literalAddress } from '../../sip/transport/address.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { isRestricted, type Party } from '../../telephony/party.ts';
import type { EndpointConfig } from './config.ts';
import { localHost, type Services } from './services.ts';

/** Whether an endpoint must not see a private identity. */
const isHidden = ({ identity }: EndpointConfig, { presentation }: Party): boolean =>
  isRestricted(presentation) && !identity.restricted;

/**
 * Our From towards an endpoint: the caller's identity, unless the endpoint overrides it; anonymous (RFC 3323 4.1) for
 * private callers.
 */
export function fromAddress(services: Services, endpoint: EndpointConfig, caller: Party, target: Target): NameAddr {
  const hidden = isHidden(endpoint, caller);
  const known = configuredHost(endpoint);
  const host = known ?? (hidden ? 'anonymous.invalid' : localHost(services, target));
  const user = endpoint.fromUser || (hidden ? '' : printable(caller.number)) || 'anonymous';
  const displayName = hidden ? 'Anonymous' : printable(caller.name);
  return { ...(displayName && { displayName }), uri: sipUri({ user, host }), params: {} };
}

/** The endpoint's `fromDomain`, when it is a host at all. */
const configuredHost = ({ fromDomain = '' }: EndpointConfig): string | undefined =>
  literalAddress(fromDomain) ?? (isHostName(fromDomain) ? fromDomain : undefined);

/** Our host in identities for an endpoint. */
export const ownHost = (services: Services, endpoint: EndpointConfig, target: Target): string =>
  configuredHost(endpoint) ?? localHost(services, target);

/** The credentials for an endpoint's challenges; undefined without outbound credentials. */
export function digestClient({ stack }: Services, endpoint: EndpointConfig): DigestClient | undefined {
  return endpoint.outboundAuth && createDigestClient([endpoint.outboundAuth], stack.ids);
}

/**
 * Identity headers for an endpoint, beside From: P-Asserted-Identity (RFC 3325 9.1), Remote-Party-ID, or none.
 * The party calls, or is called.
 */
export function identityHeaders(
  services: Services,
  endpoint: EndpointConfig,
  target: Target,
  { party, role }: { party: Party; role: 'calling' | 'called' },
): HeaderLines {
  const { pai, rpid } = endpoint.identity;
  const user = printable(party.number);
  if (!(pai || rpid) || user === '' || isHidden(endpoint, party)) return [];
  const displayName = printable(party.name);
  const uri = sipUri({ user, host: ownHost(services, endpoint, target) });
  const isPrivate = isRestricted(party.presentation);
  const params = { party: role, privacy: isPrivate ? 'full' : 'off', screen: 'no' };
  return [
    ...(pai ? [['P-Asserted-Identity', formatNameAddr({ displayName, uri })] as const] : []),
    ...(pai && isPrivate ? [['Privacy', 'id'] as const] : []),
    ...(rpid ? [['Remote-Party-ID', formatNameAddr({ displayName, uri, params })] as const] : []),
  ];
}

/** A From made of an address as applications write it: a name-addr, a SIP URI, or a bare number. */
export function senderAddress(services: Services, endpoint: EndpointConfig, text: string, target: Target): NameAddr {
  const address = /sips?:|</i.test(text) ? parseNameAddr(text) : undefined;
  return address ? { ...address, params: {} } : fromAddress(services, endpoint, { name: '', number: text }, target);
}
