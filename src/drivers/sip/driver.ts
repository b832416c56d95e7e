import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { type LimitHit, uncounted } from '../../lib/limit-counts.ts';
import type { Logger } from '../../lib/log.ts';
import { createLifecycle, type LifecycleState, type PhaseChange, takesCalls } from '../../machines/lifecycle.ts';
import type { TableWatch } from '../../machines/table-run.ts';
import { createVerifier } from '../../sip/auth/verifier.ts';
import type { Stack } from '../../sip/dialog/stack.ts';
import { createUserAgent, type UserAgentCounts } from '../../sip/dialog/user-agent.ts';
import type { NameServer } from '../../sip/location/names.ts';
import { TargetMemory } from '../../sip/location/target-memory.ts';
import { formatUri } from '../../sip/message/uri.ts';
import { type AudioCodec, isAudioCodec } from '../../sip/sdp/codecs.ts';
import type { ServerTransaction, TransactionLayer } from '../../sip/transaction/transaction.ts';
import type { KnownPeers } from '../../sip/transport/known-peers.ts';
import { type OpenProbe, Probes } from '../../sip/transport/probes.ts';
import type { Transports } from '../../sip/transport/transport.ts';
import type { ContactDetails, ContactDriver, ContactHost } from '../../telephony/contacts.ts';
import {
  type CallHost,
  type Driver,
  DriverError,
  type Leg,
  type LegData,
  type LegRequest,
  type OpenedLeg,
  type RefusedOffer,
  type Report,
} from '../../telephony/driver.ts';
import type { MediaPlane } from '../../telephony/media.ts';
import type { MessageDriver } from '../../telephony/messages.ts';
import type { RegistrationDetails, RegistrationDriver, RegistrationHost } from '../../telephony/registrations.ts';
import type { WatcherDriver, WatcherHost } from '../../telephony/watchers.ts';
import { type BindingData, contactDetails, createBindings, staticBindings } from './bindings.ts';
import type { EndpointConfig, SipConfig } from './config.ts';
import { createDepartingCalls, type DepartingCallData } from './departing-calls.ts';
import { countCalls, type PhonesForOthers, phonesForOthers } from './elsewhere.ts';
import { createEndpoints, type LogIns } from './endpoints.ts';
import type { MailboxCounts } from './event-packages.ts';
import { IdentityTokens } from './identity-tokens.ts';
import { type InboundLegData, resumeInboundLeg } from './inbound-leg.ts';
import { createInviteReceiver } from './invites.ts';
import { Legs } from './legs.ts';
import { receiveMessage, sendMessage } from './messages.ts';
import { preferredFirst } from './negotiation.ts';
import { createOutboundLeg, type OutboundLegData } from './outbound-leg.ts';
import { createOutsideRefers, type OutsideReferData } from './outside-refers.ts';
import { createQualifier } from './qualify.ts';
import { createReferrals } from './refer.ts';
import { createRegistrar } from './registrar.ts';
import { createLineRegistrations, type LineData } from './registrations.ts';
import { contactsOf, mayRegister, resolveResource } from './resource.ts';
import { channelName, isBusy, type PlacesElsewhere, type Services, type TextMessage } from './services.ts';
import { createSubscriptions, type SubscriptionData } from './subscriptions.ts';
import type { Watched } from './watched-state.ts';

type SipDriverOptions = {
  config: SipConfig;
  /** Sees the charts of legs and subscriptions; left out: nobody. */
  tables?: TableWatch;
  transports: Pick<Transports, 'send' | 'localAddress' | 'isConnected' | 'onConnectionClosed'> &
    Partial<Pick<Transports, 'listeners'>>;
  transactions: TransactionLayer;
  media: MediaPlane;
  host: CallHost;
  contacts: ContactHost;
  /** Called when the connection of a registration at a provider is lost. */
  registrations?: RegistrationHost;
  clock: Clock;
  ids: Ids;
  log: Logger;
  /** The address of a host name; without it only literal addresses can be reached. */
  resolveHost?: (host: string) => Promise<string>;
  /** DNS lookups of SIP servers (RFC 3263); left out: only addresses and the system's host names. */
  names?: NameServer;
  /** Hears ICMP errors of UDP servers; without it they are waited for. */
  openProbe?: OpenProbe;
  /** How a mailbox stands, for phones that watch it; without it all mailboxes are empty. */
  mailbox?: (name: string) => MailboxCounts | undefined;
  /** The state of an extension for BLF; without it there is no BLF. */
  hint?: Watched['hint'];
  /** Keeps the phones that watch something; without it none can. */
  watchers?: WatcherHost;
  /** Registers known peers (by registration, call or address) for the rate limiter; left out: none. */
  peers?: KnownPeers;
  /** Whether an extension is one of a list, as the dialplan has patterns; without it only equal ones are. */
  isAmong?: (extension: string, extensions: readonly string[]) => boolean;
  /** Where other nodes of a cluster reach phones; left out: this server is on its own. */
  elsewhere?: PlacesElsewhere | undefined;
  /** Counts wrong log-ins. */
  logIns?: LogIns;
  /** Hears text messages that endpoints send. */
  messageReceived?: (message: TextMessage) => void;
  /** Hears of calls of known endpoints that are refused before they have a channel. */
  callRefused?: ((offer: RefusedOffer) => void) | undefined;
  /** Counts limits that were reached. */
  hit?: LimitHit | undefined;
  /** Hears of changes that no step of an actor and no transaction tells of: bindings, and channels whose port has opened. */
  changed?: ((kind: 'binding' | 'channel', id: string) => void) | undefined;
};

