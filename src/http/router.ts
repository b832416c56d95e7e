import type { Context } from 'hono';
import type { TSchema } from 'typebox';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { onFirstUse } from '../lib/on-first-use.ts';
import { AriError, type AriErrorCode } from '../models/errors.ts';
import { checkOf } from '../models/validator.ts';
import { createGuards, type Guard } from './access/guard.ts';
import type { Deps } from './deps.ts';
import type { AppDeps, Env, HttpOptions } from './env.ts';
import type { FileAnswer } from './file-answers.ts';
import { headerOf } from './idempotency.ts';
import { createStateCheck, type StateCheck } from './if-state.ts';
import { type Method, methods, type Operation } from './operation.ts';
import { createParamReader, type ParamReader, type Sources } from './parameters.ts';
import { putReason, type Responder, type TextAnswer, toRefusal } from './responses.ts';
import type { Requester } from './sessions.ts';

/** Refusals that any request may meet; operations do not declare them. */
const commonErrors: ReadonlySet<AriErrorCode> = new Set<AriErrorCode>([
  'requestBodyTooLarge',
  'requestBodyInvalid',
  'authenticationRequired',
  'writeAccessDenied',
  'scopeDenied',
  'addressDenied',
  'resourceNotFound',
  'parameterInvalid',
  'tooManyValues',
  'internalServerError',
  'limitReached',
  'foreignOrigin',
  'tooManyLogIns',
  'tooManyPipelined',
  'serviceTimeout',
  'serviceUnavailable',
  'serverDrained',
  'serverIsolated',
  'tooManyChannels',
  'tooManyOfUser',
  'idempotencyKeyInvalid',
  'idempotencyKeyReused',
  'idempotencyKeyBusy',
  'ifStateUnsupported',
  'ifStateInvalid',
  'stateDiffers',
]);

type RouterDeps = {
  owners: Deps;
  responder: Responder;
  clock: Clock;
  log: Logger;
  /** Check answers against their models, and refusals against what was declared. */
  validate: boolean;
  refusalForm: HttpOptions['refusalForm'];
  changes?: AppDeps['changes'];
  /** How long an operation may take, in s: asked at each one. */
  limits: Pick<HttpOptions['limits'], 'answer_timeout'>;
};

/**
 * Whether the whole answer leaves when what the request has changed is written (`waitingAnswer` in `server.ts`). Answers that
 * begin earlier, or go over no connection of HTTP, are made behind it. One that is kept for a repetition is written with it.
 */
const waitsAtItsEnd = ({ isList, file, content }: Operation, c: Context<Env>): boolean =>
  (c.env?.outgoing !== undefined && !(isList || file || content !== undefined)) ||
  (c.req.method !== 'GET' && headerOf(c, 'idempotency-key') !== undefined);

/** One path and its operations. */
export type Route = {
  /** As declared, e.g. `/channels/{channelId}`. */
  path: string;
  /** For `Allow`: OPTIONS and the methods there are. */
  verbs: string;
  /** Carries out a request; for a method that is not there it refuses with 405. */
  run(c: Context, sources: Sources, requester: Requester): Response | Promise<Response>;
  /** The operation of a method; undefined if there is none. */
  operationOf(method: string): Operation | undefined;
};

type Prepared = {
  operation: Operation;
  owner: unknown;
  names: readonly string[];
  /** The steps of a request, created by the first one. */
  steps(): Steps;
};
type Steps = { read: ParamReader; check: Check; guard: Guard; stateCheck: StateCheck };
type Check = ((value: unknown) => string | undefined) | undefined;

const variable = /\{(\w+)\}/g;

/** A check that tells the first place where a value is not as its schema says. It is compiled when it is first used. */
export function createCheck(schema: TSchema): (value: unknown) => string | undefined {
  const { fits, problems } = checkOf(schema);
  return (value) => (fits(value) ? undefined : (problems(value)[0] ?? '/ does not match'));
}

