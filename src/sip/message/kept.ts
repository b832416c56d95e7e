import type { SipRequest } from './message.ts';
import { parseMessage } from './parse.ts';

/** A request that was written down, read again. @param octets in base64. @throws Error when it is none. */
export function keptRequest(octets: string): SipRequest {
  const result = parseMessage(Buffer.from(octets, 'base64'));
  if (result.ok && result.message.kind === 'request') return result.message;
  throw new Error('a request that was written down cannot be read');
}

/** The texts of requests that were written down: a call writes its INVITE with each of its changes. */
const texts = new WeakMap<SipRequest, string>();

/** A request to write down, in base64. */
export function keepRequest(request: SipRequest): string {
  let text = texts.get(request);
  if (text === undefined) {
    text = request.toBuffer().toString('base64');
    texts.set(request, text);
  }
  return text;
}
