import type { LogInSession } from '../../src/models/log-in-session.ts';
import type { Access } from '../../src/models/token.ts';
import { cell } from './cell.ts';

/** The log-in. Scripts hold its token in memory only; a cookie that they cannot read keeps it over a reload. */
export const session = cell<Session | undefined>(undefined);

/**
 * A log-in, and the operations that its user may call, as `resource:operation`. `limited`: the user sees the calls of some
 * applications only.
 */
export type Session = LogInSession & { operations: ReadonlySet<string>; limited: boolean };

/** Whether the user may call the operation. */
export const may = (operation: string): boolean => session.get()?.operations.has(operation) === true;

/** Requests behind views beside their live messages. */
const behind: Readonly<Record<string, string>> = {
  '/ari/applications': 'applications:list',
  '/ari/endpoints': 'endpoints:list',
  '/hookswitch/charts': 'charts:list',
  '/hookswitch/bans': 'bans:list',
  '/hookswitch/nodes': 'nodes:list',
  '/hookswitch/contacts': 'server:listContacts',
  '/hookswitch/registrations': 'server:listRegistrations',
  '/hookswitch/tokens': 'tokens:list',
  '/hookswitch/watchers': 'server:listWatchers',
  '/hookswitch/server': 'server:get',
  '/hookswitch/usage': 'usage:get',
  '/hookswitch/alarms': 'server:listAlarms',
  '/hookswitch/history': 'server:getHistory',
};

/** Whether the user may read it; unknown operations are tried. */
export const mayLookAt = (path: string): boolean => {
  const operation = behind[path];
  return operation === undefined || may(operation);
};

/** An answer that refuses. */
export class Refused extends Error {
  readonly status: number;
  readonly body: { message?: string; allowed?: unknown };

  constructor(status: number, body: { message?: string; allowed?: unknown }) {
    super(body.message ?? `refused with ${status}`);
    this.status = status;
    this.body = body;
  }
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

async function request(path: string, method: string, authorization: string, body?: unknown): Promise<Response> {
  return fetch(path, {
    method,
    credentials: 'omit',
    cache: 'no-store',
    headers: { Authorization: authorization, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Why nobody is logged in, in words; undefined before the first log-in. */
export const loggedOut = cell<string | undefined>(undefined);

/** Talks about the kept log-in: the only request with a cookie. */
const keeping = (method: string, token?: string): Promise<Response> =>
  fetch('/page-session', {
    method,
    credentials: 'same-origin',
    cache: 'no-store',
    headers: { 'X-Hookswitch-Page': '1', ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }) },
  });

/** Takes a log-in: asks what its user may do. @throws Refused. */
async function begin(body: LogInSession): Promise<void> {
  const access = await request('/hookswitch/access', 'GET', `Bearer ${body.token}`);
  const { operations, scopes = [], message } = (await access.json()) as Access & { message?: string };
  if (!access.ok) throw new Refused(access.status, message === undefined ? {} : { message });
  loggedOut.set(undefined);
  const limited = scopes.some(({ applications }) => applications !== undefined);
  session.set({ ...body, operations: new Set(operations), limited });
}

/** Goes on with the log-in of before a reload, if there is one. */
export async function resume(): Promise<void> {
  const answer = await keeping('GET').catch(() => undefined);
  if (answer?.status === 200) await begin((await answer.json()) as LogInSession).catch(() => undefined);
}

/** Gives name and password once, for a token. @throws Refused. */
export async function logIn(name: string, password: string): Promise<void> {
  const answer = await request('/hookswitch/sessions', 'POST', `Basic ${base64(`${name}:${password}`)}`);
  const body = (await answer.json().catch(() => ({}))) as LogInSession & { message?: string };
  if (!answer.ok)
    throw new Refused(answer.status, answer.status === 401 ? { message: 'Name or password is wrong' } : body);
  await begin(body);
  await keeping('POST', body.token).catch(() => undefined);
}

/** Forgets the token, here and on the server. */
export function logOut(): void {
  void ask('DELETE', '/hookswitch/sessions').catch(() => undefined);
  void keeping('DELETE').catch(() => undefined);
  loggedOut.set('You have logged out.');
  session.set(undefined);
}

/** Sends a request as the logged-in user. @returns the raw answer. */
export async function askRaw(method: string, path: string, body?: unknown): Promise<Response> {
  const answer = await request(path, method, `Bearer ${session.get()?.token ?? ''}`, body);
  if (answer.status === 401 && session.get()) {
    loggedOut.set(
      'Your log-in has ended: it expired, your user was changed, or the server was restarted. Log in again.',
    );
    session.set(undefined);
  }
  return answer;
}

/** Sends a request as the logged-in user. @throws Refused. */
export async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await askRaw(method, path, body);
  const text = await answer.text();
  const parsed = text === '' ? undefined : JSON.parse(text);
  if (!answer.ok) throw new Refused(answer.status, parsed ?? {});
  return parsed as T;
}

/** The address of a WebSocket, with a ticket that opens it once. */
export async function socketUrl(path: string): Promise<string> {
  const { ticket } = await ask<{ ticket: string }>('POST', '/hookswitch/sessions/tickets');
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  return `${scheme}://${location.host}${path}${path.includes('?') ? '&' : '?'}ticket=${encodeURIComponent(ticket)}`;
}
