import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { nodeArguments } from '../../scripts/compiled.ts';
import { patienceMs } from './waiting.ts';

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'pipe' });

/** An Ethernet address that nobody has. */
const nobody = '02:00:00:00:00:99';
/** What this process and its hosts share: the address of the process. */
export const ownAddress = '10.77.0.254';

/** The one address of such a network. It is no loopback: browsers and phones take no ICE candidates of those. */
const address = '192.0.2.1';
const network = [
  ...['ip link set lo up', 'ip link add d0 type veth peer name d1', `ip address add ${address}/24 dev d0`],
  ...['ip link set d0 up', 'ip link set d1 up', 'ip route add default dev d0', 'exec "$@"'],
].join(' && ');

/**
 * What a TypeScript program says that runs in a network of its own. Its last argument is the address there.
 * @param within words before its command. @throws Error (rejects) when it fails.
 */
export async function ranInNetwork(
  program: string,
  args: readonly string[],
  within: readonly string[] = [],
): Promise<string> {
  const started = [...within, process.execPath, ...nodeArguments(program), ...args, address];
  const all = ['--net', '--map-root-user', 'sh', '-c', network, 'sh', ...started];
  return (await promisify(execFile)('unshare', all, { timeout: 2 * patienceMs })).stdout;
}

/**
 * Why this machine has no such networks, or undefined. They need namespaces, virtual Ethernet and bridges of the kernel.
 */
export function missingNetworks(): string | undefined {
  const probe = 'ip link add br9 type bridge && ip link add v9 type veth peer name w9';
  try {
    execFileSync('unshare', ['--net', '--mount', '--map-root-user', 'sh', '-c', probe], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/**
 * Hosts with a network namespace and an address each, on one bridge of Linux. This process has to be in namespaces of its
 * own for networks and mounts (`unshare --net --mount --map-root-user`); they end with it.
 */
export class Networks {
  readonly #addresses: Readonly<Record<string, string>>;

  /** @param names of the hosts, at most 90; they are at 10.77.0.1 and so on. */
  constructor(names: readonly string[]) {
    this.#addresses = Object.fromEntries(names.map((name, at) => [name, `10.77.0.${at + 1}`]));
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/run']);
    ip('link', 'set', 'lo', 'up');
    ip('link', 'add', 'br0', 'type', 'bridge');
    ip('link', 'set', 'br0', 'up');
    ip('address', 'add', `${ownAddress}/24`, 'dev', 'br0');
    for (const [name, address] of Object.entries(this.#addresses)) {
      ip('netns', 'add', name);
      ip('link', 'add', `to-${name}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', `to-${name}`, 'master', 'br0', 'up');
      ip('-n', name, 'address', 'add', `${address}/24`, 'dev', 'eth0');
      for (const device of ['lo', 'eth0']) ip('-n', name, 'link', 'set', device, 'up');
    }
  }

  /** More addresses of this process: 10.77.0.100 and so on. */
  ownAddresses(count: number): string[] {
    const addresses = Array.from({ length: count }, (_, at) => `10.77.0.${100 + at}`);
    for (const address of addresses) ip('address', 'add', `${address}/24`, 'dev', 'br0');
    return addresses;
  }

  address(host: string): string {
    return this.#addresses[host]!;
  }

  /** The words before a command that runs on a host. */
  on(host: string): string[] {
    return ['nsenter', `--net=/run/netns/${host}`];
  }

  /** A host reaches all that is elsewhere through an address. */
  route(host: string, through: string): void {
    ip('-n', host, 'route', 'add', 'default', 'via', through);
  }

  /** The packets of a host to one address are lost, or no longer; those to the host are not. */
  mute(host: string, address: string, isMute: boolean): void {
    const neighbour = ['-n', host, 'neighbour', isMute ? 'replace' : 'del', address];
    ip(...neighbour, ...(isMute ? ['lladdr', nobody, 'nud', 'permanent'] : []), 'dev', 'eth0');
  }

  /** Nothing passes any more between the first card of a host and an address, and nobody is told. */
  unplug(host: string, address: string): void {
    ip('-n', host, 'rule', 'add', 'from', this.address(host), 'to', address, 'blackhole');
    ip('rule', 'add', 'from', address, 'to', this.address(host), 'blackhole');
  }

  /** A host reaches an address by a second card from now on. What else it has open stays. */
  changeCard(host: string, address: string): void {
    ip('link', 'add', `by-${host}`, 'type', 'veth', 'peer', 'name', 'eth1', 'netns', host);
    ip('link', 'set', `by-${host}`, 'master', 'br0', 'up');
    ip('address', 'add', '10.78.0.254/24', 'dev', 'br0');
    ip('-n', host, 'address', 'add', '10.78.0.1/24', 'dev', 'eth1');
    ip('-n', host, 'link', 'set', 'eth1', 'up');
    ip('-n', host, 'route', 'add', `${address}/32`, 'dev', 'eth1');
  }

  /** Nothing passes any more between a host and others, and nobody is told. */
  cut(host: string, others: readonly string[]): void {
    this.#neighbours(host, others, (on, address) =>
      ip('-n', on, 'neighbour', 'replace', address, 'lladdr', nobody, 'dev', 'eth0', 'nud', 'permanent'),
    );
  }

  /** All is as before `cut`. */
  heal(host: string, others: readonly string[]): void {
    this.#neighbours(host, others, (on, address) => ip('-n', on, 'neighbour', 'del', address, 'dev', 'eth0'));
  }

  #neighbours(host: string, others: readonly string[], change: (on: string, address: string) => void): void {
    for (const other of others) {
      change(host, this.address(other));
      change(other, this.address(host));
    }
  }

  /** Takes the network of a host away, or gives it back. */
  plug(host: string, isIn: boolean): void {
    ip('link', 'set', `to-${host}`, isIn ? 'up' : 'down');
  }
}
