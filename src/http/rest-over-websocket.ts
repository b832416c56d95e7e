import { STATUS_CODES } from 'node:http';
import type { Hono } from 'hono';
import type { WebSocket } from 'ws';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { RESTResponse } from '../models/websocket-messages.ts';
import type { Env } from './env.ts';
import type { HttpUser } from './user.ts';

/** Requests that may wait on one socket before nothing more is read from it. */
const maxWaiting = 64;

type RestOverWebSocketDeps = {
  app: Hono<Env>;
  clock: Clock;
  log: Logger;
  entityId: string;
  /** First application of the socket. */
  application: string;
  /** Address of the socket's peer. */
  peer?: string;
  /** `Authorization` of the upgrade, sent with every inner request. */
  authorization: string;
  /** User of its requests in place of `authorization`. */
  localUser?: HttpUser | undefined;
  send(json: string): void;
  raw: Pick<WebSocket, 'pause' | 'resume'>;
  /** Takes what the client has handled; false for what it cannot have. Left out: the client does not acknowledge. */
  acknowledge?(application: string, seq: number): boolean;
};

/** The REST interface of one WebSocket. */
export interface RestOverWebSocket {
  /** Takes a text message. Answers come in the order of the requests, one request at a time. */
  take(message: string): void;
  /** Forgets what waits. */
  close(): void;
}

type Json = Record<string, unknown>;
type Inner = {
  uri: string;
  method: string;
  query: string;
  contentType: string | undefined;
  body: string | undefined;
  /** Members that stand for headers: where in a trace it is, its idempotency key, the state that it assumes. */
  headers: Record<string, string>;
};
type Problem = { problem: string };

const methods = new Set(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD']);
const contentTypes = ['application/json', 'application/x-www-form-urlencoded', 'application/sdp'];

/** Only of what is a request at all the answer repeats the `uri`. */
const isRequest = ({ type }: Json): boolean => type === 'RESTRequest';
const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const isPair = (pair: unknown): pair is { name: string; value: string } =>
  typeof (pair as Json | null)?.name === 'string' && typeof (pair as Json).value === 'string';

/** The `query_strings` as part of a query; undefined when they are not a list of pairs. */
function readQueryStrings(value: unknown): string | undefined {
  if (value === undefined) return '';
  if (!Array.isArray(value) || !value.every(isPair)) return undefined;
  return value.map((pair) => `${encodeURIComponent(pair.name)}=${encodeURIComponent(pair.value)}`).join('&');
}

/** Members of a request that stand for headers. */
const headerMembers = ['traceparent', 'tracestate', 'idempotency_key', 'if_state'] as const;

/** The headers that members stand for. A value that no header can have is left out, as over HTTP nobody would read it. */
const readHeaders = (request: Json): Record<string, string> =>
  Object.fromEntries(
    headerMembers.flatMap((name) => {
      const value = textOf(request[name]);
      return /^[\x20-\x7e]{1,512}$/.test(value) ? [[name.replace('_', '-'), value]] : [];
    }),
  );

function bodyProblem(body: string, contentType: string): string | undefined {
  if (contentType === '') return "No 'content_type' for 'message_body'.";
  if (!contentTypes.includes(contentType)) return 'Unknown content type.';
  if (contentType !== 'application/json') return undefined;
  return parseObject(body) ? undefined : `Unable to parse 'message_body' as '${contentType}'.`;
}

/** Reads a request, checking in Asterisk's order: type, uri, method, query_strings, body. */
function readInner(request: Json): Inner | Problem {
  if (typeof request.type !== 'string') return { problem: "No 'type' property." };
  if (!isRequest(request)) return { problem: 'Unknown request type.' };
  const uri = textOf(request.uri);
  if (uri === '') return { problem: "Empty or missing 'uri' property." };
  const method = textOf(request.method);
  if (!methods.has(method)) return { problem: "Unknown or missing 'method' property." };
  let query: string | undefined;
  try {
    query = readQueryStrings(request.query_strings);
  } catch {
    // A lone surrogate cannot be encoded.
  }
  if (query === undefined) return { problem: "Unable to parse 'query_strings' array." };
  const body = textOf(request.message_body);
  const contentType = textOf(request.content_type);
  const headers = readHeaders(request);
  if (body === '') return { uri, method, query, contentType: undefined, body: undefined, headers };
  const problem = bodyProblem(body, contentType);
  return problem ? { problem } : { uri, method, query, contentType, body, headers };
}

/** The URL that an inner request stands for; everything behind `/ari/` is the client's. */
function urlOf({ uri, query }: Inner): string {
  const full = `http://localhost/ari/${uri}`;
  if (query === '') return full;
  return `${full}${uri.includes('?') ? '&' : '?'}${query}`;
}

/** An object, or a list, which is read as an object without the members that are looked for. */
function parseObject(message: string): Json | undefined {
  try {
    const parsed: unknown = JSON.parse(message);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Json) : undefined;
  } catch {
    return undefined;
  }
}

