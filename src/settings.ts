import {
  arch,
  availableParallelism,
  hostname,
  version as kernelVersion,
  type as osType,
  release,
  userInfo,
} from 'node:os';
import type { AwayPolicy } from './actors/away-policies.ts';
import type { OutboundConnectionSettings } from './actors/outbound-connection-entry.ts';
import type { FeatureSettings } from './calls/feature-calls.ts';
import { policiesOf } from './compatibility.ts';
import { descriptorLimit } from './config/descriptor-limit.ts';
import { packageFile, packageVersion as version } from './config/package-files.ts';
import { audioAddress, type Config, type EndpointConfig } from './config/schema.ts';
import { standardSipPorts } from './config/sip-settings.ts';
import { gatheringTerms } from './config/stun-servers.ts';
import { formatCallerId, parseCallerId } from './dialplan/caller-id.ts';
import type { Allowance } from './drivers/sip/allowance.ts';
import {
  defaultEndpoint,
  defaultSipConfig,
  type OpusTerms,
  type RegistrationConfig,
  type SipConfig,
  type EndpointConfig as SipEndpoint,
} from './drivers/sip/config.ts';
import type { HttpOptions } from './http/env.ts';
import type { CertifiedKey } from './lib/self-made-certificate.ts';
import { defaultMediaConfig, type MediaConfig } from './media/config.ts';
import {
  aorAttributes,
  endpointAttributes,
  fieldsOf,
  identityAttributes,
  registrationAttributes,
} from './models/endpoint-attributes.ts';
import type { BuildInfo, Module } from './models/system.ts';
import type { RecorderSettings } from './recorder/recorder.ts';
import type { CacheLimits } from './sip/location/cached-names.ts';
import { parseUri } from './sip/message/uri.ts';
import type { TransactionLimits } from './sip/transaction/quota.ts';
import { kindOf } from './sip/transport/kind.ts';
import type { RateLimits } from './sip/transport/rate-limiter.ts';
import type { Listen } from './sip/transport/transport.ts';
import type { TransportLimits } from './sip/transport/transports.ts';
import type { BanSettings } from './stores/bans.ts';
import type { CertificateSettings } from './stores/certificates.ts';
import { transferHandlingIn } from './telephony/driver.ts';

/** Translates the configuration for each part: names and units only change here. */

/** Files of the page, made by the build. */
export const pageDirectory = packageFile('dist/page');

/**
 * Version for clients that check it: the interface is that of Asterisk's current major release, as its descriptions and
 * the system show. The program's own version follows.
 */
export const systemVersion = `23.0.0+hookswitch.${version}`;

/** The prompts that come along, beside the program. */
const builtinSounds = packageFile('sounds');

export const soundDirectories = ({ sounds }: Config): string[] =>
  sounds.directories.map((directory) => (directory === 'builtin' ? builtinSounds : directory));

/** Directories of music classes. */
const musicDirectories = ({ sounds }: Config): string[] =>
  sounds.music.map((directory) => (directory === 'builtin' ? `${builtinSounds}/music` : directory));

/** How parties of calls ask for something by keys. */
export const featureSettings = ({ features }: Pick<Config, 'features'>): FeatureSettings => ({
  codes: features,
  digitTimeoutMs: features.digit_timeout,
  numberTimeoutMs: features.transfer_digit_timeout,
  attempts: features.transfer_attempts,
  noAnswerTimeoutMs: features.transfer_no_answer_timeout,
  beep: features.recording_beep,
});

/** Opus parameters: requests and limits. */
const opusTerms = (opus: Config['media']['opus']): OpusTerms => ({
  wishes: {
    fec: opus.fec,
    dtx: opus.dtx,
    cbr: opus.cbr,
    maxPlaybackRate: opus.max_playback_rate,
    ...(opus.max_average_bit_rate !== undefined && { maxAverageBitrate: opus.max_average_bit_rate }),
  },
  sending: {
    bitRate: opus.bit_rate,
    complexity: opus.complexity,
    fec: opus.fec,
    lossPercent: opus.expected_loss,
  },
});

/**
 * @param certificate what browsers see; left out: none can call. @param authorities of the certificates of TURN servers, in PEM;
 * left out: those of Node.
 */
