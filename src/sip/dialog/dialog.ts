import { buildRequest, type HeaderLines } from '../message/build.ts';
import type { SipRequest, SipResponse } from '../message/message.ts';
import type { NameAddr } from '../message/name-addr.ts';
import type { Uri } from '../message/uri.ts';
import { MAGIC_COOKIE } from '../message/via.ts';
import { literalAddress } from '../transport/address.ts';
import type { Target } from '../transport/transport.ts';

/**
 * A dialog's state (RFC 3261 12): immutable plain data, so that it can be saved and the call continued by another
 * process.
 */
export type Dialog = {
  readonly callId: string;
  /** Whether we made the Call-ID: its owner waits longer after a 491 (RFC 3261 14.1). */
  readonly ownsCallId: boolean;
  /** Our address as in From or To, with our tag; the peer's with its tag (none for a peer of RFC 2543). */
  readonly local: NameAddr;
  readonly remote: NameAddr;
  readonly localCseq: number;
  /** Undefined until the peer has sent a request. */
  readonly remoteCseq: number | undefined;
  readonly remoteTarget: Uri;
  /** Route set, top first. */
  readonly routes: readonly NameAddr[];
  /** Verified sources of the peer, latest first: another source may be another sender. */
  readonly sources: readonly Place[];
  /** The peer says that it takes UPDATE (RFC 3311 4). */
  readonly takesUpdate?: boolean;
  /** Source of the peer's messages: requests without route go there, in spite of its Contact (RFC 5626 3.1). */
  readonly flow?: Target;
};

/** An address and port of a peer. */
type Place = Pick<Target, 'protocol' | 'address' | 'port'>;

export type DialogRequestOptions = {
  contact?: NameAddr;
  headers?: HeaderLines;
  contentType?: string;
  body?: string;
};

/** The key that a message of this dialog is found by (RFC 3261 12). */
export const dialogKey = (callId: string, localTag: string, remoteTag: string): string =>
  `${callId}\n${localTag}\n${remoteTag}`;

export const keyOfDialog = (dialog: Dialog): string =>
  dialogKey(dialog.callId, dialog.local.params['tag'] ?? '', dialog.remote.params['tag'] ?? '');

/** The key of the dialog that a received request belongs to: its To is us. */
export const keyOfRequest = (request: SipRequest): string =>
  dialogKey(request.callId, request.toTag ?? '', request.fromTag ?? '');

/** The key of the dialog that a response to our request belongs to: its From is us. */
export const keyOfResponse = (response: SipResponse): string =>
  dialogKey(response.callId, response.fromTag ?? '', response.toTag ?? '');

/**
 * Whether a request that makes a dialog does not say where later requests go (RFC 3261 8.1.1.8, RFC 6665 4.1.3). One of
 * RFC 2543, whose branch has no magic cookie, need not: they go to its From.
 */
export const lacksContact = ({ contact, topVia }: SipRequest): boolean =>
  contact === undefined && topVia?.params['branch']?.startsWith(MAGIC_COOKIE) === true;

/** The dialog that a request of a peer makes on our side (RFC 3261 12.1.1). */
export function uasDialog(request: SipRequest, localTag: string, source: Target, flow?: Target): Dialog {
  return {
    callId: request.callId,
    ownsCallId: false,
    local: { ...request.to, params: { ...request.to.params, tag: localTag } },
    remote: request.from,
    localCseq: 0,
    remoteCseq: request.cseq.number,
    remoteTarget: request.contact?.uri ?? request.from.uri,
    routes: request.recordRoutes,
    sources: [placeOf(source)],
    ...allowedBy(request),
    ...(flow && { flow }),
  };
}

/** The dialog that a response to our request makes (RFC 3261 12.1.2); its Record-Route is read from the bottom. */
export function uacDialog(request: SipRequest, response: SipResponse, target: Target, flow?: Target): Dialog {
  return {
    callId: request.callId,
    ownsCallId: true,
    local: request.from,
    remote: response.to,
    localCseq: request.cseq.number,
    remoteCseq: undefined,
    remoteTarget: response.contact?.uri ?? request.uri,
    routes: [...response.recordRoutes].reverse(),
    sources: [placeOf(target)],
    ...allowedBy(response),
    ...(flow && { flow }),
  };
}

