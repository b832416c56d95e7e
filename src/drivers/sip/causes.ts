import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipMessage, SipRequest, SipResponse } from '../../sip/message/message.ts';
import { Cause, causeText } from '../../telephony/causes.ts';

/** Highest number of a cause (Q.850 2.1: seven bits). */
const highestCause = 127;

/**
 * SIP status to Q.850 cause: RFC 3398 8.2.6.1, with Asterisk's deviations that dialers expect. 408 is 18 (not 102) and
 * 480 is 19 (not 18). 488 and 606 are 58, 500 is 38, and 503 is 34, which means congestion.
 */
const causeOfStatus: Readonly<Record<number, number>> = {
  400: 41,
  401: 21,
  402: 21,
  403: 21,
  404: 1,
  405: 63,
  406: 79,
  407: 21,
  408: 18,
  410: 22,
  413: 127,
  414: 127,
  415: 79,
  416: 127,
  420: 127,
  421: 127,
  423: 127,
  480: 19,
  481: 41,
  482: 25,
  483: 25,
  484: 28,
  485: 1,
  486: 17,
  487: 16,
  488: 58,
  500: 38,
  501: 79,
  502: 27,
  503: 34,
  504: 102,
  505: 127,
  513: 127,
  600: 17,
  603: 21,
  604: 1,
  606: 58,
  607: 21,
  608: 21,
};

/**
 * Q.850 cause to SIP status: RFC 3398 7.2.4.1, except three. 58 means incompatible codecs and so becomes 488. 21 becomes
 * 603, because a rejection applies to every branch of a proxy; so does 26, because the call was taken: to a caller 404
 * says that there is no such number.
 */
const statusOfCause: Readonly<Record<number, number>> = {
  1: 404,
  2: 404,
  3: 404,
  17: 486,
  18: 408,
  19: 480,
  20: 480,
  21: 603,
  22: 410,
  23: 410,
  27: 502,
  28: 484,
  29: 501,
  31: 480,
  34: 503,
  38: 503,
  41: 503,
  42: 503,
  47: 503,
  55: 403,
  57: 403,
  58: 488,
  65: 488,
  70: 488,
  79: 501,
  87: 403,
  88: 503,
  102: 504,
  111: 500,
  127: 500,
};

/** The cause that a final response from 300 on stands for. */
export function causeFromStatus(status: number): number {
  const known = causeOfStatus[status];
  if (known !== undefined) return known;
  if (status < 400) return Cause.numberChanged;
  return status < 500 ? Cause.interworking : status < 600 ? Cause.congestion : Cause.callRejected;
}

/** The final response that refuses a call with a cause; 603 for causes without entry. */
export const statusFromCause = (cause: number): number => statusOfCause[cause] ?? 603;

/**
 * The cause in a Reason header (RFC 3326): Q.850 as it stands, or SIP status 200, which a proxy puts into CANCEL when
 * another phone has answered. It says more than the message it is in.
 */
export function causeFromReason(message: SipMessage): number | undefined {
  for (const reason of message.headerList('Reason')) {
    const [protocol = '', ...parameters] = reason.split(';').map((part) => part.trim());
    const cause = Number(parameters.find((parameter) => /^cause\s*=/i.test(parameter))?.split('=')[1]);
    if (!Number.isInteger(cause)) continue;
    if (/^q\.850$/i.test(protocol) && cause >= 0 && cause <= highestCause) return cause;
    if (/^sip$/i.test(protocol)) return cause === 200 ? Cause.answeredElsewhere : causeFromStatus(cause);
  }
  return undefined;
}

/** The cause of a refused call. A busy phone stays busy, whatever its Reason says: dialers go by that, as with Asterisk. */
export function causeOfRefusal(response: SipResponse): number {
  const cause = causeFromStatus(response.status);
  return cause === Cause.userBusy ? cause : (causeFromReason(response) ?? cause);
}

/** The cause of a BYE: from its Reason, else 16. An answered call has not been answered elsewhere. */
export function causeOfBye(bye: SipRequest): number {
  const cause = causeFromReason(bye);
  return cause === undefined || cause === Cause.answeredElsewhere ? Cause.normalClearing : cause;
}

/**
 * The Reason headers that tell a cause, where Q.850 has such a number. That another has answered phones know by SIP status 200 alone: then they show no
 * missed call (RFC 3326 2).
 */
export const reasonHeaders = (cause: number): HeaderLines => [
  ...(cause === Cause.answeredElsewhere ? answeredElsewhere : []),
  ...(cause > 0 && cause <= highestCause
    ? [['Reason', `Q.850;cause=${cause};text="${causeText(cause)}"`] as const]
    : []),
];

/** Reason header for branches of a call that was answered elsewhere. */
export const answeredElsewhere: HeaderLines = [['Reason', 'SIP;cause=200;text="Call completed elsewhere"']];
