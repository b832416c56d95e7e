import type { SipRequest } from '../../sip/message/message.ts';

/** The status in the body of a NOTIFY about a transfer (RFC 3515 2.4.5); undefined when it is about something else. */
export function sipfragStatus(request: SipRequest): number | undefined {
  if (!/^refer\b/i.test(request.header('Event') ?? '')) return undefined;
  const status = /^SIP\/2\.0 (\d{3})/i.exec(request.bodyText)?.[1];
  return status === undefined ? undefined : Number(status);
}
