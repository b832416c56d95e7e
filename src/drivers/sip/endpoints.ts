import { addressMatcher, isLoopback } from '../../lib/addresses.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { DigestSecret } from '../../sip/auth/digest.ts';
import type { DigestResult, Verifier } from '../../sip/auth/verifier.ts';
import { type Dialog, isOnRoute, isPeerAddress } from '../../sip/dialog/dialog.ts';
import { Timers } from '../../sip/dialog/stack.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { Uri } from '../../sip/message/uri.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { Source } from '../../sip/transport/transport.ts';
import { type AdmitSource, sourceAllowance } from './allowance.ts';
import type { EndpointConfig } from './config.ts';
import { userOf } from './party.ts';
import { createRefusals } from './refusals.ts';

/** Sender of a request; `challenge`: not authenticated; `guessed`: with a wrong password. */
type Identity = { endpoint: EndpointConfig } | Refusal;

type Refusal = {
  challenge: HeaderLines;
  guessed?: string;
  /** The identity was proved but is not allowed here (403), and why. */
  forbidden?: string;
};

/** Counts wrong log-ins: returns the action for the source. */
export type LogIns = {
  failed(source: string, user: string): { action: 'admit' } | { action: 'delay'; ms: number } | { action: 'ignore' };
};

type EndpointsOptions = {
  verifier: Verifier;
  clock: Clock;
  log: Logger;
  logIns?: LogIns | undefined;
  /** The endpoint whose line at a provider a request was sent to. */
  lineOf?: (requestUri: Uri) => EndpointConfig | undefined;
  /** The address that a listener is bound to. */
  listenerHost?: (listener: number) => string | undefined;
};

/** The configured endpoints. */
export interface Endpoints {
  all(): readonly EndpointConfig[];
  /** By name without regard to case. */
  named(name: string): EndpointConfig | undefined;
  /** Adds an endpoint, or replaces the one of that name. */
  set(endpoint: EndpointConfig): void;
  remove(name: string): void;
  /**
   * Identifies the sender of a request. In order: the digest user, the token that a provider was given, the user of
   * From (who must authenticate), and the source address. Several endpoints at one address are distinguished by From.
   * Responses do not reveal which users exist: unknown ones are challenged too. A proven identity from a forbidden
   * source, or with another endpoint's name and no `trustIdentity`, is forbidden.
   */
  identify(transaction: ServerTransaction): Identity;
  /** Challenges the sender (401), with delay after too many wrong passwords; 403 for forbidden identities. */
  challenge(transaction: ServerTransaction, identity: Refusal): void;
  /** Whether an address is in some endpoint's `match`. */
  trusts(address: string): boolean;
  /** Forgets the challenges that wait. */
  close(): void;
  /**
   * Challenges a request in an endpoint's dialog from a new source. Exceptions: an address of `match` or of the route
   * set, or a valid password. An endpoint without password cannot answer challenges. For it every address counts that
   * it named or was heard from.
   * @returns whether the request was challenged and so is finished.
   */
  challengeStranger(
    endpoint: EndpointConfig,
    transaction: ServerTransaction,
    dialog: Pick<Dialog, 'routes' | 'sources' | 'remoteTarget'>,
  ): boolean;
}

type Entry = {
  config: EndpointConfig;
  matches: readonly ((address: string) => boolean)[];
  admits: AdmitSource;
};

/** How late a source is answered that is to be ignored, but is known to us, in ms. */
const LATEST_MS = 4_000;

/** Addresses whose trust is remembered at most. */
const REMEMBERED = 10_000;

/** The endpoints by their names, and by what requests say of them. */
function createDirectory(listenerHost: EndpointsOptions['listenerHost']) {
  /** Whether addresses that asked lately are in some `match`. */
  const trusted = new Map<string, boolean>();
  const byName = new Map<string, Entry>();
  const byUsername = new Map<string, EndpointConfig>();
  /** Endpoints whose AOR has a name of its own. */
  const byAor = new Map<string, EndpointConfig>();

  const set = (config: EndpointConfig) => {
    trusted.clear();
    remove(config.name);
    byName.set(config.name.toLowerCase(), {
      config,
      matches: config.match.map(addressMatcher),
      admits: sourceAllowance(config.allowance),
    });
    if (config.auth) byUsername.set(config.auth.username, config);
    if (config.aor.name !== undefined) byAor.set(config.aor.name.toLowerCase(), config);
  };

  const remove = (name: string) => {
    trusted.clear();
    const old = byName.get(name.toLowerCase())?.config;
    byName.delete(name.toLowerCase());
    const aor = old?.aor.name?.toLowerCase();
    if (aor !== undefined && byAor.get(aor) === old) byAor.delete(aor);
    if (old?.auth && byUsername.get(old.auth.username) === old) byUsername.delete(old.auth.username);
  };

  const isTrusted = (address: string): boolean => {
    for (const { matches } of byName.values()) if (matches.some((match) => match(address))) return true;
    return false;
  };

  return {
    set,
    remove,
    entry: (name: string): Entry | undefined => byName.get(name.toLowerCase()),
    all: (): EndpointConfig[] => [...byName.values()].map(({ config }) => config),
    byUsername: (username: string): EndpointConfig | undefined => byUsername.get(username),

    /** The endpoint that this address identifies without password; of several the one in From, else the first. */
    byAddress(source: Source, from: EndpointConfig | undefined): EndpointConfig | undefined {
      // A listener on a loopback address is only reachable from this machine, from any of its addresses.
      const host = listenerHost?.(source.listener) ?? '';
      const addresses = isLoopback(host) ? [source.address, host] : [source.address];
      const isThere = ({ config, matches }: Entry) => !config.auth && matches.some((match) => addresses.some(match));
      const named = from && byName.get(from.name.toLowerCase());
      if (named && isThere(named)) return named.config;
      for (const entry of byName.values()) if (isThere(entry)) return entry.config;
      return undefined;
    },

    /** The endpoint that a request says it is from. */
    claimed(request: SipRequest): EndpointConfig | undefined {
      const user = userOf(request.from.uri);
      return byName.get(user.toLowerCase())?.config ?? byUsername.get(user) ?? byAor.get(user.toLowerCase());
    },

    trusts(address: string): boolean {
      const known = trusted.get(address);
      if (known !== undefined) return known;
      if (trusted.size >= REMEMBERED) trusted.clear();
      const trust = isTrusted(address);
      trusted.set(address, trust);
      return trust;
    },
  };
}

