import { buildRequest, type HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';

/**
 * The ACK to a 3xx-6xx (RFC 3261 17.1.1.3): the INVITE's Request-URI, top Via, Call-ID, From, CSeq number and Route; the
 * response's To.
 */
export function ackFor(invite: SipRequest, response: SipResponse): SipRequest {
  return derived(invite, 'ACK', response.header('to')!, []);
}

/** The CANCEL of an INVITE (RFC 3261 9.1): everything the INVITE's, but the method in CSeq; one Via. */
export function cancelFor(invite: SipRequest, headers: HeaderLines): SipRequest {
  return derived(invite, 'CANCEL', invite.header('to')!, headers);
}

function derived(invite: SipRequest, method: string, to: string, headers: HeaderLines): SipRequest {
  const request = buildRequest({
    method,
    uri: invite.requestUri,
    from: invite.header('from')!,
    to,
    callId: invite.callId,
    cseq: invite.cseq.number,
    routes: invite.headerLines('route'),
    headers,
  });
  return request.prepend('Via', invite.header('via')!);
}
