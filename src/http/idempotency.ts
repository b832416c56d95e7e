import { hash } from 'node:crypto';
import type { Context } from 'hono';
import { AriError, type AriErrorCode } from '../models/errors.ts';
import type { KeptAnswer } from '../models/kept-answer.ts';
import type { KeptAnswers } from '../stores/kept-answers.ts';
import type { OperationName } from './access/scope.ts';
import type { Env } from './env.ts';
import type { Sources } from './parameters.ts';
import { requestId, withoutSecrets } from './requests.ts';
import { refusalOf } from './responses.ts';
import type { HttpUser } from './user.ts';

type Answer = Response | Promise<Response>;

/** Carries out a request that has an `Idempotency-Key` once, and answers its repetitions with the first answer. */
export interface Idempotency {
  /**
   * Calls `run` at once for a request without the header. @throws AriError idempotencyKeyInvalid (400), idempotencyKeyReused
   * (422, the key came with another request), idempotencyKeyBusy (409, the first request is under way).
   */
  once(c: Context<Env>, asked: Asked, run: () => Answer): Answer;
}

/** A request that was let in. */
type Asked = { user: HttpUser; operation: OperationName; sources: Sources };

const keyHeader = 'idempotency-key';
/** The draft has a quoted string (RFC 8941); most clients send the bare text. */
const keyForm = /^(?:"([\x21\x23-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255}))$/;

/** Refusals that changed nothing and may be another the next time: they are not kept. */
const passing: ReadonlySet<AriErrorCode> = new Set([
  'authenticationRequired',
  'writeAccessDenied',
  'scopeDenied',
  'addressDenied',
  'limitReached',
  'tooManyTokens',
  'tooManyLogIns',
  'tooManyPipelined',
  'storageFailed',
  'serviceUnavailable',
  'serverDrained',
  'serverIsolated',
  'tooManyChannels',
  'tooManyOfUser',
] satisfies AriErrorCode[]);

/** Resources whose answers hold secrets: these are never written to the disk. */
const privateResources: ReadonlySet<string> = new Set(['sessions', 'tokens']);

/** A header of a request; Node has read them already where it came over a socket. */
export function headerOf(c: Context<Env>, name: string): string | undefined {
  const incoming = c.env?.incoming;
  const value = incoming ? incoming.headers[name] : (c.req.raw.headers.get(name) ?? undefined);
  return Array.isArray(value) ? value.join(', ') : value;
}

/** The key of a request, told apart from those of other tokens; undefined if it has none. @throws AriError idempotencyKeyInvalid */
export function keyOf(c: Context<Env>, user: HttpUser): string | undefined {
  const header = headerOf(c, keyHeader);
  const { method } = c.req;
  if (header === undefined || method === 'GET' || method === 'OPTIONS' || method === 'HEAD') return undefined;
  const [, quoted, bare] = keyForm.exec(header.trim()) ?? [];
  const text = quoted ?? bare;
  if (text === undefined) throw new AriError('idempotencyKeyInvalid');
  // Tokens of one user can have different scopes, so none gets the answer of another.
  return user.token ? `${user.token.name} ${text}` : text;
}

/** What makes a request the same as another: its operation, path, parameters and body. */
function printOf(c: Context<Env>, operation: OperationName, { form, json }: Sources): string {
  const { method, url } = c.req.raw;
  const question = url.indexOf('?');
  const query = question < 0 ? '' : withoutSecrets(url.slice(question + 1));
  // Not the host: a repetition may come by another node, or by another name of this server.
  const path = url.slice(url.indexOf('/', url.indexOf('//') + 2), question < 0 ? undefined : question);
  const whole = [operation.resource, operation.nickname, method, path, query, form ? [...form] : null, json ?? null];
  return hash('sha256', JSON.stringify(whole), 'base64');
}

type Reserved = { user: string; key: string; isPrivate: boolean };

const emptyStatus: ReadonlySet<number> = new Set([204, 205, 304]);

/** @param answers those that are kept. */
export function createIdempotency(answers: KeptAnswers): Idempotency {
  const given = (c: Context<Env>, { status, reason, headers, body }: KeptAnswer, repeated: boolean): Response => {
    const id = requestId(c.req.raw);
    const outgoing = c.env?.outgoing;
    if (reason !== undefined && outgoing) outgoing.statusMessage = reason;
    return new Response(emptyStatus.has(status) ? null : body, {
      status,
      ...(reason !== undefined && { statusText: reason }),
      headers: {
        ...headers,
        ...(id !== undefined && { 'X-Request-Id': id }),
        ...(repeated && { 'Idempotency-Replayed': 'true' }),
      },
    });
  };

  /** Carries a request out whose key is reserved. */
  const carryOut = async (c: Context<Env>, { user, key, isPrivate }: Reserved, run: () => Answer) => {
    let response: Response;
    try {
      response = await run();
    } catch (error) {
      answers.release(user, key);
      throw error;
    }
    const refused = refusalOf(response);
    if (refused !== undefined && passing.has(refused)) {
      answers.release(user, key);
      return response;
    }
    const { 'x-request-id': _own, ...headers } = Object.fromEntries(response.headers);
    const reason = c.env?.outgoing?.statusMessage || response.statusText || undefined;
    const { status } = response;
    const answer = { status, headers, body: await response.text(), ...(reason !== undefined && { reason }) };
    await answers.keep(user, key, answer, isPrivate);
    return given(c, answer, false);
  };

  return {
    once(c, { user, operation, sources }, run) {
      const key = keyOf(c, user);
      if (key === undefined) return run();
      const state = answers.begin(user.name, key, printOf(c, operation, sources));
      if (state === 'other') throw new AriError('idempotencyKeyReused');
      if (state === 'running') throw new AriError('idempotencyKeyBusy');
      if (state !== 'new') return given(c, state, true);
      return carryOut(c, { user: user.name, key, isPrivate: privateResources.has(operation.resource) }, run);
    },
  };
}
