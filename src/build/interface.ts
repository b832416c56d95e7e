import { packageVersion as version } from '../config/package-files.ts';
import type { Config } from '../config/schema.ts';
import type { AnswerCounts } from '../http/answer-counts.ts';
import { createApp } from '../http/app.ts';
import type { AppDeps, Monitoring, RequestFollowers } from '../http/env.ts';
import { createOutboundSockets } from '../http/outbound-socket.ts';
import { startHttpServer } from '../http/server.ts';
import type { Unread } from '../http/unread.ts';
import type { LoopDelay } from '../lib/loop-reader.ts';
import { indexSounds } from '../media/file/index-sounds.ts';
import type { LiveApplication } from '../models/live.ts';
import type { ServerInfo } from '../models/server-info.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import { createCalls } from '../recorder/calls.ts';
import { createLive } from '../recorder/live.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { withStored } from '../recorder/stored-calls.ts';
import { createStuck, type Mailbox } from '../recorder/stuck.ts';
import {
  buildInfo,
  httpSettings,
  modules,
  pageDirectory,
  processIdentity,
  soundDirectories,
  systemVersion,
  versions,
} from '../settings.ts';
import { createModules } from '../stores/modules.ts';
import { readPageFiles } from '../stores/page-files.ts';
import { createSounds } from '../stores/sounds.ts';
import { createSystem } from '../stores/system.ts';
import { openTokens } from '../stores/tokens.ts';
import { createLogLevels } from '../watch/log-levels.ts';
import type { OneWayAudio } from '../watch/one-way-audio.ts';
import { type AlarmParts, buildAlarms } from './alarms.ts';
import type { AuditLog } from './audit.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import type { CallDetailRecords, RecordFigures } from './call-detail-records.ts';
import { clusterParts, serveCluster } from './cluster-service.ts';
import { buildMailboxes } from './mailboxes.ts';
import type { Network } from './network.ts';
import type { Reloadable } from './reload.ts';
import { createServerOwner } from './server-owner.ts';
import type { State } from './state.ts';
import type { Technologies } from './technologies.ts';
import type { buildUsage } from './usage.ts';

/** How long applications that we connected to may take to close their WebSocket, in ms. */
const closingGraceMs = 5_000;

/** Letters of tokens and tickets: 58^43 is more than 2^250. */
const secretLength = 43;

/** Limits that follow the configuration; the others are given to Node when the server is made. */
const followedLimits = [
  'body',
  'request_timeout',
  'header_timeout',
  'keep_alive',
  'websocket_message',
  'websocket_queue',
  'unread_total',
  'address_share',
  'connections',
  'answer_timeout',
  'response_timeout',
  'pipelined',
] as const satisfies (keyof Config['http']['limits'])[];

/** The parts of the server below its interface. */
type Built = { base: Base; network: Network; state: State; calls: CallControl; technologies: Technologies };

/** What watches these parts. */
type Watching = {
  usage: ReturnType<typeof buildUsage>;
  answers: AnswerCounts;
  monitoring: Monitoring;
  audit: AuditLog;
  records: CallDetailRecords['figures'];
  oneWay: OneWayAudio;
};

/**
 * Creates the interface, open when this resolves, and our outbound WebSockets.
 * @throws Error (rejects) with `code` if its address cannot be used.
 */
