import type { Context } from 'hono';
import type { Logger } from '../lib/log.ts';
import { AriError } from '../models/errors.ts';
import { requireMayDo } from './access/access.ts';
import type { Audit, AuditedOperation } from './audit.ts';
import { type Body, readBody } from './body.ts';
import type { Connections } from './connections.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Env, HttpOptions } from './env.ts';
import type { Idempotency } from './idempotency.ts';
import type { LogIn } from './log-in.ts';
import type { Operation } from './operation.ts';
import type { Origins } from './origins.ts';
import { queryOf, type Sources } from './parameters.ts';
import type { Requests } from './requests.ts';
import { putReason, type Responder, toRefusal } from './responses.ts';
import type { HttpUser } from './user.ts';

type Answer = Response | Promise<Response>;

/** Carries out a request that was let in; `user` is undefined for an OPTIONS without credentials. */
export type Next = (c: Context<Env>, sources: Sources, user: HttpUser | undefined) => Answer;

/** The operation of a method, as scopes name it; undefined if there is none. */
export type OperationOf = (method: string) => AuditedOperation | undefined;

/**
 * Runs the checks before a handler. Without an operation read-only users may only use GET and OPTIONS. `missing` is the
 * error of a request without credentials.
 */
export type Checks = (
  next: Next,
  operationOf?: OperationOf,
  missing?: 'authenticationRequired' | 'mediaLogInRequired',
) => (c: Context<Env>) => Answer;

type ChecksDeps = {
  logIn: LogIn;
  /** Read at every request: they may change. */
  limits: Pick<HttpOptions['limits'], 'body'>;
  connections: Connections;
  origins: Origins;
  responder: Responder;
  requests: Requests;
  /** The audit log; left out: none. */
  audit?: Audit | undefined;
  /** Answers repeated requests; without it `Idempotency-Key` means nothing. */
  idempotency?: Idempotency | undefined;
  /** Has other nodes carry requests out; left out: there are none. */
  elsewhere?: Elsewhere | undefined;
  log: Logger;
};

const noBody: Body = { form: undefined, json: undefined };

/**
 * Browsers send such requests with stored credentials for any page, without asking the server first. They are these
 * methods with some content types, and every upgrade.
 */
const needsOrigin = ({ method, headers }: Request): boolean =>
  method === 'GET' ? headers.has('upgrade') : method !== 'OPTIONS' && method !== 'HEAD';

const noOperation = (): undefined => undefined;

type Admitted = { next: Next; operationOf: OperationOf; missing: NonNullable<Parameters<Checks>[2]> };

/**
 * Creates the checks before any operation, in Asterisk's order: the connection's limits, origin, body, credentials,
 * right to write. Exceptions of handlers become answers here.
 */
export function createChecks(deps: ChecksDeps): Checks {
  const { logIn, limits, connections, origins, responder, requests, audit, idempotency, elsewhere, log } = deps;
  /** Carries a request out on this node. */
  const here = (c: Context<Env>, user: HttpUser, next: Next, operation: AuditedOperation) => (sources: Sources) =>
    idempotency
      ? idempotency.once(c, { user, operation, sources }, () => next(c, sources, user))
      : next(c, sources, user);
  const proceed = (c: Context<Env>, sources: Sources, user: HttpUser, { next, operationOf }: Admitted): Answer => {
    if (c.env?.incoming) connections.proved(c.env.incoming.socket);
    const operation = operationOf(c.req.method);
    const written = audit?.begin(c, user, operation, sources);
    const answer = requests.follow(c, user, () => {
      // Here, so that what is refused is recorded as well.
      try {
        requireMayDo(user, c.req.method, operation);
        if (!operation) return next(c, sources, user);
        const run = here(c, user, next, operation);
        if (!elsewhere || !('paths' in operation)) return run(sources);
        return elsewhere(c, { operation: operation as Operation, sources, user, run });
      } catch (error) {
        return refuse(c, error);
      }
    });
    if (!written) return answer;
    return answer instanceof Promise ? answer.catch((error) => refuse(c, error)).then(written) : written(answer);
  };
  const refuse = (c: Context<Env>, error: unknown): Response => {
    const refusal = toRefusal(error);
    if (refusal !== error) log.error({ error, path: c.req.path }, 'request failed');
    putReason(c, refusal);
    return responder.refusal(c.req.raw, refusal);
  };
  /** The user of a request; refused log-ins go to the audit log. */
  const knownOf = (c: Context<Env>, sources: Sources): ReturnType<LogIn> => {
    const refused = (error: unknown): never => {
      if (error instanceof AriError) audit?.refused(c, sources, error.code);
      throw error;
    };
    try {
      const user = logIn(c.req.raw, sources, c.env?.incoming);
      return user instanceof Promise ? user.catch(refused) : user;
    } catch (error) {
      return refused(error);
    }
  };
  const admit = (c: Context<Env>, { form, json }: Body, asked: Admitted): Answer => {
    const request = c.req.raw;
    const sources: Sources = { query: queryOf(request.url), form, json };
    const user = c.env?.localUser ?? knownOf(c, sources);
    if (user instanceof Promise) return user.then((known) => proceed(c, sources, known, asked));
    if (user !== 'nobody') return proceed(c, sources, user, asked);
    // A browser sends no credentials when it asks what it may do.
    if (request.method === 'OPTIONS') return asked.next(c, sources, undefined);
    audit?.refused(c, sources, 'authenticationRequired');
    throw new AriError(asked.missing);
  };
  const told = (c: Context<Env>, answer: Response): Response => {
    log.trace({ method: c.req.method, path: c.req.path, status: answer.status }, 'a request is answered');
    return answer;
  };
  const tell = (c: Context<Env>, answer: Answer): Answer => {
    if (!log.enabled('trace')) return answer;
    return answer instanceof Promise ? answer.then((made) => told(c, made)) : told(c, answer);
  };
  return (next, operationOf = noOperation, missing = 'authenticationRequired') =>
    (c) => {
      try {
        requests.name(c);
        const outgoing = c.env?.outgoing;
        // Only an answer that waits for an earlier one has no socket yet.
        if (outgoing && !outgoing.socket && !connections.mayWait(outgoing)) throw new AriError('tooManyPipelined');
        const request = c.req.raw;
        if (needsOrigin(request) && origins.foreign(request)) throw new AriError('foreignOrigin');
        const asked: Admitted = { next, operationOf, missing };
        const body = readBody(request, limits.body, { incoming: c.env?.incoming, text: c.env?.getBody });
        const answer = body ? body.then((read) => admit(c, read, asked)) : admit(c, noBody, asked);
        return tell(c, answer instanceof Promise ? answer.catch((error) => refuse(c, error)) : answer);
      } catch (error) {
        return tell(c, refuse(c, error));
      }
    };
}
