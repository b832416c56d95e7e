import { addressOctets, ipVersionOf } from '../../lib/addresses.ts';
import type { LimitHit } from '../../lib/limit-counts.ts';
import type {
  BundledLine,
  DtlsRole,
  Fingerprint,
  IceCredentials,
  LocalCandidate,
  RemoteCandidate,
  Simulcast,
  WebrtcTransport,
} from '../../lib/webrtc.ts';
import type { MediaLine, RawMedia, RawSession } from './media-line.ts';

/** Profiles of audio with keys from DTLS (RFC 5764 section 8). */
export const dtlsProfiles: readonly string[] = ['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'];

/** What a media section says of ICE and DTLS. */
export type RemoteWebrtc = {
  readonly ice: IceCredentials;
  readonly fingerprint: Fingerprint;
  /** Which side of DTLS it is to be; `actpass`: we choose (RFC 8842 section 4). */
  readonly setup: Setup;
  /** All of its candidates by UDP: see {@link CandidateBound}. */
  readonly candidates: readonly RemoteCandidate[];
  /** It makes no checks (`a=ice-lite`). */
  readonly isLite: boolean;
};

const setups = ['actpass', 'active', 'passive'] as const;
type Setup = (typeof setups)[number];

/** A line in the transport of the audio (BUNDLE, RFC 9143). */
export type RemoteBundled = BundledLine & {
  /** Lines of that transport. */
  readonly group: readonly string[];
};

/** URI of the header extension with the name of a line (RFC 9143 section 15). */
const midUri = 'urn:ietf:params:rtp-hdrext:sdes:mid';

/** The same with the name of a size of its picture (RFC 8852 section 4). */
const ridUri = 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id';

/** The same of a retransmission (RFC 8852 section 4). */
const repairedUri = 'urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id';

/** The same with the number of a packet in its transport (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 2). */
const transportUri = 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01';

/** The same with the time when a packet is sent (webrtc.org, abs-send-time). */
const sendTimeUri = 'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time';

/** Feedback that says when each packet came (same draft, section 3). */
export const transportFeedback = 'transport-cc';

/** Sizes of a picture that are taken; an answer leaves out the others (RFC 8853 5.3.2). */
const MAX_SIZES = 3;
/** A name of a size (RFC 8851 section 10), as long as an extension of one octet can say it. */
const ridPattern = /^[\w-]{1,16}$/;

/** The number of a header extension. */
function extensionOf(media: RawMedia, wanted: string): number | undefined {
  const value = media.ext?.find(({ uri }) => uri === wanted)?.value;
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 255 ? Number(value) : undefined;
}

/** The sizes in which the other side sends its picture; undefined when it is one, or packets do not say theirs. */
function readSimulcast(media: RawMedia): Simulcast | undefined {
  const { dir1, list1, dir2, list2 } = media.simulcast ?? {};
  const list = dir1 === 'send' ? list1 : dir2 === 'send' ? list2 : undefined;
  const ridExtension = extensionOf(media, ridUri);
  if (list === undefined || ridExtension === undefined) return undefined;
  const sent = new Set((media.rids ?? []).filter(({ direction }) => direction === 'send').map(({ id }) => String(id)));
  // Of alternatives the first; `~`: it begins paused.
  const named = String(list)
    .split(';')
    .map((size) => (size.split(',')[0] ?? '').replace('~', ''));
  const rids = [...new Set(named)].filter((rid) => ridPattern.test(rid) && sent.has(rid)).slice(0, MAX_SIZES);
  const repairedExtension = extensionOf(media, repairedUri);
  return rids.length > 1
    ? { rids, ridExtension, ...(repairedExtension !== undefined && { repairedExtension }) }
    : undefined;
}

/** Reads in what transport a media section is; undefined when that is its own, or not one that we take. */
export function readBundled(media: RawMedia, session: RawSession): RemoteBundled | undefined {
  const mid = media.mid === undefined ? undefined : String(media.mid);
  if (mid === undefined || !readWebrtc(media, session)) return undefined;
  const groups = (session.groups ?? []).filter(({ type }) => type === 'BUNDLE');
  const group = groups.map(({ mids }) => String(mids).split(' ')).find((mids) => mids.includes(mid));
  const midExtension = extensionOf(media, midUri);
  const simulcast = readSimulcast(media);
  const hears = media.rtcpFb?.some(({ type }) => String(type).toLowerCase() === transportFeedback);
  const transportExtension = hears ? extensionOf(media, transportUri) : undefined;
  const sendTimeExtension = extensionOf(media, sendTimeUri);
  return (
    group && {
      ...{ mid, group },
      ...(midExtension !== undefined && { midExtension }),
      ...(simulcast && { simulcast }),
      ...(transportExtension !== undefined && { transportExtension }),
      ...(sendTimeExtension !== undefined && { sendTimeExtension }),
    }
  );
}