export async function buildInterface({ base, network, state, calls, technologies }: Built, watched: Watching) {
  const { config, clock, ids, log, scope, entityId, recorder } = base;
  const opened: { unread?: Pick<Unread, 'lagging' | 'carrying'> } = {};
  const mailboxes = buildMailboxes(state, calls, watched.records, network.homer);
  const views = buildViews(recorder, opened, base, { ...state, ...calls, ...watched, mailboxes, network, state });
  const { listening } = technologies;
  let listeningSettings = config.listening;
  const page = readPageFiles(pageDirectory);
  if (!page) log.warn({ directory: pageDirectory }, 'the web page was not built and is not served');
  const owners = {
    ...(await buildOwners(base, state, calls, technologies)),
    ...views,
    listening,
    usage: { get: watched.usage },
    bans: state.bans,
    objectOwnership: state.objectOwnership,
    groups: state.eventGroups,
    charts: page?.charts,
    contacts: state.contacts,
    registrations: state.registrations,
    watchers: state.watchers,
    cluster: state.cluster,
    server: createServerOwner(
      base,
      { channels: calls.channels, sip: technologies.sip, cluster: state.cluster },
      async () => ({
        ...{ sip: listenersOf(technologies), listening: whoMayListen(listeningSettings) },
        media_threads: network.media.spread?.() ?? [],
        ...(await workOf(network, watched)),
      }),
    ),
    logLevels: createLogLevels(log),
  };
  const { answers, monitoring } = watched;
  const options = httpSettings(config);
  const tokens = openOwnTokens(base, options);
  const parts: AppDeps = {
    owners,
    options,
    entityId,
    followers: followersOf(base),
    page: { version, files: page },
    secret: () => ids.secret(secretLength),
    tokens,
    keptAnswers: state.keptAnswers,
    audit: watched.audit,
    clock,
    log: log.child({ part: 'http' }),
    answers,
    cluster: clusterParts(state, calls),
    ...{ hit: base.limitCounts.hit, monitoring, changes: base.stateStore && base.changes },
  };
  const served = createApp(parts);
  opened.unread = served.unread;
  const { app, sessions } = served;
  serveCluster(base, state, { calls, app, sip: technologies.sip, network, owners, tokens, sessions });
  const http = await (base.io.serveHttp ?? startHttpServer)(served, config.http, {
    clock,
    log: parts.log,
    tls: network.certificates,
    ...{ held: base.io.supervised?.listening, changes: parts.changes },
  });
  scope.defer(() => http.close());
  const outboundSockets = createOutboundSockets({
    ...{ ...parts, ...served, tls: network.certificates },
    hear: base.io.hearOutbound,
  });
  startOutbound(base, calls, outboundSockets);
  const reloads: Reloadable[] = [
    {
      settings: [
        'http.users',
        'http.allowed_origins',
        'http.sessions',
        'http.tokens',
        ...followedLimits.map((limit) => `http.limits.${limit}`),
      ],
      apply(next) {
        served.reconfigure(httpSettings(next));
        outboundSockets.review();
        http.limit(next.http.limits);
      },
    },
  ];
  reloads.push(
    {
      settings: ['listening'],
      apply(next) {
        listeningSettings = next.listening;
        listening.reconfigure(listeningSettings);
      },
    },
    { settings: ['metrics.allowed'], apply: (next) => void (monitoring.networks.allowed = next.metrics.allowed) },
  );
  return { http, reloads };
}

/** Opens the WebSockets that this server makes to applications. */
function startOutbound({ scope }: Base, { outbound }: CallControl, sockets: ReturnType<typeof createOutboundSockets>) {
  scope.defer(() => {
    outbound.close();
    return sockets.close(closingGraceMs);
  });
  outbound.start(sockets.open, sockets.narrowOf);
}

/** Links requests with their consequences. */
const followersOf = ({ runtime, recorder, tracing, clock }: Base): RequestFollowers => ({
  following: (request, run) => runtime.turn.following(request, run),
  recorder,
  traced: tracing && ((request) => tracing.request(request) ?? (() => {})),
  // Of the start alone: ids that chance makes are the same whether or not the server was restored in between.
  prefix: Math.floor(clock.now()).toString(36),
});

function openOwnTokens({ config, clock, ids, log, scope }: Base, { tokens: settings }: AppDeps['options']) {
  const kept = { directory: config.general.data_directory, clock, log: log.child({ part: 'http' }) };
  const tokens = openTokens({ ...kept, settings, secret: (length) => ids.secret(length) });
  scope.defer(() => tokens.close());
  return tokens;
}

