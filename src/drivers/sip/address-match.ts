/**
 * A test for source addresses: a literal address, or a network with its prefix length (`10.1.0.0/16`, `2001:db8::/32`).
 * Anything unreadable matches nothing.
 */
export function addressMatcher(pattern: string): (address: string) => boolean {
  const [network = '', length] = pattern.split('/');
  const wanted = addressBits(network);
  if (!wanted) return () => false;
  const prefix = length === undefined ? wanted.length : Number(length);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > wanted.length) return () => false;
  return (address) => {
    const bits = addressBits(address);
    return bits?.length === wanted.length && bits.slice(0, prefix) === wanted.slice(0, prefix);
  };
}

/** The bits of an address as text of 0 and 1; an IPv4 address inside an IPv6 one is told as IPv4. */
function addressBits(address: string): string | undefined {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  const text = mapped?.[1] ?? address;
  return text.includes(':') ? ipv6Bits(text) : ipv4Bits(text);
}

function ipv4Bits(text: string): string | undefined {
  const parts = text.split('.').map((part) => (/^\d{1,3}$/.test(part) ? Number(part) : 256));
  if (parts.length !== 4 || parts.some((part) => part > 255)) return undefined;
  return parts.map((part) => part.toString(2).padStart(8, '0')).join('');
}

function ipv6Bits(text: string): string | undefined {
  const [head = '', tail, ...rest] = text.toLowerCase().split('::');
  const groups = (part: string | undefined) => (part ? part.split(':') : []);
  const before = groups(head);
  const after = groups(tail);
  const missing = 8 - before.length - after.length;
  if (rest.length > 0 || (tail === undefined ? missing !== 0 : missing < 1)) return undefined;
  const all = [...before, ...Array<string>(missing).fill('0'), ...after];
  if (!all.every((group) => /^[0-9a-f]{1,4}$/.test(group))) return undefined;
  return all.map((group) => Number.parseInt(group, 16).toString(2).padStart(16, '0')).join('');
}
