import type { OutgoingCall } from '../../sip/dialog/outgoing-call.ts';
import type { SipResponse } from '../../sip/message/message.ts';
import { formatUri } from '../../sip/message/uri.ts';
import { Cause } from '../../telephony/causes.ts';
import type { Leg, LegRequest, Report } from '../../telephony/driver.ts';
import type { Codec } from '../../telephony/media.ts';
import { answeredElsewhere, causeFromReason, causeFromStatus, reasonHeaders } from './causes.ts';
import type { EndpointConfig } from './config.ts';
import { digestClient, fromAddress, identityHeaders } from './identity.ts';
import { createLegCore, type LegCore } from './leg-core.ts';
import { createRequestHeaders } from './request-headers.ts';
import { type Destination, type Resolved, transferTarget } from './resource.ts';
import type { Services } from './services.ts';

export type OutboundOptions = {
  services: Services;
  request: LegRequest;
  resolved: Resolved;
  codecs: readonly Codec[];
  report: Report;
};

/** How one branch of a forked call failed. */
type Failure = { status: number; cause: number; forwardedTo?: string };

/** A call to an endpoint: one INVITE to each of its contacts, the first 2xx wins (RFC 3261 16.7 as a caller). */
export function createOutboundLeg({ services, request, resolved, codecs, report }: OutboundOptions): Leg {
  const { endpoint } = resolved;
  const calls = new Set<OutgoingCall>();
  const failures: Failure[] = [];
  const headers = createRequestHeaders();
  const told = new Set<string>();
  const token = {};
  /** Known before anything is sent; of a forked call it is that of the first contact. */
  const callId = services.stack.ids.uuid();
  let winner: OutgoingCall | undefined;
  let dialed = false;
  let placed = 0;

  const core: LegCore = createLegCore({
    services,
    endpoint,
    channelId: request.channelId,
    codecs,
    peer: resolved.destinations()[0]?.target,
    report,
    onMediaLost() {},
  });
  services.legs.add(token);

  const tellOnce = (type: 'leg.proceeding' | 'leg.ringing' | 'leg.progressed') => {
    if (core.phase !== 'setup' || told.has(type)) return;
    told.add(type);
    core.tell({ type });
  };

  const provisional = (response: SipResponse) => {
    if (core.phase !== 'setup') return;
    core.identify(response);
    const media = hasSdp(response) && core.usageHandlers.acceptAnswer(response.bodyText);
    if (response.status === 180) tellOnce('leg.ringing');
    else if (media) tellOnce('leg.progressed');
    else tellOnce('leg.proceeding');
  };

  const answered = (call: OutgoingCall, response: SipResponse) => {
    winner = call;
    for (const other of calls) if (other !== call) other.hangup(answeredElsewhere);
    core.identify(response);
    // An answer given early (183) may be left out of the 2xx by careless peers: then it still holds.
    const agreed = hasSdp(response) ? core.usageHandlers.acceptAnswer(response.bodyText) : told.has('leg.progressed');
    if (agreed) return core.up(call.usage!);
    call.hangup(reasonHeaders(Cause.bearerNotAvailable));
    core.gone(Cause.bearerNotAvailable, 488);
  };

  const failed = (call: OutgoingCall, failure: Failure) => {
    calls.delete(call);
    failures.push(failure);
    // 6xx speaks for all branches (RFC 3261 16.7 step 5).
    if (failure.status >= 600) for (const other of calls) other.hangup();
    else if (calls.size > 0) return;
    if (winner || core.phase !== 'setup') return;
    const best = failures.reduce((a, b) => (rank(b) < rank(a) ? b : a));
    if (best.forwardedTo !== undefined) core.forwarded(best.forwardedTo);
    else core.gone(best.cause, best.status);
  };

  const place = (destination: Destination, sdp: string) => {
    const call: OutgoingCall = services.agent.invite(
      {
        ...destination,
        ...(placed++ === 0 && { callId }),
        to: { uri: destination.uri, params: {} },
        from: (target) => fromAddress(services, endpoint, request.caller, target),
        headers: (target) => [...identityHeaders(services, endpoint, request.caller, target), ...headers.lines],
        sdp,
        digest: digestClient(services, endpoint),
        symmetric: endpoint.symmetric,
      },
      {
        ...core.usageHandlers,
        onProvisional: provisional,
        onAnswered: (response) => answered(call, response),
        onRefused: (response) => failed(call, failureOf(endpoint, response)),
        onFailed: (status) => failed(call, { status, cause: causeFromStatus(status) }),
      },
    );
    calls.add(call);
  };

  return {
    protocolId: callId,
    media: core.media,
    dial() {
      if (dialed) return;
      dialed = true;
      core.ready((negotiation) => {
        const destinations = resolved.destinations();
        if (destinations.length === 0) return core.gone(Cause.subscriberAbsent);
        const sdp = negotiation.offer();
        for (const destination of destinations) place(destination, sdp);
      });
    },
    ring() {
      if (core.phase === 'up') core.media.indicate('ringing');
    },
    stopRinging: () => core.media.indicate(undefined),
    progress() {},
    answer() {},
    hangup(cause) {
      if (core.phase === 'ended') return;
      for (const call of calls) call.hangup(reasonHeaders(cause));
      core.ended();
    },
    sendDigits: (sequence) => core.sendDigits(sequence),
    hold: () => core.hold(true),
    unhold: () => core.hold(false),
    redirect(target) {
      const dialog = winner?.usage?.dialog;
      const peer = dialog?.flow ??
        resolved.destinations()[0]?.target ?? { protocol: 'udp', address: '127.0.0.1', port: 5060 };
      const uri = core.phase === 'up' ? transferTarget(services, target, peer) : undefined;
      if (uri !== undefined) core.refer(uri);
      return uri !== undefined;
    },
    header: (name, index = 1) => headers.get(name, index),
    addHeader: (name, value) => headers.add(name, value),
    updateHeader: (name, value) => headers.update(name, value),
    removeHeader: (name) => headers.remove(name),
    release() {
      for (const call of calls) call.hangup();
      core.release();
      services.legs.delete(token);
    },
  };
}

const hasSdp = (response: SipResponse): boolean =>
  response.body.length > 0 && response.contentType === 'application/sdp';

function failureOf(endpoint: EndpointConfig, response: SipResponse): Failure {
  const { status } = response;
  const contact = status < 400 ? response.contact : undefined;
  return {
    status,
    cause: causeFromReason(response) ?? causeFromStatus(status),
    ...(contact && { forwardedTo: `PJSIP/${endpoint.name}/${formatUri(contact.uri)}` }),
  };
}

/** Which of several failures tells the caller most: somebody's decision before nobody's answer (RFC 3261 16.7 step 6). */
function rank({ status }: Failure): number {
  if (status >= 600) return 0;
  if (status === 486) return 1;
  if (status < 400) return 2;
  if (status === 408) return 5;
  return status < 500 ? 3 : 4;
}
