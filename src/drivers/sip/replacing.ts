import type { SipRequest } from '../../sip/message/message.ts';
import { type NamedDialog, replacesOf } from '../../sip/message/named-dialog.ts';
import type { EndpointConfig } from './config.ts';
import type { Services } from './services.ts';

/** The channel that an INVITE replaces, or the status and reason of its refusal. */
export type Replacing = { channelId: string } | { status: number; why: string };

type Asking = Pick<EndpointConfig, 'allowReplaces' | 'context'>;

/** Whether an endpoint may take over the calls of another one: `allow_replaces` is set and both have one context. */
export const mayReplace = ({ allowReplaces, context }: Asking, owner: Pick<EndpointConfig, 'context'>): boolean =>
  allowReplaces && owner.context === context;

/** Reads Replaces of an INVITE (RFC 3891 3); undefined when it has none. */
export function replacingOf(services: Services, endpoint: EndpointConfig, request: SipRequest): Replacing | undefined {
  const wanted = replacesOf(request);
  if (!wanted) return undefined;
  if (wanted === 'malformed') return { status: 400, why: 'a Replaces that cannot be read' };
  if (!endpoint.allowReplaces)
    return { status: 403, why: 'its endpoint may not replace calls: allow_replaces is not set' };
  const call = services.agent.callOf(wanted);
  if (!call) return { status: 481, why: 'it would replace a call that is not there' };
  if (call === 'ended') return { status: 603, why: 'it would replace a call that is over' };
  const owner = ownerOf(services, call.owner);
  // Same response as for an unknown call: calls of other contexts are not revealed.
  if (!owner || !mayReplace(endpoint, owner)) return { status: 481, why: 'it would replace a call of another context' };
  if (call.state === 'ending' || call.state === 'closed')
    return { status: 603, why: 'it would replace a call that is over' };
  if (call.state === 'confirmed' && wanted.earlyOnly) return { status: 486, why: 'it would replace an answered call' };
  // A call that is not answered can be taken by the side that placed it only.
  const isOurs = call.state === 'confirmed' || call.dialog.ownsCallId;
  const channelId = isOurs ? call.owner : undefined;
  return channelId === undefined ? { status: 481, why: 'it would replace a call that it cannot' } : { channelId };
}

/** The channel of a call that a REFER names with Replaces: a call of the transferor, or one that it may take over. */
export function transferableChannel(
  services: Services,
  transferor: EndpointConfig,
  named: Pick<NamedDialog, 'callId' | 'toTag' | 'fromTag'>,
): string | undefined {
  const call = services.agent.callOf(named);
  const channelId = call && call !== 'ended' ? call.owner : undefined;
  const owner = ownerOf(services, channelId);
  if (!owner) return undefined;
  if (owner.name === transferor.name || mayReplace(transferor, owner)) return channelId;
  services.stack.log.warn(
    { endpoint: transferor.name, channel: channelId },
    'transfer refused: it replaces a call of another endpoint (allow_replaces)',
  );
  return undefined;
}

/** The endpoint that a channel is a call of. */
function ownerOf({ legs, endpoints }: Services, channelId: string | undefined): EndpointConfig | undefined {
  const leg = channelId === undefined ? undefined : legs.ofChannel(channelId);
  return leg && endpoints.named(leg.endpoint);
}
