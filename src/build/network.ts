import { audioAddress, type Config } from '../config/schema.ts';
import type { TurnChanges } from '../lib/changes.ts';
import { type CertifiedKey, createCertificate, fingerprintOf } from '../lib/self-made-certificate.ts';
import { unreadableDirectories } from '../media/file/index-sounds.ts';
import { finishLeftovers } from '../media/file/recording-writer.ts';
import { createMediaPlane } from '../media/media-plane.ts';
import { IceTcpServer } from '../media/webrtc/ice-tcp.ts';
import { certificateSettings, mediaSettings, recorderSettings, soundDirectories, strangerLimits } from '../settings.ts';
import { createTransactionLayer } from '../sip/transaction/layer.ts';
import type { TransactionChanged } from '../sip/transaction/runner.ts';
import { createKnownPeers } from '../sip/transport/known-peers.ts';
import { MessageCounts } from '../sip/transport/message-counts.ts';
import { withNodeFlows } from '../sip/transport/node-flows.ts';
import { createRateLimiter } from '../sip/transport/rate-limiter.ts';
import { tracedTransports } from '../sip/transport/traced.ts';
import { ListenError, type TrafficWatch } from '../sip/transport/transport.ts';
import { createTransports } from '../sip/transport/transports.ts';
import { type OpenUdp, openUdpSocket } from '../sip/transport/udp.ts';
import { MediaAddressError } from '../start-errors.ts';
import { createCertificates, readBrowserCertificate } from '../stores/certificates.ts';
import { reasonUnusable } from '../stores/durable-file.ts';
import { recordingPath } from '../stores/recording-names.ts';
import type { MediaPlane } from '../telephony/media.ts';
import type { Base } from './base.ts';
import { buildHomer } from './homer.ts';
import { buildOutside, outsideSettings } from './outside.ts';
import type { Reloadable } from './reload.ts';

/** The network side. Nothing listens yet: see `openSip` of the technologies. */
export type Network = Awaited<ReturnType<typeof buildNetwork>>;

/** Limits that follow the configuration; those of connections hold until a restart. */
const followedLimits = [
  'source_rate',
  'source_burst',
  'stranger_rate',
  'call_wait',
  'sources',
  'transactions',
  'transaction_bytes',
  'source_transactions',
  'source_transaction_bytes',
] as const satisfies (keyof Config['sip']['limits'])[];

/** Tells the flight recorder every SIP message while it is on. */
const trafficOf = (recorder: Base['recorder']): TrafficWatch => ({
  get isHeard() {
    return recorder.on;
  },
  hear: (direction, bytes, { host, port }, { protocol, address, port: from }) =>
    recorder.sip(direction, bytes, { address: host, port }, { protocol, address, port: from }),
});

/** Whether the server before has a UDP port of media: it has left it to this one, or its audio still goes on in an upgrade. */
function isOfServerBefore({ config, io: { supervised } }: Base, port: number): boolean {
  if (!supervised) return false;
  const address = { host: audioAddress(config), port, ipv6Only: false };
  return supervised.media.follows || supervised.listening.isLeft('datagrams', address);
}

/** Checks the address for audio and the directories of sounds and recordings; finishes recordings of a crash. */
async function checkDirectories(base: Base): Promise<void> {
  const { config, log, io, from } = base;
  await tryMediaAddress(audioAddress(config), 0, io.openUdp);
  const { udp_port: port } = config.media.webrtc;
  if (port > 0 && !isOfServerBefore(base, port)) await tryMediaAddress(audioAddress(config), port, io.openUdp);
  for (const directory of await unreadableDirectories(soundDirectories(config)))
    log.warn({ directory }, 'cannot read a prompt directory (sounds.directories); its prompts are not played');
  const unusable = reasonUnusable(config.recordings.directory);
  if (unusable !== undefined)
    log.warn({ reason: unusable }, 'recordings cannot be stored (recordings.directory); requested ones will fail');
  // Recordings that continue are not leftovers.
  const plans = [
    ...(from?.calls.recordings ?? []).map(({ plan }) => plan),
    ...(from?.calls.channels ?? []).flatMap(({ step }) => step?.recording ?? []),
  ];
  const goOn = plans.map(({ name, format }) => recordingPath(config.recordings.directory, name, format));
  for (const recording of await finishLeftovers(config.recordings.directory, new Set(goOn)))
    log.warn({ recording }, 'finished a recording of a previous run');
}

/** When a port that was in use is tried again, in ms. */
const listenAgainMs = 1_000;

