import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { SlotMap } from '../lib/slot-map.ts';
import { AriError } from '../models/errors.ts';
import type { RemoteRequest } from './forwards.ts';
import { readFrame, writeFrame } from './frame.ts';
import type { Answerer } from './link.ts';

type AnswersOptions = {
  clock: Clock;
  log: Logger;
  /** Carries a request out here. */
  carryOut(request: RemoteRequest): Promise<Response>;
  /** Names an answer of several pieces. */
  newId(): string;
  /** Octets of a piece. */
  piece: number;
  /** How long the next piece of an answer may not be asked for, in ms. */
  idleMs: number;
  /** Requests under way, and answers of several pieces. */
  most: { requests: number; streams: number };
  hit(limit: 'requests' | 'streams'): void;
};

/** A body that is read in pieces. */
class Body {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #rest: Uint8Array = new Uint8Array(0);
  #ended: boolean;

  constructor(body: ReadableStream<Uint8Array> | null) {
    this.#reader = body?.getReader();
    this.#ended = !this.#reader;
  }

  /** The next octets, at most so many, and whether there may be more. */
  async next(most: number): Promise<{ octets: Uint8Array; more: boolean }> {
    const parts: Uint8Array[] = [this.#rest];
    let length = this.#rest.length;
    while (length < most && !this.#ended && this.#reader) {
      const { done, value } = await this.#reader.read();
      if (value) {
        parts.push(value);
        length += value.length;
      }
      this.#ended = done;
    }
    const all = parts.length === 1 ? this.#rest : Buffer.concat(parts);
    this.#rest = all.subarray(most);
    return { octets: all.subarray(0, most), more: !this.#ended || this.#rest.length > 0 };
  }

  drop(): void {
    // A body that cannot be cancelled has failed, which nobody reads any more.
    this.#reader?.cancel().catch(() => {});
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isOptionalText = (value: unknown): boolean => value === undefined || isText(value);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A request from another node; undefined for something else. */
function requestOf(head: Record<string, unknown>, body: Uint8Array): RemoteRequest | undefined {
  const { method, url, headers, user, application, overWebSocket } = head;
  if (!isText(method) || !isText(url) || !url.startsWith('/') || !isOptionalText(application)) return undefined;
  if (!isObject(headers) || !Object.values(headers).every(isText)) return undefined;
  if (!isObject(user) || !isText((user as { name?: unknown }).name)) return undefined;
  return {
    ...{ method, url, user, headers: headers as Record<string, string> },
    ...(body.length > 0 && { body: Buffer.from(body).toString('utf8') }),
    application: application as string | undefined,
    overWebSocket: overWebSocket === true,
  };
}

const refusal = (error: AriError): Response =>
  new Response(JSON.stringify(error.toBody()), {
    status: error.status,
    headers: { 'Content-Type': 'application/json' },
  });

/** Answers the requests of other nodes. Long answers are held until the other node has read them. */
export function createAnswers(options: AnswersOptions): { answer: Answerer; readonly held: number; close(): void } {
  const { clock, log, piece, idleMs, most } = options;
  const held = new SlotMap<string, { body: Body; timer: unknown }>();
  let running = 0;

  const drop = (id: string): void => {
    const stream = held.get(id);
    if (!stream) return;
    held.delete(id);
    clock.clearTimeout(stream.timer);
    stream.body.drop();
  };
  const hold = (id: string, body: Body): void =>
    void held.set(id, { body, timer: clock.setTimeout(() => drop(id), idleMs) });

  const respond = async (response: Response): Promise<Uint8Array> => {
    const body = new Body(response.body);
    const { octets, more } = await body.next(piece);
    const { status, statusText: reason } = response;
    const headers = [...response.headers];
    if (!more) return writeFrame({ status, reason, headers }, octets);
    if (held.size >= most.streams) {
      body.drop();
      options.hit('streams');
      return respond(refusal(new AriError('clusterBusy', { most: String(most.streams), limit: 'streams' })));
    }
    const id = options.newId();
    hold(id, body);
    return writeFrame({ status, reason, headers, more: id }, octets);
  };

  const next = async (id: string): Promise<Uint8Array> => {
    const stream = held.get(id);
    if (!stream) return writeFrame({ failed: true });
    clock.clearTimeout(stream.timer);
    held.delete(id);
    const { octets, more } = await stream.body.next(piece);
    if (more) hold(id, stream.body);
    return writeFrame(more ? { more: id } : {}, octets);
  };

  const carryOut = async (request: RemoteRequest | undefined): Promise<Uint8Array> => {
    if (!request) return respond(refusal(new AriError('requestUnreadable')));
    if (running >= most.requests) {
      options.hit('requests');
      return respond(refusal(new AriError('clusterBusy', { most: String(most.requests), limit: 'requests' })));
    }
    running++;
    try {
      return await respond(await options.carryOut(request));
    } finally {
      running--;
    }
  };

  return {
    async answer(data) {
      const frame = readFrame(data);
      const { kind, id } = frame?.head ?? {};
      try {
        if (kind === 'more') return await next(String(id));
        if (kind === 'drop') {
          drop(String(id));
          return writeFrame({});
        }
        return await carryOut(frame && kind === 'request' ? requestOf(frame.head, frame.body) : undefined);
      } catch (error) {
        log.error({ error }, 'a request of another node failed');
        return writeFrame({ failed: true });
      }
    },
    get held() {
      return held.size;
    },
    close() {
      for (const id of [...held.keys()]) drop(id);
    },
  };
}