/** As a line says it: its name, the sizes that we take, and what packets say of themselves. */
export const bundledAttributes = ({
  mid,
  midExtension,
  simulcast,
  transportExtension,
  sendTimeExtension,
}: BundledLine) => ({
  mid,
  ext: [
    ...(midExtension === undefined ? [] : [{ value: midExtension, uri: midUri }]),
    ...(simulcast ? [{ value: simulcast.ridExtension, uri: ridUri }] : []),
    ...(simulcast?.repairedExtension === undefined ? [] : [{ value: simulcast.repairedExtension, uri: repairedUri }]),
    ...(transportExtension === undefined ? [] : [{ value: transportExtension, uri: transportUri }]),
    ...(sendTimeExtension === undefined ? [] : [{ value: sendTimeExtension, uri: sendTimeUri }]),
  ],
  ...(simulcast && {
    rids: simulcast.rids.map((id) => ({ id, direction: 'recv' })),
    simulcast: { dir1: 'recv' as const, list1: simulcast.rids.join(';') },
  }),
});

/**
 * A line of our offers. Browsers take no number that was another extension's before, and theirs begin with low ones.
 * @param rids sizes of its picture that the other side has sent.
 */
export const offeredLine = (mid: string, rids: readonly string[] = []): BundledLine => ({
  ...{ mid, midExtension: 1, transportExtension: 3, sendTimeExtension: 14 },
  ...(rids.length > 0 && { simulcast: { rids, ridExtension: 2, repairedExtension: 11 } }),
});

/** Our side of ICE in a session, and the far side's that it was made for; our side of DTLS once it is agreed on. */
export type ToldWebrtc = {
  readonly local: IceCredentials;
  readonly remote?: IceCredentials;
  readonly role?: DtlsRole;
  /** Of our certificate, as SDP writes it: it stays that of a call that goes on behind a restart with another one. */
  readonly fingerprint?: string;
  /** We are a full agent of ICE: by the settings, or because the far side is lite (RFC 8445 6.1.1). */
  readonly isFull?: true;
  /** The far side made the first offer, and is full: it chooses (RFC 8445 6.1.1). */
  readonly isControlled?: true;
};

/** What offers and answers need to know of our side. */
type IcePolicy = {
  /** So many random octets, in base64. */
  readonly random: (octets: number) => string;
  /** Left out: lite, unless the far side is. */
  readonly ice?: 'lite' | 'full' | undefined;
  readonly fingerprint?: string | undefined;
};

const hashes: Readonly<Record<string, readonly [Fingerprint['hash'], octets: number]>> = {
  'sha-256': ['sha256', 32],
  'sha-384': ['sha384', 48],
  'sha-512': ['sha512', 64],
};

/** RFC 8839 5.4: the characters of ICE, at least 4 and 22 of them, at most 256. */
const ufragPattern = /^[A-Za-z0-9+/]{4,256}$/;
const passwordPattern = /^[A-Za-z0-9+/]{22,256}$/;

/**
 * Reads what a browser says of its transport, in the media section or for all of the session (RFC 8839 5.4, RFC 8122).
 * Undefined unless all of it can be read, RTCP is multiplexed (RFC 5761), and it does not hold the connection.
 */
export function readWebrtc(media: RawMedia, session: RawSession): RemoteWebrtc | undefined {
  const said = { ...session, ...media };
  const ice = credentialsOf(String(said.iceUfrag), String(said.icePwd));
  const fingerprint = said.fingerprint && fingerprintOf(said.fingerprint);
  const setup = setups.find((known) => known === (said.setup ?? 'active'));
  if (!ice || !fingerprint || !setup || media.rtcpMux === undefined) return undefined;
  return { ice, fingerprint, setup, candidates: candidatesIn(media), isLite: session.icelite !== undefined };
}