const isVariable = (segment: string | undefined): boolean => segment?.startsWith('{') === true;

/** Literal segments come before variable ones, so that `/channels/create` is no channel's id. */
function byLiteralsFirst(one: string, other: string): number {
  const ones = one.split('/');
  const others = other.split('/');
  for (let at = 0; at < Math.min(ones.length, others.length); at++) {
    const difference = Number(isVariable(ones[at])) - Number(isVariable(others[at]));
    if (difference !== 0) return difference;
  }
  return ones.length - others.length;
}

/**
 * Literals beside a variable in operations' paths, by the path before them: `/channels` has `create`. An object with
 * such an id could not be reached.
 */
export function fixedWords(operations: readonly Operation[]): ReadonlyMap<string, ReadonlySet<string>> {
  const paths = operations.flatMap((each) => each.paths.map((path) => path.split('/')));
  const before = (segments: readonly string[], at: number): string => segments.slice(0, at).join('/');
  const withVariable = new Set(
    paths.flatMap((path) => path.flatMap((segment, at) => (isVariable(segment) ? [before(path, at)] : []))),
  );
  const words = new Map<string, Set<string>>();
  for (const path of paths)
    for (const [at, segment] of path.entries())
      if (at > 0 && !isVariable(segment) && withVariable.has(before(path, at)))
        words.set(before(path, at), (words.get(before(path, at)) ?? new Set()).add(segment));
  return words;
}

/** The routes of the operations whose owner exists, in the order they must be matched. */
export function createRoutes(operations: readonly Operation[], deps: RouterDeps): Route[] {
  const guardOf = createGuards(deps.owners);
  const fixed = fixedWords(operations);
  const byPath = new Map<string, Map<Method, Prepared>>();
  for (const operation of operations) {
    const owner = deps.owners[operation.owner];
    if (owner === undefined) continue;
    for (const path of operation.paths) {
      const here = byPath.get(path) ?? new Map<Method, Prepared>();
      if (here.has(operation.method)) throw new Error(`${operation.method} ${path} is declared twice`);
      here.set(
        operation.method,
        prepare({ operation, path, owner, owners: deps.owners, guardOf, fixed, validate: deps.validate }),
      );
      byPath.set(path, here);
    }
  }
  return [...byPath.keys()].sort(byLiteralsFirst).map((path) => routeOf(path, byPath.get(path) ?? new Map(), deps));
}

type Declared = {
  operation: Operation;
  path: string;
  owner: unknown;
  owners: Deps;
  guardOf: ReturnType<typeof createGuards>;
  fixed: ReadonlyMap<string, ReadonlySet<string>>;
  validate: boolean;
};

function prepare({ operation, path, owner, owners, guardOf, fixed, validate }: Declared): Prepared {
  const names = [...path.matchAll(variable)].map(([, name]) => name as string);
  const undeclared = names.find((name) => operation.params[name]?.in !== 'path');
  // An alias may put into the path what the main path takes from the query, but nothing unknown.
  if (undeclared !== undefined) throw new Error(`${path} has the variable ${undeclared}, which is not declared`);
  const make = (): Steps => ({
    read: createParamReader(operation.params, fixed),
    guard: guardOf(operation),
    stateCheck: createStateCheck(operation, owners),
    check:
      validate && operation.returns && !operation.file && operation.content === undefined
        ? createCheck(operation.returns)
        : undefined,
  });
  return { operation, owner, names, steps: onFirstUse(make) };
}

function routeOf(path: string, here: Map<Method, Prepared>, deps: RouterDeps): Route {
  const present = methods.filter((method) => here.has(method) && !here.get(method)?.operation.upgrade);
  const verbs = ['OPTIONS', ...present].join(',');
  const run = createRunner(deps);
  return {
    path,
    verbs,
    operationOf: (method) => here.get(method as Method)?.operation,
    run: (c, sources, requester) => {
      const prepared = here.get(c.req.method as Method);
      if (prepared) return run(prepared, c, sources, requester);
      return deps.responder.refusal(c.req.raw, new AriError('methodInvalid'), { Allow: verbs });
    },
  };
}

