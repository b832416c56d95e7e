import { lookup, Resolver } from 'node:dns/promises';
import type { AddressRecord, NameServer } from '../sip/location/names.ts';

/** How long one server is waited for, in ms, and how often it is asked. */
const patience = { timeout: 1_500, tries: 2 } as const;

/** What a name server says when there is no such name, or no such record. */
const isNothing = (error: unknown): boolean =>
  ['ENODATA', 'ENOTFOUND'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * The name servers of the system, or those that are named (`address` or `address:port`). Only the system's know the names
 * of its own list of hosts.
 */
export function createNameServer(servers: readonly string[]): NameServer {
  const resolver = new Resolver(patience);
  if (servers.length > 0) resolver.setServers(servers);
  const orNothing = async <T>(answer: Promise<T[]>): Promise<T[]> => {
    try {
      return await answer;
    } catch (error) {
      if (isNothing(error)) return [];
      throw error;
    }
  };
  const ofSystem = async (name: string): Promise<AddressRecord[]> =>
    (await lookup(name, { all: true, order: 'ipv4first' })).map(({ address }) => ({ address, ttl: 0 }));
  const asked = async (name: string): Promise<AddressRecord[]> => {
    const [four, six] = await Promise.allSettled([
      orNothing(resolver.resolve4(name, { ttl: true })),
      orNothing(resolver.resolve6(name, { ttl: true })),
    ]);
    const found = [four, six].flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    if (found.length === 0 && four.status === 'rejected') throw four.reason;
    return found;
  };
  return {
    naptr: (name) => orNothing(resolver.resolveNaptr(name)),
    srv: (name) => orNothing(resolver.resolveSrv(name)),
    addresses: (name) => (servers.length > 0 ? asked(name) : orNothing(ofSystem(name))),
  };
}