/** Of the candidates of one far side, or of their addresses, those that are taken: the first ones. */
export type CandidateBound = <Item>(all: readonly Item[]) => readonly Item[];

/** The bound of `media.webrtc.candidates`. It counts each time that candidates are left out. */
export const candidateBound =
  (most: number, hit: LimitHit): CandidateBound =>
  (all) => {
    if (all.length > most) hit('media.webrtc.candidates');
    return all.slice(0, most);
  };

/** Candidates of a media section by UDP, each address once. Names, also those of mDNS, are never looked up. */
export function candidatesIn({ candidates = [] }: Pick<RawMedia, 'candidates'>): RemoteCandidate[] {
  const found = new Map<string, RemoteCandidate>();
  for (const { component, transport, ip, port: said, priority: told } of candidates) {
    const [address, port, priority] = [String(ip), Number(said), Number(told)];
    const isOurs = Number(component) === 1 && String(transport).toLowerCase() === 'udp';
    const isPlace = addressOctets(address) !== undefined && Number.isInteger(port) && port > 0 && port <= 0xffff;
    if (isOurs && isPlace && Number.isFinite(priority)) found.set(`${address} ${port}`, { address, port, priority });
  }
  return [...found.values()];
}

/** Our side of DTLS beside the far side's: a choice of ours stays as it was, or else is the server (RFC 8842 5.3). */
const roleBeside = ({ setup }: RemoteWebrtc, before: DtlsRole | undefined): DtlsRole =>
  setup === 'actpass' ? (before ?? 'server') : setup === 'passive' ? 'client' : 'server';

const credentialsOf = (ufrag: string, password: string): IceCredentials | undefined =>
  ufragPattern.test(ufrag) && passwordPattern.test(password) ? { ufrag, password } : undefined;

function fingerprintOf(said: { type: string; hash: string }): Fingerprint | undefined {
  const [hash, octets = 0] = hashes[String(said.type).toLowerCase()] ?? [];
  const digest = String(said.hash).replaceAll(':', '').toLowerCase();
  return hash && digest.length === 2 * octets && /^[0-9a-f]+$/.test(digest) ? { hash, digest } : undefined;
}

const ufragOctets = 6;
const passwordOctets = 24;

/** Our credentials for a far side: the same for the same, other ones when it restarts ICE (RFC 8839 4.4.1.1.1). */
function localBeside(
  told: ToldWebrtc | undefined,
  remote: IceCredentials | undefined,
  random: IcePolicy['random'],
): IceCredentials {
  const before = told?.remote;
  const isSame = !before || !remote || (before.ufrag === remote.ufrag && before.password === remote.password);
  return told && isSame ? told.local : { ufrag: random(ufragOctets), password: random(passwordOctets) };
}

/** Our side for a far side. Certificate, role and choice of the pair stay as they were. */
export function toldWebrtc(
  told: ToldWebrtc | undefined,
  far: RemoteWebrtc | undefined,
  { random, ice, ...policy }: IcePolicy,
): ToldWebrtc {
  const remote = far?.ice;
  const local = localBeside(told, remote, random);
  const known = remote ?? told?.remote;
  const role = far ? roleBeside(far, told?.role) : told?.role;
  const isFull = ice === 'full' || (far ? far.isLite : told?.isFull);
  const fingerprint = told?.fingerprint ?? policy.fingerprint;
  const isControlled = told ? told.isControlled : far !== undefined;
  return {
    local,
    ...(known && { remote: known }),
    ...(role && { role }),
    ...(fingerprint !== undefined && { fingerprint }),
    ...(isFull && { isFull }),
    ...(isControlled && { isControlled }),
  };
}

/** IP versions that a port at `address`, and a relay, can send to. A port that is bound to `::` can send to both. */
function reachOf(address: string | undefined, relay: string | undefined): WebrtcTransport['reach'] {
  const port = address === undefined || address === '::' ? undefined : ipVersionOf(address);
  const relayed = relay === undefined ? undefined : ipVersionOf(relay);
  return port || relayed ? { ...(port && { port }), ...(relayed && { relay: relayed }) } : undefined;
}