function createRunner({ responder, clock, log, validate, refusalForm, limits, changes }: RouterDeps) {
  /** The promise's outcome, or a refusal naming the operation when it takes too long. */
  const inTime = <T>(promise: Promise<T>, service: string): Promise<T> =>
    new Promise((resolve, reject) => {
      const late = () => reject(new AriError('serviceTimeout', { service }));
      const timer = clock.setTimeout(late, limits.answer_timeout * 1000);
      promise.then(resolve, reject).finally(() => clock.clearTimeout(timer));
    });

  const succeed = (prepared: Prepared, c: Context, answer: unknown): Response => {
    const { operation, steps } = prepared;
    const { check } = steps();
    if (changes && !waitsAtItsEnd(operation, c)) changes.commit();
    const request = c.req.raw;
    if (operation.file) return sendFile(prepared, c, answer as FileAnswer);
    if (operation.content !== undefined) return responder.text(request, answer as TextAnswer);
    const result = check && operation.isList ? [...(answer as Iterable<unknown>)] : answer;
    const wrong = check?.(result);
    if (wrong !== undefined) {
      log.error({ operation: operation.nickname, wrong }, 'answer does not match its model');
      return responder.refusal(request, new AriError('responseValidationFailed'));
    }
    if (!operation.returns) return responder.empty(request, operation.status);
    if (operation.isList) return responder.list(request, operation.status, result as Iterable<unknown>);
    const location = operation.location(result);
    return responder.json(
      request,
      operation.status,
      result,
      location === undefined ? undefined : { Location: location },
    );
  };

  const sendFile = (prepared: Prepared, c: Context, file: FileAnswer): Response => {
    // A WebSocket carries JSON: it gets another answer, so the file is not read.
    if ((c.env as { overWebSocket?: true } | undefined)?.overWebSocket)
      return new Response('-', { headers: { 'Content-Type': 'application/octet-stream' } });
    try {
      return responder.file(c.req.raw, file);
    } catch (error) {
      return fail(prepared, c, error);
    }
  };

  const fail = ({ operation }: Prepared, c: Context, error: unknown): Response => {
    const request = c.req.raw;
    const own = toRefusal(error);
    const refusal = refusalForm(own, operation.errors);
    const { nickname } = operation;
    if (own !== error) log.error({ operation: nickname, error }, 'operation failed');
    if (!validate || commonErrors.has(refusal.code) || operation.errors.includes(refusal.code)) {
      putReason(c, refusal);
      return responder.refusal(request, refusal);
    }
    log.error({ operation: nickname, code: refusal.code }, 'operation refused with an error that it does not declare');
    return responder.refusal(request, new AriError('undeclaredError', { operation: nickname, code: refusal.code }));
  };

  return (prepared: Prepared, c: Context, sources: Sources, requester: Requester): Response | Promise<Response> => {
    try {
      const path: Record<string, string> = {};
      for (const name of prepared.names) path[name] = c.req.param(name) ?? '';
      const { operation, owner, steps } = prepared;
      const { guard, read, stateCheck } = steps();
      const params = read(path, sources);
      const assumed = headerOf(c, 'if-state');
      const result = guard.perform(requester, params, () => {
        if (assumed !== undefined) stateCheck(assumed, params);
        return operation.handle(owner, params, requester);
      });
      if (!(result instanceof Promise)) return succeed(prepared, c, result);
      return inTime(result, prepared.operation.nickname).then(
        (value) => succeed(prepared, c, value),
        (error) => fail(prepared, c, error),
      );
    } catch (error) {
      return fail(prepared, c, error);
    }
  };
}
