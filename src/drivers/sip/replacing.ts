import type { SipRequest } from '../../sip/message/message.ts';
import { replacesOf } from '../../sip/message/replaces.ts';
import type { Services } from './services.ts';

/** What an INVITE wants to take the place of: a channel, or why not, as a status with the reason. */
export type Replacing = { channelId: string } | { status: number; why: string };

/** Reads Replaces of an INVITE (RFC 3891 3); undefined when it wants nobody's place. */
export function replacingOf({ agent }: Services, request: SipRequest): Replacing | undefined {
  const wanted = replacesOf(request);
  if (!wanted) return undefined;
  if (wanted === 'malformed') return { status: 400, why: 'a Replaces that cannot be read' };
  const call = agent.callOf(wanted);
  if (!call) return { status: 481, why: 'it would replace a call that is not there' };
  if (call === 'ended' || call.state === 'ending' || call.state === 'closed')
    return { status: 603, why: 'it would replace a call that is over' };
  if (call.state === 'confirmed' && wanted.earlyOnly) return { status: 486, why: 'it would replace an answered call' };
  // A call that is not answered can be taken by the side that placed it only.
  const isOurs = call.state === 'confirmed' || call.dialog.ownsCallId;
  const channelId = isOurs ? call.owner : undefined;
  return channelId === undefined ? { status: 481, why: 'it would replace a call that it cannot' } : { channelId };
}