/** The dialog with another target, when the message names one (RFC 3261 12.2: target refresh). */
export function refreshed(dialog: Dialog, message: SipRequest | SipResponse, flow?: Target): Dialog {
  const remoteTarget = message.contact?.uri ?? dialog.remoteTarget;
  return { ...dialog, remoteTarget, ...allowedBy(message), ...(dialog.flow && flow && { flow }) };
}

/** The methods that a message allows; without an Allow header unknown. */
function allowedBy(message: SipRequest | SipResponse): Pick<Dialog, 'takesUpdate'> {
  const methods = message.headerList('Allow');
  return methods.length === 0 ? {} : { takesUpdate: methods.some((method) => method.trim() === 'UPDATE') };
}

/** Enough for the nodes of a proxy that stand in for each other. */
const KEPT_SOURCES = 4;

const placeOf = ({ protocol, address, port }: Place): Place => ({ protocol, address, port });

/** Whether the peer was heard from there: same address, port and protocol, so over TCP the same connection. */
export const isKnownSource = ({ sources }: Pick<Dialog, 'sources'>, { protocol, address, port }: Place): boolean =>
  sources.some((known) => known.port === port && known.address === address && known.protocol === protocol);

/** The dialog with a place more where the peer is known to be. */
export const metAt = (dialog: Dialog, source: Place): Dialog => ({
  ...dialog,
  sources: [placeOf(source), ...dialog.sources].slice(0, KEPT_SOURCES),
});

/** Whether an address stands in the route set: a proxy of the call's. */
export const isOnRoute = ({ routes }: Pick<Dialog, 'routes'>, address: string): boolean =>
  routes.some(({ uri }) => addressOf(uri) === address);

/** Whether the peer named or used an address, with any port. */
export const isPeerAddress = (dialog: Pick<Dialog, 'routes' | 'sources' | 'remoteTarget'>, address: string): boolean =>
  isOnRoute(dialog, address) ||
  addressOf(dialog.remoteTarget) === address ||
  dialog.sources.some((known) => known.address === address);

const addressOf = (uri: Uri): string | undefined =>
  uri.scheme === 'sip' || uri.scheme === 'sips' ? literalAddress(uri.host) : undefined;

/** Whether a request comes in order; the dialog then remembers its number (RFC 3261 12.2.2). */
export function inOrder(dialog: Dialog, request: SipRequest): Dialog | undefined {
  const { number } = request.cseq;
  if (dialog.remoteCseq !== undefined && number <= dialog.remoteCseq) return undefined;
  return { ...dialog, remoteCseq: number };
}

/** The next request in a dialog, and the dialog after it (RFC 3261 12.2.1.1). */
export function nextRequest(dialog: Dialog, method: string, options: DialogRequestOptions = {}): [SipRequest, Dialog] {
  const next = { ...dialog, localCseq: dialog.localCseq + 1 };
  return [build(next, method, next.localCseq, options), next];
}

/** The ACK to a 2xx: it carries the number of its INVITE (RFC 3261 13.2.2.4). */
export const ackRequest = (dialog: Dialog, cseq: number, options: DialogRequestOptions = {}): SipRequest =>
  build(dialog, 'ACK', cseq, options);

/** Next hop of a request in this dialog: a flow to reuse, or a URI to locate. */
export function nextHop(dialog: Dialog): { flow: Target } | { uri: Uri } {
  const route = dialog.routes[0];
  if (route) return { uri: route.uri };
  return dialog.flow ? { flow: dialog.flow } : { uri: dialog.remoteTarget };
}

function build(dialog: Dialog, method: string, cseq: number, options: DialogRequestOptions): SipRequest {
  const [first, ...rest] = dialog.routes;
  // A first route without lr is a strict router: it becomes the Request-URI, and the target goes last.
  const strict = first !== undefined && (first.uri.scheme === 'other' || first.uri.params['lr'] === undefined);
  const target: NameAddr = { uri: dialog.remoteTarget, params: {} };
  return buildRequest({
    method,
    uri: strict ? first.uri : dialog.remoteTarget,
    from: dialog.local,
    to: dialog.remote,
    callId: dialog.callId,
    cseq,
    routes: strict ? [...rest, target] : dialog.routes,
    ...options,
  });
}
