import type { Context } from 'hono';
import { bearerToken } from './auth.ts';
import type { Origins } from './origins.ts';
import type { Sessions } from './sessions.ts';

/**
 * Keeps the log-in of a page over a reload. The page's token goes into a cookie. Scripts cannot read it (HttpOnly), no
 * other site can send it (SameSite=Strict), and the browser sends it to this path only. The cookie authenticates no
 * operation: it only hands the token back to the page. So a forged request changes nothing, and a foreign page cannot read
 * the answer. The cookie ends with the token.
 */

const path = '/page-session';
/** A header that no form can send: a foreign page would have to ask first (CORS), and is refused. */
const mark = 'x-hookswitch-page';

const answer = (status: number, cookie?: string, body?: object): Response =>
  new Response(body === undefined ? null : JSON.stringify(body), {
    status,
    headers: {
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(cookie === undefined ? {} : { 'Set-Cookie': cookie }),
    },
  });

/** Cookies know no ports: each server on a host has its own name. */
const nameOf = (host: string | null): string => `hookswitch_${/:(\d+)$/.exec(host ?? '')?.[1] ?? 'page'}`;

function cookieOf(header: string | null, name: string): string | undefined {
  for (const each of (header ?? '').split(';')) {
    const [key = '', value] = each.trim().split('=');
    if (key === name && value) return value;
  }
  return undefined;
}

/**
 * The handler of `/page-session`. GET: the log-in of the cookie, 204 without one. POST: keeps the token of the
 * `Authorization` header. DELETE: forgets it.
 */
export const createPageSession =
  (sessions: Pick<Sessions, 'describe'>, origins: Pick<Origins, 'foreign'>) =>
  ({ req: { raw } }: Context): Response => {
    const { headers, method, url } = raw;
    if (!headers.has(mark) || origins.foreign(raw)) return answer(403);
    const name = nameOf(headers.get('host'));
    const attributes = `Path=${path}; HttpOnly; SameSite=Strict${url.startsWith('https:') ? '; Secure' : ''}`;
    const forgotten = `${name}=; ${attributes}; Max-Age=0`;
    if (method === 'DELETE') return answer(204, forgotten);
    const token = method === 'POST' ? bearerToken(headers.get('authorization')) : cookieOf(headers.get('cookie'), name);
    if (method !== 'POST' && method !== 'GET') return answer(405);
    if (token === undefined) return answer(method === 'POST' ? 401 : 204);
    const session = sessions.describe(token);
    if (!session) return answer(method === 'POST' ? 401 : 204, forgotten);
    return method === 'POST' ? answer(204, `${name}=${token}; ${attributes}`) : answer(200, undefined, session);
  };
