import type { LegData } from '../telephony/driver.ts';
import type { ServerData } from './server-data.ts';

/** Calls that go on at another address than before. */

/**
 * What the process before may have sent behind what is known of it. CSeq numbers may skip (RFC 3261 12.2.2), and a request of
 * a process that still runs is then out of order for the peer.
 */
const skippedRequests = 100;
/** The same for ids of channels. */
const skippedIds = 1_000_000;

/**
 * Prepares saved data for another address: requests in dialogs have higher numbers, audio gets any free port, and the next
 * descriptions have our present address. Restored SIP calls that are up then send a re-INVITE by themselves.
 */
export function move(data: ServerData): ServerData {
  data.channelIds += skippedIds;
  moveAll(data.sip.driver);
  for (const { leg } of data.calls.channels) moveAll(leg);
  // The file so far may be on another machine: one that is not here begins anew.
  for (const each of data.calls.recordings ?? []) if (each.begun) each.begun = { durationMs: 0, talkingMs: 0 };
  return data;
}

function moveAll(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const found = value as Record<string, unknown>;
  if (typeof found['localCseq'] === 'number') found['localCseq'] += skippedRequests;
  // A session of audio, a negotiation, and video.
  if (found['version'] === 1 && isObject(found['local'])) found['local'] = { address: '', port: 0 };
  if (isObject(found['session']) && typeof found['wished'] === 'string') delete found['address'];
  if (isObject(found['ports'])) delete found['ports'];
  // Our early description names the address before.
  if (typeof found['earlyAnswer'] === 'string') delete found['earlyAnswer'];
  for (const each of Object.values(found)) moveAll(each);
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Whether a leg cannot move: a browser has agreed on an address by ICE, and only its page can begin that again. */
export const isBound = (leg: LegData): boolean => JSON.stringify(leg).includes('"webrtc":{');