export const mediaSettings = (
  config: Config,
  certificate?: CertifiedKey,
  authorities?: readonly string[],
  descriptors = descriptorLimit(),
): MediaConfig => ({
  ...defaultMediaConfig,
  // With few descriptors, half of them are still for calls.
  reservedFrom: Math.max(descriptors / 2, descriptors - config.media.reserved_descriptors),
  address: audioAddress(config),
  ports: { first: config.media.rtp_ports[0], last: config.media.rtp_ports[1] },
  relayedPackets: config.media.relayed_packets,
  codecs: config.media.codecs,
  opus: opusTerms(config.media.opus).sending,
  soundsDirectories: soundDirectories(config),
  defaultLanguage: config.sounds.default_language,
  musicDirectories: musicDirectories(config),
  recordingsDirectory: config.recordings.directory,
  rtpTimeoutMs: config.media.rtp_timeout * 1000,
  natSearchMs: config.media.nat_search * 1000,
  ...(certificate && {
    webrtc: {
      certificate,
      handshakeMs: config.media.webrtc.handshake_timeout * 1000,
      consentMs: config.media.webrtc.consent_timeout * 1000,
      gathering: gatheringTerms(config.media.webrtc, { name: config.media.webrtc.gathering.turn_name, authorities }),
      udpPort: config.media.webrtc.udp_port,
      udpBufferBytes: config.media.webrtc.udp_buffer,
    },
  }),
  threads: config.media.threads || (config.media.webrtc.udp_port > 0 ? 1 : Math.max(1, availableParallelism() - 1)),
  threadsAtStart: config.media.threads || 1,
  sockets: config.media.sockets,
  warmsUp: config.media.warm_up,
  pipeBytes: config.media.thread_backlog,
  video: {
    streams: config.media.video.streams,
    keyFramesPerSecond: config.media.video.key_frames,
    bitrateIntervalMs: config.media.video.bitrate_interval * 1000,
    lowestBitrate: config.media.video.lowest_bitrate * 1000,
    largestUnit: config.media.video.largest_unit,
    resendPackets: config.media.video.resend_packets,
    resendMs: config.media.video.resend_time,
    sourceTimeoutMs: config.media.video.source_timeout * 1000,
    talkerAfterMs: config.media.video.talker_after,
    talkerHoldMs: config.media.video.talker_hold,
    controlsPerTick: Math.ceil(config.media.video.control_packets / 50),
    pipeBytes: config.media.video.thread_backlog,
  },
  reports: { perSession: config.media.report_backlog_per_call, inAll: config.media.report_backlog },
  passedDigits: config.media.passed_digits,
  threadTimeoutMs: config.media.thread_timeout * 1000,
  measureMs: config.recorder.off ? 0 : config.recorder.media_interval * 1000,
  toneZone: config.media.tone_zone,
  recording: { batchMs: config.recordings.batch, maximumBacklogOctets: config.recordings.backlog },
  external: {
    backlogMs: config.external_media.backlog,
    unsentBytes: config.external_media.unsent,
    stallMs: config.external_media.stall_timeout * 1000,
    messageBytes: config.external_media.websocket_message,
    countsInText: policiesOf(config.general).countsInText,
  },
});

/** Shares of descriptors for HTTP and SIP: the rest is for calls, which need two or more each. */
const sipDescriptors = 0.25;
const httpDescriptors = 0.25;

export const httpSettings = (
  { http, general, external_media: { log_in, websocket_message: message } }: Config,
  descriptors = descriptorLimit(),
): HttpOptions => ({
  ...http,
  limits: {
    ...http.limits,
    connections: Math.min(http.limits.connections, Math.max(1, Math.floor(descriptors * httpDescriptors))),
  },
  pretty: general.pretty,
  validate: general.validate,
  refusalForm: policiesOf(general).refusalForm,
  media_sockets: { log_in: log_in ?? policiesOf(general).logsIn, message },
});

/** The WebSockets to open to applications. Times of the configuration are in s. */
export const outboundConnections = ({ applications }: Config): OutboundConnectionSettings[] =>
  Object.entries(applications).map(([name, application]) => ({
    name,
    kind: application.type === 'persistent' ? 'persistent' : 'call',
    target: {
      url: application.url,
      protocols: application.protocols,
      username: application.username,
      password: application.password,
      localUser: application.local_user,
      ...(application.token !== '' && { token: application.token }),
      ...(application.local_token !== '' && { localToken: application.local_token }),
    },
    apps: application.apps,
    subscribeAll: application.subscribe_all,
    connectionTimeoutMs: application.connection_timeout * 1000,
    reconnectIntervalMs: application.reconnect_interval * 1000,
    reconnectAttempts: application.reconnect_attempts,
  }));