type Answer = Pick<RESTResponse, 'status_code' | 'reason_phrase' | 'content_type' | 'message_body'>;

/** Answers as JSON are carried compact, however they are written elsewhere, and SDP; anything else cannot be carried. */
async function answerOf(response: Response): Promise<Answer> {
  const { status } = response;
  const reason = response.statusText || STATUS_CODES[status] || '';
  const text = await response.text();
  if (text === '') return { status_code: status, reason_phrase: reason };
  const type = response.headers.get('content-type') ?? '';
  if (type === 'application/sdp')
    return { status_code: status, reason_phrase: reason, content_type: type, message_body: text };
  if (type !== 'application/json') return { status_code: 406, reason_phrase: 'Not Acceptable.  Use HTTP GET' };
  const compact = JSON.stringify(JSON.parse(text));
  return { status_code: status, reason_phrase: reason, content_type: type, message_body: compact };
}

const notHandled =
  "An EventsAcknowledged needs an 'application' of this WebSocket and the 'seq' of an event that was sent to it.";

const refusal = (problem: string): Answer => ({
  status_code: 400,
  reason_phrase: 'Bad request',
  content_type: 'application/json',
  message_body: JSON.stringify({ message: problem }),
});

/** Makes the REST interface of one WebSocket: the same app, the same credentials, one request after another. */
export function createRestOverWebSocket(deps: RestOverWebSocketDeps): RestOverWebSocket {
  const { app, clock, log, raw } = deps;
  const waiting: string[] = [];
  let busy = false;
  let closed = false;

  const respond = (request: Json, answer: Answer): void => {
    const response: RESTResponse = {
      type: 'RESTResponse',
      transaction_id: textOf(request.transaction_id),
      request_id: textOf(request.request_id),
      ...answer,
      uri: isRequest(request) ? (textOf(request.uri).split('?', 1)[0] ?? '') : '',
      application: deps.application,
      timestamp: formatTimestamp(clock.now()),
      asterisk_id: deps.entityId,
    };
    deps.send(JSON.stringify(response));
  };

  const ask = async (inner: Inner, id: string): Promise<Answer> => {
    const headers: Record<string, string> = { ...inner.headers, authorization: deps.authorization };
    // An invalid request id is dropped.
    if (/^[\x21-\x7e]{1,64}$/.test(id)) headers['x-request-id'] = id;
    if (inner.contentType) headers['content-type'] = inner.contentType;
    // The standard's Request has no body when it is a GET.
    const isGet = inner.method === 'GET';
    const withBody = inner.body !== undefined && !isGet && inner.method !== 'HEAD';
    const init = withBody
      ? { method: inner.method, headers, body: inner.body as string }
      : { method: inner.method, headers };
    const bindings: Env['Bindings'] = {
      overWebSocket: true,
      application: deps.application,
      ...(deps.peer !== undefined && { peer: deps.peer }),
      ...(deps.localUser && { localUser: deps.localUser }),
      ...(isGet && inner.body !== undefined && { getBody: inner.body }),
    };
    return answerOf(await app.request(new Request(urlOf(inner), init), undefined, bindings));
  };

  const carryOut = async (message: string): Promise<void> => {
    const request = parseObject(message);
    if (!request) {
      return respond({}, { status_code: 400, reason_phrase: 'Failed to parse request message JSON' });
    }
    if (deps.acknowledge && request.type === 'EventsAcknowledged') {
      const { application, seq } = request;
      const isTaken = typeof application === 'string' && isNumber(seq) && deps.acknowledge(application, seq);
      if (!isTaken) respond(request, refusal(notHandled));
      return;
    }
    const inner = readInner(request);
    if ('problem' in inner) return respond(request, refusal(inner.problem));
    try {
      respond(request, await ask(inner, textOf(request.request_id)));
    } catch (error) {
      log.warn({ error }, 'request over the WebSocket could not be made');
      respond(request, refusal("Empty or missing 'uri' property."));
    }
  };

  const drain = async (): Promise<void> => {
    busy = true;
    for (let next = waiting.shift(); next !== undefined && !closed; next = waiting.shift()) {
      await carryOut(next);
      // Work deferred behind the answer (dialing, entering an application) comes before the next request.
      if (waiting.length > 0) await new Promise<void>((resolve) => clock.soon(resolve));
      else raw.resume();
    }
    busy = false;
  };

  return {
    take: (message) => {
      if (closed) return;
      waiting.push(message);
      if (waiting.length >= maxWaiting) raw.pause();
      if (!busy) void drain();
    },
    close: () => {
      closed = true;
      waiting.length = 0;
    },
  };
}
