import type { BundledLine, DtlsRole, Fingerprint, IceCredentials, WebrtcTransport } from '../../lib/webrtc.ts';
import type { MediaLine, RawMedia, RawSession } from './media-line.ts';

/** Profiles of audio with keys from DTLS (RFC 5764 section 8). */
export const dtlsProfiles: readonly string[] = ['UDP/TLS/RTP/SAVPF', 'UDP/TLS/RTP/SAVP'];

/** What a media section says of ICE and DTLS. */
export type RemoteWebrtc = {
  readonly ice: IceCredentials;
  readonly fingerprint: Fingerprint;
  /** Which side of DTLS it is to be; `actpass`: we choose (RFC 8842 section 4). */
  readonly setup: Setup;
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

/** Reads in what transport a media section is; undefined when that is its own, or not one that we take. */
export function readBundled(media: RawMedia, session: RawSession): RemoteBundled | undefined {
  const mid = media.mid === undefined ? undefined : String(media.mid);
  if (mid === undefined || !readWebrtc(media, session)) return undefined;
  const groups = (session.groups ?? []).filter(({ type }) => type === 'BUNDLE');
  const group = groups.map(({ mids }) => String(mids).split(' ')).find((mids) => mids.includes(mid));
  const extension = media.ext?.find(({ uri }) => uri === midUri)?.value;
  const isNumber = Number.isInteger(extension) && Number(extension) >= 1 && Number(extension) <= 255;
  return group && { mid, group, ...(isNumber && { midExtension: Number(extension) }) };
}

/** As a line says it: its name, and how packets have that. */
export const bundledAttributes = ({ mid, midExtension }: BundledLine) => ({
  mid,
  ...(midExtension !== undefined && { ext: [{ value: midExtension, uri: midUri }] }),
});

/** Our number of that extension in offers. */
export const offeredMidExtension = 1;

/** Our side of ICE in a session, and the far side's that it was made for; our side of DTLS once it is agreed on. */
export type ToldWebrtc = {
  readonly local: IceCredentials;
  readonly remote?: IceCredentials;
  readonly role?: DtlsRole;
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
  return ice && fingerprint && setup && media.rtcpMux !== undefined ? { ice, fingerprint, setup } : undefined;
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
export function toldWebrtc(
  told: ToldWebrtc | undefined,
  far: RemoteWebrtc | undefined,
  random: (octets: number) => string,
): ToldWebrtc {
  const remote = far?.ice;
  const before = told?.remote;
  const isSame = !before || !remote || (before.ufrag === remote.ufrag && before.password === remote.password);
  const local = told && isSame ? told.local : { ufrag: random(ufragOctets), password: random(passwordOctets) };
  const known = remote ?? before;
  const role = far ? roleBeside(far, told?.role) : told?.role;
  return { local, ...(known && { remote: known }), ...(role && { role }) };
}

/** The transport that is agreed on. */
export const agreedWebrtc = ({ local, role }: ToldWebrtc, far: RemoteWebrtc): WebrtcTransport => ({
  local,
  remote: far.ice,
  fingerprint: far.fingerprint,
  ...(roleBeside(far, role) === 'client' && { role: 'client' }),
});

/** `a=setup` by our side of DTLS. */
const setupOf: Readonly<Record<DtlsRole, Setup>> = { client: 'active', server: 'passive' };

/** Priority of a host candidate, the only one (RFC 8445 5.1.2.1). */
const hostPriority = 2 ** 24 * 126 + 2 ** 8 * 65_535 + 255;

/** What our media section says of ICE and DTLS: a lite agent with one host candidate, and our side of DTLS. */
export const webrtcAttributes = (
  { local, role }: ToldWebrtc,
  { address, port, fingerprint, track }: { address: string; port: number; fingerprint: string; track: string },
) => ({
  iceUfrag: local.ufrag,
  icePwd: local.password,
  fingerprint: { type: 'sha-256', hash: fingerprint },
  setup: role ? setupOf[role] : 'actpass',
  rtcpMux: 'rtcp-mux' as const,
  msid: [{ id: 'hookswitch', appdata: track }],
  candidates: [
    { foundation: '1', component: 1, transport: 'udp', priority: hostPriority, ip: address, port, type: 'host' },
  ],
  endOfCandidates: 'end-of-candidates' as const,
});

/** What the session says: ICE-lite, and the streams of the one transport (RFC 9143). */
export const webrtcSession = (lines: readonly MediaLine[], audioLine: number, videos: Iterable<number>) => ({
  icelite: 'ice-lite' as const,
  groups: [{ type: 'BUNDLE', mids: [audioLine, ...videos].map((line) => lines[line]?.mid ?? String(line)).join(' ') }],
});
