import { AriError } from '../models/errors.ts';
import { parsePairs } from './parameters.ts';

/** The body of a request, if its type is supported; SDP comes as `json`, a string. */
export type Body = { form: Map<string, string> | undefined; json: unknown };

/** Kinds of bodies that are read; any other is ignored. */
type Kind = 'json' | 'form' | 'text';

/** Types of SDP (RFC 8866, RFC 8840 section 9). */
const textTypes: ReadonlySet<string> = new Set(['application/sdp', 'application/trickle-ice-sdpfrag']);

function kindOf(contentType: string): Kind | undefined {
  const semicolon = contentType.indexOf(';');
  const type = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  if (type === 'application/json') return 'json';
  if (textTypes.has(type)) return 'text';
  return type === 'application/x-www-form-urlencoded' ? 'form' : undefined;
}

/** Reads a body of unknown length, up to the limit. */
async function readStream(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.byteLength;
    if (length > limit) throw new AriError('requestBodyTooLarge');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Access to the body of a GET: the standard `Request` has none. */
type GetBody = {
  /** Node's request, when it came over a socket. */
  incoming?: AsyncIterable<Uint8Array> | undefined;
  /** The body itself, when the request came over a WebSocket. */
  text?: string | undefined;
};

async function readText(request: Request, limit: number, get: GetBody): Promise<string> {
  if (request.method === 'GET' && get.text === undefined) return readStream(get.incoming ?? nothing, limit);
  if (request.headers.has('transfer-encoding'))
    return readStream((request.body ?? nothing) as unknown as AsyncIterable<Uint8Array>, limit);
  const text = get.text ?? (await request.text());
  if (Buffer.byteLength(text) > limit) throw new AriError('requestBodyTooLarge');
  return text;
}

/** Nesting limit of a JSON body. A deeper one could not be written again. */
const deepestNesting = 64;

const isTooDeep = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1)));

function parse(kind: Kind, text: string): Body {
  if (text === '') return { form: undefined, json: undefined };
  if (kind === 'text') return { form: undefined, json: text };
  if (kind === 'form') return { form: parsePairs(text), json: undefined };
  const json: unknown = JSON.parse(text);
  // Asterisk reads no JSON text but these.
  if (typeof json !== 'object' || json === null) throw new AriError('requestBodyInvalid');
  if (isTooDeep(json, deepestNesting)) throw new AriError('requestBodyInvalid');
  return { form: undefined, json };
}

async function* nobody(): AsyncGenerator<Uint8Array> {}
const nothing: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: nobody };

async function read(request: Request, kind: Kind, limit: number, get: GetBody): Promise<Body> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new AriError('requestBodyTooLarge');
  try {
    return parse(kind, await readText(request, limit, get));
  } catch (error) {
    if (error instanceof AriError) throw error;
    throw new AriError('requestBodyInvalid', {}, { cause: error });
  }
}

/** Whether anything follows the head: clients often name a content type and send nothing. */
const hasBody = ({ headers }: Request, { text }: GetBody): boolean =>
  text !== undefined || headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0;

/**
 * Reads a form, JSON or SDP body of at most `limit` bytes; undefined without one. GET may have one too, as in Asterisk.
 * Rejects with AriError: 413 if it is too long, 400 if it is unreadable.
 */
export function readBody(request: Request, limit: number, get: GetBody = {}): Promise<Body> | undefined {
  if (request.method === 'HEAD') return undefined;
  const contentType = request.headers.get('content-type');
  if (!contentType || (request.method === 'GET' && !hasBody(request, get))) return undefined;
  const kind = kindOf(contentType);
  return kind && read(request, kind, limit, get);
}