/** What takes connections of browsers; undefined where the configuration names no port. */
async function buildIceTcp({ config, clock, log, limitCounts, scope }: Base): Promise<IceTcpServer | undefined> {
  const { port, bind, connections, unproved, unsent } = config.media.webrtc.tcp;
  if (port === 0) return undefined;
  const { hit } = limitCounts;
  const server = new IceTcpServer({
    ...{ port, address: bind, connections, unproved, unsentBytes: unsent },
    clock,
    hit,
  });
  let again: unknown;
  /** The rest works without it. In an upgrade, the process before has the port for a while. */
  const listen = (isFirst: boolean): Promise<void> =>
    server.listen().catch((error: unknown) => {
      if (isFirst) log.error({ error, port, bind }, 'no browser can call by TCP until this port is free');
      again = clock.setTimeout(() => void listen(false), listenAgainMs);
    });
  scope.defer(() => {
    clock.clearTimeout(again);
    return server.close();
  });
  await listen(true);
  return server;
}

function buildMedia(
  { config, clock, log, limitCounts, recorder, changes, io }: Base,
  { own, authorities }: { own: CertifiedKey; authorities: readonly string[] | undefined },
  tcp: IceTcpServer | undefined,
): MediaPlane {
  return createMediaPlane({
    tcp,
    config: mediaSettings(config, own, authorities),
    clock,
    log: log.child({ part: 'media' }),
    hit: limitCounts.hit,
    trace: (id, kind) => recorder.rtp.open(id, kind),
    measured: (id, measures) => recorder.media(id, measures),
    changed: (id) => changes.mark('leg', id),
    supervised: io.supervised?.media,
    ...(io.startMediaThread && { startThread: io.startMediaThread }),
  });
}

/** The sockets of all nodes; undefined for a server on its own. */
const flowsOf = (
  { inForce, limitCounts }: Base,
  sockets: Parameters<typeof withNodeFlows>[0],
  options: Omit<Parameters<typeof withNodeFlows>[1], 'mostInvites' | 'hit'>,
) =>
  inForce.config.cluster.nats.length > 0
    ? withNodeFlows(sockets, {
        ...options,
        mostInvites: () => inForce.config.sip.limits.transactions,
        hit: () => limitCounts.hit('sip.limits.transactions'),
      })
    : undefined;

/**
 * The media plane, and SIP up to its transactions. Recordings that a crash left unfinished are finished first.
 * @throws MediaAddressError (rejects) when audio cannot be sent from the configured address, or the port of all browsers is
 * taken: the first call would find out.
 */
