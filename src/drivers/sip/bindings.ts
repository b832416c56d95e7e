import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { valuesOf } from '../../lib/slot-map.ts';
import type { NameAddr } from '../../sip/message/name-addr.ts';
import type { Uri } from '../../sip/message/uri.ts';
import { formatUri, parseUri, sameUri } from '../../sip/message/uri.ts';
import { literalAddress } from '../../sip/transport/address.ts';
import { kindOf, protocolOf } from '../../sip/transport/kind.ts';
import type { KnownPeers } from '../../sip/transport/known-peers.ts';
import type { Target } from '../../sip/transport/transport.ts';
import type { ContactDetails } from '../../telephony/contacts.ts';
import type { EndpointConfig } from './config.ts';

/** A place where an endpoint can be reached. */
export type Binding = {
  id: string;
  endpoint: string;
  /** As registered or configured. */
  uri: Uri;
  /** Source of the REGISTER: requests go there, through its NAT; undefined: where `uri` resolves to. */
  target: Target | undefined;
  /** By the monotonic clock; undefined = never expires. */
  expiresAt: number | undefined;
  callId: string;
  cseq: number;
  /** The proxies on the way: those of the REGISTER's Path (RFC 3327), or the outbound proxy. */
  routes: readonly NameAddr[];
  /**
   * The phone and its flow, if it registered an outbound flow (RFC 5626 4.2): the binding lives as long as the flow.
   */
  outbound?: string;
};

/** All bindings, in memory, per endpoint in the order of their making. */
export interface Bindings {
  /** Those of an endpoint that have not expired, oldest first. */
  of(endpoint: string): Binding[];
  /** The registered or configured place with that id. */
  byId(id: string): Binding | undefined;
  /** The registered binding of an endpoint for a URI that is the same by RFC 3261 19.1.4. */
  find(endpoint: string, uri: Uri): Binding | undefined;
  /** The registered binding of the same phone, and flow if it registers flows. */
  ofPhone(phone: Pick<Binding, 'endpoint' | 'uri' | 'outbound'>): Binding | undefined;
  /** The connection over which an endpoint has registered a URI. */
  flowTo(endpoint: string, uri: Uri): Target | undefined;
  put(binding: Binding): void;
  delete(id: string): void;
  /** The registered binding of an endpoint for the same phone and flow, with any URI. */
  findFlow(endpoint: string, outbound: string): Binding | undefined;
  /**
   * A connection has closed: its bindings now go where their URI resolves to. Returns those that only the peer could
   * connect, for the caller to delete.
   */
  connectionClosed(connection: number): readonly Binding[];
  size(): number;
  /** All bindings except configured ones, which never expire; with an id that one. */
  dump(id?: string): readonly BindingData[];
  /** Puts in place what another process wrote down, what has expired meanwhile aside. */
  restore(data: readonly BindingData[]): void;
}

/** A registered binding as plain data; it expires in ms since the Unix epoch. */
export type BindingData = Omit<Binding, 'expiresAt' | 'target'> & {
  readonly target?: Target | undefined;
  readonly expires: number;
};

/**
 * @param peers hears where registered and configured contacts are: they are known there.
 * @param changed hears the id of each binding that is made, changed or deleted
 */
