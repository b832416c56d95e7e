import { timingSafeEqual } from 'node:crypto';
import { addressOctets, sourceNetwork } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import { parseUri, type Uri } from '../message/uri.ts';
import { algorithmNamed, type DigestAlgorithm, type DigestSecret, digestResponse } from './digest.ts';
import { type DigestParameters, formatDigest, parseDigest } from './header.ts';
import { createNonces } from './nonces.ts';

type VerifierOptions = {
  realm: string;
  /** Offered in this order, one challenge each (RFC 8760 2.4: most preferred first). */
  algorithms: readonly DigestAlgorithm[];
  /** ms that a nonce is good for. */
  nonceLifetimeMs: number;
  clock: Clock;
  ids: Ids;
};

/** Credentials to check, with what they must fit. */
type Presented = {
  /** Every Authorization (or Proxy-Authorization) value of the request. */
  credentials: readonly string[];
  method: string;
  /** Address they come from: nonces given to others are stale. */
  source: string;
  /** The Request-URI. */
  uri: string;
  /** The user's secret; undefined for an unknown user. */
  secretOf(username: string): DigestSecret | undefined;
};

/**
 * `accepted`: the password is right. `stale`: the nonce is used up, or belongs to another source; challenge again with
 * `stale`. The password is not checked then, so nobody can guess with another source's nonce. `absent`: no credentials
 * for our realm and this request. `rejected`: wrong, malformed or unknown, without distinction. The source address is
 * genuine, because our challenge has reached it.
 */
export type DigestResult =
  | { result: 'accepted'; username: string }
  | { result: 'stale' }
  | { result: 'absent' }
  | { result: 'rejected'; username: string };

/** The server side of digest authentication. */
export interface Verifier {
  readonly realm: string;
  /** Values for WWW-Authenticate (or Proxy-Authenticate), one header each. */
  challenges(source: string, options?: { stale?: boolean }): string[];
  verify(presented: Presented): DigestResult;
  /** Used nonces remembered: for leak checks. */
  size(): number;
}

/** Compared against for unknown users, so that they take as long as known ones. */
const nobody: DigestSecret = { password: '' };

/** Digest authentication per RFC 7616 and RFC 8760, with qop=auth or, for old clients, none (RFC 2069). */
export function createVerifier({ realm, algorithms, nonceLifetimeMs, clock, ids }: VerifierOptions): Verifier {
  const nonces = createNonces({ clock, ids, lifetimeMs: nonceLifetimeMs });

  const check = (parameters: DigestParameters, { method, uri, source, secretOf }: Presented): DigestResult => {
    const username = parameters.get('username') ?? '';
    const nonce = parameters.get('nonce') ?? '';
    const rejected: DigestResult = { result: 'rejected', username };
    const algorithm = algorithmNamed(parameters.get('algorithm'));
    const qop = readQop(parameters);
    const holder = sourceNetwork(source);
    // Also one from before a restart is a good reason to ask again (RFC 7616 3.3).
    if (nonces.check(nonce, holder) !== 'fresh') return { result: 'stale' };
    if (!algorithm || !algorithms.includes(algorithm) || qop === 'malformed') return rejected;
    const secret = secretOf(username);
    const signed = parameters.get('uri') ?? '';
    const proof = {
      algorithm,
      username,
      realm,
      secret: secret ?? nobody,
      method,
      uri: signed,
      nonce,
      ...(qop && { qop }),
    };
    if (!isProved(parameters, proof) || !secret) return rejected;
    if (!isSameResource(signed, uri)) return { result: 'absent' };
    const usable = nonces.use(nonce, holder, qop && Number.parseInt(qop.nc, 16));
    return usable ? { result: 'accepted', username } : { result: 'stale' };
  };

  return {
    realm,
    challenges: (source, { stale = false } = {}) =>
      algorithms.map((algorithm) => {
        const nonce = nonces.create(sourceNetwork(source));
        return formatDigest({ realm, nonce, algorithm, qop: 'auth', ...(stale && { stale: 'true' }) }, true);
      }),
    verify(presented) {
      const ours = presented.credentials.map(parseDigest).find((parameters) => parameters?.get('realm') === realm);
      return ours ? check(ours, presented) : { result: 'absent' };
    },
    size: () => nonces.size(),
  };
}

/** Whether the response of the credentials is the expected one. */
function isProved(parameters: DigestParameters, proof: Parameters<typeof digestResponse>[0]): boolean {
  const expected = digestResponse(proof);
  return expected !== undefined && sameText(expected, parameters.get('response')?.toLowerCase() ?? '');
}

/**
 * Whether the credentials' URI matches the request (RFC 7616 3.4.6): the same user, or none, as from clients that sign
 * the server's address (SIPp). Hosts, ports and parameters are ignored, because proxies rewrite them.
 */
function isSameResource(signed: string, asked: string): boolean {
  if (signed === asked) return true;
  const [one, other] = [parseUri(bracketed(signed)), parseUri(asked)];
  if (!one || !other) return false;
  const user = userOf(one);
  return user === '' || user === userOf(other);
}

/** Some phones sign an IPv6 address without its brackets; only the user beside it counts. */
function bracketed(uri: string): string {
  const [, before, host, behind = ''] = /^(sips?:(?:[^@]*@)?)([0-9a-f:.]+)([;?].*)?$/i.exec(uri) ?? [];
  return host?.includes(':') && addressOctets(host) ? `${before}[${host}]${behind}` : uri;
}

function userOf(uri: Uri): string {
  if (uri.scheme === 'other') return uri.text;
  return uri.scheme === 'tel' ? uri.number : (uri.user ?? '').split(';')[0]!;
}

function readQop(
  parameters: DigestParameters,
): { value: 'auth'; nc: string; cnonce: string } | 'malformed' | undefined {
  const qop = parameters.get('qop');
  if (qop === undefined) return undefined;
  const nc = parameters.get('nc') ?? '';
  const cnonce = parameters.get('cnonce');
  const wellFormed = qop.toLowerCase() === 'auth' && /^[0-9a-f]{8}$/i.test(nc) && cnonce !== undefined;
  return wellFormed ? { value: 'auth', nc, cnonce } : 'malformed';
}

/** Takes as long whether the first or the last character differs. */
function sameText(expected: string, given: string): boolean {
  const left = Buffer.from(expected);
  const right = Buffer.from(given);
  return left.length === right.length && timingSafeEqual(left, right);
}
