import { pause } from './pause.ts';

/** Options of one request. */
export interface RequestOptions {
  /** Gives the request up. */
  signal?: AbortSignal;
  /** Names the request, so that the server carries it out once however often it comes. Default: a new UUID. */
  idempotencyKey?: string;
}

/** Where the server is, and who asks. */
export interface ServerOptions {
  /** URL of the server, such as `http://127.0.0.1:8088`; a path before `/ari` is kept. */
  url: string;
  username: string;
  password: string;
  /** How often a request is sent again when no answer came; 4 when left out. Never one that could be carried out twice. */
  retries?: number;
}

/** A refusal of the server. */
export class AriError extends Error {
  override readonly name = 'AriError';
  /** The HTTP status, such as 404 for a channel that is gone. */
  readonly status: number;
  /** The body of the answer. */
  readonly body: unknown;

  constructor(request: string, status: number, body: unknown) {
    const { message = '' } = (body ?? {}) as { message?: string };
    super(`${request}: ${status} ${message}`.trimEnd());
    this.status = status;
    this.body = body;
  }
}

export type Ask = (operation: string, params?: object, options?: RequestOptions) => Promise<unknown>;

const firstPauseMs = 100;
const longestPauseMs = 5_000;

/** How long to wait before the next attempt, in ms. */
export const pauseBefore = (attempt: number): number => Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);

/** Base64 of UTF-8, in Node and in browsers. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** What a row of the table of operations says (see `scripts/client-code.ts`), filled with values. */
function requestOf(operation: string, params: Readonly<Record<string, unknown>>) {
  const [method = '', template = '', ...words] = operation.split(' ');
  const left = { ...params };
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    if (value === undefined || value === '') throw new TypeError(`${name} is missing`);
    return encodeURIComponent(String(value));
  });
  let body: unknown;
  for (const word of words) {
    const name = word.replace('=', '');
    if (word === '<' || left[name] === undefined) continue;
    body = word === name ? { ...(body as object), [name]: left[name] } : left[name];
    delete left[name];
  }
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(left)) if (value !== undefined) query.append(name, String(value));
  return { method, path, query: query.size > 0 ? `?${query}` : '', body, isFile: words.includes('<') };
}

/**
 * Makes the function that sends requests. A request without an answer is sent again if it changes nothing, or if the
 * server keeps idempotency keys: ours says so by its name.
 */
export function createAsk({ url, username, password, retries = 4 }: ServerOptions): Ask {
  const base = url.replace(/\/(ari\/?)?$/, '');
  const authorization = `Basic ${base64(`${username}:${password}`)}`;
  let keepsKeys = false;

  return async (operation, params = {}, { signal, idempotencyKey } = {}) => {
    const { method, path, query, body, isFile } = requestOf(operation, params as Record<string, unknown>);
    const headers: Record<string, string> = { authorization };
    if (method !== 'GET') headers['idempotency-key'] = idempotencyKey ?? crypto.randomUUID();
    if (body !== undefined) headers['content-type'] = 'application/json';
    const init = { method, headers, signal: signal ?? null, ...(body !== undefined && { body: JSON.stringify(body) }) };
    for (let attempt = 0; ; attempt++) {
      let response: Response;
      try {
        response = await fetch(`${base}${path}${query}`, init);
      } catch (error) {
        const isSafe = method === 'GET' || keepsKeys;
        if (signal?.aborted || !isSafe || attempt >= retries) throw error;
        await pause(pauseBefore(attempt), signal);
        continue;
      }
      keepsKeys ||= response.headers.get('server') === 'Hookswitch';
      if (response.ok && isFile) return new Uint8Array(await response.arrayBuffer());
      const answer = readJson(await response.text());
      if (!response.ok) throw new AriError(`${method} ${path}`, response.status, answer);
      return answer;
    }
  };
}

function readJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 200) };
  }
}
