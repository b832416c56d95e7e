import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { type NameAddr, parseNameAddr } from '../../sip/message/name-addr.ts';
import { deltaSeconds } from '../../sip/message/scan.ts';
import { formatUri } from '../../sip/message/uri.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import { kindOf } from '../../sip/transport/kind.ts';
import type { ContactHost } from '../../telephony/contacts.ts';
import { type Binding, type Bindings, contactDetails, contactId } from './bindings.ts';
import type { EndpointConfig } from './config.ts';
import type { Endpoints } from './endpoints.ts';
import { userOf } from './party.ts';
import { createRefusals } from './refusals.ts';

type RegistrarOptions = {
  endpoints: Endpoints;
  bindings: Bindings;
  contacts: ContactHost;
  clock: Clock;
  log: Logger;
  userAgent: string;
  /** Hears of each binding that is new here. */
  added?: ((binding: Binding) => void) | undefined;
};

/** One Contact of a REGISTER. */
type Wish = { contact: NameAddr; seconds: number; known: Binding | undefined; outbound: string | undefined };

/** Changes the bindings of endpoints, and tells their contacts. */
function createBindingChanges({ bindings, contacts, clock, added }: RegistrarOptions) {
  const remove = (binding: Binding) => {
    bindings.delete(binding.id);
    contacts.removed(binding.id);
  };

  const registered = (endpoint: EndpointConfig) =>
    bindings.of(endpoint.name).filter(({ expiresAt }) => expiresAt !== undefined);

  const apply = (endpoint: EndpointConfig, wishes: readonly Wish[], { request, source }: ServerTransaction) => {
    const path = pathOf(request) ?? [];
    for (const { contact, seconds, known, outbound } of wishes) {
      if (seconds === 0) {
        if (known) remove(known);
        continue;
      }
      const text = formatUri(contact.uri);
      const binding: Binding = {
        id: known?.id ?? contactId(endpoint.name, text),
        endpoint: endpoint.name,
        uri: contact.uri,
        target: endpoint.symmetric ? source : undefined,
        expiresAt: clock.monotonic() + seconds * 1000,
        callId: request.callId,
        cseq: request.cseq.number,
        routes: path,
        ...(outbound !== undefined && { outbound }),
      };
      // Renewed bindings go to the end: the first is the one renewed longest ago.
      bindings.delete(binding.id);
      bindings.put(binding);
      contacts.registered(contactDetails(endpoint, binding, seconds * 1000));
      if (!known) added?.(binding);
    }
    const all = registered(endpoint);
    for (const displaced of all.slice(0, Math.max(0, all.length - endpoint.aor.maxContacts))) remove(displaced);
  };

  /** The binding that a contact is for: that of its phone and flow, or else that of its URI. */
  const knownOf = ({ name }: EndpointConfig, contact: NameAddr, request: SipRequest) => {
    const outbound = outboundOf(contact, request);
    const byFlow = outbound === undefined ? undefined : bindings.findFlow(name, outbound);
    return { outbound, known: byFlow ?? bindings.find(name, contact.uri) };
  };

  return { remove, registered, apply, knownOf };
}

/** Writes the 200 of a REGISTER: all bindings of the endpoint. */
const createAccept =
  ({ clock, userAgent }: RegistrarOptions, registered: (endpoint: EndpointConfig) => Binding[]) =>
  (endpoint: EndpointConfig, transaction: ServerTransaction): void => {
    const { request } = transaction;
    const all = registered(endpoint);
    const headers: HeaderLines = all.map(({ uri, expiresAt, outbound }) => {
      const seconds = Math.max(0, Math.round((expiresAt! - clock.monotonic()) / 1000));
      return ['Contact', `<${formatUri(uri)}>;expires=${seconds}${outbound ?? ''}`] as const;
    });
    // RFC 5626 6: a phone that registers a flow needs to know that we support it.
    const isOutbound = request.contacts.some((contact) => outboundOf(contact, request) !== undefined);
    const told: HeaderLines = [
      ...(isOutbound ? ([['Require', 'outbound']] as const) : []),
      // RFC 3327 5.3: the phone sees which way calls will come.
      ...request.headerLines('Path').map((value) => ['Path', value] as const),
    ];
    const date = new Date(clock.now()).toUTCString();
    transaction.reply(200, { headers: [...headers, ...told, ['Date', date], ['Server', userAgent]] });
  };

