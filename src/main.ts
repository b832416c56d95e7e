import { lookup } from 'node:dns/promises';
import { createApplications } from './actors/applications.ts';
import { createChannelOperations } from './actors/channel-operations.ts';
import { createChannels } from './actors/channels.ts';
import { createContacts } from './actors/contacts.ts';
import { createMessages } from './actors/messages.ts';
import { createOutboundConnections } from './actors/outbound-connections.ts';
import { createPlaybacks } from './actors/playbacks.ts';
import { createBus } from './bus/bus.ts';
import type { Config } from './config/schema.ts';
import { createDialplan } from './dialplan/dialplan.ts';
import { createLocalDriver } from './drivers/local/local.ts';
import { createSipDriver } from './drivers/sip/driver.ts';
import { objectsOf, sipObjectTypes } from './drivers/sip/objects.ts';
import { createProvisioning } from './drivers/sip/provisioning.ts';
import { createApp } from './http/app.ts';
import type { AppDeps } from './http/env.ts';
import { createOutboundSockets } from './http/outbound-socket.ts';
import { startHttpServer } from './http/server.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { createIds, type Ids } from './lib/ids.ts';
import { Scope } from './lib/scope.ts';
import { createLogging, type Logging } from './logging.ts';
import { indexSounds } from './media/file/index-sounds.ts';
import { createMediaPlane } from './media/media-plane.ts';
import { createEventCheck } from './models/check-event.ts';
import { formatTimestamp } from './models/timestamp.ts';
import type { Usage } from './models/usage.ts';
import {
  banSettings,
  buildInfo,
  callerIds,
  httpSettings,
  mediaSettings,
  modules,
  outboundConnections,
  processIdentity,
  sipListens,
  sipSettings,
  soundDirectories,
  version,
} from './settings.ts';
import { createTransactionLayer } from './sip/transaction/layer.ts';
import { createTransports } from './sip/transport/transports.ts';
import { createBans } from './stores/bans.ts';
import { createDeviceStates } from './stores/device-states.ts';
import { createDynamicConfig } from './stores/dynamic-config.ts';
import { createEndpoints } from './stores/endpoints.ts';
import { keepEntityId } from './stores/entity-id.ts';
import { createMailboxes } from './stores/mailboxes.ts';
import { createModules } from './stores/modules.ts';
import { createSounds } from './stores/sounds.ts';
import { createSystem } from './stores/system.ts';
import { createGlobalVariables } from './stores/variables.ts';
import { Cause } from './telephony/causes.ts';

/** A server that runs. */
export type RunningServer = {
  addresses: {
    /** Base URL of the interface, ending in `/ari`. */
    http: string;
    /** `address:port` by protocol. */
    sip: Partial<Record<'udp' | 'tcp', string>>;
  };
  /** The password made up for this run, when the configuration left one out. */
  password?: string;
  /** What is held now: for tests, metrics and leak checks. */
  usage(): Promise<Usage>;
  /** Takes no new calls, lets live ones go on for `general.drain_timeout`, then hangs them up; resolves when none is left. */
  drain(): Promise<void>;
  /** Ends everything and lets go of every port, timer and thread. */
  close(): Promise<void>;
};

/** What a caller may put in place of the system's own. */
export type ServerIo = { logging?: Logging; clock?: Clock; ids?: Ids };

/**
 * Builds the house and opens its doors: the only place that knows every layer.
 * @throws Error with `code`, `address`, `port` when an address cannot be had; then nothing is left open.
 */