export async function buildNetwork(base: Base) {
  const { config, clock, ids, log, scope, io, from, recorder } = base;
  await checkDirectories(base);
  const { own, saved } = browserCertificate(base);
  const certificates = createCertificates(certificateSettings(config), { clock, log: log.child({ part: 'tls' }) });
  scope.defer(() => certificates.close());
  const keys = { own, authorities: certificates.client.ca };
  const media = io.media ?? buildMedia(base, keys, await buildIceTcp(base));
  scope.defer(() => media.close());
  const sipLog = log.child({ part: 'sip' });
  const { hit } = base.limitCounts;
  const outside = await buildOutside(base);
  let origins = new Set(config.sip.allowed_origins);
  const limits = strangerLimits(config);
  let { callWaitMs } = limits;
  const peers = createKnownPeers();
  const rateLimiter = createRateLimiter({ limits: limits.rateLimiter, peers, clock, log: sipLog, hit });
  const traffic = trafficOf(recorder);
  const sockets = createTransports({
    clock,
    log: sipLog,
    openUdp: io.openUdp,
    held: io.supervised?.listening,
    rateLimiter,
    traffic,
    limits: limits.connections,
    hit,
    isKnownAddress: (address) => peers.hasNeighbour(address),
    isBegun: (request) => transactions.isBegun(request),
    tls: certificates,
    outside: outside.of,
    allowsOrigin: (origin) => origins.has('*') || origins.has(origin),
  });
  const messages = new MessageCounts();
  const shared = flowsOf(base, sockets, { clock, log: sipLog, traffic });
  const transports = tracedTransports(shared?.transports ?? sockets, sipLog, messages, (output) =>
    base.changes.leave(output),
  );
  scope.defer(() => transports.close());
  const homer = await buildHomer(collectorOf(config.recorder), {
    ...{ recorder, clock, scope, open: io.openUdp },
    log: log.child({ part: 'recorder' }),
  });
  const { t1, t2, t4 } = config.sip.timers;
  const timers = { t1, t2, t4 };
  const transactions = createTransactionLayer({
    ...{ transports, clock, ids, log: sipLog, timers },
    ...{ limits: limits.transactions, hit, peers, awaitsRestore: from !== undefined, changed: marksOf(base.changes) },
    isLate() {
      const isLate = transports.waitedMs > callWaitMs;
      if (isLate) hit('sip.limits.call_wait');
      return isLate;
    },
  });
  scope.defer(() => transactions.close());
  const reloads: Reloadable[] = [
    {
      settings: ['recorder'],
      apply(next) {
        recorder.reconfigure(recorderSettings(next));
        media.measure?.(mediaSettings(next).measureMs);
        // Only what `recorder.hep` says can be refused there: who turns the recorder on gets it without a collector.
        homer.take(collectorOf(next.recorder)).catch(() => {});
      },
    },
    { settings: ['recorder.hep'], apply: (next) => homer.take(collectorOf(next.recorder)) },
    {
      settings: ['sip.allowed_origins'],
      apply(next) {
        origins = new Set(next.sip.allowed_origins);
      },
    },
    { settings: outsideSettings, apply: outside.reconfigure },
    { settings: ['tls'], apply: (next) => certificates.take(certificateSettings(next)) },
    {
      settings: followedLimits.map((limit) => `sip.limits.${limit}`),
      apply(next) {
        const changed = strangerLimits(next);
        rateLimiter.reconfigure(changed.rateLimiter);
        callWaitMs = changed.callWaitMs;
        transactions.reconfigure(changed.transactions);
      },
    },
  ];
  return {
    ...{ reloads, media, messages },
    transports,
    connections: sockets,
    nodeFlows: shared?.flows,
    transactions,
    peers,
    rateLimiter,
    certificates,
    ...{ outside: outside.of, browserCertificate: saved, fingerprint: fingerprintOf(own), homer },
    isOtherCertificate: (next: Config) => isOther(next, own),
  };
}

/** Marks what a change of a SIP transaction changes: itself, its call, and what belongs to requests of its kind. */
const marksOf =
  (changes: TurnChanges): TransactionChanged =>
  (kind, key, callId, method) => {
    if (!changes.isOn) return;
    if (key !== '') changes.mark(kind, key);
    changes.mark('call', callId);
    if (method === 'REGISTER' && kind === 'client') changes.mark('lines', '');
    else if (method === 'REFER') changes.mark('outsideRefers', '');
    else if (method === 'BYE' || method === 'INVITE') changes.mark('departing', '');
  };

/**
 * Browsers trust a certificate because SDP has its fingerprint (RFC 8827 6.5). Calls that go on keep the one they know, unless
 * another one is configured. @returns it, and again if it is to be saved. @throws CertificateError
 */
function browserCertificate(base: Base): { own: CertifiedKey; saved?: CertifiedKey } {
  const { certificate, key } = base.config.media.webrtc;
  if (certificate !== '') return { own: readBrowserCertificate({ certificate, key }) };
  const own = base.from?.browserCertificate ?? newCertificate(base);
  return { own, saved: own };
}

/** Whether the next start would show browsers another certificate of the configuration. @throws CertificateError */
function isOther({ media: { webrtc } }: Config, own: CertifiedKey): boolean {
  return webrtc.certificate !== '' && readBrowserCertificate(webrtc).certificate !== own.certificate;
}

function newCertificate({ clock, ids }: Base): CertifiedKey {
  const now = clock.now();
  return createCertificate({
    names: ['hookswitch'],
    from: now - dayMs,
    until: now + 3650 * dayMs,
    serial: serialOf(ids.secret(serialLength)),
  });
}

const dayMs = 86_400_000;
const serialLength = 16;
/** Positive, and of at most 20 octets (RFC 5280 4.1.2.2). */
const serialOf = (secret: string): string => `01${Buffer.from(secret).toString('hex')}`;

/** The collector's settings: none while the recorder is off. */
const collectorOf = ({ off, hep }: Config['recorder']): Config['recorder']['hep'] =>
  off ? { ...hep, address: '' } : hep;

async function tryMediaAddress(host: string, port: number, open: OpenUdp = openUdpSocket): Promise<void> {
  try {
    const socket = await open({
      listen: { protocol: 'udp', host, port },
      onDatagram: () => {},
      onError: () => {},
    });
    await socket.close();
  } catch (error) {
    throw error instanceof ListenError ? new MediaAddressError(error.code, error, port) : error;
  }
}