/** The transport that is agreed on. @param policy says what we have, and where the far side's signalling is. */
export function agreedWebrtc(
  { local, role, isFull, isControlled }: ToldWebrtc,
  far: RemoteWebrtc,
  {
    candidates = [],
    address,
    peer,
    boundCandidates = (all) => all,
  }: {
    candidates?: readonly LocalCandidate[] | undefined;
    address?: string | undefined;
    peer?: string | undefined;
    boundCandidates?: CandidateBound | undefined;
  } = {},
): WebrtcTransport {
  const checked = boundCandidates(far.candidates);
  const relay = candidates.flatMap((each) => (each.type === 'relay' ? [each.address] : []))[0];
  const reach = reachOf(address, relay);
  const peers = peer !== undefined && addressOctets(peer) ? [peer] : [];
  const places = new Set([...peers, ...checked.map(({ address }) => address)]);
  return {
    local,
    remote: far.ice,
    fingerprint: far.fingerprint,
    ...(relay !== undefined && { places: boundCandidates([...places]) }),
    ...(reach && { reach }),
    ...((isFull || far.isLite) && { checked }),
    ...(far.isLite && { isFarLite: true }),
    ...(isFull && isControlled && !far.isLite && { isControlled }),
    ...(roleBeside(far, role) === 'client' && { role: 'client' }),
  };
}

/** `a=setup` by our side of DTLS. */
const setupOf: Readonly<Record<DtlsRole, Setup>> = { client: 'active', server: 'passive' };

/** Preferences of types of candidates (RFC 8445 5.1.2.2); packets by TCP wait for lost ones, so it comes after UDP. */
const preferences = { host: 126, srflx: 100, tcp: 90, relay: 0 } as const;

/** Priority of a candidate of the one component (RFC 8445 5.1.2.1). A passive one by TCP has the direction 4 (RFC 6544 4.2). */
function priorityOf(type: keyof typeof preferences): number {
  const local = type === 'tcp' ? 4 * 2 ** 13 + 8191 : 65_535;
  return 2 ** 24 * preferences[type] + 2 ** 8 * local + 255;
}

type Base = { address: string; port: number; candidates: readonly LocalCandidate[] };

/** Our candidates. One that equals the port's own address is none (RFC 8445 5.1.3). */
function candidatesOf({ address, port, candidates }: Base) {
  const others = candidates.filter((each) => each.type === 'tcp' || each.address !== address || each.port !== port);
  return [{ type: 'host' as const, address, port }, ...others].map((each, index) => {
    const { type, port: at } = each;
    const said = { foundation: String(index + 1), component: 1, priority: priorityOf(type), port: at };
    if (type === 'tcp') return { ...said, transport: 'tcp', ip: address, type: 'host', tcptype: 'passive' };
    const base = type === 'host' ? {} : { raddr: address, rport: port };
    return { ...said, transport: 'udp', ip: each.address, type, ...base };
  });
}

/** What our media section says of ICE and DTLS: our candidates, and our side of DTLS. @param ssrc of our audio. */
export const webrtcAttributes = (
  { local, role, fingerprint = '' }: ToldWebrtc,
  { track, ssrc, ...base }: Base & { track: string; ssrc: number | undefined },
) => ({
  iceUfrag: local.ufrag,
  icePwd: local.password,
  fingerprint: { type: 'sha-256', hash: fingerprint },
  setup: role ? setupOf[role] : 'actpass',
  rtcpMux: 'rtcp-mux' as const,
  msid: [{ id: 'hookswitch', appdata: track }],
  // Where video names its line, Chromium takes no packets by their payload type, and audio is relayed without a name.
  ...(track === 'audio' && ssrc !== undefined && { ssrcs: [{ id: ssrc, attribute: 'cname', value: 'hookswitch' }] }),
  candidates: candidatesOf(base),
  endOfCandidates: 'end-of-candidates' as const,
});

/** What the session says: whether we are lite, else that we know RFC 8445 (section 10); and the streams of the one transport (RFC 9143). */
export const webrtcSession = (
  { isFull }: ToldWebrtc,
  lines: readonly MediaLine[],
  audioLine: number,
  videos: Iterable<number>,
) => ({
  ...(isFull ? { iceOptions: 'trickle ice2' } : { icelite: 'ice-lite' as const, iceOptions: 'trickle' }),
  groups: [{ type: 'BUNDLE', mids: [audioLine, ...videos].map((line) => lines[line]?.mid ?? String(line)).join(' ') }],
});
