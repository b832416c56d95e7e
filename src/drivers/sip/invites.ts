import type { CallOffer } from '../../sip/dialog/user-agent.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { printable } from '../../sip/message/scan.ts';
import { parseDescription } from '../../sip/sdp/description.ts';
import type { CallHost, Party } from '../../telephony/driver.ts';
import type { EndpointConfig } from './config.ts';
import { type InboundCall, takeInboundCall } from './inbound-leg.ts';
import { assertedParty, partyOf, userOf } from './party.ts';
import { channelName, type Services } from './services.ts';

/** Receives INVITEs that ask for a new call: finds out who calls and hands the call to call control. */
export function createInviteReceiver(
  services: Services,
  host: CallHost,
  isDraining: () => boolean,
): (offer: CallOffer) => void {
  const { endpoints, stack } = services;
  return (offer) => {
    const { transaction } = offer;
    if (isDraining()) return void transaction.reply(503);
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) return endpoints.challenge(transaction, identity);
    const { endpoint } = identity;
    const refusal = refuseOffer(transaction.request, endpoint);
    if (refusal) return void transaction.reply(...refusal);
    // A full house says so by itself.
    if (!transaction.reply(100)) return;
    const call = takeInboundCall(services, endpoint, offer);
    try {
      if (!host.incoming(incomingCall(services, endpoint, transaction.request, call))) call.refuse(503);
    } catch (error) {
      stack.log.error({ error, endpoint: endpoint.name }, 'call control could not take a call');
      call.refuse(500);
    }
  };
}

function incomingCall(services: Services, endpoint: EndpointConfig, request: SipRequest, call: InboundCall) {
  return {
    technology: 'PJSIP',
    name: channelName(services, endpoint),
    endpoint: ['PJSIP', endpoint.name] as const,
    context: endpoint.context,
    extension: userOf(request.uri) || 's',
    caller: callerOf(request, endpoint),
    ...(endpoint.language !== undefined && { language: endpoint.language }),
    ...(endpoint.accountCode !== undefined && { accountCode: endpoint.accountCode }),
    ...(endpoint.tenantId !== undefined && { tenantId: endpoint.tenantId }),
    state: 'ring' as const,
    open: call.open,
  };
}

/** Configured, else asserted by a trusted peer, else what From says. */
const callerOf = (request: SipRequest, endpoint: EndpointConfig): Party =>
  endpoint.callerId ?? (endpoint.trustIdentity ? assertedParty(request) : undefined) ?? partyOf(request.from);

type Refusal = [status: number, options?: { headers: readonly (readonly [string, string])[] }];

/** Why an INVITE's body makes a call impossible; an INVITE without one asks us to offer. */
function refuseOffer(request: SipRequest, endpoint: EndpointConfig): Refusal | undefined {
  if (request.body.length === 0) return undefined;
  if (request.contentType !== 'application/sdp') return [415, { headers: [['Accept', 'application/sdp']] }];
  const offer = parseDescription(request.bodyText);
  if (!offer.ok)
    return [400, { headers: [['Warning', `399 hookswitch "${printable(offer.problem).replace(/["\\]/g, "'")}"`]] }];
  const common = offer.description.audio?.codecs.some(({ codec }) => endpoint.codecs.includes(codec)) ?? false;
  // RFC 3261 20.43: 305 incompatible media format.
  return common ? undefined : [488, { headers: [['Warning', '305 hookswitch "No codec in common"']] }];
}
