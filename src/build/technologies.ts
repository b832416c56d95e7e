import { lookup } from 'node:dns/promises';
import { isDeepStrictEqual } from 'node:util';
import { createExternalConnections } from '../actors/external-connections.ts';
import { createExternalMedia, tellLearned } from '../actors/external-media.ts';
import { createListening, type Listening } from '../actors/listening.ts';
import { createMessages } from '../actors/messages.ts';
import { createWebrtcCalls } from '../actors/webrtc-calls.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { audioAddress, type Config } from '../config/schema.ts';
import { createExtensionLists } from '../dialplan/patterns.ts';
import { createExternalDriver, type ExternalDriverOptions } from '../drivers/external/external.ts';
import { createLocalDriver } from '../drivers/local/local.ts';
import { objectsOf } from '../drivers/sip/configured-objects.ts';
import { createSipDriver, type SipDriver } from '../drivers/sip/driver.ts';
import { attributeOf, sipObjectTypes } from '../drivers/sip/objects.ts';
import { createProvisioning } from '../drivers/sip/provisioning.ts';
import type { Destination, PlacesElsewhere } from '../drivers/sip/services.ts';
import { uriPart } from '../drivers/sip/uri-parts.ts';
import { createWebrtcDriver } from '../drivers/webrtc/webrtc.ts';
import { formatNames } from '../lib/formats.ts';
import { iceServers } from '../lib/turn-credentials.ts';
import { browserSettings, callerIds, dnsLimits, sipListens, sipSettings, webSockets } from '../settings.ts';
import { cachedNames } from '../sip/location/cached-names.ts';
import type { NameServer } from '../sip/location/names.ts';
import { createLocalAddresses } from '../sip/transport/local-address.ts';
import { openUdpProbe } from '../sip/transport/probes.ts';
import { createDynamicConfig } from '../stores/dynamic-config.ts';
import { createHints } from '../stores/hints.ts';
import type { ExternalAudio } from '../telephony/external.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import { goOnWithAudio } from './leaving.ts';
import { createNameServer } from './name-server.ts';
import type { Network } from './network.ts';
import type { Reloadable } from './reload.ts';
import { isReachedElsewhere, sharedCounts } from './shared-state.ts';
import { restore } from './snapshot.ts';
import type { State } from './state.ts';

/** Whether a media plane can connect to servers; channels to them are there only where it can. */
const canConnect = (media: MediaPlane): media is MediaPlane & ExternalAudio => 'openExternal' in media;

/** The technologies of calls, and the phones. */
export type Technologies = Awaited<ReturnType<typeof buildTechnologies>>;

/**
 * Local channels and SIP, with phones of the configuration and of clients; SIP listens when this resolves. @throws
 * ListenError (rejects) if an address cannot be used.
 */
export async function buildTechnologies(base: Base, network: Network, state: State, calls: CallControl) {
  const { config, scope } = base;
  const { media, transports, certificates } = network;
  const { contacts, registrations, watchers } = state;
  const { channels, dialplan } = calls;
  const local = createLocalDriver({
    ...{ media, tables: base.tables, hasContext: dialplan.hasContext },
    freshId: () => channels.freshId(),
  });
  channels.addDriver(local);

  // Audio that leaves from an IPv4 address reaches no other.
  const family = audioAddress(config).includes(':') ? 0 : 4;
  const resolveHost = base.io.resolveHost ?? (async (host: string) => (await lookup(host, { family })).address);
  const external = canConnect(media)
    ? buildExternal(base, state, calls, { media, resolveHost, authorities: () => certificates.client.ca })
    : undefined;
  const listening = createListening({
    ...{ channels, media, settings: config.listening, clock: base.clock },
    log: base.log.child({ part: 'http' }),
  });
  const { calls: webrtc, driver: browsers } = buildBrowsers(base, network, state, { channels, listening });
  const { names, sipConfig, reloads: followed } = followSettings(base, network);
  const { sip, messages } = buildSip(base, network, state, { channels, dialplan, names, sipConfig, resolveHost });

  const provisioned = buildProvisioning(base, state, sip, sipConfig.endpoints);

  const listeners = await transports.bind(sipListens(config));
  if (base.from)
    restore(
      { base, network, state, calls },
      { sip, others: [local, browsers, ...(external?.drivers ?? [])] },
      base.from,
    );
  await goOnWithAudio(base, media);
  sip.start(contacts.knows);
  registrations.follow(sip.wantedRegistrations());
  // Before SIP closes: registrations are removed and subscriptions ended.
  scope.defer(() => registrations.close());
  scope.defer(() => watchers.close());
  const reloads: Reloadable[] = [
    { settings: ['sip.endpoints'], apply: followEndpoints(state, sip, provisioned, sipConfig.endpoints) },
    { settings: ['dialplan'], apply: () => sip.reviewHints() },
    ...followed,
  ];
  const { dynamicConfig } = provisioned;
  return { reloads, sip, messages, dynamicConfig, listeners, external, listening, webrtc };
}

