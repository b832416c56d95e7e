import type { Context } from 'hono';
import type { RemoteRequest } from '../cluster/forwards.ts';
import type { Env } from './env.ts';
import { headerOf } from './idempotency.ts';
import type { Sources } from './parameters.ts';
import { requestId, withoutSecrets } from './requests.ts';
import type { HttpUser } from './user.ts';

/** Headers that mean something to the node that carries a request out. */
const forwarded = [
  ...['content-type', 'range', 'if-range', 'if-none-match', 'if-match', 'if-state', 'idempotency-key'],
  ...['traceparent', 'tracestate'],
];

/** Path and query of a request, without what it logged in with. */
function pathAndQuery(url: string): string {
  const path = url.slice(url.indexOf('/', url.indexOf('//') + 2));
  const question = path.indexOf('?');
  if (question < 0) return path;
  const query = withoutSecrets(path.slice(question + 1));
  return query === '' ? path.slice(0, question) : `${path.slice(0, question)}?${query}`;
}

/** The body that was read, as it is read again. */
function bodyOf({ form, json }: Sources): string | undefined {
  if (form) return new URLSearchParams([...form]).toString();
  if (json === undefined) return undefined;
  return typeof json === 'string' ? json : JSON.stringify(json);
}

/** A request as another node carries it out: for the same user, whose password does not leave this node. */
export function remoteOf(
  c: Context<Env>,
  { sources, user }: { sources: Sources; user: HttpUser },
  url?: string,
): RemoteRequest {
  const { raw } = c.req;
  const headers: Record<string, string> = {};
  for (const name of forwarded) {
    const value = headerOf(c, name);
    if (value !== undefined) headers[name] = value;
  }
  const id = requestId(raw);
  if (id !== undefined) headers['x-request-id'] = id;
  const { password: _password, password_hash: _hash, ...known } = user;
  return {
    method: raw.method,
    url: url ?? pathAndQuery(raw.url),
    headers,
    body: url === undefined ? bodyOf(sources) : undefined,
    user: known,
    application: c.env?.application,
    overWebSocket: c.env?.overWebSocket,
  };
}
