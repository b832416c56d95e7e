import type { Context } from 'hono';
import type { Clock } from '../lib/clock.ts';
import type { AriErrorCode } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { OperationName } from './access/scope.ts';
import { apiKeyCredentials, apiKeyOf, basicCredentials } from './auth.ts';
import type { AuditFile, Env } from './env.ts';
import type { Param, Params } from './operation.ts';
import type { Sources } from './parameters.ts';
import { pathOf, requestId } from './requests.ts';
import type { HttpUser } from './user.ts';

/** An operation in the audit log. */
export type AuditedOperation = OperationName & { params?: Params; upgrade?: boolean };

/**
 * The audit log: every command (a change, a WebSocket, a log-in) and every refused log-in, one JSON line each. Secrets
 * never enter it. Of hidden parameters, bodies and variable values it has only the names.
 */
export interface Audit {
  /** Begins the line of a request. @returns what ends it with the answer; undefined for what is not written down. */
  begin(
    c: Context<Env>,
    user: HttpUser,
    operation: AuditedOperation | undefined,
    sources: Sources,
  ): ((response: Response) => Response) | undefined;
  /** A log-in was refused. */
  refused(c: Context<Env>, sources: Sources, reason: AriErrorCode): void;
}

/** Longest logged text of a parameter, in characters. */
const longestText = 200;

/** Logged refusals of one address per minute; further ones are counted. */
const refusalsPerMinute = 10;
const minuteMs = 60_000;
/** Addresses counted at the same time; the oldest are dropped. */
const mostAddresses = 1_000;
/** Time in which a repeated log-in of a user from one address is not logged again, in ms, and the number remembered. */
const sameLogInMs = 3_600_000;
const mostLogIns = 10_000;

type Refusals = { since: number; lines: number; untold: number };

const short = (text: string): string => (text.length > longestText ? `${text.slice(0, longestText)}…` : text);

/** The logged form of a parameter. */
function told({ hidden, type, whole }: Param, value: unknown): unknown {
  if (hidden || whole) return undefined;
  if (type === 'object')
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).slice(0, 20).map(short)
      : undefined;
  if (Array.isArray(value)) return value.slice(0, 20).map((each) => short(String(each)));
  return typeof value === 'string' ? short(value) : typeof value === 'object' ? undefined : value;
}

function paramsOf(params: Params, { query, form, json }: Sources): Record<string, unknown> | undefined {
  const body = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  let found: Record<string, unknown> | undefined;
  for (const [name, param] of Object.entries(params)) {
    if (param.in === 'path') continue;
    const given = Object.hasOwn(body, name) ? body[name] : (query?.get(name) ?? form?.get(name));
    const shown = given === undefined ? undefined : told(param, given);
    if (shown !== undefined) (found ??= {})[name] = shown;
  }
  return found;
}

/** Makes what writes it. */
export function createAudit(file: AuditFile, clock: Clock): Audit {
  const refusals = new Map<string, Refusals>();
  const logIns = new Map<string, number>();
  const greeted = new WeakSet<object>();

  const write = (line: object): void =>
    file.write(`${JSON.stringify({ time: formatTimestamp(clock.now()), ...line })}\n`);
  const fromOf = ({ env }: Context<Env>): string => env?.incoming?.socket.remoteAddress ?? env?.peer ?? '';
  const viaOf = ({ env }: Context<Env>): object =>
    env?.overWebSocket
      ? { via: 'websocket', door: 'websocket', application: env.application }
      : { via: 'rest', door: 'rest' };
  const who = ({ name, token }: HttpUser): object => (token ? { user: name, token: token.name } : { user: name });

  /** A connection over which a user is seen for the first time in a while. */
  const greet = (c: Context<Env>, user: HttpUser): void => {
    const socket = c.env?.incoming?.socket;
    if (!socket || greeted.has(socket)) return;
    greeted.add(socket);
    const from = fromOf(c);
    const key = `${user.name} ${user.token?.name ?? ''} ${from}`;
    const now = clock.monotonic();
    if (now - (logIns.get(key) ?? Number.NEGATIVE_INFINITY) < sameLogInMs) return;
    if (logIns.size >= mostLogIns) logIns.clear();
    logIns.set(key, now);
    write({ event: 'log-in', ...who(user), from });
  };

  const isCommand = (method: string, operation: AuditedOperation | undefined): operation is AuditedOperation =>
    operation !== undefined && (method !== 'GET' || operation.upgrade === true || !operation.changesNothing);

  return {
    begin(c, user, operation, sources) {
      // The node where the request came in writes the line of one that is forwarded.
      if (!file.on || c.env?.forwarded) return undefined;
      greet(c, user);
      const { method, url } = c.req.raw;
      if (!isCommand(method, operation)) return undefined;
      const begun = {
        ...{ event: 'command', ...who(user), from: fromOf(c), ...viaOf(c) },
        request: requestId(c.req.raw),
        operation: `${operation.resource}:${operation.nickname}`,
        ...{ method, path: short(pathOf(url)) },
        params: operation.params && paramsOf(operation.params, sources),
      };
      return (response) => {
        write({ ...begun, status: c.env?.upgraded ? 101 : response.status });
        return response;
      };
    },

    refused(c, sources, reason) {
      if (!file.on) return;
      const request = c.req.raw;
      const credentials =
        basicCredentials(request.headers.get('authorization')) ?? apiKeyCredentials(apiKeyOf(sources));
      const bearer = /^bearer /i.test(request.headers.get('authorization') ?? '');
      // A request without credentials is no log-in attempt.
      if (!credentials && !bearer && reason === 'authenticationRequired') return;
      const from = fromOf(c);
      const now = clock.monotonic();
      let counted = refusals.get(from);
      if (!counted || now - counted.since >= minuteMs) {
        refusals.delete(from);
        if (refusals.size >= mostAddresses)
          for (const first of refusals.keys()) {
            refusals.delete(first);
            break;
          }
        counted = { since: now, lines: 0, untold: counted?.untold ?? 0 };
        refusals.set(from, counted);
      }
      if (counted.lines >= refusalsPerMinute) {
        counted.untold++;
        return;
      }
      counted.lines++;
      const { untold } = counted;
      counted.untold = 0;
      write({
        event: 'log-in refused',
        ...(credentials && { user: short(credentials.name) }),
        ...{ from, ...viaOf(c), request: requestId(request), method: request.method },
        ...{ path: short(pathOf(request.url)), reason },
        ...(untold > 0 && { more: untold }),
      });
    },
  };
}