/** Limits for strangers. Times of the configuration are in s. */
export function strangerLimits(
  { sip: { limits } }: Config,
  descriptors = descriptorLimit(),
): {
  rateLimiter: RateLimits;
  transactions: TransactionLimits;
  connections: TransportLimits;
  callWaitMs: number;
} {
  return {
    rateLimiter: {
      sourceRate: limits.source_rate,
      sourceBurst: limits.source_burst,
      strangerRate: limits.stranger_rate,
      sources: limits.sources,
    },
    transactions: {
      transactions: limits.transactions,
      octets: limits.transaction_bytes,
      sourceTransactions: limits.source_transactions,
      sourceOctets: limits.source_transaction_bytes,
    },
    connections: {
      maxConnections: Math.min(limits.connections, Math.max(1, Math.floor(descriptors * sipDescriptors))),
      maxSourceConnections: limits.source_connections,
      maxSourceHandshakes: limits.source_handshakes,
      handshakeTimeout: limits.handshake * 1000,
      maxQueuedBytes: limits.connection_queue,
      maxQueuedBytesInAll: limits.connection_queues,
      firstMessageTimeout: limits.first_message * 1000,
      partialTimeout: limits.partial_message * 1000,
      idleTimeout: limits.idle_connection * 1000,
      maxWaiting: limits.waiting,
    },
    callWaitMs: limits.call_wait * 1000,
  };
}

export const sipListens = ({ sip }: Config): Listen[] =>
  sip.transports.map(
    ({ protocol, bind, port = standardSipPorts[protocol], client_certificates: clientCertificates }) => ({
      protocol,
      host: bind,
      port,
      ...(kindOf(protocol).secure && { clientCertificates }),
    }),
  );

/** Times of the configuration are in s. */
export const certificateSettings = ({ tls }: Config): CertificateSettings => ({
  certificates: tls.certificates,
  authorities: tls.authorities,
  clientAuthorities: tls.client_authorities,
  clientCrl: tls.client_crl,
  minimumVersion: tls.minimum_version,
  checkEveryMs: tls.check_interval * 1000,
});

/** How long answers of DNS are believed. Times of the configuration are in s. */
export const dnsLimits = ({ sip: { dns } }: Config): CacheLimits => ({
  minimumMs: dns.minimum_ttl * 1000,
  maximumMs: dns.maximum_ttl * 1000,
  most: dns.remembered,
});

/** Times of the configuration are in s. */
export const banSettings = ({ bans }: Config): BanSettings => ({
  windowMs: bans.window * 1000,
  slowAfter: bans.slow_after,
  longestDelayMs: bans.longest_delay * 1000,
  ignoreAfter: bans.ignore_after,
  ignoreForMs: bans.ignore_for * 1000,
  exempt: bans.exempt,
  sources: bans.sources,
});

const userAgent = (name: string): string => (name.includes('/') ? name : `${name}/${version}`);

const iceTerms = ({ ice, candidates }: Config['media']['webrtc']) => ({ ice, iceCandidates: candidates });

/** Terms of browsers that call without SIP. */
export const browserSettings = ({ media }: Config) => ({
  ...iceTerms(media.webrtc),
  codecs: media.webrtc.formats,
  video: { codecs: media.webrtc.video_codecs, most: media.webrtc.max_video_streams },
  opus: opusTerms(media.opus),
  turn: media.webrtc.turn,
});