/** Current objects of the driver; all zero when idle, except bindings and nonces. */
type SipDriverCounts = UserAgentCounts & {
  legs: number;
  bindings: number;
  /** Qualify requests that wait for an answer. */
  qualifying: number;
  /** Phones that watch a mailbox or an extension. */
  subscriptions: number;
  /** Lines that are or were registered at providers. */
  lines: number;
  /** REFERs outside calls, ours and those of phones, whose outcome is not known. */
  referrals: number;
  /** Nonces remembered to refuse replays. */
  nonces: number;
};

/** SIP as call control sees it. */
export interface SipDriver extends Driver, ContactDriver, RegistrationDriver, WatcherDriver, PhonesForOthers {
  readonly technology: 'PJSIP';
  /** Reports the configured contacts, except known ones; call it once, after wiring. */
  start(isKnown?: (contact: ContactDetails) => boolean): void;
  /** Whether there is a registered or configured place with that contact id. */
  hasContact(id: string): boolean;
  /** Adds an endpoint at run time, or changes one; calls that exist keep what they have. */
  setEndpoint(endpoint: EndpointConfig): void;
  removeEndpoint(name: string): void;
  endpoints(): readonly EndpointConfig[];
  /** The wanted registrations of all present endpoints. */
  wantedRegistrations(): RegistrationDetails[];
  /**
   * Resources that reach an endpoint at all of its places, with `user` as the user part when given: one for each place, or
   * the endpoint itself if other nodes reach it. None when its address of record has another name than `aor`. Undefined
   * when there is no such endpoint.
   */
  dialContacts(endpoint: string, aor?: string, user?: string): string[] | undefined;
  /** Messages and REFERs outside calls, as {@link MessageDriver} has them. */
  readonly sendMessage: MessageDriver['sendMessage'];
  readonly refer: MessageDriver['refer'];
  /** The dialplan has changed: BLF shows its new hints. */
  reviewHints(): void;
  /** Whether there is a subscription with that id. */
  hasSubscription(id: string): boolean;
  /**
   * New calls are refused with 503 from now on (`cordon`, `drain`), or taken again (`uncordon`). Calls that exist
   * continue. A cordoned server lets an INVITE replace one of them.
   */
  enter(change: PhaseChange): void;
  /** Resolves when calls that were hung up are over for their far sides, too. */
  departed(): Promise<void>;
  counts(): SipDriverCounts;
  /** One part of its data, whose legs are dumped by their owners; of the bindings only the one with the id, if one is given. */
  dumpPart(part: SipDriverPart, id?: string): readonly unknown[];
  /** Restores what another process saved; before the first message comes in. */
  restore(data: SipDriverData): void;
  /** Forgets all calls and registrations without a word to the peers. Transports and transactions are the maker's. */
  close(): void;
}

/** The parts of a driver's data. */
type SipDriverPart = Exclude<keyof SipDriverData, 'version'>;

/** Data of a SIP driver beside its legs: plain data. */
export type SipDriverData = {
  readonly version: 1;
  readonly bindings: readonly BindingData[];
  readonly subscriptions: readonly SubscriptionData[];
  readonly lines?: readonly LineData[];
  readonly outsideRefers?: readonly OutsideReferData[];
  /** Calls that were hung up and are not over. */
  readonly departing?: readonly DepartingCallData[];
};

/** The parts of the stack that a driver may be made without. */
const given = ({ hit, resolveHost, names, peers }: SipDriverOptions): Partial<Stack> => ({
  ...(hit && { hit }),
  ...(resolveHost && { resolveHost }),
  ...(names && { names }),
  ...(peers && { peers }),
});