type SipEndpoints = ReturnType<typeof sipSettings>['endpoints'];

/** Settings of SIP that follow the configuration, and the name servers. */
function followSettings({ config, clock, io }: Base, { outside, fingerprint }: Network) {
  const namesOf = (of: Config) => cachedNames(createNameServer(of.sip.dns.servers), clock, dnsLimits(of));
  let known = namesOf(config);
  const names: NameServer | undefined = io.resolveHost
    ? undefined
    : {
        naptr: (name) => known.naptr(name),
        srv: (name) => known.srv(name),
        addresses: (name) => known.addresses(name),
      };
  let bounds = sipSettings(config);
  const sipConfig = {
    ...bounds,
    ...{ outside, fingerprint },
    get subscriptions() {
      return bounds.subscriptions;
    },
    get mostRedirections() {
      return bounds.mostRedirections;
    },
    get failover() {
      return bounds.failover;
    },
    get announceDelayMs() {
      return bounds.announceDelayMs;
    },
    get location() {
      return bounds.location;
    },
  };
  const reloads: Reloadable[] = [
    {
      // State beyond new limits stays as long as it was granted.
      settings: ['sip.subscriptions', 'sip.most_redirections', 'sip.dns', 'sip.connected_line_delay'],
      apply(next) {
        bounds = sipSettings(next);
      },
    },
    {
      // Results of other name servers are dropped.
      settings: ['sip.dns'],
      apply(next) {
        known = namesOf(next);
      },
    },
  ];
  return { names, sipConfig, reloads };
}

type Sip = ReturnType<typeof buildSip>['sip'];

/** The SIP driver, and what phones can watch. */
function buildSip(
  base: Base,
  network: Network,
  state: State,
  {
    channels,
    dialplan,
    names,
    sipConfig,
    resolveHost,
  }: Pick<CallControl, 'channels' | 'dialplan'> &
    Pick<ReturnType<typeof followSettings>, 'names' | 'sipConfig'> & { resolveHost: (host: string) => Promise<string> },
) {
  const { config, clock, ids, log, scope } = base;
  const { media, transports, transactions, peers, rateLimiter } = network;
  const { bus, endpoints, contacts, registrations, watchers, mailboxes, deviceStates, bans } = state;
  const hints = createHints({
    ...{ bus, mailboxes, devicesOf: dialplan.hint },
    deviceState: (name) => deviceStates.get(name).state,
  });
  scope.defer(() => hints.close());
  const messages = createMessages({ bus, log, endpoints });
  const sip = createSipDriver({
    config: sipConfig,
    transports,
    transactions,
    media,
    host: channels,
    callRefused: base.refusedCalls.add,
    contacts,
    registrations,
    clock,
    ids,
    log: log.child({ part: 'sip' }),
    peers,
    logIns: { failed: (source, user) => bans.failed(source, user, 'sip') },
    mailbox(name) {
      const mailbox = mailboxes.find(name);
      return mailbox && { newMessages: mailbox.new_messages, oldMessages: mailbox.old_messages };
    },
    hint: hints.of,
    watchers,
    messageReceived: messages.received,
    ...{ hit: base.limitCounts.hit, changed: base.changes.mark },
    isAmong: createExtensionLists(),
    tables: base.tables,
    resolveHost,
    ...(names && { names, openProbe: openUdpProbe }),
    elsewhere: state.cluster && placesElsewhere(state.cluster),
  });
  joinFlows(network, state, sip);
  scope.defer(() => sip.close());
  rateLimiter.ignore((address) => bans.check(address).action === 'ignore');
  messages.attach(sip);
  channels.addDriver(sip);
  contacts.attach(sip);
  registrations.attach(sip);
  watchers.attach(sip);
  mailboxes.onChanged(({ name }) => watchers.changed(`mailbox:${name}`));
  deviceStates.onHeard(hints.changed);
  hints.onChanged((device) => watchers.changed(`device:${device.toLowerCase()}`));
  for (const name of Object.keys(config.sip.endpoints)) endpoints.add(sip.technology, name, 'offline');
  return { sip, messages };
}

function placesElsewhere({ name: node, phones, states, registrations }: Cluster): PlacesElsewhere {
  const { elsewhere: calls, tell: tellCalls } = sharedCounts(() => states, 'calls:');
  return {
    ...{ node, isGone: registrations.isGone },
    find: (asked, found) => phones.places(asked, (places) => found(places as Destination[])),
    ...{ calls, tellCalls, isReached: (endpoint) => isReachedElsewhere(states, `PJSIP/${endpoint}`) },
    tellMoved: ({ endpoint, uri, outbound }) => phones.tellMoved({ endpoint, uri, ...(outbound && { outbound }) }),
  };
}

/** Lets peers be reached through the sockets of other nodes. */
function joinFlows({ nodeFlows }: Network, { cluster }: State, { flowTo }: Pick<SipDriver, 'flowTo'>): void {
  if (cluster) nodeFlows?.attach({ node: cluster.name, ...cluster.phones, flowTo });
}

