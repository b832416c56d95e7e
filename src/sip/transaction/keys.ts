import { createHash } from 'node:crypto';
import type { SipRequest, SipResponse } from '../message/message.ts';
import { MAGIC_COOKIE } from '../message/via.ts';

/** Longer keys, which only peers with strange ideas make, are kept as their hash. */
const LONGEST_KEY = 256;

const bounded = (key: string): string =>
  key.length <= LONGEST_KEY ? key : createHash('sha256').update(key).digest('base64');

/** The key of a client transaction: branch and method (RFC 3261 17.1.3). */
export function clientKey(branch: string, method: string): string {
  return `${branch} ${method}`;
}

/** The key of the client transaction a response belongs to; undefined when its Via names no branch. */
export function responseKey(response: SipResponse): string | undefined {
  const branch = response.topVia?.params['branch'];
  return branch === undefined ? undefined : clientKey(branch, response.cseq.method);
}

/**
 * The key of a request's server transaction (RFC 3261 17.2.3): branch, sent-by and method; an ACK has its INVITE's.
 * Without the magic cookie it uses the fields of RFC 2543: Request-URI, From tag, Call-ID, CSeq number, top Via, and
 * the To tag except for INVITE and ACK (the ACK has our response's tag).
 * @param method the method to look for, if not the request's own (a CANCEL looks for its INVITE).
 */
export function serverKey(request: SipRequest, method = request.method): string {
  const wanted = method === 'ACK' ? 'INVITE' : method;
  const via = request.topVia!;
  const branch = via.params['branch'];
  if (branch?.startsWith(MAGIC_COOKIE) && branch.length > MAGIC_COOKIE.length) {
    return bounded(`${branch} ${via.host}:${via.port ?? ''} ${wanted}`);
  }
  const toTag = wanted === 'INVITE' ? '' : request.toTag;
  const hop = `${via.transport} ${via.host}:${via.port ?? ''} ${branch ?? ''}`;
  const dialog = `${request.callId} ${request.fromTag} ${request.cseq.number}`;
  return bounded(`2543 ${dialog} ${request.requestUri} ${hop} ${toTag} ${wanted}`);
}

/** The common key of one request that arrived on two paths (RFC 3261 8.2.2.2); undefined inside a dialog. */
export function mergeKey(request: SipRequest): string | undefined {
  if (request.toTag !== undefined) return undefined;
  return bounded(`${request.callId} ${request.fromTag} ${request.cseq.number} ${request.method}`);
}