const probesOf = ({ openProbe, config, hit = uncounted }: SipDriverOptions): Partial<Stack> =>
  openProbe ? { probes: new Probes(openProbe, () => config.failover.mostProbes, hit) } : {};

/** The SIP stack with the limits of the configuration, which may be loaded again. */
function createStack(options: SipDriverOptions, log: Logger): Stack {
  const { config, transports, transactions, clock, ids } = options;
  return {
    transactions,
    transports,
    clock,
    ids,
    log,
    timing: { t1Ms: config.t1Ms, t2Ms: config.t2Ms },
    userAgent: config.userAgent,
    mostBranches: config.mostBranches,
    waitingProvisional: config.waitingProvisional,
    ...given(options),
    targets: new TargetMemory(clock, () => config.failover),
    locationLimits: () => config.location,
    ...probesOf(options),
    announceDelayMs: () => config.announceDelayMs,
  };
}

/** Where endpoints can be reached: configured and registered contacts. */
function createPlaces({ bindings, endpoints }: Services, contacts: ContactHost, hasStarted: () => boolean) {
  const remove = (id: string): void => {
    bindings.delete(id);
    contacts.removed(id);
  };

  const forgetContacts = (name: string) => {
    for (const { id } of bindings.of(name)) remove(id);
  };

  const announce = (endpoint: EndpointConfig, isKnown = (_contact: ContactDetails) => false) => {
    for (const binding of staticBindings(endpoint)) {
      bindings.put(binding);
      const details = contactDetails(endpoint, binding);
      if (hasStarted() && !isKnown(details)) contacts.registered(details);
    }
  };

  const setEndpoint = (endpoint: EndpointConfig) => {
    const old = endpoints.named(endpoint.name);
    const kept = new Set(staticBindings(endpoint).map(({ id }) => id));
    for (const { id } of old ? staticBindings(old) : []) if (!kept.has(id)) remove(id);
    endpoints.set(endpoint);
    announce(endpoint);
  };

  return {
    remove,
    forgetContacts,
    setEndpoint,
    /** Reports the configured contacts, except known ones. */
    announceAll(isKnown?: (contact: ContactDetails) => boolean): void {
      for (const endpoint of endpoints.all()) announce(endpoint, isKnown);
    },
  };
}

type Receivers = {
  subscriptions: ReturnType<typeof createSubscriptions> | undefined;
  outsideRefers: ReturnType<typeof createOutsideRefers>;
  referrals: ReturnType<typeof createReferrals>;
  phase(): LifecycleState;
};

/** Binds the receivers of requests outside dialogs. */
function bindRequests(
  services: Services,
  { host, contacts, callRefused }: Pick<SipDriverOptions, 'host' | 'contacts' | 'callRefused'>,
  { subscriptions, outsideRefers, referrals, phase }: Receivers,
): void {
  const { agent, endpoints, bindings, config, stack, elsewhere } = services;
  agent.onInvite(createInviteReceiver(services, { host, phase, callRefused, tryingAtOnce: config.tryingAtOnce }));
  agent.onRequest(
    'REGISTER',
    createRegistrar({
      ...{ endpoints, bindings, contacts, userAgent: config.userAgent },
      ...{ clock: stack.clock, log: stack.log },
      added: elsewhere?.tellMoved,
    }),
  );
  agent.onRequest('OPTIONS', (transaction) => answerOptions(services, transaction, takesCalls(phase())));
  agent.onRequest('MESSAGE', (transaction) => {
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) endpoints.challenge(transaction, identity);
    else transaction.reply(receiveMessage(services, identity.endpoint, transaction.request));
  });

  if (subscriptions)
    agent.onRequest('SUBSCRIBE', (transaction) => {
      if (!outsideRefers.receiveSubscribe(transaction)) subscriptions.receive(transaction);
    });
  agent.onRequest('REFER', (transaction) => outsideRefers.receive(transaction));
  agent.onRequest('NOTIFY', (transaction) => referrals.receiveNotify(transaction));
}

type Parts = {
  bindings: ReturnType<typeof createBindings>;
  departing: ReturnType<typeof createDepartingCalls>;
  lines: ReturnType<typeof createLineRegistrations>;
  outsideRefers: ReturnType<typeof createOutsideRefers>;
  qualifier: ReturnType<typeof createQualifier>;
  referrals: ReturnType<typeof createReferrals>;
  subscriptions: ReturnType<typeof createSubscriptions>;
  verifier: ReturnType<typeof createVerifier>;
};