/** Phones made at run time: known before the first message comes in. */
function buildProvisioning({ config, clock, log, scope }: Base, state: State, sip: Sip, configured: SipEndpoints) {
  const { endpoints, registrations, contacts } = state;
  const provisioning = createProvisioning({
    callerIds,
    driver: sip,
    added: (name) => void endpoints.add(sip.technology, name, 'offline'),
    removed: (name) => endpoints.remove(sip.technology, name),
    log,
  });
  const dynamicConfig = createDynamicConfig({
    directory: config.general.data_directory,
    clock,
    log,
    configClass: 'res_pjsip',
    types: sipObjectTypes,
    fixed: objectsOf(configured, callerIds),
    limit: config.limits.dynamic_objects,
    refuses: provisioning.refuses,
    onChanged(kind, id) {
      provisioning.changed(kind, id);
      registrations.follow(sip.wantedRegistrations());
    },
  });
  scope.defer(() => dynamicConfig.close());
  state.dialplanSystem.add({
    phones: {
      contacts: sip.dialContacts,
      attribute(kind, name, attribute) {
        const object = dynamicConfig.find(kind, name);
        return object && attributeOf(object, attribute);
      },
      places: contacts.places,
      uriPart,
    },
  });
  provisioning.start({ find: dynamicConfig.find, made: dynamicConfig.made });

  return { provisioning, dynamicConfig };
}

/** Applies the endpoints of a new configuration. */
function followEndpoints(
  { endpoints, registrations }: State,
  sip: Sip,
  { provisioning, dynamicConfig }: ReturnType<typeof buildProvisioning>,
  first: SipEndpoints,
): (next: Config) => void {
  let configured = first;
  return (next) => {
    const before = new Map(configured.map((endpoint) => [endpoint.name, endpoint]));
    configured = sipSettings(next).endpoints;
    const gone = [...before.keys()].filter((name) => !configured.some((endpoint) => endpoint.name === name));
    dynamicConfig.replaceFixed(objectsOf(configured, callerIds));
    for (const name of gone) {
      sip.removeEndpoint(name);
      endpoints.remove(sip.technology, name);
    }
    for (const endpoint of configured) {
      if (isDeepStrictEqual(endpoint, before.get(endpoint.name))) continue;
      endpoints.add(sip.technology, endpoint.name, 'offline');
      sip.setEndpoint(endpoint);
    }
    provisioning.review();
    registrations.follow(sip.wantedRegistrations());
  };
}

/** Channels of browsers without SIP. */
function buildBrowsers(
  { config, clock, ids, log, runtime, tables, channelFacts: facts, limitCounts: { hit } }: Base,
  network: Network,
  { applications, endpoints }: State,
  { channels, listening }: Pick<CallControl, 'channels'> & { listening: Listening },
) {
  const { turn, ...terms } = browserSettings(config);
  const driver = createWebrtcDriver({
    ...terms,
    ...{ hit, tables, media: network.media, ids, outside: network.outside, fingerprint: network.fingerprint },
    log: log.child({ part: 'webrtc' }),
    localAddress: createLocalAddresses(clock),
    reachable(owner, is) {
      if (is) endpoints.add(driver.technology, owner, 'offline');
      endpoints.setState(driver.technology, owner, is ? 'online' : 'offline');
    },
  });
  const calls = createWebrtcCalls({
    ...{ channels, facts, listening, driver, applications, turn: runtime.turn, formats: new Set(formatNames) },
    iceServers: (name) => iceServers(turn, name, clock.now()),
  });
  channels.addDriver(driver.driver);
  return { calls, driver: driver.driver };
}

/** Channels whose far side is a server. */
function buildExternal(
  { config, clock, ids, log, runtime, tables }: Base,
  { applications }: State,
  { channels, views }: CallControl,
  { media, resolveHost, authorities }: Pick<ExternalDriverOptions, 'media' | 'resolveHost' | 'authorities'>,
) {
  const connections = createExternalConnections({
    runtime,
    log: log.child({ part: 'external' }),
    most: config.external_media.connections,
    connectionTimeoutMs: config.external_media.connection_timeout * 1000,
    arrivalTimeoutMs: config.external_media.arrival_timeout * 1000,
    resumption: {
      attempts: config.external_media.reconnect_attempts,
      intervalMs: config.external_media.reconnect_interval * 1000,
    },
  });
  const driver = createExternalDriver({
    tables,
    media,
    connections,
    ids,
    log: log.child({ part: 'external' }),
    webSockets: webSockets(config),
    authorities,
    resolveHost,
    localAddress: createLocalAddresses(clock),
    learned: (channelId, variables) => tellLearned(channels, channelId, variables),
  });
  for (const each of driver.drivers) channels.addDriver(each);
  const externalMedia = createExternalMedia({
    ...{ channels, views, log, applications, driver },
    turn: runtime.turn,
    variablesLimit: config.limits.channel_variables,
  });
  return { connections, externalMedia, drivers: driver.drivers };
}