/** Answers REGISTER (RFC 3261 10.3): all of its contacts are taken, or none. */
export function createRegistrar(options: RegistrarOptions): (transaction: ServerTransaction) => void {
  const { endpoints, clock, log } = options;
  const { remove, registered, apply, knownOf } = createBindingChanges(options);
  const accept = createAccept(options, registered);
  const tellRefusal = createRefusals(log, clock, 'a registration');
  const refuse = (transaction: ServerTransaction, status: number, reason: string, headers: HeaderLines = []): void => {
    tellRefusal(transaction, status, reason);
    transaction.reply(status, { headers });
  };

  const removeAll = (endpoint: EndpointConfig, transaction: ServerTransaction) => {
    const { request } = transaction;
    // RFC 3261 10.3 step 6: the star stands alone and means nothing but removal.
    if (request.headerLines('Contact').length > 1 || request.expires !== 0)
      return refuse(transaction, 400, 'a star beside other contacts');
    const all = registered(endpoint);
    if (all.some((binding) => isRepeated(binding, request))) return void transaction.reply(500);
    for (const binding of all) remove(binding);
    accept(endpoint, transaction);
  };

  const register = (endpoint: EndpointConfig, transaction: ServerTransaction) => {
    const { request } = transaction;
    if (request.hasStarContact) return removeAll(endpoint, transaction);
    const wishes = request.contacts.map((contact) => ({
      contact,
      seconds: secondsFor(contact, request, endpoint),
      ...knownOf(endpoint, contact, request),
    }));
    if (pathOf(request) === undefined) return refuse(transaction, 400, 'its Path cannot be read');
    const { minimumExpirationSeconds: minimum, maxContacts } = endpoint.aor;
    if (wishes.some(({ seconds }) => seconds > 0 && seconds < minimum))
      return refuse(transaction, 423, `less than ${minimum} s`, [['Min-Expires', String(minimum)]]);
    if (wishes.some(({ contact }) => !isReachable(contact, transaction)))
      return refuse(transaction, 400, 'a contact that cannot be reached from here');
    if (wishes.filter(({ seconds }) => seconds > 0).length > maxContacts)
      return refuse(transaction, 403, `more than ${maxContacts} contacts`);
    // RFC 3261 10.3 step 7: an older REGISTER that comes late changes nothing.
    if (wishes.some(({ known }) => known && isRepeated(known, request))) return void transaction.reply(500);
    apply(endpoint, wishes, transaction);
    accept(endpoint, transaction);
  };

  return (transaction) => {
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) return endpoints.challenge(transaction, identity);
    const { endpoint } = identity;
    const { uri } = transaction.request.to;
    // RFC 3261 10.3 step 5, RFC 4475 3.3.4: an AOR is a SIP or SIPS URI.
    if (uri.scheme !== 'sip' && uri.scheme !== 'sips') return refuse(transaction, 400, 'an AOR that is no SIP URI');
    const aor = userOf(uri);
    const isOwn = aor.toLowerCase() === (endpoint.aor.name ?? endpoint.name).toLowerCase();
    // Also for unknown AORs, so that responses do not reveal which exist.
    if (!isOwn || endpoint.aor.maxContacts === 0) {
      return refuse(transaction, 403, isOwn ? 'this endpoint may have no contacts' : 'an AOR of another endpoint');
    }
    register(endpoint, transaction);
  };
}

/** A SIPS contact is only accepted for a SIPS AOR and over TLS (RFC 5630 5.2). */
function isReachable({ uri }: NameAddr, { request, source }: ServerTransaction): boolean {
  if (uri.scheme === 'sips') return request.to.uri.scheme === 'sips' && kindOf(source.protocol).secure;
  return uri.scheme === 'sip';
}

/** Proxies that a REGISTER may have come through; a longer way is not kept. */
const MAX_PATH = 10;

/** The way that calls to the phone must take (RFC 3327 5.3); undefined when it cannot be read. */
function pathOf(request: SipRequest): readonly NameAddr[] | undefined {
  const path = request.headerList('Path').map(parseNameAddr);
  const isWhole = path.length <= MAX_PATH && path.every((hop) => hop !== undefined);
  return isWhole ? path.flatMap((hop) => (hop ? [hop] : [])) : undefined;
}

/**
 * The phone and its flow as parameters of a Contact, if it registers a flow directly, without a proxy (RFC 5626 4.2.1,
 * 6).
 */
function outboundOf({ params }: NameAddr, request: SipRequest): string | undefined {
  const { '+sip.instance': instance, 'reg-id': flow } = params;
  if (instance === undefined || instance.length > 200 || !/^[1-9]\d{0,9}$/.test(flow ?? '')) return undefined;
  const supports = request.headerList('Supported').some((option) => option.toLowerCase() === 'outbound');
  return supports && request.viaCount === 1 ? `;+sip.instance=${instance};reg-id=${flow}` : undefined;
}

const isRepeated = (binding: Binding, request: SipRequest): boolean =>
  binding.callId === request.callId && request.cseq.number <= binding.cseq;

/** The contact's own expires, else the Expires header, else the default (RFC 3261 10.3 step 7); at most the maximum. */
function secondsFor(contact: NameAddr, request: SipRequest, { aor }: EndpointConfig): number {
  const asked = deltaSeconds(contact.params['expires']) ?? request.expires ?? aor.defaultExpirationSeconds;
  return Math.min(asked, aor.maximumExpirationSeconds);
}
