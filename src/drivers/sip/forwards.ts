import type { SipResponse } from '../../sip/message/message.ts';
import type { NameAddr } from '../../sip/message/name-addr.ts';
import { formatUri, type Uri } from '../../sip/message/uri.ts';
import type { Redirection } from '../../telephony/party.ts';
import type { EndpointConfig } from './config.ts';
import { partyOf, userOf } from './party.ts';
import { redirected, redirectionOf } from './redirections.ts';
import { mayCall, type Services } from './services.ts';

/** Responses with new targets: several choices, moved permanently or temporarily (RFC 3261 21.3). */
const movedStatuses: ReadonlySet<number> = new Set([300, 301, 302]);

/**
 * The target of a redirected call as `tech/resource`, and its redirection if it is to be forwarded; undefined without
 * target.
 */
export function forwardOf(
  services: Services,
  endpoint: EndpointConfig,
  response: SipResponse,
  before: Redirection | undefined,
): { target: string; redirection?: Redirection } | undefined {
  const contact = preferred(response.contacts);
  if (!contact) return undefined;
  const told = { target: atAddress(endpoint, contact.uri) };
  if (endpoint.redirects === 'none' || !movedStatuses.has(response.status)) return told;
  const { config, stack } = services;
  const target = endpoint.redirects === 'user' ? asDialed(endpoint, contact.uri) : told.target;
  const extension = userOf(contact.uri);
  const refuse = (why: string) => {
    stack.log.info({ endpoint: endpoint.name, target: target ?? told.target, why }, 'a call is not forwarded');
    return told;
  };
  if (target === undefined) return refuse('it names no extension');
  if (!mayCall(services, endpoint, extension)) return refuse(`it may not call ${extension}`);
  const itself = redirectionOf(response);
  const redirection = redirected(
    {
      before,
      by: endpoint.callerId ?? itself?.from ?? { name: '', number: endpoint.name },
      to: partyOf(contact),
      reason: itself?.reason,
      target,
    },
    config.mostRedirections,
  );
  return redirection ? { target, redirection } : refuse('it was there before, or was redirected too often');
}

/** The target with the highest `q`, which is 1 where none is stated; the first of several (RFC 3261 8.1.3.4, 20.10). */
const preferred = (contacts: readonly NameAddr[]): NameAddr | undefined =>
  contacts.toSorted((one, other) => weightOf(other) - weightOf(one))[0];

const weightOf = ({ params }: NameAddr): number =>
  /^[01](\.\d{0,3})?$/.test(params['q'] ?? '') ? Number(params['q']) : 1;

const atAddress = ({ name }: EndpointConfig, uri: Uri): string => `PJSIP/${name}/${formatUri(uri)}`;

/** An extension that would be read as another one, in another context, is none. */
function asDialed({ context }: EndpointConfig, uri: Uri): string | undefined {
  const extension = userOf(uri);
  return extension === '' || /[/@]/.test(extension) ? undefined : `Local/${extension}@${context}`;
}