export function createBindings(
  clock: Clock,
  peers?: Pick<KnownPeers, 'hold' | 'release'>,
  changed: (id: string) => void = () => {},
): Bindings {
  const byId = new Map<string, Binding>();
  const byEndpoint = new Map<string, Map<string, Binding>>();
  const valid = ({ expiresAt }: Binding) => expiresAt === undefined || expiresAt > clock.monotonic();
  const of = (endpoint: string) => [...(byEndpoint.get(endpoint)?.values() ?? [])].filter(valid);

  const forget = (binding: Binding | undefined) => {
    const place = binding && placeOf(binding);
    if (place) peers?.release(place);
  };

  const put = (binding: Binding) => {
    forget(byId.get(binding.id));
    const place = placeOf(binding);
    if (place) peers?.hold(place);
    byId.set(binding.id, binding);
    changed(binding.id);
    const places = byEndpoint.get(binding.endpoint) ?? new Map<string, Binding>();
    byEndpoint.set(binding.endpoint, places.set(binding.id, binding));
  };

  return {
    of,
    byId: (id) => byId.get(id),
    find: (endpoint, uri) => of(endpoint).find((each) => sameUri(each.uri, uri)),
    findFlow: (endpoint, outbound) => of(endpoint).find((each) => each.outbound === outbound),
    ofPhone: ({ endpoint, uri, outbound }) =>
      of(endpoint).find(
        (each) => each.expiresAt !== undefined && each.outbound === outbound && (outbound || sameUri(each.uri, uri)),
      ),
    flowTo: (endpoint, uri) =>
      of(endpoint).find((each) => each.target?.connection !== undefined && sameUri(each.uri, uri))?.target,
    put,
    delete(id) {
      const binding = byId.get(id);
      const places = binding && byEndpoint.get(binding.endpoint);
      forget(binding);
      byId.delete(id);
      changed(id);
      places?.delete(id);
      if (places?.size === 0) byEndpoint.delete(binding!.endpoint);
    },
    connectionClosed(connection) {
      const made = [...byId.values()].filter(({ target }) => target?.connection === connection);
      const lost = made.filter((binding) => isPeers(binding, binding.target!));
      for (const binding of made) if (!lost.includes(binding)) put({ ...binding, target: undefined });
      return lost;
    },
    size: () => byId.size,
    dump(id) {
      const epoch = clock.now() - clock.monotonic();
      return valuesOf(byId, id).flatMap(({ expiresAt, ...binding }) =>
        expiresAt === undefined ? [] : [{ ...binding, expires: epoch + expiresAt }],
      );
    },
    restore(data) {
      const offset = clock.monotonic() - clock.now();
      for (const { expires, target, ...binding } of data)
        if (expires > clock.now())
          put({ ...binding, target: target && unconnected(binding, target), expiresAt: expires + offset });
    },
  };
}

/** The source of a binding's messages: its flow, or the address in its URI. */
function placeOf({ target, uri }: Binding): Target | undefined {
  if (target) return target;
  if (uri.scheme !== 'sip' && uri.scheme !== 'sips') return undefined;
  const address = literalAddress(uri.host);
  const protocol = protocolOf(uri.scheme, uri.params['transport']);
  if (address === undefined || protocol === undefined) return undefined;
  return { protocol, address, port: uri.port ?? kindOf(protocol).defaultPort };
}

/** Whether only the peer can open the connection of a binding. */
const isPeers = ({ outbound }: Pick<Binding, 'outbound'>, { protocol }: Target): boolean =>
  outbound !== undefined || kindOf(protocol).webSocket;

/** A connection does not outlive the process that had it: what only the peer can open waits for the peer. */
const unconnected = (binding: Pick<Binding, 'outbound'>, { connection, ...target }: Target): Target | undefined =>
  connection === undefined || isPeers(binding, target) ? target : undefined;

/** A contact's id: unique per AOR and URI, the same after a restart. */
export const contactId = (aor: string, uri: string): string =>
  `${aor};@${createHash('sha256').update(uri).digest('hex').slice(0, 32)}`;

/** A binding as call control sees it. @param expiresMs undefined for a configured contact. */
export function contactDetails(endpoint: EndpointConfig, binding: Binding, expiresMs?: number): ContactDetails {
  return {
    id: binding.id,
    uri: formatUri(binding.uri),
    aor: endpoint.aor.name ?? endpoint.name,
    technology: 'PJSIP',
    endpoint: endpoint.name,
    qualifyFrequencyMs: endpoint.aor.qualifyFrequencyMs,
    qualifyTimeoutMs: endpoint.aor.qualifyTimeoutMs,
    ...(expiresMs !== undefined && { expiresMs }),
  };
}

/** The configured contacts of an endpoint as bindings that never expire; unreadable ones are left out. */
export function staticBindings(endpoint: EndpointConfig): Binding[] {
  return endpoint.aor.contacts.flatMap((text) => {
    const uri = parseUri(text);
    if (!uri) return [];
    const binding: Binding = {
      id: contactId(endpoint.name, text),
      endpoint: endpoint.name,
      uri,
      target: undefined,
      expiresAt: undefined,
      callId: '',
      cseq: 0,
      routes: proxyRoutes(endpoint),
    };
    return [binding];
  });
}

/** The outbound proxy as a loose route to preload (RFC 3261 8.1.2). */
export function proxyRoutes({ outboundProxy }: EndpointConfig): NameAddr[] {
  const uri = outboundProxy === undefined ? undefined : parseUri(outboundProxy);
  if (uri?.scheme !== 'sip' && uri?.scheme !== 'sips') return [];
  return [{ uri: { ...uri, params: { ...uri.params, lr: '' } }, params: {} }];
}
