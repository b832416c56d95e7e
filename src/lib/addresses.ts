/** An IP address as 16-bit words, most significant first: two for IPv4, eight for IPv6. */
type Words = readonly number[];

/**
 * A test for source addresses: a literal address, or a network with its prefix length (`10.1.0.0/16`, `2001:db8::/32`).
 * Anything unreadable matches nothing.
 */
export function addressMatcher(pattern: string): (address: string) => boolean {
  const [network = '', length] = pattern.split('/');
  const wanted = addressWords(network);
  if (!wanted) return () => false;
  const prefix = length === undefined ? wanted.length * 16 : Number(length);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > wanted.length * 16) return () => false;
  const whole = prefix >> 4;
  const mask = (0xffff << (16 - (prefix & 15))) & 0xffff;
  return (address) => {
    const words = addressWords(address);
    if (words?.length !== wanted.length) return false;
    for (let i = 0; i < whole; i++) if (words[i] !== wanted[i]) return false;
    return mask === 0 || ((words[whole]! ^ wanted[whole]!) & mask) === 0;
  };
}

/** Whether a text is an address or a network with its prefix length. */
export function isNetwork(text: string): boolean {
  const [network = '', length, ...more] = text.split('/');
  const words = more.length === 0 ? addressWords(network) : undefined;
  return (
    words !== undefined && (length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= words.length * 16))
  );
}

const isLoopback4 = addressMatcher('127.0.0.0/8');

/** A version of IP. */
export type IpVersion = 4 | 6;

/** The version of a literal address. */
export const ipVersionOf = (address: string): IpVersion => (address.includes(':') ? 6 : 4);

/** Whether an address is one that only this machine reaches. */
export const isLoopback = (address: string): boolean => address === '::1' || isLoopback4(address);

/**
 * The unit that counts as one source: an IPv4 address (also in IPv6 form), or a customer's IPv6 /64 network
 * (`2001:db8:0:1::/64`). Unreadable text stands for itself.
 */
export function sourceNetwork(address: string): string {
  const words = address.includes(':') ? addressWords(address) : undefined;
  if (!words) return address;
  if (words.length === 2) return `${words[0]! >> 8}.${words[0]! & 255}.${words[1]! >> 8}.${words[1]! & 255}`;
  const groups = words.slice(0, 4).map((word) => word.toString(16));
  return `${groups.join(':').replace(/(^|:)0(:0){0,3}$/, '')}::/64`;
}

/** The 4 or 16 octets of an address, most significant first; undefined when the text is none. */
export function addressOctets(address: string): Uint8Array | undefined {
  const words = addressWords(address);
  return words && Uint8Array.from(words.flatMap((word) => [word >> 8, word & 255]));
}

/** An IPv4-mapped address (`::ffff:192.0.2.1`) counts as IPv4. */
function addressWords(address: string): Words | undefined {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  const text = mapped?.[1] ?? address;
  return text.includes(':') ? ipv6Words(text) : ipv4Words(text);
}

function ipv4Words(text: string): Words | undefined {
  const parts = text.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : 256));
  if (parts.length !== 4 || parts.some((part) => part > 255)) return undefined;
  const [a, b, c, d] = parts as [number, number, number, number];
  return [a * 256 + b, c * 256 + d];
}

function ipv6Words(text: string): Words | undefined {
  const [head = '', tail, ...rest] = text.toLowerCase().split('::');
  const groups = (part: string | undefined) => (part ? part.split(':') : []);
  const before = groups(head);
  const after = groups(tail);
  const missing = 8 - before.length - after.length;
  if (rest.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return undefined;
  const all = [...before, ...Array<string>(missing).fill('0'), ...after];
  return all.every((group) => /^[0-9a-f]{1,4}$/.test(group))
    ? all.map((group) => Number.parseInt(group, 16))
    : undefined;
}

/** `address:port`, an IPv6 address in brackets. */
export const formatAddress = ({ address, port }: { address: string; port: number }): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
