/** A payload type of H.264 (RFC 6184 8.1), as far as both sides must agree. */
type H264Format = {
  profile: H264Profile;
  /** The three octets of `profile-level-id`: the profile, its constraints, ten times the level. */
  octets: readonly [profile: number, constraints: number, level: number];
  /** 0: one unit a packet · 1: units in parts and together. Interleaved packets (2) are not understood. */
  packetization: 0 | 1;
  /** Each direction may have a level of its own. */
  asymmetric: boolean;
};

type H264Profile = (typeof profiles)[number][0];

/** Profiles by their octets: the second one's bits under a mask (RFC 6184 8.1, table 5). */
const profiles = [
  ['constrained baseline', 0x42, 0b0100_1111, 0b0100_0000],
  ['constrained baseline', 0x4d, 0b1000_1111, 0b1000_0000],
  ['constrained baseline', 0x58, 0b1100_1111, 0b1100_0000],
  ['baseline', 0x42, 0b0100_1111, 0b0000_0000],
  ['baseline', 0x58, 0b1100_1111, 0b1000_0000],
  ['main', 0x4d, 0b1010_1111, 0b0000_0000],
  ['high', 0x64, 0b1111_1111, 0b0000_0000],
  ['constrained high', 0x64, 0b1111_1111, 0b0000_1100],
] as const;

/** Level 3.1: 1280 by 720 at 30 pictures a second. */
const OUR_LEVEL = 31;
/** Level 1 of the baseline profile: what goes without saying (RFC 6184 8.1). */
const unsaid = '42000a';

/** The ways of H.264 that we offer: the profile that everybody reads, packets in parts first. */
export const h264Offers = ['1', '0'].map(
  (packetization) => `profile-level-id=42e01f;packetization-mode=${packetization};level-asymmetry-allowed=1`,
);

/** Reads `fmtp` of H.264; undefined for a profile or a packetization that we have not. */
export function readH264(parameters = ''): H264Format | undefined {
  const read = readParameters(parameters);
  const id = read.get('profile-level-id') ?? unsaid;
  const packetization = read.get('packetization-mode') ?? '0';
  if (!/^[0-9a-f]{6}$/i.test(id) || (packetization !== '0' && packetization !== '1')) return undefined;
  const octets = [...Buffer.from(id, 'hex')] as [number, number, number];
  const profile = profiles.find(([, idc, mask, bits]) => octets[0] === idc && (octets[1] & mask) === bits)?.[0];
  if (!profile) return undefined;
  return {
    profile,
    octets,
    packetization: packetization === '0' ? 0 : 1,
    asymmetric: read.get('level-asymmetry-allowed') === '1',
  };
}

/**
 * Our answer to an H.264 format: the same profile and packetization, and our level, or the lower of both if levels must
 * be equal (RFC 6184 8.2.2).
 */
export function answerH264(offered: H264Format): string {
  const level = levelOf(offered);
  const ours = offered.asymmetric || level > OUR_LEVEL;
  const [profile, constraints, told] = offered.octets;
  // The constraint that makes level 1.1 a 1b says nothing of other levels.
  const octets = ours
    ? [profile, isOld(profile) ? constraints & ~SET3 : constraints, OUR_LEVEL]
    : [profile, constraints, told];
  const id = Buffer.from(octets).toString('hex');
  const asymmetry = offered.asymmetric ? ';level-asymmetry-allowed=1' : '';
  return `profile-level-id=${id};packetization-mode=${offered.packetization}${asymmetry}`;
}

/** Octets of a parameter set that are read, and how many sets. */
const longestSet = 512;
const mostSets = 8;
/** Types of NAL units that are parameter sets: of a sequence, of a picture (H.264 7.4.1). */
const setTypes: readonly number[] = [7, 8];

/** The other side's H.264 limits that viewers and sources need. */
export type H264Terms = {
  profile: H264Profile;
  /** Ten times the level that it decodes. */
  level: number;
  packetization: 0 | 1;
  /** Parameter sets of the stream that it sends (`sprop-parameter-sets`), in base64. */
  parameterSets?: readonly string[];
};

/** The terms in `fmtp` of an H.264 format. Invalid or too long parameter sets are dropped. */
export function h264Terms(parameters: string | undefined): H264Terms | undefined {
  const format = readH264(parameters);
  if (!format) return undefined;
  const said = readParameters(parameters ?? '').get('sprop-parameter-sets') ?? '';
  const parameterSets = said
    .split(',')
    .map((each) => Buffer.from(each, 'base64'))
    .filter(({ length }) => length > 1 && length <= longestSet)
    .filter(([first = 0]) => setTypes.includes(first & 0x1f))
    .slice(0, mostSets)
    .map((set) => set.toString('base64'));
  const { profile, packetization } = format;
  return { profile, level: levelOf(format), packetization, ...(parameterSets.length > 0 && { parameterSets }) };
}

/** Whether two ways of H.264 may answer one another: the level alone may be another one. */
export const isSameH264 = (one: H264Format, other: H264Format): boolean =>
  one.profile === other.profile && one.packetization === other.packetization;

/** Less is preferred: what most can read, then packets in parts. */
export const h264Rank = ({ profile, packetization }: H264Format): number =>
  2 * ['constrained baseline', 'baseline', 'main', 'constrained high', 'high'].indexOf(profile) + (1 - packetization);

const SET3 = 0b0001_0000;
const isOld = (profile: number): boolean => profile !== 0x64;

/** Ten times the level; 1b is between 1 and 1.1. */
function levelOf({ octets: [profile, constraints, level] }: H264Format): number {
  if (level === 9) return 10.5;
  return level === 11 && isOld(profile) && (constraints & SET3) !== 0 ? 10.5 : level;
}

/** `name=value;name=value`, names in small letters; of several of one name the first counts. */
export function readParameters(text: string): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  for (const each of text.split(';')) {
    const end = each.indexOf('=');
    const key = (end < 0 ? each : each.slice(0, end)).trim().toLowerCase();
    // Values may hold the sign themselves: parameter sets in base64.
    if (!read.has(key)) read.set(key, end < 0 ? '' : each.slice(end + 1).trim());
  }
  return read;
}
