import { lookup, Resolver } from 'node:dns/promises';
import type { AddressRecord, NameServer } from '../sip/location/names.ts';

/** How long one server is waited for, in ms, and how often it is asked. */
const patience = { timeout: 1_500, tries: 2 } as const;

/** Look-ups of the system at a time: each holds one of the four threads that read and write files, too. */
const mostLookups = 2;
/** Look-ups that wait for their turn; more are refused. */
const mostWaiting = 1_000;

let lookups = 0;
const waiting: (() => void)[] = [];

/** The addresses of a host as the system has them, in turn. */
async function lookedUp(name: string): Promise<{ address: string }[]> {
  if (lookups >= mostLookups) {
    if (waiting.length >= mostWaiting) throw new Error('too many host names are looked up');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else lookups++;
  try {
    return await lookup(name, { all: true, order: 'ipv4first' });
  } finally {
    // The turn is handed on.
    const next = waiting.shift();
    if (next) next();
    else lookups--;
  }
}

/** DNS errors for a missing name or record. */
const isNothing = (error: unknown): boolean =>
  ['ENODATA', 'ENOTFOUND'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * The system's name servers, or the named ones (`address` or `address:port`). Only the system's know its hosts file.
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
    (await lookedUp(name)).map(({ address }) => ({ address, ttl: 0 }));
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