export const sipSettings = ({ sip, media }: Config): SipConfig => ({
  ...{ ...defaultSipConfig, ...iceTerms(media.webrtc), opus: opusTerms(media.opus) },
  userAgent: userAgent(sip.user_agent),
  realm: sip.realm,
  algorithms: sip.digest_algorithms,
  t1Ms: sip.timers.t1,
  t2Ms: sip.timers.t2,
  tryingAtOnce: sip.trying_at_once,
  subscriptions: {
    most: sip.subscriptions.most,
    perEndpoint: sip.subscriptions.per_endpoint,
    minimumSeconds: sip.subscriptions.minimum_expiration,
    maximumSeconds: sip.subscriptions.maximum_expiration,
    intervalMs: sip.subscriptions.interval * 1000,
    calls: sip.subscriptions.calls,
  },
  mostRedirections: sip.most_redirections,
  mostBranches: sip.most_branches,
  waitingProvisional: sip.waiting_provisional,
  failover: {
    patienceMs: sip.dns.failover_timeout * 1000,
    avoidMs: sip.dns.failed_server_time * 1000,
    mostProbes: sip.dns.most_probes,
  },
  location: { records: sip.dns.most_records, addresses: sip.dns.most_addresses },
  announceDelayMs: sip.connected_line_delay * 1000,
  transfersPerCall: sip.transfers.per_call,
  transferTimeoutMs: sip.transfers.timeout * 1000,
  video: {
    delayMs: sip.video.renegotiate_delay,
    intervalMs: sip.video.renegotiate_interval * 1000,
    keyFrameIntervalMs: sip.video.key_frame_interval * 1000,
  },
  endpoints: Object.entries(sip.endpoints).map(([name, endpoint]) => sipEndpoint(name, endpoint)),
});

/** Caller ids of endpoints as text. */
export const callerIds = { parse: parseCallerId, format: formatCallerId };

/**
 * Defaults of a registered trunk: the registered user is the caller identity, and calls go to the first registrar,
 * unless configured otherwise.
 */
function lineDefaults({ registrations, outbound_auth, from_user, from_domain, aor }: EndpointConfig) {
  const [first] = registrations;
  const server = first && parseUri(first.server);
  const host = server?.scheme === 'sip' || server?.scheme === 'sips' ? server.host : '';
  return {
    fromUser: from_user || (first ? (outbound_auth?.username ?? '') : ''),
    fromDomain: from_domain || host,
    contacts: first && aor.contacts.length === 0 ? [first.server] : aor.contacts,
  };
}

const registrationSettings = (registration: EndpointConfig['registrations'][number]): RegistrationConfig => ({
  server: registration.server,
  ...fieldsOf(registrationAttributes, registration),
});

/** An endpoint's limits; none if nothing is limited. */
function allowanceOf({ allow }: EndpointConfig): { allowance?: Allowance } {
  const { sources, registration_sources, transports, calls, extensions } = allow;
  if (calls === 0 && [sources, registration_sources, transports, extensions].every(({ length }) => length === 0))
    return {};
  return {
    allowance: { sources, registrationSources: registration_sources, protocols: transports, calls, extensions },
  };
}

/** One endpoint of the configuration as the SIP driver has it. Times of the configuration are in s. */
function sipEndpoint(name: string, endpoint: EndpointConfig): SipEndpoint {
  const { auth, outbound_auth: outbound, aor, registrations } = endpoint;
  const { fromUser, fromDomain, contacts } = lineDefaults(endpoint);
  return {
    ...defaultEndpoint,
    name,
    context: endpoint.context,
    ...(auth ? { auth: { username: auth.username, password: auth.password ?? '' } } : {}),
    ...(outbound ? { outboundAuth: outbound } : {}),
    match: endpoint.match,
    aor: { ...fieldsOf(aorAttributes, aor), contacts },
    ...allowanceOf(endpoint),
    codecs: endpoint.codecs,
    ...(endpoint.opus && { opus: opusTerms(endpoint.opus) }),
    videoCodecs: endpoint.video_codecs,
    ...fieldsOf(endpointAttributes, endpoint),
    ...(fromUser === '' ? {} : { fromUser }),
    ...(fromDomain === '' ? {} : { fromDomain }),
    ...(registrations.length > 0 && { registrations: registrations.map(registrationSettings) }),
    ...(endpoint.caller_id === '' ? {} : { callerId: parseCallerId(endpoint.caller_id) }),
    trustIdentity: endpoint.trust_id || endpoint.trust_id_inbound,
    identity: { ...fieldsOf(identityAttributes, endpoint), pai: endpoint.trust_id || endpoint.send_pai },
    transferHandling: transferHandlingIn(endpoint.variables) ?? endpoint.transfer_handling,
    ...(Object.keys(endpoint.variables).length === 0 ? {} : { variables: endpoint.variables }),
  };
}

