import { guarded } from '../../lib/guard.ts';
import type { IncomingCall } from '../../sip/dialog/incoming-call.ts';
import type { CallOffer } from '../../sip/dialog/user-agent.ts';
import type { SipRequest } from '../../sip/message/message.ts';
import { parseUri } from '../../sip/message/uri.ts';
import { Cause } from '../../telephony/causes.ts';
import type { Leg, Report } from '../../telephony/driver.ts';
import { causeFromReason, reasonHeaders, statusFromCause } from './causes.ts';
import type { EndpointConfig } from './config.ts';
import { createLegCore, type LegCore } from './leg-core.ts';
import { transferTarget } from './resource.ts';
import type { Services } from './services.ts';

/** A call that came in and waits for call control to open its leg. */
export interface InboundCall {
  /** Makes the leg; once. What happened before is told after it returns. */
  open(channelId: string, report: Report): Leg;
  /** Refuses the call before it was opened. */
  refuse(status: number): void;
}

/** Q.850: redirected to new destination. */
const REDIRECTED = 23;

/**
 * The cause of a caller's CANCEL: what Reason says (26 when a proxy tells that another phone answered), else 16:
 * the caller hung up, as RFC 3398 8.3 maps it.
 */
export const causeOfCancel = (cancel: SipRequest | undefined): number =>
  (cancel && causeFromReason(cancel)) ?? Cause.normalClearing;

/** Takes an INVITE whose sender is known and whose offer we can answer. */
export function takeInboundCall(services: Services, endpoint: EndpointConfig, offer: CallOffer): InboundCall {
  const state: { core?: LegCore; cancelledWith?: number } = {};
  const { codecs } = endpoint;
  const call: IncomingCall = offer.take(
    {
      answerOffer: (sdp, request) => state.core?.usageHandlers.answerOffer(sdp, request),
      makeOffer: () => state.core?.usageHandlers.makeOffer() ?? '',
      acceptAnswer: (sdp) => state.core?.usageHandlers.acceptAnswer(sdp) ?? false,
      onOfferRefused: (status) => state.core?.usageHandlers.onOfferRefused?.(status),
      onRequest: (request) => state.core?.usageHandlers.onRequest(request) ?? 500,
      onEnded: (end) => state.core?.usageHandlers.onEnded(end),
      onCancelled(cancel) {
        state.cancelledWith = causeOfCancel(cancel);
        state.core?.gone(state.cancelledWith);
      },
      onClosed() {},
    },
    { symmetric: endpoint.symmetric },
  );
  return {
    refuse: (status) => call.refuse(status),
    open(channelId, report) {
      const core = createLegCore({
        services,
        endpoint,
        channelId,
        codecs,
        peer: call.source,
        report,
        onMediaLost: (cause) => call.refuse(503, { headers: reasonHeaders(cause) }),
      });
      state.core = core;
      const { cancelledWith } = state;
      // Nothing is told from inside `open`.
      if (cancelledWith !== undefined)
        queueMicrotask(guarded(services.stack.log, 'telling of a cancelled call', () => core.gone(cancelledWith)));
      return createInboundLeg(services, call, core);
    },
  };
}

function createInboundLeg(services: Services, call: IncomingCall, core: LegCore): Leg {
  const { request } = call;
  let earlyAnswer: string | undefined;
  const token = {};
  services.legs.add(token);

  /** Our answer to the caller's offer: the same in 183 and 200 (RFC 3261 13.3.1.1). */
  const answerSdp = (): string | undefined => {
    earlyAnswer ??= core.usageHandlers.answerOffer(request.bodyText, request);
    return earlyAnswer;
  };

  const finish = (cause: number) => {
    if (core.phase === 'setup') call.refuse(statusFromCause(cause), { headers: reasonHeaders(cause) });
    // Also when the far side is gone: by taking the transfer we asked for it leaves the BYE to us.
    else call.usage.bye(reasonHeaders(cause));
  };

  return {
    protocolId: request.callId,
    media: core.media,
    dial() {},
    ring() {
      if (core.phase === 'up') core.media.indicate('ringing');
      else core.ready(() => call.provisional(180, earlyAnswer === undefined ? {} : { sdp: earlyAnswer }));
    },
    stopRinging() {
      if (core.phase === 'up') core.media.indicate(undefined);
    },
    progress() {
      core.ready(() => {
        if (core.phase !== 'setup') return;
        // Without an offer there is nothing to answer before the 200.
        const sdp = call.wantsOffer ? undefined : answerSdp();
        call.provisional(183, sdp === undefined ? {} : { sdp });
      });
    },
    answer() {
      core.ready((negotiation) => {
        if (core.phase !== 'setup') return;
        const sdp = call.wantsOffer ? negotiation.offer() : answerSdp();
        if (sdp === undefined) {
          call.refuse(488, { headers: reasonHeaders(Cause.bearerNotAvailable) });
          return core.gone(Cause.bearerNotAvailable, 488);
        }
        call.answer(sdp);
        core.up(call.usage);
      });
    },
    hangup(cause) {
      if (core.phase === 'ended') return;
      finish(cause);
      core.ended();
    },
    sendDigits: (sequence) => core.sendDigits(sequence),
    hold: () => core.hold(true),
    unhold: () => core.hold(false),
    redirect(target) {
      const uri = transferTarget(services, target, call.source);
      if (uri === undefined || core.phase === 'gone' || core.phase === 'ended') return false;
      if (core.phase === 'up') core.refer(uri);
      else {
        call.refuse(302, { contact: { uri: parseUri(uri)!, params: {} } });
        core.gone(REDIRECTED, 302);
      }
      return true;
    },
    header: (name, index = 1) => request.headerLines(name)[index - 1],
    addHeader() {},
    updateHeader: () => false,
    removeHeader() {},
    release() {
      if (core.phase !== 'ended') finish(Cause.normalClearing);
      core.release();
      services.legs.delete(token);
    },
  };
}
