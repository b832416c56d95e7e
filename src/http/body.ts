import { AriError } from '../models/errors.ts';
import { parsePairs } from './parameters.ts';

/** What a request's body holds, when it is of a kind that is read. */
export type Body = { form: Map<string, string> | undefined; json: unknown };

/** Kinds of bodies that are read; any other is ignored. */
function kindOf(contentType: string): 'json' | 'form' | undefined {
  const semicolon = contentType.indexOf(';');
  const type = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  if (type === 'application/json') return 'json';
  return type === 'application/x-www-form-urlencoded' ? 'form' : undefined;
}

/** Reads a body whose length nobody promised, no further than it may be long. */
async function readStream(request: Request, limit: number): Promise<string> {
  if (!request.body) return '';
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > limit) throw new AriError('requestBodyTooLarge');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readText(request: Request, limit: number): Promise<string> {
  if (request.headers.has('transfer-encoding')) return readStream(request, limit);
  const text = await request.text();
  if (Buffer.byteLength(text) > limit) throw new AriError('requestBodyTooLarge');
  return text;
}

/** Levels of a JSON body. What is nested by the thousand can be read but not written out again; nobody needs it. */
const deepestNesting = 64;

const isTooDeep = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1)));

function parse(kind: 'json' | 'form', text: string): Body {
  if (text === '') return { form: undefined, json: undefined };
  if (kind === 'form') return { form: parsePairs(text), json: undefined };
  const json: unknown = JSON.parse(text);
  // The field reads no JSON text but these.
  if (typeof json !== 'object' || json === null) throw new AriError('requestBodyInvalid');
  if (isTooDeep(json, deepestNesting)) throw new AriError('requestBodyInvalid');
  return { form: undefined, json };
}

async function read(request: Request, kind: 'json' | 'form', limit: number): Promise<Body> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw new AriError('requestBodyTooLarge');
  try {
    return parse(kind, await readText(request, limit));
  } catch (error) {
    if (error instanceof AriError) throw error;
    throw new AriError('requestBodyInvalid', {}, { cause: error });
  }
}

/**
 * Reads a form or JSON body of at most `limit` bytes; undefined at once when there is none of these.
 * Rejects with AriError: 413 when it is longer, 400 when it cannot be read.
 */
export function readBody(request: Request, limit: number): Promise<Body> | undefined {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  const contentType = request.headers.get('content-type');
  if (!contentType) return undefined;
  const kind = kindOf(contentType);
  return kind && read(request, kind, limit);
}