/** Build information of `asterisk/info`: without compilation it is the running machine. */
export const buildInfo = (date: string): BuildInfo => ({
  os: osType(),
  kernel: release(),
  machine: arch(),
  options: kernelVersion(),
  date,
  user: userInfo().username,
});

/** User, group and host of the process. */
export const processIdentity = () => ({ user: userInfo().username, group: String(userInfo().gid), host: hostname() });

/** Modules: parts of the system that clients may query, with use counts. */
export function modules(uses: { sip: number; local: number; playbacks: number; applications: number }): Module[] {
  const running = (name: string, description: string, use_count = 0): Module => ({
    name,
    description,
    use_count,
    status: 'Running',
    support_level: 'core',
  });
  return [
    running('app_echo.so', 'Dialplan application Echo'),
    running('app_playback.so', 'Dialplan application Playback', uses.playbacks),
    running('app_stasis.so', 'Dialplan application Stasis', uses.applications),
    running('chan_pjsip.so', 'SIP calls', uses.sip),
    running('codec_alaw.so', 'G.711 A-law'),
    running('codec_ulaw.so', 'G.711 µ-law'),
    running('format_pcm.so', 'Raw G.711 and WAV sound files'),
    running('res_ari.so', 'REST and WebSocket interface', uses.applications),
    running('res_pjsip.so', 'SIP endpoints, registration and qualification'),
    running('res_rtp_asterisk.so', 'RTP and RTCP', uses.sip),
    running('chan_local.so', 'Local channels', uses.local),
  ];
}

/** Servers that wait for our WebSocket, by name. */
export const webSockets = ({ external_media: { websockets } }: Config) =>
  new Map(
    Object.entries(websockets).map(([name, { url, protocols, headers, token }]) => [
      name,
      {
        ...{ url, protocols },
        headers: {
          ...Object.fromEntries(headers.map(headerOf)),
          ...(token !== '' && { Authorization: `Bearer ${token}` }),
        },
      },
    ]),
  );

/** `Name: value`. */
function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** The recorder's settings. Times of the configuration are in minutes, sizes in MB of 10⁶ octets. */
export const recorderSettings = ({ recorder }: Config): RecorderSettings => ({
  off: recorder.off,
  stepsPerCall: recorder.entries_per_call,
  octets: recorder.memory * 1_000_000,
  // A call that is stored has to be there until it is written.
  keepEndedMs: Math.max(recorder.keep_ended * 60_000, recorder.disk.days > 0 ? 15_000 : 0),
  others: recorder.other_entries,
  bodies: recorder.sip_bodies,
  mask: { digits: recorder.mask_digits, variables: new Set(recorder.mask_variables) },
  rtp: { packets: recorder.rtp_headers, octets: recorder.rtp_memory * 1_000_000 },
});

/** Versions, for fault reports. */
export const versions = (): Record<string, string> => ({
  hookswitch: version,
  node: process.versions.node,
  v8: process.versions.v8,
  platform: `${process.platform} ${process.arch}`,
});

/** The webhook of call detail records; undefined without one. Times of the configuration are in s, sizes in MB. */
export const recordWebhook = ({ cdr: { webhook } }: Config) =>
  webhook.url === ''
    ? undefined
    : {
        url: webhook.url,
        headers: Object.fromEntries(webhook.headers.map(headerOf)),
        batch: webhook.batch,
        timeoutMs: webhook.timeout * 1000,
        retryMs: webhook.retry * 1000,
        longestRetryMs: webhook.longest_retry * 1000,
        spoolOctets: webhook.spool * 1_000_000,
      };

/** Away policies, by application. */
export const awayPolicies =
  ({ away_policies: policies }: Config) =>
  (application: string): AwayPolicy | undefined => {
    const own = Object.hasOwn(policies, application) ? policies[application] : policies['*'];
    if (!own) return undefined;
    const { after, action, move_to: moveTo, music_class: musicClass, music_for: musicFor } = own;
    return {
      ...{ afterMs: after * 1000, action },
      ...(action === 'move' && { moveTo }),
      ...(musicClass !== '' && { music: { class: musicClass, forMs: musicFor * 1000 } }),
    };
  };