export async function startServer(config: Config, io: ServerIo = {}): Promise<RunningServer> {
  const scope = new Scope();
  try {
    return await build(config, io, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function build(config: Config, io: ServerIo, scope: Scope): Promise<RunningServer> {
  const { general } = config;
  const clock = io.clock ?? systemClock;
  const { log, logChannels } = io.logging ?? createLogging(config, process.stderr);
  scope.defer(() => logChannels.close());
  const ids = io.ids ?? createIds(clock, general.system_name);
  const runtime = { clock, log };
  const entityId = general.entity_id || keepEntityId(general.data_directory, ids);
  const kept = { directory: general.data_directory, log };

  // Media and SIP sockets: opened first, because an address that cannot be had ends the start.
  const media = createMediaPlane({ config: mediaSettings(config), log: log.child({ part: 'media' }) });
  scope.defer(() => media.close());
  const transports = createTransports({ clock, log: log.child({ part: 'sip' }) });
  scope.defer(() => transports.close());
  const timers = { t1: config.sip.timers.t1, t2: config.sip.timers.t2, t4: config.sip.timers.t4 };
  const transactions = createTransactionLayer({ transports, clock, ids, log: log.child({ part: 'sip' }), timers });
  scope.defer(() => transactions.close());

  // The bus, and what publishes on it.
  const bus = createBus({ log });
  const endpoints = createEndpoints({ bus, onRemoved: (topic) => applications.forget(topic) });
  const contacts = createContacts({ bus, runtime, log, endpoints });
  scope.defer(() => contacts.close());
  const globals = createGlobalVariables({ bus });
  const mailboxes = createMailboxes({ ...kept, onChanged: ({ name }) => sip.mailboxChanged(name) });
  scope.defer(() => mailboxes.close());
  const deviceStates = createDeviceStates({
    ...kept,
    bus,
    endpoint: endpoints.status,
  });
  scope.defer(() => deviceStates.close());

  const bans = createBans({ settings: banSettings(config), clock, log: log.child({ part: 'bans' }) });
  scope.defer(() => bans.close());

  // Call control.
  const playbacks = createPlaybacks({ bus, runtime, ids, log });
  const dialplan = createDialplan({ contexts: config.dialplan, clock, log: log.child({ part: 'dialplan' }) });
  const applications = createApplications({
    bus,
    clock,
    log,
    runtime,
    entityId,
    check: general.validate ? createEventCheck() : undefined,
    resolve: {
      channel(id) {
        const entry = channels.findByIdOrName(id);
        return entry && channels.model(entry);
      },
      bridge: () => undefined,
      endpoint: (technology, resource) => endpoints.find(technology, resource),
      technology: (name) => endpoints.technology(name),
    },
  });
  scope.defer(() => applications.close());
  const outbound = createOutboundConnections({
    connections: outboundConnections(config),
    applications,
    bus,
    runtime,
    log: log.child({ part: 'outbound' }),
    queueLimit: Math.floor(config.http.limits.websocket_queue / 2),
  });
  const channels = createChannels({
    bus,
    runtime,
    ids,
    dialplan,
    applications: { ...applications, admit: outbound.admit },
    playbacks,
    endpoints,
    globals,
    deviceStates,
    settings: {
      channelvars: general.channelvars,
      defaultLanguage: config.sounds.default_language,
      ...(general.compatibility === 'asterisk' ? { softHangupCause: fieldSoftHangupCause } : {}),
    },
  });
  const operations = createChannelOperations({
    channels,
    playbacks,
    applications,
    dialplan,
    formats: new Set(config.media.codecs),
    compatibility: general.compatibility,
    clock,
    soon: clock.soon,
  });

  // The technologies.
  channels.addDriver(
    createLocalDriver({ media, ids, hasContext: (context) => Object.hasOwn(config.dialplan, context) }),
  );
  const sipConfig = sipSettings(config);
  const sip = createSipDriver({
    config: sipConfig,
    transports,
    transactions,
    media,
    host: channels.host,
    contacts,
    clock,
    ids,
    log,
    mailbox(name) {
      const mailbox = mailboxes.list().find((each) => each.name === name);
      return mailbox && { newMessages: mailbox.new_messages, oldMessages: mailbox.old_messages };
    },
    messageReceived: (message) => messages.received(message),
    resolveHost: async (host) => (await lookup(host)).address,
  });
  scope.defer(() => sip.close());
  const messages = createMessages({ bus, clock, log, endpoints, driver: () => sip });
  channels.addDriver(sip);
  contacts.attach(sip);
  for (const name of Object.keys(config.sip.endpoints)) endpoints.add(sip.technology, name, 'offline');
  // Phones made at run time: known before the first message comes in.
  const dynamicConfig = createDynamicConfig({
    ...kept,
    configClass: 'res_pjsip',
    types: sipObjectTypes,
    fixed: objectsOf(sipConfig.endpoints, callerIds),
    refuses: (kind, object) => provisioning.refuses(kind, object),
    onChanged: (kind, id) => provisioning.changed(kind, id),
  });
  scope.defer(() => dynamicConfig.close());
  const provisioning = createProvisioning({
    find: dynamicConfig.find,
    made: () => dynamicConfig.made('endpoint'),
    callerIds,
    driver: sip,
    added: (name) => void endpoints.add(sip.technology, name, 'offline'),
    removed: (name) => endpoints.remove(sip.technology, name),
    log,
  });
  provisioning.start();
  const listeners = await transports.bind(sipListens(config));
  sip.start();

  // The interface.
  const usage = async (): Promise<Usage> => ({
    channels: channels.size,
    playbacks: playbacks.size,
    channelAudio: channels.audio.size,
    contacts: contacts.size,
    outboundConnections: outbound.size,
    media: await media.usage(),
    sip: { ...sip.counts(), transactions: transactions.counts().clients + transactions.counts().servers },
  });
  const soundIndex = await indexSounds(soundDirectories(config));
  const { user, group } = processIdentity();
  const interfaceDeps: AppDeps = {
    owners: {
      channels: operations,
      playbacks: { ...playbacks, playOnChannel: operations.play },
      applications,
      endpoints: { list: endpoints.list, listByTech: endpoints.listByTechnology, get: endpoints.get },
      messages,
      system: createSystem({
        clock,
        entityId,
        version,
        build: buildInfo(formatTimestamp(clock.now())),
        name: general.system_name,
        defaultLanguage: config.sounds.default_language,
        setid: { user, group },
        limits: {},
        variables: globals,
      }),
      sounds: createSounds(() => soundIndex),
      deviceStates,
      mailboxes,
      logChannels,
      dynamicConfig,
      usage: { get: usage },
      modules: createModules(() =>
        modules({
          sip: sip.counts().legs,
          local: channels.size - sip.counts().legs,
          playbacks: playbacks.size,
          applications: applications.list().length,
        }),
      ),
    },
    options: httpSettings(config),
    entityId,
    clock,
    log: log.child({ part: 'http' }),
  };
  const { app, sockets } = createApp(interfaceDeps);
  const http = await startHttpServer({ app, sockets }, config.http, clock);
  scope.defer(() => http.close());
  const outboundSockets = createOutboundSockets({ ...interfaceDeps, app });
  scope.defer(() => {
    outbound.close();
    return outboundSockets.close(closingGraceMs);
  });
  outbound.start(outboundSockets.open);

  return {
    addresses: {
      http: `http://${hostAndPort(http.address.address, http.address.port)}/ari`,
      sip: Object.fromEntries(listeners.map(({ protocol, host, port }) => [protocol, hostAndPort(host, port)])),
    },
    ...(config.generated_password === undefined ? {} : { password: config.generated_password }),
    usage,
    async drain() {
      channels.drain();
      sip.drain();
      await until(channels.idle(), clock, general.drain_timeout * 1000);
      channels.hangupAll(Cause.normalClearing);
      await until(channels.idle(), clock, hangupGraceMs);
    },
    close: () => scope.close(),
  };
}

/** How long applications that we connected to may take to close their WebSocket. */
const closingGraceMs = 5_000;

/** What the field shows as cause whenever software asks for a hang-up: the number of an internal flag, no Q.850 cause. */
const fieldSoftHangupCause = 32;

/** How long calls hung up at the end of a drain may take to say goodbye. */
const hangupGraceMs = 5_000;

/** Waits for something, at most so many ms; leaves no timer behind. */
async function until(done: Promise<void>, clock: Clock, ms: number): Promise<void> {
  let timer: unknown;
  const timeout = new Promise<void>((resolve) => {
    timer = clock.setTimeout(resolve, ms);
  });
  await Promise.race([done, timeout]);
  clock.clearTimeout(timer);
}

const hostAndPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
