import { isIPv4 } from 'node:net';
import { firstViaEnd, formatVia, parseVia, type Via } from '../message/via.ts';
import { kindOf } from './kind.ts';
import type { Source, Target } from './transport.ts';

/**
 * The top Via with the actual source: `received` if the sent-by host differs (RFC 3261 18.2.1) or the port was
 * requested, and `rport` if requested (RFC 3581 4).
 * @returns undefined if there is nothing to add.
 */
export function stampedVia(via: Via, source: Source): Via | undefined {
  const asksForPort = via.params['rport'] !== undefined;
  if (!asksForPort && via.host === source.address && via.params['received'] === undefined) return undefined;
  const params: Record<string, string> = { ...via.params };
  if (asksForPort || via.host !== source.address) params['received'] = source.address;
  else delete params['received'];
  if (asksForPort) params['rport'] = String(source.port);
  return { ...via, params };
}

/** `stampedVia` on the text of a Via line that may hold more hops; the line itself when there is nothing to note. */
export function stampViaLine(line: string, source: Source): string {
  const end = firstViaEnd(line);
  const via = parseVia(line.slice(0, end).trim());
  const stamped = via && stampedVia(via, source);
  return stamped ? formatVia(stamped) + line.slice(end) : line;
}

/**
 * Destination of responses (RFC 3261 18.2.2 and RFC 3581 4). Over connections: the request's, or if that is closed a
 * new one to the sent-by port. Over UDP: the `maddr`, else the source address, with the source port if `rport` was
 * requested, else with the sent-by port. Only known senders may use `maddr`: others could aim our responses at a
 * victim.
 */
export function responseTarget(via: Via | undefined, source: Source, isKnown: boolean): Target {
  if (!via) return source;
  const sentByPort = via.port ?? kindOf(source.protocol).defaultPort;
  if (kindOf(source.protocol).reliable) return { ...source, port: sentByPort };
  const maddr = via.params['maddr'];
  if (isKnown && maddr !== undefined && isIPv4(maddr)) return { ...source, address: maddr, port: sentByPort };
  return via.params['rport'] === undefined ? { ...source, port: sentByPort } : source;
}
