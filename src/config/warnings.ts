import { networkInterfaces } from 'node:os';
import { addressMatcher, isLoopback } from '../lib/addresses.ts';
import type { Config } from './schema.ts';

/** Warnings about valid but suspicious settings. They do not keep the server from starting. */

/** Facts about the machine, for the warnings. */
type Machine = {
  /** Its addresses, without loopback. */
  addresses: readonly string[];
  /** Whether the directory exists. */
  hasDirectory(path: string): boolean;
};

/** The machine that this runs on. */
export const thisMachine = (hasDirectory: Machine['hasDirectory']): Machine => ({
  addresses: Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).flatMap(({ address, internal }) => (internal ? [] : [address])),
  ),
  hasDirectory,
});

const isWildcard = (address: string): boolean => address === '0.0.0.0' || address === '::';

/** Warnings about a checked configuration. Each begins with its setting. */
export function warningsOf(config: Config, machine: Machine): string[] {
  return [...addressWarnings(config, machine), ...directoryWarnings(config, machine), ...endpointWarnings(config)];
}

function addressWarnings({ http, sip, media }: Config, machine: Machine): string[] {
  const isOurs = (address: string): boolean =>
    isWildcard(address) || isLoopback(address) || machine.addresses.includes(address);
  const warnings: string[] = [];
  for (const { protocol, bind, port } of sip.transports) {
    const meets = bind === http.bind || isWildcard(bind) || isWildcard(http.bind);
    if (protocol !== 'udp' && port !== 0 && port === http.port && meets)
      warnings.push(`http.port: SIP over ${protocol} uses port ${port} too; change one of them`);
    if (!isOurs(bind)) warnings.push(`sip.transports: ${bind} is not an address of this machine`);
  }
  if (!isOurs(http.bind)) warnings.push(`http.bind: ${http.bind} is not an address of this machine`);
  const audio = media.rtp_address ?? '';
  if (audio !== '' && !isOurs(audio)) warnings.push(`media.rtp_address: ${audio} is not an address of this machine`);
  if (isLoopback(audio) && sip.transports.some(({ bind }) => !isLoopback(bind)))
    warnings.push(
      `media.rtp_address: ${audio} reaches only this machine, but SIP listens for others: calls will have no audio`,
    );
  return warnings;
}

function directoryWarnings({ sounds: { directories, music } }: Config, { hasDirectory }: Machine): string[] {
  const missing = (setting: string, listed: readonly string[]) =>
    listed
      .filter((directory) => directory !== 'builtin' && !hasDirectory(directory))
      .map((directory) => `${setting}: there is no directory ${directory}`);
  return [...missing('sounds.directories', directories), ...missing('sounds.music', music)];
}

function endpointWarnings({ sip }: Config): string[] {
  const warnings: string[] = [];
  const names = new Map<string, string>();
  for (const [name, { auth, match }] of Object.entries(sip.endpoints)) {
    const other = auth && names.get(auth.username);
    if (other !== undefined)
      warnings.push(
        `sip.endpoints.${name}: ${other} has the same user name ${auth?.username}; only one of them can be identified by it`,
      );
    if (auth) names.set(auth.username, name);
    const everywhere = match.find((network) => network.endsWith('/0'));
    if (!auth && everywhere !== undefined)
      warnings.push(
        `sip.endpoints.${name}: ${everywhere} lets any address call as ${name} without a password; see docs/security.md`,
      );
  }
  return warnings;
}

/**
 * Replaces a wildcard address (`0.0.0.0`, `[::]`) with one of this machine's that others can reach. Takes `host:port` or a URL.
 */
export function callable(address: string, { addresses } = thisMachine(() => true)): string {
  const own = (isSix: boolean): string | undefined =>
    addresses.find((each) => each.includes(':') === isSix && !each.startsWith('fe80:'));
  const start = address.indexOf('://') < 0 ? 0 : address.indexOf('://') + 3;
  const [scheme, rest] = [address.slice(0, start), address.slice(start)];
  if (rest.startsWith('0.0.0.0:')) return `${scheme}${own(false) ?? '127.0.0.1'}${rest.slice(7)}`;
  if (rest.startsWith('[::]:')) return `${scheme}[${own(true) ?? '::1'}]${rest.slice(4)}`;
  return address;
}

/**
 * URI of the echo test that a phone on this machine can call without an account: `echo` in the context of an endpoint
 * that matches 127.0.0.1. Undefined if there is none, or no SIP over UDP or TCP on 127.0.0.1.
 */
export function echoUri(
  { sip, dialplan }: Config,
  listening: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  const isOpen = Object.values(sip.endpoints).some(
    ({ auth, match, context }) =>
      !auth &&
      dialplan[context]?.['echo'] !== undefined &&
      match.some((network) => addressMatcher(network)('127.0.0.1')),
  );
  const address = [...(listening['udp'] ?? []), ...(listening['tcp'] ?? [])].find((each) =>
    /^(127\.0\.0\.1|0\.0\.0\.0):/.test(each),
  );
  return isOpen && address !== undefined ? `sip:echo@127.0.0.1${address.slice(address.indexOf(':'))}` : undefined;
}
