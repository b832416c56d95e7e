import type { Context } from 'hono';
import { routePath } from 'hono/route';
import type { Clock } from '../lib/clock.ts';
import type { Env, RequestFollowers } from './env.ts';
import type { HttpUser } from './user.ts';

type Answer = Response | Promise<Response>;
type Answered = (response: Response) => Response;

const both = (one: Answered | undefined, other: Answered | undefined): Answered | undefined =>
  one && other ? (response) => other(one(response)) : (one ?? other);

/** Names requests, and follows what becomes of them. */
export interface Requests {
  /** Gives a request its id: the client's own where that is sane, else a new one. */
  name(c: Context<Env>): void;
  /** Carries out a request that was let in. */
  follow(c: Context<Env>, user: HttpUser, run: () => Answer): Answer;
}

/** The header that names a request, in the request and in its answer. */
const header = 'x-request-id';

/** Ids that are taken from clients: short, and of letters that mean nothing anywhere. */
const sane = /^[\w.:@/+=-]{1,64}$/;

/** The request's id: a property, because a WeakMap costs more for every request. */
const idOf = Symbol('request id');
type Named = Request & { [idOf]?: string };

/** The id of a request that was named; undefined for others. */
export const requestId = (request: Request): string | undefined => (request as Named)[idOf];

/** Query parameters that hold secrets. */
const secrets: ReadonlySet<string> = new Set(['api_key', 'password', 'ticket', 'token', 'access_token']);

/** Paths whose requests are recorded although they change nothing. */
const leavesTraces = /\/listen$/;

/** A query without its secrets. */
export function withoutSecrets(query: string): string {
  if (query === '') return '';
  return query
    .split('&')
    .filter((pair) => !secrets.has(nameOf(pair)))
    .join('&');
}

const plainName = /^\w*$/;

function nameOf(pair: string): string {
  const equals = pair.indexOf('=');
  const encoded = equals < 0 ? pair : pair.slice(0, equals);
  // Most names are plain: nothing is decoded for them.
  if (plainName.test(encoded)) return encoded.toLowerCase();
  const name = encoded.replaceAll('+', ' ');
  try {
    return decodeURIComponent(name).trim().toLowerCase();
  } catch {
    return name;
  }
}

/** Makes what names and follows requests. Without followers they are only named. */
export function createRequests(followers: RequestFollowers | undefined, clock: Clock): Requests {
  const prefix = followers?.prefix ?? 'request';
  let count = 0;

  const record = (c: Context<Env>, id: string, user: HttpUser): Answered | undefined => {
    const recorder = followers?.recorder;
    if (!recorder?.on) return undefined;
    const { method, url } = c.req.raw;
    const begun = clock.monotonic();
    const [path = '', query = ''] = urlParts(url);
    const answered = recorder.requested({
      at: clock.now(),
      id,
      method,
      path,
      query: withoutSecrets(query),
      user: user.name,
      overWebSocket: c.env?.overWebSocket === true,
      looks: (method === 'GET' || method === 'OPTIONS' || method === 'HEAD') && !leavesTraces.test(path),
    });
    return (response) => {
      answered(c.env?.upgraded ? 101 : response.status, clock.monotonic() - begun);
      return response;
    };
  };

  const beginTrace = (c: Context<Env>, id: string, user: HttpUser): Answered | undefined => {
    if (!followers?.traced) return undefined;
    const { raw, method } = c.req;
    const [path = ''] = urlParts(raw.url);
    const header = (name: string) => raw.headers.get(name) ?? undefined;
    const ended = followers.traced({ id, method, route: routePath(c), path, user: user.name, header });
    return (response) => {
      ended(c.env?.upgraded ? 101 : response.status);
      return response;
    };
  };

  return {
    name(c) {
      const { raw } = c.req;
      const incoming = c.env?.incoming;
      const given = incoming ? incoming.headers[header] : raw.headers.get(header);
      const own = typeof given === 'string' && sane.test(given) ? given : `${prefix}-${(++count).toString(36)}`;
      (raw as Named)[idOf] = own;
    },
    follow(c, user, run) {
      const id = requestId(c.req.raw);
      if (!followers || id === undefined) return run();
      const done = both(record(c, id, user), beginTrace(c, id, user));
      const answer = followers.following(id, run);
      if (!done) return answer;
      return answer instanceof Promise ? answer.then(done) : done(answer);
    },
  };
}

/** The path of a URL, decoded where it can be. */
export const pathOf = (url: string): string => urlParts(url)[0];

/** Path, decoded where it can be, and query of a URL. */
function urlParts(url: string): [path: string, query: string] {
  const start = url.indexOf('/', url.indexOf('//') + 2);
  const question = url.indexOf('?', start);
  const end = question < 0 ? url.length : question;
  const path = start < 0 ? '/' : url.slice(start, end);
  const query = question < 0 ? '' : url.slice(question + 1);
  if (!path.includes('%')) return [path, query];
  try {
    return [decodeURIComponent(path), query];
  } catch {
    return [path, query];
  }
}
