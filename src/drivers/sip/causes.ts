import type { HeaderLines } from '../../sip/message/build.ts';
import type { SipMessage, SipRequest, SipResponse } from '../../sip/message/message.ts';
import { Cause, causeText } from '../../telephony/causes.ts';

/** Highest number of a cause (Q.850 2.1: seven bits). */
const highestCause = 127;

/**
 * SIP status to Q.850 cause: RFC 3398 8.2.6.1, with Asterisk's deviations that dialers expect. 408 is 18 (not 102) and
 * 480 is 19 (not 18). 420 is 3, 488 and 606 are 58, 500 is 38, and 503 is 34, which means congestion. A status without a row
 * has the cause of its class: so 402, 405, 406 and 607 are 127, and 513 is 34.
 */
const causeOfStatus: Readonly<Record<number, number>> = {
  302: 23,
  400: 41,
  401: 21,
  403: 21,
  404: 1,
  407: 21,
  408: 18,
  410: 22,
  415: 79,
  420: 3,
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
  600: 17,
  603: 21,
  604: 1,
  606: 58,
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
  if (status < 400) return Cause.normalClearing;
  return status >= 500 && status < 600 ? Cause.congestion : Cause.interworking;
}

/** The final response that refuses a call with a cause; 603 for causes without entry. */
export const statusFromCause = (cause: number): number => statusOfCause[cause] ?? 603;

/**
 * The cause in a Reason header (RFC 3326), and the SIP status beside it: Q.850 as it stands, or SIP status 200, which a proxy
 * puts into CANCEL when another phone has answered. It says more than the message it is in.
 */
function reasonIn(message: SipMessage): { cause: number; status: number } | undefined {
  for (const reason of message.headerList('Reason')) {
    const [protocol = '', ...parameters] = reason.split(';').map((part) => part.trim());
    const value = Number(parameters.find((parameter) => /^cause\s*=/i.test(parameter))?.split('=')[1]);
    if (!Number.isInteger(value)) continue;
    if (/^q\.850$/i.test(protocol) && value >= 0 && value <= highestCause)
      return { cause: value, status: statusFromCause(value) };
    if (/^sip$/i.test(protocol))
      return { cause: value === 200 ? Cause.answeredElsewhere : causeFromStatus(value), status: value };
  }
  return undefined;
}

/** The cause in a Reason header; undefined without one. */
export const causeFromReason = (message: SipMessage): number | undefined => reasonIn(message)?.cause;

/** The cause of a refused call. A busy phone stays busy, whatever its Reason says: dialers go by that, as with Asterisk. */
export function causeOfRefusal(response: SipResponse): number {
  const cause = causeFromStatus(response.status);
  return cause === Cause.userBusy ? cause : (causeFromReason(response) ?? cause);
}

/**
 * The end that a BYE tells: the cause of its Reason, else 16, and the SIP status that this stands for; 16 stands for none. An
 * answered call has not been answered elsewhere.
 */
export function endOfBye(bye: SipRequest): { cause: number; techCause?: number } {
  const told = reasonIn(bye);
  const isNormal = !told || told.cause === Cause.normalClearing || told.cause === Cause.answeredElsewhere;
  return isNormal ? { cause: Cause.normalClearing } : { cause: told.cause, techCause: told.status };
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
