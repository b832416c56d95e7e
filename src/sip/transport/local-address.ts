import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../lib/clock.ts';

type Interface = { readonly address: string; readonly internal: boolean; readonly net: BlockList };

/** How long, in ms, the list of the machine's addresses is believed. */
const BELIEVED_FOR = 10_000;

/**
 * Finds the local address towards a peer for sockets bound to all addresses: the one in the peer's network, else the
 * first that is not internal, else the loopback address.
 */
export function createLocalAddresses(clock: Clock): (peer: string) => string {
  let interfaces: { readonly 4: Interface[]; readonly 6: Interface[] } = { 4: [], 6: [] };
  let readAt = Number.NEGATIVE_INFINITY;
  return (peer) => {
    if (clock.monotonic() - readAt > BELIEVED_FOR) {
      readAt = clock.monotonic();
      interfaces = { 4: readInterfaces(4), 6: readInterfaces(6) };
    }
    const family = isIPv6(peer) ? 6 : 4;
    const list = interfaces[family];
    const near = list.find((candidate) => candidate.net.check(peer, family === 6 ? 'ipv6' : 'ipv4'));
    return (near ?? list.find((candidate) => !candidate.internal))?.address ?? (family === 6 ? '::1' : '127.0.0.1');
  };
}

function readInterfaces(family: 4 | 6): Interface[] {
  const found: Interface[] = [];
  for (const addresses of Object.values(networkInterfaces())) {
    for (const { address, internal, cidr, family: name } of addresses ?? []) {
      if (name !== `IPv${family}` || cidr === null) continue;
      const net = new BlockList();
      net.addSubnet(address, Number(cidr.slice(cidr.indexOf('/') + 1)), family === 6 ? 'ipv6' : 'ipv4');
      found.push({ address, internal, net });
    }
  }
  return found;
}
