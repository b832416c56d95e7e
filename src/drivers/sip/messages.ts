import type { SipRequest } from '../../sip/message/message.ts';
import { formatUri } from '../../sip/message/uri.ts';
import type { EndpointConfig } from './config.ts';
import type { Services } from './services.ts';

/** Hands a MESSAGE (RFC 3428) to whoever listens. @returns the status to answer with. */
export function receiveMessage(services: Services, endpoint: EndpointConfig, request: SipRequest): number {
  if (!request.contentType?.startsWith('text/')) return 415;
  const own = request.headers().filter(([name]) => /^x-/i.test(name));
  services.messageReceived({
    from: formatUri(request.from.uri),
    to: formatUri(request.to.uri),
    body: request.bodyText,
    contentType: request.contentType,
    endpoint: endpoint.name,
    headers: Object.fromEntries(own),
  });
  return 200;
}