/** Dump and restore of what the driver keeps outside calls, and the wait for its end. */
function createSaved(parts: Parts): Pick<SipDriver, 'departed' | 'dumpPart' | 'restore'> {
  const { bindings, subscriptions, lines, outsideRefers, departing } = parts;
  return {
    departed: departing.departed,
    dumpPart: (part, id) => ({ bindings, subscriptions, lines, outsideRefers, departing })[part].dump(id),
    restore(data) {
      bindings.restore(data.bindings);
      subscriptions.restore(data.subscriptions);
      lines.restore(data.lines ?? []);
      outsideRefers.restore(data.outsideRefers ?? []);
      departing.restore(data.departing ?? []);
    },
  };
}

function countsOf({ agent, legs }: Services, parts: Parts): SipDriverCounts {
  const { bindings, qualifier, subscriptions, lines, referrals, outsideRefers, verifier } = parts;
  return {
    ...agent.counts(),
    legs: legs.size,
    bindings: bindings.size(),
    qualifying: qualifier.size(),
    subscriptions: subscriptions.size(),
    lines: lines.size(),
    referrals: referrals.size() + outsideRefers.size(),
    nonces: verifier.size(),
  };
}

/** As {@link SipDriver.dialContacts}. */
function dialContacts(services: Services, ...[name, aor, user]: Parameters<SipDriver['dialContacts']>) {
  const endpoint = services.endpoints.named(name);
  if (!endpoint) return undefined;
  const own = endpoint.aor.name ?? endpoint.name;
  if (aor !== undefined && aor.toLowerCase() !== own.toLowerCase()) return [];
  if (mayRegister(endpoint) && services.elsewhere?.isReached(endpoint.name))
    return [user === undefined ? endpoint.name : `${user}@${endpoint.name}`];
  return contactsOf(services, endpoint, user).map(({ uri }) => `${endpoint.name}/${formatUri(uri)}`);
}

export function createSipDriver(options: SipDriverOptions): SipDriver {
  const { config, transports, media, contacts, clock, ids } = options;
  const log = options.log.child({ technology: 'PJSIP' });
  const stack = createStack(options, log);
  const { realm, algorithms, nonceLifetimeMs } = config;
  const verifier = createVerifier({ realm, algorithms, nonceLifetimeMs, clock, ids });
  const agent = createUserAgent(stack);
  const bindings = createBindings(clock, options.peers, (id) => options.changed?.('binding', id));
  const endpoints = createEndpoints([], {
    ...{ verifier, clock, log, logIns: options.logIns },
    lineOf: (uri) => lines.endpointOf(uri),
    listenerHost: (id) => options.transports.listeners?.find((each) => each.id === id)?.host,
  });
  options.peers?.trust((address) => endpoints.trusts(address));
  const services: Services = {
    config,
    stack,
    agent,
    media,
    endpoints,
    bindings,
    legs: new Legs(countCalls(options.elsewhere, endpoints)),
    identityTokens: new IdentityTokens(),
    outsideSubscriber: (key) => outsideRefers.subscriber(key),
    get departing() {
      return departing;
    },
    isAmong: options.isAmong ?? ((extension, extensions) => extensions.includes(extension)),
    messageReceived: (message) => options.messageReceived?.(message),
    ...{ hit: options.hit ?? uncounted, changed: (channelId: string) => options.changed?.('channel', channelId) },
    ...{ tables: options.tables, elsewhere: options.elsewhere },
  };
  const qualifier = createQualifier(services);
  const referrals = createReferrals(services);
  const outsideRefers = createOutsideRefers(services);
  const departing = createDepartingCalls(services);
  const lines = createLineRegistrations(services, (id) => options.registrations?.connectionLost(id));
  const subscriptions = createSubscriptions(services, watchedBy(options));
  const parts = { bindings, departing, lines, outsideRefers, qualifier, referrals, subscriptions, verifier };
  const places = createPlaces(services, contacts, () => lifecycle.state !== 'made');
  const lifecycle = createLifecycle('made');
  const { setEndpoint } = places;

  transports.onConnectionClosed((connection, peer) => {
    for (const { id } of bindings.connectionClosed(connection)) places.remove(id);
    lines.connectionClosed(peer);
  });
  bindRequests(services, options, {
    subscriptions: options.watchers && subscriptions,
    ...{ outsideRefers, referrals, phase: () => lifecycle.state },
  });

  for (const endpoint of config.endpoints) setEndpoint(endpoint);

  return {
    technology: 'PJSIP',
    aliases: ['SIP'],
    open: (request, report) => openLeg(services, request, report),
    resume: (data, channelId, report) => resumeLeg(services, data, channelId, report),
    qualify: (contact) => qualifier.qualify(contact),
    expired: (contact) => bindings.delete(contact.id),
    register: lines.register,
    ended: lines.ended,
    wantedRegistrations: lines.wanted,
    start: (isKnown) => void (lifecycle.send({ type: 'start' }) && places.announceAll(isKnown)),
    hasContact: (id) => bindings.byId(id) !== undefined,
    setEndpoint,
    removeEndpoint(name) {
      const endpoint = endpoints.named(name);
      if (!endpoint) return;
      endpoints.remove(name);
      places.forgetContacts(endpoint.name);
      subscriptions.endpointRemoved(endpoint.name);
    },
    endpoints: () => endpoints.all(),
    dialContacts: (...asked) => dialContacts(services, ...asked),
    ...phonesForOthers(services, places.remove),
    sendMessage: (...asked) => sendMessage(services, ...asked),
    refer: referrals.refer,
    tellWatcher: subscriptions.tellWatcher,
    watcherEnded: subscriptions.watcherEnded,
    reviewHints: subscriptions.review,
    hasSubscription: subscriptions.has,
    enter: (change) => void lifecycle.send({ type: change }),
    ...createSaved(parts),
    counts: () => countsOf(services, parts),
    close() {
      lifecycle.send({ type: 'close' });
      qualifier.close();
      referrals.close();
      outsideRefers.close();
      subscriptions.close();
      lines.close();
      endpoints.close();
      agent.close();
      stack.probes?.close();
    },
  };
}

