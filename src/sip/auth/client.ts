import type { Ids } from '../../lib/ids.ts';
import { algorithmNamed, type DigestAlgorithm, type DigestSecret, digestAlgorithms, digestResponse } from './digest.ts';
import { formatDigest, parseDigest } from './header.ts';

/** Our user name at a server; without `realm` for every realm. */
export type DigestCredentials = { username: string; realm?: string } & DigestSecret;

/** A challenge as received: which header it came in, and its value. */
export type Challenge = { from: 'WWW-Authenticate' | 'Proxy-Authenticate'; value: string };

/** A header to put into the request that is sent again. */
type Authorization = { name: 'Authorization' | 'Proxy-Authorization'; value: string };

/** The client side of digest authentication for one call, registration or request series. */
export interface DigestClient {
  /**
   * Processes the challenges of a 401 or 407. True if the request should be sent again with credentials. False if we
   * have none, or this request was refused with them already (RFC 3261 22.2: no second try with the same credentials).
   */
  challenged(challenges: readonly Challenge[]): boolean;
  /** The headers that answer all challenges taken so far, with the next nonce count. */
  authorize(method: string, uri: string): Authorization[];
}

type Answerable = {
  from: Challenge['from'];
  realm: string;
  nonce: string;
  opaque: string | undefined;
  algorithm: DigestAlgorithm;
  /** As named in the challenge; left out of the answer when it was not named there. */
  algorithmName: string | undefined;
  qop: boolean;
  stale: boolean;
  credentials: DigestCredentials;
};

/** Most realms that one client answers: a proxy or two and the server. */
const MAX_REALMS = 4;

/** Answers challenges with the strongest algorithm that we and the server have (RFC 8760 2.4). */
export function createDigestClient(known: readonly DigestCredentials[], ids: Ids): DigestClient {
  const accepted = new Map<string, Accepted>();
  return {
    challenged(challenges) {
      const best = bestPerRealm(challenges, known);
      const news = best.filter((challenge) => {
        const before = accepted.get(keyOf(challenge));
        if (!before) return accepted.size < MAX_REALMS;
        const isAnswered = isRenewal(challenge, before);
        if (!isAnswered) before.isRefused = true;
        return isAnswered;
      });
      for (const challenge of news) accepted.set(keyOf(challenge), { challenge, count: 0, isRefused: false });
      return news.length > 0;
    },
    authorize: (method, uri) =>
      [...accepted.values()].map((entry) => {
        entry.count++;
        return answer(entry.challenge, entry.count, ids.hex(16), { method, uri });
      }),
  };
}

/** A challenge that is answered, in how many requests, and whether an answer to it was refused. */
type Accepted = { challenge: Answerable; count: number; isRefused: boolean };

/** Whether a server that knows our credentials only wants a new nonce for them. */
function isRenewal({ nonce, stale }: Answerable, { challenge, count, isRefused }: Accepted): boolean {
  if (nonce === challenge.nonce) return false;
  // The previous nonce was good for a request before this one. Servers with a nonce for each request leave out stale.
  if (count > 1 && !isRefused) return true;
  // stale=true says that the password was right (RFC 7616 3.3). Such a nonce must be good for at least one request.
  return stale && (!challenge.stale || count > 1);
}

const keyOf = ({ from, realm }: Answerable): string => `${from} ${realm}`;

function bestPerRealm(challenges: readonly Challenge[], known: readonly DigestCredentials[]): Answerable[] {
  const best = new Map<string, Answerable>();
  for (const challenge of challenges) {
    const answerable = readChallenge(challenge, known);
    if (!answerable) continue;
    const other = best.get(keyOf(answerable));
    if (!other || strength(answerable) > strength(other)) best.set(keyOf(answerable), answerable);
  }
  return [...best.values()];
}

const strength = ({ algorithm }: Answerable): number => digestAlgorithms.indexOf(algorithm);

function readChallenge({ from, value }: Challenge, known: readonly DigestCredentials[]): Answerable | undefined {
  const parameters = parseDigest(value);
  const realm = parameters?.get('realm');
  const nonce = parameters?.get('nonce');
  if (!parameters || realm === undefined || nonce === undefined) return undefined;
  const algorithmName = parameters.get('algorithm');
  const algorithm = algorithmNamed(algorithmName);
  const qops = parameters
    .get('qop')
    ?.toLowerCase()
    .split(/[\s,]+/);
  if (!algorithm || (qops && !qops.includes('auth'))) return undefined;
  const credentials = known.find((entry) => fits(entry, realm, algorithm));
  if (!credentials) return undefined;
  const stale = parameters.get('stale')?.toLowerCase() === 'true';
  return {
    from,
    realm,
    nonce,
    opaque: parameters.get('opaque'),
    algorithm,
    algorithmName,
    qop: qops !== undefined,
    stale,
    credentials,
  };
}

function fits(credentials: DigestCredentials, realm: string, algorithm: DigestAlgorithm): boolean {
  if (credentials.realm !== undefined && credentials.realm !== realm) return false;
  return 'password' in credentials || credentials.ha1.length === (algorithm.startsWith('MD5') ? 32 : 64);
}

function answer(
  challenge: Answerable,
  count: number,
  cnonce: string,
  { method, uri }: { method: string; uri: string },
): Authorization {
  const { realm, nonce, opaque, algorithm, algorithmName, credentials } = challenge;
  const { username } = credentials;
  const qop = challenge.qop || algorithm.endsWith('-sess');
  const nc = count.toString(16).padStart(8, '0');
  const response = digestResponse({
    algorithm,
    username,
    realm,
    secret: credentials,
    method,
    uri,
    nonce,
    ...(qop && { qop: { value: 'auth', nc, cnonce } }),
  });
  const value = formatDigest(
    {
      username,
      realm,
      nonce,
      uri,
      response,
      algorithm: algorithmName,
      ...(qop && { cnonce, qop: 'auth', nc }),
      opaque,
    },
    false,
  );
  return { name: challenge.from === 'WWW-Authenticate' ? 'Authorization' : 'Proxy-Authorization', value };
}
