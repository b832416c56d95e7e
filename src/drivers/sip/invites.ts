import { type CallRefusal, callRefusalIn, type LifecycleState } from '../../machines/lifecycle.ts';
import { lacksContact } from '../../sip/dialog/dialog.ts';
import { refuseBody } from '../../sip/dialog/offers.ts';
import { hasOption, RELIABLE } from '../../sip/dialog/reliable.ts';
import { TIMER, tooShortSession } from '../../sip/dialog/session-timer.ts';
import type { CallOffer } from '../../sip/dialog/user-agent.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { targetDialogOf } from '../../sip/message/named-dialog.ts';
import { descriptionIn } from '../../sip/message/session-body.ts';
import { warningHeader } from '../../sip/message/warning.ts';
import { parseDescription } from '../../sip/sdp/description.ts';
import { obstacleOf, usableAudio } from '../../sip/sdp/offer-answer.ts';
import type { CallHost, RefusedOffer } from '../../telephony/driver.ts';
import type { Party } from '../../telephony/party.ts';
import { causeFromStatus } from './causes.ts';
import { type EndpointConfig, sessionTermsOf } from './config.ts';
import { type InboundCall, takeInboundCall } from './inbound-leg.ts';
import { assertedParty, extensionOf, partyOf, userOf, withPrivacy } from './party.ts';
import { redirectionOf } from './redirections.ts';
import { createRefusals } from './refusals.ts';
import { type Replacing, replacingOf } from './replacing.ts';
import { channelName, encryptionOf, isBusy, mayCall, type Services } from './services.ts';

type InviteReceiverOptions = {
  tryingAtOnce: boolean | undefined;
  host: CallHost;
  phase: () => LifecycleState;
  /** Hears of calls of known endpoints that are refused before they have a channel. */
  callRefused: ((offer: RefusedOffer) => void) | undefined;
};

/** Why no call is taken in a phase of the server, for the log. */
const phaseRefusals: Readonly<Record<CallRefusal, string>> = {
  serverDrained: 'the server is drained',
  serverIsolated: 'the node cannot reach its cluster',
  serviceUnavailable: 'the server is about to stop',
};

/** Receives INVITEs that ask for a new call: finds out who calls and hands the call to call control. */
export function createInviteReceiver(
  services: Services,
  { host, phase, callRefused, tryingAtOnce }: InviteReceiverOptions,
): (offer: CallOffer) => void {
  const { endpoints, stack } = services;
  const tellRefusal = createRefusals(stack.log, stack.clock, 'a call');
  const tellUnmatched = createRefusals(stack.log, stack.clock, 'a call from this machine without an account');
  return (offer) => {
    const { transaction } = offer;
    const closed = callRefusalIn(phase(), transaction.request.headerLines('Replaces').length === 0);
    if (closed !== undefined) {
      tellRefusal(transaction, 503, phaseRefusals[closed]);
      return void transaction.reply(503);
    }
    const identity = endpoints.identify(transaction);
    if ('challenge' in identity) {
      if (isUnmatched(services, transaction)) tellUnmatched(transaction, 401, unmatched(transaction.source.address));
      return endpoints.challenge(transaction, identity);
    }
    const { endpoint } = identity;
    const { request } = transaction;
    const replacing = replacingOf(services, endpoint, request);
    const refusal = refuseCall(services, request, endpoint, replacing);
    if (refusal) {
      const [status, reason, headers] = refusal;
      tellRefusal(transaction, status, reason);
      // 422 asks for another session: the phone calls again at once (RFC 4028 7.4).
      if (status !== 422) callRefused?.(refusedOffer(transaction, endpoint, status, reason));
      return void transaction.reply(status, { headers });
    }
    const { context } = endpoint;
    if (stack.log.enabled('debug'))
      stack.log.debug(
        {
          protocol_id: transaction.request.callId,
          source: `${transaction.source.address}:${transaction.source.port}`,
          endpoint: endpoint.name,
          context,
        },
        'a caller is known',
      );
    // The transaction table was full and has responded 503.
    if (!(tryingAtOnce ? transaction.reply(100) : transaction.accept())) return;
    const call = takeInboundCall(services, endpoint, offer);
    try {
      const incoming = incomingCall(services, endpoint, transaction.request, call);
      const replaces = replacing && 'channelId' in replacing ? { replaces: replacing.channelId } : {};
      if (host.incoming({ ...incoming, ...replaces })) return;
      tellRefusal(transaction, 503, 'call control takes no calls');
      call.refuse(503);
    } catch (error) {
      stack.log.error({ error, endpoint: endpoint.name }, 'call control failed to accept a call');
      call.refuse(500);
    }
  };
}

const refusedOffer = (
  { request, source }: CallOffer['transaction'],
  endpoint: EndpointConfig,
  status: number,
  reason: string,
): RefusedOffer => ({
  ...{ technology: 'PJSIP', endpoint: endpoint.name, context: endpoint.context },
  ...{ from: callerOf(request, endpoint).number, to: extensionOf(request.uri) },
  ...{ source: `${source.address}:${source.port}`, protocolId: request.callId, status, reason },
  cause: causeFromStatus(status),
});

