import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Context } from 'hono';
import { type LimitHit, uncounted } from '../lib/limit-counts.ts';
import { AriError, type AriErrorCode } from '../models/errors.ts';
import { valueJson } from '../models/event-json.ts';
import { countLimit } from '../models/limits.ts';
import type { AnswerCounts } from './answer-counts.ts';
import { type FileAnswer, isFresh, readRange } from './file-answers.ts';
import { type ListSending, listBody } from './list-body.ts';
import type { Origins } from './origins.ts';
import { requestId } from './requests.ts';

/** Headers by name; one object may serve many answers and is never changed. */
type HeaderRecord = Readonly<Record<string, string>>;

type ResponderOptions = {
  /** The `Server` header. */
  serverName: string;
  /** Whose pages may use the interface. */
  origins: Origins;
  /** Indent JSON for people. */
  pretty: boolean;
  realm: string;
  /** Counts answers; without it none are. */
  counts?: Pick<AnswerCounts, 'answered' | 'refused'> | undefined;
  /** Counts limits that refusals show. */
  hit?: LimitHit | undefined;
  /** How long lists are sent. */
  lists: ListSending;
};

/** Where a refusal carries its code: for what is done with it on the way out. */
const refusedWith = Symbol('refusal');
type Refused = Response & { [refusedWith]?: AriErrorCode };

/** The code of the error that a response tells of; undefined for other responses. */
export const refusalOf = (response: Response): AriErrorCode | undefined => (response as Refused)[refusedWith];

/** Makes answers with the headers that every answer has. */
export interface Responder {
  /** An answer with JSON. */
  json(request: Request, status: number, value: unknown, extra?: HeaderRecord): Response;
  /**
   * An answer with a JSON list. A long one is made and sent in slices, and other requests are handled between them. It
   * waits for a client that reads slowly.
   */
  list(request: Request, status: number, items: Iterable<unknown>): Response;
  /** An answer without a body. */
  empty(request: Request, status: number, extra?: HeaderRecord): Response;
  /** An answer with text, which pages of allowed origins may read with all its headers. */
  text(request: Request, answer: TextAnswer): Response;
  /** The answer that a refusal gets. */
  refusal(request: Request, error: AriError, extra?: HeaderRecord): Response;
  /** The octets of a refusal on a connection on which no request could be read; it says that the connection is closed. */
  bare(error: AriError): string;
  /** An answer with a file, or the part of it that the request asks for. @throws AriError rangeNotSatisfiable. */
  file(request: Request, file: FileAnswer): Response;
  /** The answer to OPTIONS. `verbs` are those of the path; `Allow` needs credentials. */
  options(request: Request, verbs: string, tellAllow: boolean): Response;
}

const refusalHeaders = (realm: string): Readonly<Record<number, HeaderRecord>> => ({
  401: { 'WWW-Authenticate': `Basic realm="${realm.replaceAll(/["\\]/g, '')}"` },
  // The rest of the body is not read.
  413: { Connection: 'close' },
  // Nothing more is read from a connection whose answers wait.
  429: { Connection: 'close' },
  426: { Upgrade: 'websocket', Connection: 'Upgrade' },
});

/** Headers that let a page of an allowed origin read the answer; undefined for others and for no page at all. */
function corsHeaders(request: Request, origins: Origins): HeaderRecord | undefined {
  if (!origins.vary) return undefined;
  const origin = request.headers.get('origin');
  if (!origin || !origins.allows(origin)) return undefined;
  return { 'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true' };
}

function preflightHeaders(request: Request, verbs: string): HeaderRecord | undefined {
  const wanted = request.headers.get('access-control-request-method');
  if (!wanted || !verbs.split(',').includes(wanted)) return undefined;
  const named = request.headers.get('access-control-request-headers');
  return { 'Access-Control-Allow-Methods': verbs, ...(named && { 'Access-Control-Allow-Headers': named }) };
}

/** The headers of every answer, and of those with JSON. */
type OwnHeaders = { plain: HeaderRecord; json: HeaderRecord; ok: { status: number; headers: HeaderRecord } };

