import type { SipRequest } from './message.ts';
import { parseMessage } from './parse.ts';

/** A request that was written down, read again. @param octets in base64. @throws Error when it is none. */
export function keptRequest(octets: string): SipRequest {
  const result = parseMessage(Buffer.from(octets, 'base64'));
  if (result.ok && result.message.kind === 'request') return result.message;
  throw new Error('a request that was written down cannot be read');
}

/** A request to write down, in base64. */
export const keepRequest = (request: SipRequest): string => request.toBuffer().toString('base64');
