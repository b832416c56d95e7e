import type { Logger } from '../lib/log.ts';
import type { CallElsewhere, CallSeen, NamedCall } from '../models/call-elsewhere.ts';
import { reasons } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import { type ClusterLink, LinkError } from './link.ts';
import type { Members } from './members.ts';

/** What the cluster needs of the phones of this node. The places of phones, and their flows, are the technology's. */
export type PhonesHere = {
  /** Whether calls to an endpoint reach it from this node. */
  isOnline(endpoint: string): boolean;
  /** Where this node reaches a phone, for calls of the node that asks. */
  places(asked: { node: string; endpoint: string; number?: string | undefined }): object[];
  /** Sends a message of another node to a peer. @returns why it could not be sent */
  send(peer: object, bytes: Uint8Array): Promise<string | undefined>;
  /** Takes a message that a peer has sent to another node. */
  take(peer: object, bytes: Uint8Array): void;
  /** A phone has registered at another node. */
  moved(phone: object): void;
  /** An answered call here that a transfer at another node names, if its transferor may transfer it. */
  call(named: NamedCall): CallSeen | undefined;
  /** Ends a call whose parties were put through at another node. */
  endCall(channel: string): void;
};

/** The phones of other nodes. */
export interface Phones {
  /** A node at which an endpoint is online, as `technology/resource`; undefined if it is at none that answers. */
  nodeOf(endpoint: string): Promise<string | undefined>;
  /**
   * Asks all other nodes where they reach a phone. It never rejects.
   * @param found called for each node that has it, as its answer comes
   * @returns nodes that did not answer in time
   */
  places(
    asked: { endpoint: string; number?: string | undefined },
    found: (places: object[]) => void,
  ): Promise<string[]>;
  /** Has another node send a message to a peer, or take one. It never rejects. @returns why not, for people */
  carry(what: 'send' | 'take', to: { node: string; peer: object }, bytes: Uint8Array): Promise<string | undefined>;
  /** The call of another node that a transfer names; undefined if none that answers has it. It never rejects. */
  call(named: NamedCall): Promise<CallElsewhere | undefined>;
  /** Ends a call of another node whose parties were put through here. It never rejects. */
  endCall(call: Pick<CallElsewhere, 'node' | 'channel'>): Promise<void>;
  /** Tells all other nodes that a phone has registered here. */
  tellMoved(phone: object): void;
  /** Whether there is such a node. */
  isNode(name: string): boolean;
}

type PhonesOptions = {
  name: string;
  link: Pick<ClusterLink, 'request' | 'publish'>;
  /** Where nodes tell of phones. */
  subject: string;
  members: Pick<Members, 'list' | 'find'>;
  /** The present process of a node, as NATS knows it; waits until NATS is reached. It may reject. */
  epochOf(node: string): Promise<string | undefined>;
  subjectOf(name: string, epoch: string): string;
  timeoutMs: number;
  /** Messages on their way to other nodes. */
  most: number;
  hit(): void;
};

const whyOf = (error: unknown): string => reasons[error instanceof LinkError ? error.failure : 'down'];

export function createPhones(options: PhonesOptions): Phones {
  const { name, link, subject, members, epochOf, subjectOf, timeoutMs, most, hit } = options;
  let pending = 0;

  const ask = async (node: string, epoch: string, frame: Uint8Array): Promise<Record<string, unknown>> =>
    readFrame(await link.request(subjectOf(node, epoch), frame, timeoutMs))?.head ?? {};

  /** Asks the process that a node has now: it may be a new one that was not heard yet, or this one may just begin. */
  const askProcess = async (node: string, frame: Uint8Array): Promise<Record<string, unknown>> => {
    const known = members.find(node)?.epoch;
    try {
      if (known !== undefined) return await ask(node, known, frame);
    } catch (error) {
      if (!(error instanceof LinkError) || error.failure !== 'nobody') throw error;
    }
    const epoch = await epochOf(node);
    if (epoch === undefined || epoch === known) throw new LinkError('nobody');
    return ask(node, epoch, frame);
  };

  /** Asks each node that may answer. */
  const askAll = <T>(head: object, read: (node: string, answer: Record<string, unknown> | undefined) => T) => {
    const frame = writeFrame(head);
    return members.list().flatMap(({ name: node, state, epoch }) => {
      if (state === 'away' || epoch === undefined) return [];
      const answered = ask(node, epoch, frame).catch(() => undefined);
      return [answered.then((answer) => read(node, answer))];
    });
  };

  return {
    async nodeOf(endpoint) {
      const asked = askAll({ kind: 'phone', endpoint }, (node, answer) =>
        answer?.['online'] === true ? node : undefined,
      );
      return (await Promise.all(asked)).find((node) => node !== undefined);
    },
    async places(asked, found) {
      const silent = askAll({ kind: 'places', ...asked, node: name }, (node, answer) => {
        const places = answer?.['places'];
        if (!Array.isArray(places)) return [node];
        if (places.length > 0) found(places as object[]);
        return [];
      });
      return (await Promise.all(silent)).flat();
    },
    async carry(what, { node, peer }, bytes) {
      if (pending >= most) {
        hit();
        return `more than ${most} messages are on their way (cluster.requests)`;
      }
      pending++;
      try {
        const { failed } = await askProcess(node, writeFrame({ kind: what, peer }, bytes));
        return failed === undefined ? undefined : String(failed);
      } catch (error) {
        return whyOf(error);
      } finally {
        pending--;
      }
    },
    async call(named) {
      const asked = askAll({ kind: 'call', named }, (node, answer): CallElsewhere | undefined => {
        const call = answer?.['call'] as CallSeen | undefined;
        return call && { ...call, node };
      });
      return (await Promise.all(asked)).find((call) => call !== undefined);
    },
    async endCall({ node, channel }) {
      // Without an answer the phone ends it: it knows that its transfer is over.
      await askProcess(node, writeFrame({ kind: 'end', channel: channel.id })).catch(() => {});
    },
    tellMoved: (phone) => void link.publish(subject, writeFrame({ node: name, phone })),
    isNode: (node) => members.find(node) !== undefined,
  };
}

/** Answers what other nodes ask about the phones of this one; undefined for another request. It never rejects. */
export async function answerPhones(
  { head, body }: { head: Record<string, unknown>; body: Uint8Array },
  here: PhonesHere,
  log: Pick<Logger, 'error'>,
): Promise<Uint8Array | undefined> {
  const { kind, node, endpoint, number, peer, named, channel } = head;
  try {
    switch (kind) {
      case 'phone':
        return writeFrame({ online: here.isOnline(String(endpoint)) });
      case 'places': {
        const asked = { node: String(node), endpoint: String(endpoint), ...(typeof number === 'string' && { number }) };
        return writeFrame({ places: here.places(asked) });
      }
      case 'send': {
        const failed = await here.send(peer as object, body);
        return writeFrame(failed === undefined ? {} : { failed });
      }
      case 'take':
        here.take(peer as object, body);
        return writeFrame({});
      case 'call':
        return writeFrame({ call: here.call(named as NamedCall) });
      case 'end':
        here.endCall(String(channel));
        return writeFrame({});
      default:
        return undefined;
    }
  } catch (error) {
    log.error({ kind, error }, 'a request of another node about a phone failed');
    return writeFrame({ failed: 'it failed there' });
  }
}
