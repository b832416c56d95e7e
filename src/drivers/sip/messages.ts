import type { SipRequest } from '../../sip/message/message.ts';
import { quote } from '../../sip/message/scan.ts';
import { formatUri, type Uri } from '../../sip/message/uri.ts';
import type { OutgoingMessage } from '../../telephony/messages.ts';
import type { EndpointConfig } from './config.ts';
import { digestClient, senderAddress } from './identity.ts';
import { createRequestHeaders } from './request-headers.ts';
import { firstPlace, resolveResource } from './resource.ts';
import type { Services } from './services.ts';

/** The resource in an address for messages: what remains without the technology. */
export function resourceOf(address: string): string {
  const technology = /^(?:pj)?sip[:/]/i.exec(address)?.[0] ?? '';
  const rest = address.slice(technology.length);
  return rest === '' || rest.startsWith('/') ? address : rest;
}

/**
 * Sends a MESSAGE (RFC 3428) to an endpoint's first contact. Resolves when it was accepted.
 * @param leaves called when it has been sent
 * @throws (rejects) DriverError without such an endpoint or contact, Error with the status when the far side refused or
 * did not respond.
 */
export async function sendMessage(
  services: Services,
  message: OutgoingMessage,
  leaves = (): void => {},
): Promise<void> {
  const resolved = resolveResource(services, resourceOf(message.to));
  const { endpoint } = resolved;
  const destination = await firstPlace(resolved);
  const headers = createRequestHeaders();
  for (const [name, value] of Object.entries(message.variables ?? {})) headers.add(name, value);
  await new Promise<void>((resolve, reject) => {
    const refused = (status: number) => reject(new Error(`the message was not accepted: ${status}`));
    services.agent.request(
      {
        ...destination,
        method: 'MESSAGE',
        to: { uri: destination.uri, params: {} },
        from: (target) => senderAddress(services, endpoint, message.from, target),
        headers: headers.lines,
        contentType: 'text/plain;charset=UTF-8',
        body: message.body,
        digest: digestClient(services, endpoint),
      },
      { onFinal: ({ status }) => (status < 300 ? resolve() : refused(status)), onFailure: refused },
    );
    leaves();
  });
}

/** A URI as it stands in From and To (RFC 3261 19.1.1): without a port. */
const withoutPort = (uri: Uri): string =>
  formatUri(uri.scheme === 'sip' || uri.scheme === 'sips' ? { ...uri, port: undefined } : uri);

/** Hands a MESSAGE to the listener. @returns the status to answer with. */
export function receiveMessage(services: Services, endpoint: EndpointConfig, request: SipRequest): number {
  if (!request.contentType?.startsWith('text/')) return 415;
  const { displayName } = request.from;
  const own = request.headers().filter(([name]) => /^x-/i.test(name));
  services.messageReceived({
    // Both as Asterisk writes them, whose scripts compare them.
    from: `${displayName ? `${quote(displayName)} ` : ''}<${withoutPort(request.from.uri)}>`,
    to: withoutPort(request.to.uri).replace(/^sips?:/, 'pjsip:'),
    body: request.bodyText,
    contentType: request.contentType,
    endpoint: endpoint.name,
    headers: Object.fromEntries(own),
  });
  // As in Asterisk: accepted, without knowing whether it will be delivered (RFC 3428 7).
  return 202;
}