/** Creates the recorder's views. */
function buildViews(
  recorder: Recorder,
  served: { unread?: Pick<Unread, 'lagging' | 'carrying'> },
  base: Base,
  parts: Pick<CallControl, 'awayPolicyOf'> & { mailboxes: () => Mailbox[] } & Omit<AlarmParts, 'stuck'>,
) {
  const { inForce, clock, log, scope, refusedCalls, callFiles } = base;
  const { mailboxes, awayPolicyOf, oneWay } = parts;
  const { applications } = parts.state;
  const lagging = (octets: number) => served.unread?.lagging(octets) ?? [];
  const expected = { unheard: oneWay.legs, ringingMs: () => inForce.config.stuck.ringing * 1000 };
  const stuck = createStuck({ recorder, lagging, mailboxes, awayPolicyOf, expected });
  const server = { versions: versions(), config: () => inForce.config };
  const calls = createCalls(recorder, stuck, server);
  const inNumbers = (name: string): LiveApplication => {
    const sockets = served.unread?.carrying(name) ?? [];
    return {
      name,
      connected: applications.isConnected(name),
      state: applications.state(name),
      ...applications.figures(name),
      ...(sockets.length > 0 && {
        sockets: sockets.map(({ client, octets: unread, resumed }) => ({ client, unread, resumed })),
      }),
    };
  };
  const live = createLive({
    recorder,
    calls,
    clock,
    log,
    applications: () => applications.names().map(inNumbers),
    application: (name) => inNumbers(applications.get(name).name),
    stuck: stuck.all,
    refused: refusedCalls.list,
    settings: () => inForce.config.recorder.live,
  });
  scope.defer(() => live.close());
  return {
    calls: withStored(calls, callFiles, server, () => clock.now()),
    live,
    alarms: buildAlarms(base, { ...parts, stuck }),
  };
}

const whoMayListen = (listening: Config['listening']): ServerInfo['listening'] => {
  if (!listening.on) return 'nobody';
  return listening.read_only ? 'everyone' : 'operators';
};

/** SIP listeners. */
const listenersOf = ({ listeners }: Technologies) =>
  listeners.map(({ protocol, host, port }) => ({ protocol, host, port }));

/** How the server keeps up, and what it writes down beside calls. */
async function workOf(
  { media, homer }: Network,
  { audit, records, monitoring }: { audit: AuditLog; records: () => RecordFigures | undefined; monitoring: Monitoring },
): Promise<Pick<ServerInfo, 'media_load' | 'event_loop' | 'records' | 'audit' | 'hep'>> {
  const [figures, written, hep] = [records(), audit.figures(), homer.standing()];
  const loads = (await media.load?.('people')) ?? [];
  return {
    media_load: loads.map(({ lateTicks: late, skippedTicks: skipped, loopDelay }) => ({
      ...{ late, skipped },
      ...(loopDelay && { delay: inMs(loopDelay) }),
    })),
    event_loop: inMs(monitoring.loopDelay('people')),
    ...(figures && {
      records: { made: figures.made, lost: figures.lost, waiting_octets: figures.waitingOctets },
    }),
    ...(written && { audit: written }),
    ...(hep && { hep }),
  };
}

const inMs = ({ mean, p99, max }: LoopDelay): LoopDelay => {
  const ms = (seconds: number): number => Math.round(seconds * 10_000) / 10;
  return { mean: ms(mean), p99: ms(p99), max: ms(max) };
};

/** Creates the owners behind the interface's operations. */
async function buildOwners(
  { config, clock, logChannels, entityId }: Base,
  { applications, endpoints, globals, deviceStates, mailboxes }: State,
  { channels, operations, playbacks, snoops, stored, broadcasts, meeting }: CallControl,
  { sip, messages, dynamicConfig, external, webrtc }: Technologies,
): Promise<AppDeps['owners']> {
  const soundIndex = await indexSounds(soundDirectories(config));
  const { user, group } = processIdentity();
  return {
    channels: operations,
    playbacks: { ...playbacks, playOnChannel: operations.play },
    bridges: meeting.bridgeOperations,
    transfers: meeting.transfers,
    recordings: meeting.recordingOperations,
    storedRecordings: stored,
    broadcasts,
    snoops,
    externalMedia: external?.externalMedia,
    webrtc,
    applications,
    endpoints: { list: endpoints.list, listByTech: endpoints.listByTechnology, get: endpoints.get },
    messages,
    system: createSystem({
      clock,
      entityId,
      version: systemVersion,
      build: buildInfo(formatTimestamp(clock.now())),
      name: config.general.system_name,
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
    modules: createModules(() =>
      modules({
        sip: sip.counts().legs,
        local: channels.size - sip.counts().legs,
        playbacks: playbacks.size,
        applications: applications.names().length,
      }),
    ),
  };
}
