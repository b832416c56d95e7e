import { AriError } from '../models/errors.ts';
import { readFrame, writeFrame } from './frame.ts';
import { type ClusterLink, LinkError, type LinkFailure } from './link.ts';

/** A request of a client, as the node that owns its object carries it out. */
export type RemoteRequest = {
  method: string;
  /** Path and query. */
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** The user that the receiving node has let in, without its password. */
  user: object;
  /** The application whose WebSocket it came over. */
  application?: string | undefined;
  overWebSocket?: boolean | undefined;
};

/** Why a node cannot be asked, for people. */
export const reasons: Readonly<Record<LinkFailure, string>> = {
  timeout: 'it does not answer in time',
  nobody: 'it is not connected to NATS',
  down: 'NATS is not connected',
  tooLarge: 'the request is larger than NATS takes (max_payload)',
  full: 'the store of NATS is full (max_file_store)',
  excluded: 'this server takes no part in the cluster, because another one has its name (cluster.name)',
};

/** Why the table cannot be asked, for people. */
const reasonsOfTable: Readonly<Partial<Record<LinkFailure, string>>> = {
  timeout: 'NATS does not answer in time',
  full: reasons.full,
  excluded: 'another server has the name of this node (cluster.name)',
};

/** The refusal where the table cannot be asked. */
export function unavailable(error: unknown): AriError {
  const failure = error instanceof LinkError ? error.failure : 'down';
  const why = reasonsOfTable[failure] ?? 'NATS with JetStream is not connected';
  return new AriError('clusterUnavailable', { why }, { cause: error });
}

/** Answers that have no body (RFC 9110 15.3.5, 15.4.5). */
const bodiless: ReadonlySet<number> = new Set([101, 204, 205, 304]);

export type ForwardFigures = { forwarded: number; failed: number; timeouts: number; pending: number };

/** Asks other nodes. */
export interface Forwards {
  /** Has a node carry out a request. @throws (rejects) AriError nodeUnavailable, clusterBusy */
  ask(node: string, request: RemoteRequest): Promise<Response>;
  /** Asks a node for what no client asks for. @throws (rejects) AriError nodeUnavailable, clusterBusy */
  consult(node: string, head: object): Promise<Record<string, unknown>>;
  figures(): ForwardFigures;
}

type ForwardsOptions = {
  link: Pick<ClusterLink, 'request'>;
  /** Undefined for a node that was never heard. */
  subjectOf(node: string): string | undefined;
  timeoutMs: number;
  /** Requests under way. */
  most: number;
  hit(): void;
};

/** The head of an answer; undefined for one of another kind. */
function headOf(head: Record<string, unknown>) {
  const { status, reason, headers, more } = head;
  if (typeof status !== 'number' || !Array.isArray(headers)) return undefined;
  return {
    status,
    statusText: typeof reason === 'string' ? reason : '',
    headers: headers as [string, string][],
    more: typeof more === 'string' ? more : undefined,
  };
}

export function createForwards({ link, subjectOf, timeoutMs, most, hit }: ForwardsOptions): Forwards {
  const counts: ForwardFigures = { forwarded: 0, failed: 0, timeouts: 0, pending: 0 };

  const refuse = (node: string, error: unknown): AriError => {
    counts.failed++;
    const failure = error instanceof LinkError ? error.failure : 'down';
    if (failure === 'timeout') counts.timeouts++;
    return new AriError('nodeUnavailable', { node, why: reasons[failure] }, { cause: error });
  };

  const send = async (node: string, frame: Uint8Array) => {
    const subject = subjectOf(node);
    if (subject === undefined) throw new LinkError('nobody');
    const answered = readFrame(await link.request(subject, frame, timeoutMs));
    if (!answered) throw new LinkError('down', 'an answer that cannot be read');
    return answered;
  };

  /** The pieces of a body that the other node holds, each fetched when it is read. */
  const pieces = (node: string, id: string, first: Uint8Array): ReadableStream<Uint8Array> => {
    let waiting: Uint8Array | undefined = first;
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (waiting) {
            controller.enqueue(waiting);
            waiting = undefined;
            return;
          }
          try {
            const { head, body } = await send(node, writeFrame({ kind: 'more', id }));
            if (head.failed === true) throw new LinkError('down', 'the answer has ended early');
            if (body.length > 0) controller.enqueue(body);
            if (head.more !== id) controller.close();
          } catch (error) {
            controller.error(refuse(node, error));
          }
        },
        async cancel() {
          // The other node forgets it by itself if this does not arrive.
          await send(node, writeFrame({ kind: 'drop', id })).catch(() => undefined);
        },
      },
      { highWaterMark: 0 },
    );
  };

  /** Asks within the bound of requests under way. */
  const bounded = async <T>(node: string, run: () => Promise<T>): Promise<T> => {
    if (counts.pending >= most) {
      hit();
      throw new AriError('clusterBusy', { most: String(most), limit: 'requests' });
    }
    counts.pending++;
    try {
      return await run();
    } catch (error) {
      throw refuse(node, error);
    } finally {
      counts.pending--;
    }
  };

  return {
    ask: (node, request) =>
      bounded(node, async () => {
        counts.forwarded++;
        const { body: sent, ...head } = request;
        const frame = writeFrame({ kind: 'request', ...head }, sent === undefined ? undefined : Buffer.from(sent));
        const { head: answered, body } = await send(node, frame);
        const known = headOf(answered);
        if (!known) throw new LinkError('down', 'an answer that cannot be read');
        const { more, ...init } = known;
        if (bodiless.has(init.status)) return new Response(null, init);
        return new Response(more === undefined ? new Uint8Array(body) : pieces(node, more, body), init);
      }),
    consult: (node, head) => bounded(node, async () => (await send(node, writeFrame(head))).head),
    figures: () => ({ ...counts }),
  };
}
