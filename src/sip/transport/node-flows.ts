import type { Clock } from '../../lib/clock.ts';
import { markOf } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { SlotMap } from '../../lib/slot-map.ts';
import { createTally } from '../../lib/tally.ts';
import { buildResponse } from '../message/build.ts';
import type { SipMessage, SipRequest } from '../message/message.ts';
import { replacesOf, targetDialogOf } from '../message/named-dialog.ts';
import { parseMessage } from '../message/parse.ts';
import type { Uri } from '../message/uri.ts';
import { MAGIC_COOKIE } from '../message/via.ts';
import { warningHeader } from '../message/warning.ts';
import { serverKey } from '../transaction/keys.ts';
import { responseTarget } from './routing.ts';
import type { MessageHandler, NodeFlow, SendFailure, Source, Target, TrafficWatch, Transports } from './transport.ts';

/**
 * Sockets of other nodes of a cluster. The call is here and the socket is there: what we send to the peer leaves from there,
 * with a mark of this node in Via and Contact. What the peer sends with that mark comes here. So does an INVITE that replaces
 * a call of this node (RFC 3891) with its CANCEL, and a REFER that names one (RFC 4538), by the mark in our tag. Nothing else is
 * passed on.
 */

/** Marks what belongs to a node. No name of a node has such a sign. */
const sign = '~';

/** The mark of the owner of a call whose peer is reached through another node; '' for others. */
export const ownerMark = ({ via }: Target): string => (via ? via.owner + sign : '');

/**
 * Our tag: of the dialog that a request is in, that an INVITE replaces, or that a REFER outside of it names (RFC 4538). The ACK
 * of a refused INVITE has it, too.
 */
function ownTag(request: SipRequest): string {
  const { method, toTag } = request;
  if (toTag !== undefined) return toTag;
  const named = method === 'INVITE' ? replacesOf(request) : method === 'REFER' ? targetDialogOf(request) : undefined;
  return named === undefined || named === 'malformed' ? '' : named.toTag;
}

/** The node whose mark a message has: a response in the branch of our Via, a request in our Contact or tag. */
function markedNode(message: SipMessage): string | undefined {
  if (message.kind === 'response') {
    const branch = message.topVia?.params['branch'] ?? '';
    const end = branch.indexOf(sign);
    return end > MAGIC_COOKIE.length ? branch.slice(MAGIC_COOKIE.length, end) : undefined;
  }
  const { uri } = message;
  const user = uri.scheme === 'sip' || uri.scheme === 'sips' ? (uri.user ?? '') : '';
  if (user.length > 1 && user.endsWith(sign) && message.toTag !== undefined) return user.slice(0, -1);
  return markOf(ownTag(message));
}

/** Carries messages between nodes. */
export type NodeCarrier = {
  /** Name of this node. */
  readonly node: string;
  /** Whether there is such a node. */
  isNode(name: string): boolean;
  /**
   * Has another node send a message to a peer, or take one that a peer has sent here. It never rejects.
   * @returns why that was not possible; undefined if it was
   */
  carry(what: 'send' | 'take', to: { node: string; peer: Target }, bytes: Buffer): Promise<string | undefined>;
  /** The connection over which an endpoint has registered a URI here. */
  flowTo(endpoint: string, uri: Uri): Target | undefined;
};

export interface NodeFlows {
  /** Begins to carry messages. Before, peers of other nodes cannot be reached. */
  attach(carrier: NodeCarrier): void;
  /** How another node, the owner of a call, reaches a peer through a socket of ours. */
  through(target: Target, owner: string, endpoint: string): Target;
  /** Sends a message of another node to a peer. @returns why it could not be sent, as far as that shows at once */
  send(peer: Target, bytes: Buffer): Promise<string | undefined>;
  /** Takes a message that a peer has sent to another node, for a call of this one. */
  take(peer: Target, bytes: Buffer): void;
}

type NodeFlowsOptions = {
  clock: Clock;
  log: Logger;
  /** Hears the messages of peers of other nodes. */
  traffic?: TrafficWatch | undefined;
  /** INVITEs that were passed on, as long as they may be cancelled. The CANCEL of a further one is refused. */
  mostInvites(): number;
  /** Counts these. */
  hit(): void;
};

/** How long an INVITE may be cancelled that is answered at once, in ms: 64·T1 (RFC 3261 17.2.1). */
const cancellableMs = 32_000;

/** The nodes that INVITEs outside of dialogs were passed on to: a CANCEL has nothing of ours that names them. */
function createPassedInvites({ clock, mostInvites, hit }: Pick<NodeFlowsOptions, 'clock' | 'mostInvites' | 'hit'>) {
  const passed = new SlotMap<string, { node: string; timer: unknown }>();
  return {
    note(message: SipMessage, node: string): void {
      if (message.kind === 'response' || message.method !== 'INVITE' || message.toTag !== undefined) return;
      const key = serverKey(message);
      if (passed.has(key)) return;
      if (passed.size >= mostInvites()) hit();
      else passed.set(key, { node, timer: clock.setTimeout(() => passed.delete(key), cancellableMs) });
    },
    nodeOf: (message: SipMessage): string | undefined =>
      message.kind === 'request' && message.method === 'CANCEL'
        ? passed.get(serverKey(message, 'INVITE'))?.node
        : undefined,
    close(): void {
      for (const key of [...passed.keys()]) {
        clock.clearTimeout(passed.get(key)!.timer);
        passed.delete(key);
      }
    },
  };
}

