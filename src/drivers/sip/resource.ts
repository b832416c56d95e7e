import type { Clock } from '../../lib/clock.ts';
import { guarded } from '../../lib/guard.ts';
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
  return placesOf(services, endpoint, number);
}

/** Everywhere an endpoint may be reached. */
function placesOf(services: Services, endpoint: EndpointConfig, number?: string): Resolved {
  const { elsewhere, stack } = services;
  const asked = { endpoint: endpoint.name, ...(number !== undefined && { number }) };
  return {
    endpoint,
    destinations: () => contactsOf(services, endpoint, number),
    ...(elsewhere &&
      mayRegister(endpoint) && { elsewhere: askedOnce(stack.clock, (found) => elsewhere.find(asked, found)) }),
  };
}

/** How long an answer of other nodes holds, in ms. */
const answerHoldsMs = 1_000;

type Search = NonNullable<Resolved['elsewhere']>;
type Found = Parameters<Search>[0];

/** A call asks where its audio goes and then where the phones are: the other nodes are asked once for both. */
function askedOnce(clock: Pick<Clock, 'monotonic'>, ask: Search): Search {
  type Asked = { at: number; answers: Parameters<Found>[0][]; hearing: Found[]; done: ReturnType<Search> };
  let last: Asked | undefined;
  const begin = (): Asked => {
    const answers: Asked['answers'] = [];
    const hearing: Found[] = [];
    const done = ask((places) => {
      answers.push(places);
      for (const found of hearing) found(places);
    });
    return { at: clock.monotonic(), answers, hearing, done };
  };
  return (found) => {
    last = last && clock.monotonic() - last.at <= answerHoldsMs ? last : begin();
    const { answers, hearing, done } = last;
    const before = [...answers];
    hearing.push(found);
    // Never within the call of this.
    const told = Promise.resolve().then(() => {
      for (const places of before) found(places);
    });
    return Promise.all([done, told]).then(([silent]) => silent);
  };
}

/**
 * The first place where an endpoint can be reached, by this node or by another one.
 * @throws (rejects) DriverError if it is registered nowhere
 */
export async function firstPlace({ endpoint, destinations, elsewhere }: Resolved): Promise<Destination> {
  const first = destinations()[0] ?? (elsewhere && (await firstElsewhere(elsewhere)));
  if (!first) throw new DriverError('endpoint', `endpoint "${endpoint.name}" is not registered`);
  return first;
}

/** The first place that another node tells; undefined if none does. */
export const firstElsewhere = (elsewhere: Search): Promise<Destination | undefined> =>
  new Promise((resolve) => {
    const found: Found = ([first]) => void (first && resolve(first));
    void elsewhere(found).then(() => resolve(undefined));
  });

/** Whether its places are those that it registers: configured ones are the same at all nodes. */
export const mayRegister = ({ aor }: EndpointConfig): boolean => aor.maxContacts > 0 && aor.contacts.length === 0;

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
 * makes no URI. It is a promise if other nodes have to be asked for the contact.
 */
export function transferTarget(
  services: Services,
  target: string,
  peer: Target,
): string | undefined | Promise<string | undefined> {
  const resource = target.replace(/^(pj)?sip\//i, '');
  const explicit = resource.includes('/') ? resource.slice(resource.indexOf('/') + 1) : resource;
  if (/^sips?:/i.test(explicit)) return parseUri(explicit) && explicit;
  const endpoint = services.endpoints.named(resource);
  const places = endpoint && placesOf(services, endpoint);
  const contact = places?.destinations()[0];
  if (contact) return formatUri(contact.uri);
  const text = explicit.includes('@') ? `sip:${explicit}` : `sip:${explicit}@${bracketed(localHost(services, peer))}`;
  const number = parseUri(text) && text;
  if (!places?.elsewhere) return number;
  return firstElsewhere(places.elsewhere).then((place) => (place ? formatUri(place.uri) : number));
}

/**
 * Sends a caller to a target, as {@link transferTarget} reads it; later if other nodes have to be asked.
 * @returns whether `send` took it, or will be asked
 */
export function sendToTarget(
  services: Services,
  { target, peer }: { target: string; peer: Target },
  send: (uri: string) => boolean,
): boolean {
  const found = transferTarget(services, target, peer);
  if (!(found instanceof Promise)) return found !== undefined && send(found);
  // A call that has ended meanwhile takes nothing.
  void found.then(guarded(services.stack.log, 'redirecting a call', (uri) => void (uri !== undefined && send(uri))));
  return true;
}

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
