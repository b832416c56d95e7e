import { addressMatcher } from '../../lib/addresses.ts';
import type { DigestSecret } from '../../sip/auth/digest.ts';
import type { Verifier } from '../../sip/auth/verifier.ts';
import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import type { ServerTransaction } from '../../sip/transaction/transaction.ts';
import type { EndpointConfig } from './config.ts';
import { userOf } from './party.ts';

/** Who sent a request; `challenge` when that is not proved, whoever it claims to be. */
export type Identity = { endpoint: EndpointConfig } | { challenge: HeaderLines };

/** The configured endpoints. */
export interface Endpoints {
  all(): readonly EndpointConfig[];
  /** By name without regard to case. */
  named(name: string): EndpointConfig | undefined;
  /** Adds an endpoint, or replaces the one of that name. */
  set(endpoint: EndpointConfig): void;
  remove(name: string): void;
  /**
   * Finds out who sent a request: by the digest's user; else by the user of From, who must then prove it; else by the
   * source address. Nobody learns which users exist: known and unknown ones are challenged alike.
   */
  identify(transaction: ServerTransaction): Identity;
}

type Entry = { config: EndpointConfig; matches: readonly ((address: string) => boolean)[] };

export function createEndpoints(configs: readonly EndpointConfig[], verifier: Verifier): Endpoints {
  const byName = new Map<string, Entry>();
  const byUsername = new Map<string, EndpointConfig>();
  /** Endpoints whose AOR has a name of its own. */
  const byAor = new Map<string, EndpointConfig>();

  const set = (config: EndpointConfig) => {
    remove(config.name);
    byName.set(config.name.toLowerCase(), { config, matches: config.match.map(addressMatcher) });
    if (config.auth) byUsername.set(config.auth.username, config);
    if (config.aor.name !== undefined) byAor.set(config.aor.name.toLowerCase(), config);
  };

  const remove = (name: string) => {
    const old = byName.get(name.toLowerCase())?.config;
    byName.delete(name.toLowerCase());
    const aor = old?.aor.name?.toLowerCase();
    if (aor !== undefined && byAor.get(aor) === old) byAor.delete(aor);
    if (old?.auth && byUsername.get(old.auth.username) === old) byUsername.delete(old.auth.username);
  };

  for (const config of configs) set(config);

  const challenge = (stale: boolean): Identity => ({
    challenge: verifier.challenges({ stale }).map((value) => ['WWW-Authenticate', value] as const),
  });

  /** An endpoint that needs no password from this address. */
  const byAddress = (address: string): EndpointConfig | undefined => {
    for (const { config, matches } of byName.values())
      if (!config.auth && matches.some((match) => match(address))) return config;
    return undefined;
  };

  const claimed = (request: SipRequest): EndpointConfig | undefined => {
    const user = userOf(request.from.uri);
    return byName.get(user.toLowerCase())?.config ?? byUsername.get(user) ?? byAor.get(user.toLowerCase());
  };

  return {
    all: () => [...byName.values()].map(({ config }) => config),
    named: (name) => byName.get(name.toLowerCase())?.config,
    set,
    remove,
    identify({ request, source }) {
      const credentials = request.headerLines('Authorization');
      const verdict = verifier.verify({
        credentials,
        method: request.method,
        secretOf: (username): DigestSecret | undefined => byUsername.get(username)?.auth,
      });
      if (verdict.result === 'accepted') return { endpoint: byUsername.get(verdict.username)! };
      if (verdict.result !== 'absent') return challenge(verdict.result === 'stale');
      const trusted = byAddress(source.address);
      // Who claims to be a phone with a password has to know it, also where strangers are let in.
      return trusted && !claimed(request)?.auth ? { endpoint: trusted } : challenge(false);
    },
  };
}