/** Makes the one writer of answers. */
export function createResponder({
  serverName,
  origins,
  pretty,
  realm,
  counts,
  hit = uncounted,
  lists,
}: ResponderOptions): Responder {
  const [alike, varying] = [{}, { Vary: 'Origin' }].map((vary) => {
    const plain: HeaderRecord = { Server: serverName, 'Cache-Control': 'no-cache, no-store', ...vary };
    const json: HeaderRecord = { ...plain, 'Content-Type': 'application/json' };
    return { plain, json, ok: { status: 200, headers: json } };
  }) as [OwnHeaders, OwnHeaders];
  const own = (): OwnHeaders => (origins.vary ? varying : alike);
  const perStatus = refusalHeaders(realm);

  const stringify = (value: unknown): string => (pretty ? JSON.stringify(value, null, 2) : valueJson(value));
  const headersFor = (request: Request, base: HeaderRecord, extra: HeaderRecord | undefined): HeaderRecord => {
    const cors = corsHeaders(request, origins);
    const id = requestId(request);
    if (id === undefined) return cors || extra ? { ...base, ...cors, ...extra } : base;
    // Not a spread of the base first: a copy that grows gets a hidden class each time.
    return cors || extra ? { 'X-Request-Id': id, ...base, ...cors, ...extra } : { 'X-Request-Id': id, ...base };
  };
  const json: Responder['json'] = (request, status, value, extra) => {
    const { json: base, ok } = own();
    const headers = headersFor(request, base, extra);
    counts?.answered(status);
    return new Response(stringify(value), status === 200 && headers === base ? ok : { status, headers });
  };
  const empty: Responder['empty'] = (request, status, extra) => {
    counts?.answered(status);
    return new Response(null, { status, headers: headersFor(request, own().plain, extra) });
  };
  const list: Responder['list'] = (request, status, items) => {
    if (pretty) return json(request, status, [...items]);
    counts?.answered(status);
    return new Response(listBody(items, lists), { status, headers: headersFor(request, own().json, undefined) });
  };
  return {
    json,
    list,
    empty,
    text: (request, { status, type, text, headers }) => {
      const exposed = { ...headers, 'Access-Control-Expose-Headers': Object.keys(headers).join(', ') };
      counts?.answered(status);
      const all = headersFor(request, own().plain, { ...exposed, ...(type !== undefined && { 'Content-Type': type }) });
      return new Response(text ?? null, { status, headers: all });
    },
    file: (request, { type, size, etag, read }) => {
      const known = { ETag: etag, 'Accept-Ranges': 'bytes' };
      if (isFresh(request.headers, etag)) return empty(request, 304, known);
      const range = readRange(request.headers, { size, etag });
      if (range === 'unsatisfiable') throw new AriError('rangeNotSatisfiable', { size: String(size) });
      const part = range === 'whole' ? { start: 0, end: size - 1 } : range;
      const headers = headersFor(request, own().plain, {
        ...known,
        'Content-Type': type,
        'Content-Length': String(part.end - part.start + 1),
        ...(range === 'whole' ? {} : { 'Content-Range': `bytes ${part.start}-${part.end}/${size}` }),
      });
      counts?.answered(range === 'whole' ? 200 : 206);
      const body = size === 0 ? null : read(part.start, part.end);
      return new Response(body, { status: range === 'whole' ? 200 : 206, headers });
    },
    refusal: (request, error, extra) => {
      const headers = headersFor(request, own().json, { ...perStatus[error.status], ...extra });
      const { status, reason: statusText } = error;
      counts?.refused(error.code, status);
      countLimit(error, hit);
      const response: Refused = new Response(
        stringify(error.toBody()),
        statusText ? { status, statusText, headers } : { status, headers },
      );
      response[refusedWith] = error.code;
      return response;
    },
    bare: (error) => {
      counts?.refused(error.code, error.status);
      const body = stringify(error.toBody());
      const headers = { ...own().json, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
      return [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`, ...lines, '', body].join('\r\n');
    },
    options: (request, verbs, tellAllow) => {
      const preflight = corsHeaders(request, origins) && preflightHeaders(request, verbs);
      return empty(request, 204, { ...(tellAllow && { Allow: verbs }), ...preflight });
    },
  };
}

/** The refusal of an error: its own, or a 500 for an unexpected one. */
export const toRefusal = (error: unknown): AriError =>
  error instanceof AriError ? error : new AriError('internalServerError', {}, { cause: error });

/**
 * Puts a refusal's own words on the status line. The server takes status and headers of a response but not its words;
 * a request that came over no socket of its own (a WebSocket) reads them from the response.
 */
export function putReason(c: Context, { reason }: AriError): void {
  const { outgoing } = (c.env ?? {}) as { outgoing?: ServerResponse };
  if (reason !== undefined && outgoing) outgoing.statusMessage = reason;
}

/** An answer that is no JSON: a text of some type, with headers of its own; without a text nothing but these. */
export type TextAnswer = {
  readonly status: 200 | 201 | 204;
  readonly type?: string;
  readonly text?: string;
  readonly headers: Readonly<Record<string, string>>;
};
