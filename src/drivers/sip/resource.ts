import { formatUri, parseUri, type Uri } from '../../sip/message/uri.ts';
import type { Target } from '../../sip/transport/transport.ts';
import { DriverError } from '../../telephony/driver.ts';
import { proxyRoutes } from './bindings.ts';
import type { EndpointConfig } from './config.ts';
import { type Destination, localHost, type Services } from './services.ts';

/** A parsed dial string: the endpoint and its location, which is looked up when the call is placed. */
export type Resolved = {
  endpoint: EndpointConfig;
  destinations(): Destination[];
  /** Finds the destinations that other nodes of the cluster reach; left out: there can be none. */
  elsewhere?: (found: (destinations: readonly Destination[]) => void) => Promise<readonly string[]>;
};

/**
 * Reads what stands behind `PJSIP/`: `alice` (all her contacts), `alice/sip:a@host` (there, with her settings),
 * `number@line` (the line's contacts with that number as user).
 * @throws DriverError naming endpoint or resource when there is no such thing.
 */
export function resolveResource(services: Services, resource: string): Resolved {
  const slash = resource.indexOf('/');
  const name = slash < 0 ? resource : resource.slice(0, slash);
  const at = name.lastIndexOf('@');
  const endpoint =
    services.endpoints.named(name) ?? (at > 0 ? services.endpoints.named(name.slice(at + 1)) : undefined);
  if (!endpoint || /^sips?:/i.test(name)) throw new DriverError('endpoint', `there is no endpoint "${name}"`);
  if (slash >= 0) {
    const uri = sipUriOf(resource.slice(slash + 1));
    return { endpoint, destinations: () => [{ uri, target: undefined, routes: proxyRoutes(endpoint) }] };
  }
  const number = services.endpoints.named(name) ? undefined : name.slice(0, at);
  const { elsewhere } = services;
  return {
    endpoint,
    destinations: () => contactsOf(services, endpoint, number),
    ...(elsewhere &&
      mayRegister(endpoint) && {
        elsewhere: (found: (destinations: readonly Destination[]) => void) =>
          elsewhere.find({ endpoint: endpoint.name, ...(number !== undefined && { number }) }, found),
      }),
  };
}

/** Whether its places are those that it registers: configured ones are the same at all nodes. */
const mayRegister = ({ aor }: EndpointConfig): boolean => aor.maxContacts > 0 && aor.contacts.length === 0;

/** A URI with `number` as user part when given. */
export const numbered = (uri: Uri, number: string | undefined): Uri =>
  number !== undefined && (uri.scheme === 'sip' || uri.scheme === 'sips') ? { ...uri, user: number } : uri;

/** Everywhere an endpoint can be reached now; with `number` as user part when given. */
export function contactsOf({ bindings }: Services, endpoint: EndpointConfig, number?: string): Destination[] {
  return bindings.of(endpoint.name).map(({ uri, target, routes }) => ({ uri: numbered(uri, number), target, routes }));
}

function sipUriOf(text: string): Uri {
  const uri = parseUri(text);
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') throw new DriverError('resource', `"${text}" is no SIP URI`);
  return uri;
}

/**
 * The target of a 302 or REFER: a URI, an endpoint's first contact, or a number at our address. Undefined if the text
 * makes no URI.
 */
export function transferTarget(services: Services, target: string, peer: Target): string | undefined {
  const resource = target.replace(/^(pj)?sip\//i, '');
  const explicit = resource.includes('/') ? resource.slice(resource.indexOf('/') + 1) : resource;
  if (/^sips?:/i.test(explicit)) return parseUri(explicit) && explicit;
  const endpoint = services.endpoints.named(resource);
  const contact = endpoint && contactsOf(services, endpoint)[0];
  if (contact) return formatUri(contact.uri);
  const text = explicit.includes('@') ? `sip:${explicit}` : `sip:${explicit}@${bracketed(localHost(services, peer))}`;
  return parseUri(text) && text;
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
