import type { SipUri } from '../message/uri.ts';
import { isHostName, literalAddress } from '../transport/address.ts';
import { kindOf, type Protocol, protocolOf } from '../transport/kind.ts';
import type { Target } from '../transport/transport.ts';
import type { NameServer, SrvRecord } from './names.ts';

type LocationOptions = {
  readonly names: NameServer;
  /** Whether we support a protocol, optionally to an address. */
  readonly speaks: (protocol: Protocol, address?: string) => boolean;
  /** Chance for the weights of servers, from 0 to below 1. */
  readonly random: () => number;
  /** Limits of lookups and attempts for one domain; default: the usual ones. */
  readonly limits?: LocationLimits;
};

/**
 * A domain's records must not cause a flood of lookups and requests. Beyond a limit the least preferred are ignored.
 */
export type LocationLimits = {
  /** Records of one NAPTR or SRV answer that are followed. */
  readonly records: number;
  /** Addresses that one URI leads to. */
  readonly addresses: number;
};

/** The bounds as usual. */
export const defaultLocationLimits: LocationLimits = { records: 8, addresses: 8 };

/** Services of NAPTR and prefixes of SRV, in order of preference if DNS has none. */
const services: readonly { readonly protocol: Protocol; readonly naptr: string; readonly srv: string }[] = [
  { protocol: 'udp', naptr: 'SIP+D2U', srv: '_sip._udp.' },
  { protocol: 'tcp', naptr: 'SIP+D2T', srv: '_sip._tcp.' },
  { protocol: 'tls', naptr: 'SIPS+D2T', srv: '_sips._tcp.' },
];

/** A service of a domain: where its servers are listed. */
type Service = { readonly protocol: Protocol; readonly name: string };

/**
 * The targets of a URI, in order (RFC 3263 4). The protocol is the one in the URI, else the domain's preferred one
 * (NAPTR), else one with servers (SRV), else UDP (TLS for `sips`). Then come the servers by priority and weight, and
 * their addresses. Empty if unreachable; never rejects.
 */
export async function placesOf(uri: SipUri, options: LocationOptions): Promise<readonly Target[]> {
  const host = uri.params['maddr'] ?? uri.host;
  const named = uri.params['transport'];
  const fixed = protocolOf(uri.scheme, named);
  if (fixed === undefined) return [];
  const address = literalAddress(host);
  if (address !== undefined) return [{ protocol: fixed, address, port: uri.port ?? kindOf(fixed).defaultPort }];
  if (!isHostName(host)) return [];
  if (uri.port !== undefined) return hosted(host, { protocol: fixed, port: uri.port }, host, options);
  const found = await listed(host, named === undefined ? undefined : fixed, uri.scheme, options);
  return found.length > 0 ? found : hosted(host, { protocol: fixed, port: kindOf(fixed).defaultPort }, host, options);
}

/** The servers that DNS lists for a domain. */
async function listed(
  domain: string,
  protocol: Protocol | undefined,
  scheme: 'sip' | 'sips',
  options: LocationOptions,
): Promise<readonly Target[]> {
  const usable = services.filter(
    (each) =>
      (protocol === undefined || each.protocol === protocol) &&
      (scheme === 'sip' || each.protocol === 'tls') &&
      options.speaks(each.protocol),
  );
  // Lookups run in parallel: a domain without NAPTR costs no time.
  const naptr = protocol === undefined ? orNothing(options.names.naptr(domain)) : [];
  const guessed = usable.map(({ protocol: each, srv }) => ({ protocol: each, name: srv + domain }));
  const servers = guessed.map(({ name }) => orNothing(options.names.srv(name)));
  const preferred: Service[] = [...(await naptr)]
    .sort((one, other) => one.order - other.order || one.preference - other.preference)
    .flatMap(({ service, replacement }) => {
      const known = usable.find((each) => each.naptr === service.toUpperCase());
      return known && replacement !== '' ? [{ protocol: known.protocol, name: replacement }] : [];
    })
    .slice(0, recordsOf(options));
  for (const service of preferred) {
    const places = await served(service, await orNothing(options.names.srv(service.name)), domain, options);
    if (places.length > 0) return places;
  }
  for (const [index, service] of guessed.entries()) {
    const places = await served(service, (await servers[index]) ?? [], domain, options);
    if (places.length > 0) return places;
  }
  return [];
}

async function served(
  { protocol }: Service,
  records: readonly SrvRecord[],
  domain: string,
  options: LocationOptions,
): Promise<readonly Target[]> {
  const places: Target[] = [];
  for (const { name, port } of inTurn(records, options)) {
    // A lone dot says that there is decidedly no such service (RFC 2782).
    if (name === '' || name === '.') continue;
    places.push(...(await hosted(name, { protocol, port }, domain, options)));
    if (places.length >= addressesOf(options)) break;
  }
  return places.slice(0, addressesOf(options));
}

/**
 * The first of them by priority, and among equals by chance in proportion to their weights. All servers of weight 0
 * together have the share of weight 1 (RFC 2782: "a very small chance"), and each of them has the same part of it.
 */
function inTurn(records: readonly SrvRecord[], options: LocationOptions): SrvRecord[] {
  const turn: SrvRecord[] = [];
  const left = [...records].sort((one, other) => one.priority - other.priority || one.weight - other.weight);
  while (left.length > 0 && turn.length < recordsOf(options)) {
    const group = left.filter(({ priority }) => priority === left[0]!.priority);
    const shareOf = ({ weight }: SrvRecord): number => weight || 1 / weightless;
    const weightless = group.filter(({ weight }) => weight === 0).length;
    let drawn = options.random() * group.reduce((total, each) => total + shareOf(each), 0);
    const chosen = group.find((each) => (drawn -= shareOf(each)) < 0) ?? group[0]!;
    left.splice(left.indexOf(chosen), 1);
    turn.push(chosen);
  }
  return turn;
}

/** The addresses of a host that can be reached. Over TLS it has to prove the domain that was asked for (RFC 5922 4). */
async function hosted(
  host: string,
  { protocol, port }: { protocol: Protocol; port: number },
  domain: string,
  options: LocationOptions,
): Promise<readonly Target[]> {
  const address = literalAddress(host);
  const found = address === undefined ? await orNothing(options.names.addresses(host)) : [{ address }];
  const proved = kindOf(protocol).secure ? { serverName: domain } : {};
  return found
    .filter((each) => options.speaks(protocol, each.address))
    .slice(0, addressesOf(options))
    .map((each) => ({ protocol, address: each.address, port, ...proved }));
}

const recordsOf = ({ limits = defaultLocationLimits }: LocationOptions): number => limits.records;
const addressesOf = ({ limits = defaultLocationLimits }: LocationOptions): number => limits.addresses;

/** A failed lookup counts as empty. */
const orNothing = <T>(answer: Promise<readonly T[]>): Promise<readonly T[]> => answer.catch(() => []);