function incomingCall(services: Services, endpoint: EndpointConfig, request: SipRequest, call: InboundCall) {
  const redirection = redirectionOf(request);
  return {
    technology: 'PJSIP',
    name: channelName(services, endpoint),
    endpoint: ['PJSIP', endpoint.name] as const,
    context: endpoint.context,
    extension: extensionOf(request.uri),
    caller: callerOf(request, endpoint),
    ...(redirection && { redirection }),
    ...(endpoint.language !== undefined && { language: endpoint.language }),
    ...(endpoint.accountCode !== undefined && { accountCode: endpoint.accountCode }),
    ...(endpoint.variables !== undefined && { variables: endpoint.variables }),
    ...(endpoint.tenantId !== undefined && { tenantId: endpoint.tenantId }),
    state: 'ring' as const,
    open: call.open,
  };
}

/** Configured, else asserted by a trusted peer, else what From says. */
const callerOf = (request: SipRequest, endpoint: EndpointConfig): Party =>
  (endpoint.callerId && withPrivacy(endpoint.callerId, request)) ??
  (endpoint.trustIdentity ? assertedParty(request) : undefined) ??
  withPrivacy(partyOf(request.from), request);

type Refusal = [status: number, reason: string, headers: readonly (readonly [string, string])[]];

/** A caller without an account at one of our own addresses that no endpoint matches: a phone beside the server. */
const isUnmatched = ({ stack, endpoints }: Services, { request, source }: CallOffer['transaction']): boolean =>
  request.header('authorization') === undefined &&
  endpoints.named(userOf(request.from.uri)) === undefined &&
  stack.transports.localAddress(source)?.host === source.address;

const unmatched = (address: string): string =>
  `no endpoint has ${address} in \`match\`: ${address === '127.0.0.1' ? '' : 'call 127.0.0.1 instead, or '}add the address`;

/** Why a call of a known endpoint is refused. */
const refuseCall = (
  services: Services,
  request: SipRequest,
  endpoint: EndpointConfig,
  replacing: Replacing | undefined,
): Refusal | undefined =>
  refuseContact(request) ??
  // RFC 4538 4: Target-Dialog does not replace authentication of a call.
  refuseTarget(request) ??
  refuseReplacing(replacing) ??
  refuseExtension(request, { tag: RELIABLE, what: 'reliable responses', mode: endpoint.reliable }) ??
  refuseExtension(request, { tag: TIMER, what: 'session timers', mode: endpoint.timers }) ??
  refuseSession(request, endpoint) ??
  refuseCaller(services, request, endpoint, replacing !== undefined) ??
  refuseOffer(request, endpoint);

/**
 * The status if the options that the extension requires are not supported by endpoint and caller (RFC 3261 8.2.2.3,
 * 21.4.16).
 */
function refuseExtension(
  request: SipRequest,
  { tag, what, mode }: { tag: string; what: string; mode: string },
): Refusal | undefined {
  const isRequired = hasOption(request, 'Require', tag);
  if (mode === 'no' && isRequired) return [420, `it requires ${what}`, [['Unsupported', tag]]];
  if (mode !== 'required' || isRequired || hasOption(request, 'Supported', tag)) return undefined;
  return [421, `it does not understand ${what}`, [['Require', tag]]];
}

/** Why a session would have to be refreshed more often than the endpoint's may (RFC 4028 9). */
function refuseSession(request: SipRequest, endpoint: EndpointConfig): Refusal | undefined {
  const headers = tooShortSession(request, sessionTermsOf(endpoint));
  return headers && [422, 'its session is too short', headers];
}

/** Why an endpoint may not make that call: it has too many, or may not call that extension. */
function refuseCaller(
  services: Services,
  request: SipRequest,
  endpoint: EndpointConfig,
  replaces: boolean,
): Refusal | undefined {
  if (isBusy(services, endpoint)) return [486, 'it has as many calls as it may have', []];
  const extension = extensionOf(request.uri);
  // A call that replaces another dials no extension.
  if (replaces || mayCall(services, endpoint, extension)) return undefined;
  return [403, `it may not call ${extension}`, []];
}

const refuseContact = (request: SipRequest): Refusal | undefined =>
  lacksContact(request) ? [400, 'no Contact', [warningHeader('no Contact')]] : undefined;

const refuseTarget = (request: SipRequest): Refusal | undefined =>
  targetDialogOf(request) === 'malformed' ? [400, 'a Target-Dialog that cannot be read', []] : undefined;

const refuseReplacing = (replacing: Replacing | undefined): Refusal | undefined =>
  replacing && 'status' in replacing ? [replacing.status, replacing.why, []] : undefined;

/** Whether a caller understands what we describe audio with (RFC 3261 20.1); who says nothing does. */
function takesDescriptions(request: SipRequest): boolean {
  if (request.headerLines('Accept').length === 0) return true;
  const types = request.headerList('Accept').map((value) => value.split(';')[0]!.trim().toLowerCase());
  return types.some((type) => type === 'application/sdp' || type === 'application/*' || type === '*/*');
}

/** Why an INVITE's body makes a call impossible; an INVITE without one asks us to offer. */
function refuseOffer(request: SipRequest, endpoint: EndpointConfig): Refusal | undefined {
  if (!takesDescriptions(request)) return [406, 'an Accept without application/sdp', []];
  const unread = refuseBody(request);
  if (unread) return [unread.status, unread.reason, unread.headers];
  const sdp = descriptionIn(request);
  if (sdp === undefined) return undefined;
  const offer = parseDescription(sdp);
  if (!offer.ok) return [400, offer.problem, [warningHeader(offer.problem)]];
  const encryption = encryptionOf(endpoint);
  if (usableAudio(offer.description, encryption, endpoint.codecs)) return undefined;
  const { problem, code } = obstacleOf(offer.description, encryption);
  return [488, problem, [warningHeader(problem, code)]];
}
