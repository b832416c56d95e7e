import { isSrtpSuite, type SrtpKey, type SrtpSuite, srtpSuites } from '../../lib/srtp.ts';
import type { LocalCandidate } from '../../lib/webrtc.ts';
import type { CandidateBound } from './webrtc.ts';

/** One `a=crypto` line of a description (RFC 4568 9.1) that we understand. */
export type SdesLine = { readonly tag: number; readonly key: SrtpKey };

/** SRTP policy of a call. */
export type SrtpPolicy = {
  /**
   * `off`: none · `optional`: if the other side offers it · `best_effort`: offered beside plain RTP (RFC 8643), and
   * accepted · `required`: calls without it fail · `webrtc`: keys come from DTLS (RFC 5764), and from nothing else.
   */
  readonly mode: 'off' | 'optional' | 'best_effort' | 'required' | 'webrtc';
  /** SHA-256 of our certificate as SDP writes it, for `webrtc`. */
  readonly fingerprint?: string | undefined;
  /** Candidates of ours beside the port's address, for `webrtc`. */
  readonly candidates?: readonly LocalCandidate[] | undefined;
  /** Which candidates of the far side are taken, for `webrtc`; left out: all. */
  readonly boundCandidates?: CandidateBound | undefined;
  /** Where our port is bound, for `webrtc`. */
  readonly address?: string | undefined;
  /** The source of our audio, for `webrtc`. */
  readonly ssrc?: number | undefined;
  /** Our side of ICE, for `webrtc`; left out: lite. */
  readonly ice?: 'lite' | 'full' | undefined;
  /** Where the far side's signalling comes from: its media may come from there, too. */
  readonly peer?: string | undefined;
  /** So many random octets, in base64. */
  readonly random: (octets: number) => string;
};

/** Our keys of a session so far, by suite: they are repeated, so that streams continue. */
export type ToldKeys = Readonly<Partial<Record<SrtpSuite, string>>>;

const MAX_LINES = 16;
const MAX_TAG = 999_999_999;

/** The lines of a media section that we can use: those with other suites or session parameters are passed over. */
export function readSdes(raw: unknown): SdesLine[] {
  if (!Array.isArray(raw)) return [];
  return (raw as { id?: unknown; suite?: unknown; config?: unknown; sessionConfig?: unknown }[])
    .slice(0, MAX_LINES)
    .flatMap(({ id, suite, config, sessionConfig }) => {
      const tag = Number(id);
      // Names of suites are read without regard to case (RFC 4568 9.1).
      const key = keysOf(String(suite).toUpperCase(), String(config));
      const isPlain = sessionConfig === undefined || String(sessionConfig).trim() === '';
      return Number.isInteger(tag) && tag >= 0 && tag <= MAX_TAG && key && isPlain ? [{ tag, key }] : [];
    });
}

/** Keys of one line, at most. */
const MAX_KEYS = 16;

/** The key of a line, or several separated by `;`, each with its own MKI of equal length (RFC 4568 6.1). */
function keysOf(suite: string, config: string): SrtpKey | undefined {
  if (!isSrtpSuite(suite) || config.length > LONGEST_CONFIG) return undefined;
  const parts = config.split(';', MAX_KEYS + 1);
  const keys = parts.flatMap((part) => keyOf(suite, part) ?? []);
  const [first, ...rest] = keys;
  if (!first || keys.length !== parts.length || keys.length > MAX_KEYS) return undefined;
  const others = rest.flatMap(({ key, mki }) =>
    mki !== undefined && mki.length === first.mki?.length ? { key, mki } : [],
  );
  const names = new Set(keys.map(({ mki }) => mki));
  if (others.length !== rest.length || names.size !== keys.length) return undefined;
  return others.length > 0 ? { ...first, others } : first;
}

/** `inline:<key and salt>[|<lifetime>][|<MKI>:<its octets>]` (RFC 4568 6.1): one key, of the right length. */
const inlinePattern = /^inline:([A-Za-z0-9+/]+={0,2})$/;
const lifetimePattern = /^(?:2\^)?\d+$/;
const mkiPattern = /^(\d+):(\d{1,3})$/;
const LONGEST_LIFETIME = 17;
/** Octets of the longest MKI (RFC 4568 6.1). */
const LONGEST_MKI = 128;
const LONGEST_CONFIG = 2_048;

function keyOf(suite: SrtpSuite, config: string): SrtpKey | undefined {
  const [inline = '', ...parameters] = config.split('|');
  const [, key] = inlinePattern.exec(inline) ?? [];
  if (key === undefined) return undefined;
  const [lifetime = ''] = parameters;
  if (lifetime.length <= LONGEST_LIFETIME && lifetimePattern.test(lifetime)) parameters.shift();
  const [, mkiValue, mkiLength] = mkiPattern.exec(parameters[0] ?? '') ?? [];
  if (parameters.length > (mkiValue === undefined ? 0 : 1)) return undefined;
  const octets = Buffer.from(key, 'base64');
  const sizes = srtpSuites[suite];
  if (octets.length !== sizes.key + sizes.salt) return undefined;
  const mki = mkiValue === undefined ? '' : mkiOf(mkiValue, Number(mkiLength));
  return mki === undefined ? undefined : { suite, key: octets.toString('base64'), ...(mki !== '' && { mki }) };
}

/** The octets of an MKI in hexadecimal; undefined when the number does not fit into so many. */
function mkiOf(value: string, octets: number): string | undefined {
  if (octets < 1 || octets > LONGEST_MKI) return undefined;
  const digits = BigInt(value).toString(16);
  return digits.length > 2 * octets ? undefined : digits.padStart(2 * octets, '0');
}

/** Our key for an offered one, with the same MKI: both sides send an MKI, or neither. */
export const besideKey = ({ key: { suite, mki } }: SdesLine, told: ToldKeys | undefined): SrtpKey => ({
  suite,
  key: told?.[suite] ?? '',
  ...(mki !== undefined && { mki }),
});

/** Our key for an answered one; it was offered without an MKI. */
export const answeredKey = ({ key: { suite } }: SdesLine, told: ToldKeys | undefined): SrtpKey => ({
  suite,
  key: told?.[suite] ?? '',
});

/** The suites that we offer, the preferred one first; their tags count from 1. */
const offered = Object.keys(srtpSuites) as SrtpSuite[];

/** The keys told, with one for each of these suites. */
export function withKeys(told: ToldKeys, suites: readonly SrtpSuite[], { random }: SrtpPolicy): ToldKeys {
  const missing = suites.filter((suite) => told[suite] === undefined);
  if (missing.length === 0) return told;
  const made = missing.map((suite) => [suite, random(srtpSuites[suite].key + srtpSuites[suite].salt)] as const);
  return { ...told, ...Object.fromEntries(made) };
}

/** Keys for all that we offer. */
export const offerKeys = (told: ToldKeys, policy: SrtpPolicy): ToldKeys => withKeys(told, offered, policy);

/** The crypto lines of an offer. */
export const offeredLines = (told: ToldKeys): SdesLine[] =>
  offered.flatMap((suite, index) => {
    const key = told[suite];
    return key === undefined ? [] : [{ tag: index + 1, key: { suite, key } }];
  });

/** As `sdp-transform` writes it. */
export const writeSdes = ({ tag, key: { suite, key, mki } }: SdesLine) => ({
  id: tag,
  suite,
  config: `inline:${key}${mki === undefined ? '' : `|${BigInt(`0x${mki}`)}:${mki.length / 2}`}`,
});