/** The listener and connection are those of another node. */
const unbound = ({ protocol, address, port, serverName }: Target): Target => ({
  ...{ protocol, address, port },
  ...(serverName !== undefined && { serverName }),
});

/** The peer of a flow for the node that has the socket. */
const boundTo = (peer: Target): Target => {
  const { listener, connection } = peer.via ?? {};
  return {
    ...unbound(peer),
    ...(listener !== undefined && { listener }),
    ...(connection !== undefined && { connection }),
  };
};

/** Sends a message of another node over the connection that it names, or that the phone has registered over meanwhile. */
function sendFor(
  sockets: Transports,
  { clock, flowTo }: { clock: Pick<Clock, 'soon'>; flowTo: NodeCarrier['flowTo'] | undefined },
  peer: Target,
  bytes: Buffer,
): Promise<string | undefined> {
  const known = boundTo(peer);
  const endpoint = peer.via?.endpoint;
  const result = endpoint === undefined || sockets.isConnected(known) ? undefined : parseMessage(bytes);
  const request = result?.ok && result.message.kind === 'request' ? result.message : undefined;
  const again = request && flowTo?.(endpoint!, request.uri);
  return new Promise((resolve) => {
    sockets.send(bytes, again ?? known, ({ reason }) => resolve(reason));
    // What fails later ends by the timers of the transaction.
    clock.soon(() => resolve(undefined));
  });
}

/** Adds the sockets of other nodes to ours. */
export function withNodeFlows(
  sockets: Transports,
  options: NodeFlowsOptions,
): { transports: Transports; flows: NodeFlows } {
  const { clock, log, traffic } = options;
  const passed = createPassedInvites(options);
  const tellLost = createTally(clock, log, 'SIP messages did not reach another node');
  let carrier: NodeCarrier | undefined;
  let handle: MessageHandler = () => {};

  const hear = (direction: 'in' | 'out', bytes: Buffer, peer: Target, { host, port }: NodeFlow): void => {
    if (traffic?.isHeard) traffic.hear(direction, bytes, { host, port }, peer);
  };
  const through = (target: Target, owner: string, endpoint?: string): Target => {
    const { listener, connection } = target;
    const { host, port } = sockets.localAddress(target) ?? { host: target.address, port: target.port };
    const via: NodeFlow = {
      ...{ node: carrier?.node ?? '', owner, host, port },
      ...(listener !== undefined && { listener }),
      ...(connection !== undefined && { connection }),
      ...(endpoint !== undefined && { endpoint }),
    };
    return { ...unbound(target), via };
  };
  const carry = async (...asked: Parameters<NodeCarrier['carry']>): Promise<string | undefined> => {
    const why = carrier ? await carrier.carry(...asked) : 'this node has not joined the cluster';
    if (why !== undefined) tellLost({ node: asked[1].node, reason: why });
    return why;
  };

  /** The peer of another node's call is told if that node cannot be reached. */
  const passOn = (node: string, message: SipMessage, source: Source): void => {
    const passed = carry('take', { node, peer: through(source, node) }, message.toBuffer());
    void passed.then((why) => {
      if (why === undefined || message.kind === 'response' || message.method === 'ACK') return;
      const headers = [warningHeader(`the node '${node}' cannot be reached: ${why}`)];
      sockets.send(buildResponse(message, 503, { headers }).toBuffer(), responseTarget(message.topVia, source, true));
    });
  };

  const transports: Transports = {
    bind: (listens) => sockets.bind(listens),
    get listeners() {
      return sockets.listeners;
    },
    onMessage(handler) {
      handle = handler;
      sockets.onMessage((message, source) => {
        const node = markedNode(message) ?? passed.nodeOf(message);
        if (node === undefined || !carrier || node === carrier.node || !carrier.isNode(node)) handler(message, source);
        else {
          passed.note(message, node);
          passOn(node, message, source);
        }
      });
    },
    onMalformed: (handler) => sockets.onMalformed(handler),
    onConnectionClosed: (handler) => sockets.onConnectionClosed(handler),
    send(bytes, target, onFailure) {
      const { via } = target;
      if (!via) return sockets.send(bytes, target, onFailure);
      hear('out', bytes, target, via);
      void carry('send', { node: via.node, peer: target }, bytes).then((why) => {
        if (why === undefined) return;
        const failure: SendFailure = { reason: 'connect', target, cause: new Error(`node ${via.node}: ${why}`) };
        onFailure?.(failure);
      });
    },
    localAddress: (target) =>
      target.via ? { host: target.via.host, port: target.via.port } : sockets.localAddress(target),
    isConnected: (target) => target.via !== undefined || sockets.isConnected(target),
    get waitedMs() {
      return sockets.waitedMs;
    },
    counts: () => sockets.counts(),
    close() {
      passed.close();
      return sockets.close();
    },
  };

  const flows: NodeFlows = {
    attach(given) {
      carrier = given;
    },
    through,
    send: (peer, bytes) => sendFor(sockets, { clock, flowTo: carrier?.flowTo }, peer, bytes),
    take(peer, bytes) {
      const result = parseMessage(bytes);
      if (!result.ok) return;
      if (peer.via) hear('in', bytes, peer, peer.via);
      handle(result.message, { ...peer, listener: 0 });
    },
  };
  return { transports, flows };
}