const watchedBy = ({ mailbox, hint, watchers = nobody }: SipDriverOptions): Watched => ({
  mailbox: (name) => mailbox?.(name),
  hint: (context, extension) => hint?.(context, extension),
  watchers,
});

/** Used without watchers. */
const nobody: WatcherHost = {
  subscribed() {},
  unsubscribed() {},
  moved() {},
  gone() {},
  changed() {},
};

function resumeLeg(services: Services, data: LegData, channelId: string, report: Report): Leg {
  const leg = data as InboundLegData | OutboundLegData;
  if (leg.version !== 1) throw new DriverError('data', `a SIP leg of version ${leg.version} is not understood`);
  if (leg.kind === 'inbound') {
    const endpoint = services.endpoints.named(leg.endpoint);
    if (!endpoint) throw new DriverError('endpoint', `the endpoint "${leg.endpoint}" was removed`);
    return resumeInboundLeg(services, endpoint, leg, { channelId, report });
  }
  const { request, codecs, videoCodecs = [] } = leg;
  const resolved = resolveResource(services, request.resource);
  return createOutboundLeg({ services, request, resolved, codecs, videoCodecs, report, from: leg });
}

/** Codecs to offer, each once: the requested ones in order, or else the endpoint's own, its partner's codecs first. */
function codecsFor({ codecs }: EndpointConfig, { formats, prefers = [] }: LegRequest): AudioCodec[] {
  if (formats) return [...new Set(formats.filter(isAudioCodec))].filter((format) => codecs.includes(format));
  return preferredFirst(codecs, prefers);
}

function openLeg(services: Services, request: LegRequest, report: Report): OpenedLeg {
  const resolved = resolveResource(services, request.resource);
  const { endpoint } = resolved;
  if (isBusy(services, endpoint))
    throw new DriverError('endpoint', `endpoint "${endpoint.name}" has as many calls as it may have`);
  const codecs = codecsFor(endpoint, request);
  if (codecs.length === 0)
    throw new DriverError(
      'format',
      `endpoint "${endpoint.name}" has none of the formats ${request.formats?.join(',')}`,
    );
  const videoCodecs = endpoint.videoCodecs.filter((codec) => request.formats?.includes(codec) ?? true);
  return {
    name: channelName(services, endpoint),
    endpoint: ['PJSIP', endpoint.name],
    context: endpoint.context,
    ...(endpoint.tenantId !== undefined && { tenantId: endpoint.tenantId }),
    leg: createOutboundLeg({ services, request, resolved, codecs, videoCodecs, report }),
  };
}

/** Our capabilities (RFC 3261 11.2), and whether we would accept a call now. Contains nothing that needs a password. */
function answerOptions({ agent, config }: Services, transaction: ServerTransaction, takes: boolean): void {
  transaction.reply(takes ? 200 : 503, {
    headers: [
      ['Allow', agent.allow],
      ['Accept', 'application/sdp, multipart/mixed, application/dtmf-relay, application/media_control+xml, text/plain'],
      ['Accept-Encoding', 'identity'],
      ['Accept-Language', 'en'],
      ['Server', config.userAgent],
    ],
  });
}