export function createEndpoints(
  configs: readonly EndpointConfig[],
  { verifier, clock, log, logIns, lineOf, listenerHost }: EndpointsOptions,
): Endpoints {
  const directory = createDirectory(listenerHost);
  const { claimed } = directory;
  const timers = new Timers({ clock, log }, 'a late challenge');
  const tellRefusal = createRefusals(log, clock, 'a request');
  for (const config of configs) directory.set(config);

  const challenge = (source: string, stale = false): { challenge: HeaderLines } => ({
    challenge: verifier.challenges(source, { stale }).map((value) => ['WWW-Authenticate', value] as const),
  });

  const verify = (request: SipRequest, source: string): DigestResult =>
    verifier.verify({
      credentials: request.headerLines('Authorization'),
      method: request.method,
      uri: request.requestUri,
      source,
      secretOf: (username): DigestSecret | undefined => directory.byUsername(username)?.auth,
    });

  const refusal = (digest: DigestResult, source: string): Refusal => ({
    ...challenge(source, digest.result === 'stale'),
    ...(digest.result === 'rejected' && { guessed: digest.username }),
  });

  /** An endpoint that is known; `checksName`: unless it calls itself by the name of another one. */
  const admitted = (
    endpoint: EndpointConfig,
    { request, source }: ServerTransaction,
    checksName: boolean,
  ): Identity => {
    const { admits } = directory.entry(endpoint.name)!;
    const other = checksName && !endpoint.trustIdentity ? claimed(request) : undefined;
    const pretends = other && other !== endpoint ? `it calls itself ${other.name}` : undefined;
    const forbidden = admits(source, request.method) ?? pretends;
    return forbidden === undefined ? { endpoint } : { challenge: [], forbidden };
  };

  const ask = (transaction: ServerTransaction, { challenge: headers, guessed, forbidden }: Refusal): void => {
    if (forbidden !== undefined) {
      tellRefusal(transaction, 403, forbidden);
      return void transaction.reply(403);
    }
    const ban = guessed === undefined ? undefined : logIns?.failed(transaction.source.address, guessed);
    const answer = () => void transaction.reply(401, { headers });
    if (!ban || ban.action === 'admit') answer();
    else timers.start(answer, ban.action === 'delay' ? ban.ms : LATEST_MS);
  };

  return {
    all: directory.all,
    named: (name) => directory.entry(name)?.config,
    set: directory.set,
    remove: directory.remove,
    trusts: directory.trusts,
    identify(transaction) {
      const { request, source } = transaction;
      const digest = verify(request, source.address);
      if (digest.result === 'accepted') return admitted(directory.byUsername(digest.username)!, transaction, true);
      const line = digest.result === 'absent' ? lineOf?.(request.uri) : undefined;
      if (line) return admitted(line, transaction, false);
      const from = claimed(request);
      // A sender that claims a phone with password must authenticate, also where anonymous calls are allowed.
      const isOpen = digest.result === 'absent' && !from?.auth;
      const local = isOpen ? directory.byAddress(source, from) : undefined;
      return local ? admitted(local, transaction, true) : refusal(digest, source.address);
    },
    challengeStranger({ name, auth, match }, transaction, dialog) {
      const { request, source } = transaction;
      const { address } = source;
      const entry = directory.entry(name);
      // Of an endpoint that was changed or removed meanwhile the call goes by what it was.
      const matches = entry?.config.match === match ? entry.matches : match.map(addressMatcher);
      if (matches.some((matching) => matching(address)) || isOnRoute(dialog, address)) return false;
      if (!auth && isPeerAddress(dialog, address)) return false;
      const digest = verify(request, address);
      if (digest.result === 'accepted' && digest.username === auth?.username) return false;
      ask(transaction, refusal(digest, address));
      return true;
    },
    challenge: ask,
    close: () => timers.clearAll(),
  };
}
