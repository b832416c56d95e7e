import Type, { type Static, type TArray, type TSchema } from 'typebox';
import type { AriErrorCode } from '../models/errors.ts';
import type { Owners } from './deps.ts';
import type { FileAnswer } from './file-answers.ts';
import type { TextAnswer } from './responses.ts';
import type { Requester } from './sessions.ts';

/** HTTP methods that operations have, in the order `Allow` lists them. */
export const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type Method = (typeof methods)[number];

/** How a parameter is read; see {@link ./parameters.ts}. */
type ParamType = 'string' | 'int' | 'long' | 'boolean' | 'list' | 'object';

/** One parameter of an operation. */
export type Param = {
  in: 'path' | 'query' | 'body';
  type: ParamType;
  description: string;
  /** Documented only: which refusal a missing one gets, and when, is the owner's decision. */
  required?: boolean;
  /** Documented only: the owner knows its default. */
  default?: string | number | boolean;
  /** Documented only: the owner knows which words it takes. */
  allowed?: readonly string[];
  /** Smallest number accepted; below it is 400. */
  min?: number;
  /** Other names that the parameter may come by. */
  aliases?: readonly string[];
  /** A JSON value of another type is 400. Without it such a value counts as left out, as in Asterisk. */
  strict?: true;
  /** Of our own: the Swagger documents, which old clients make their code of, leave it out. */
  own?: true;
  /** The parameter is the body itself, JSON or SDP, not a member of it. */
  whole?: true;
  /** The kind of object that it names, which the user's scope must cover. */
  names?: Named;
  /** The id of a new object under this path: reserved words are refused. */
  newIn?: `/${string}`;
  /** The id or name that the client chooses for a new object of this kind. */
  creates?: Exclude<ThingNamed, 'call'>;
  /** Private content: digits, texts, values. It is never logged. */
  hidden?: true;
};

/**
 * Kinds of objects that parameters name. Existing ones: `channel`, `bridge`, `playback`, `recording` (a live one),
 * `call`, `eventSource`. Others: `application`, `context` of the dialplan, `endpoint` to call, `server` to exchange
 * audio with, `media` to play, `variable` or function, `variables`.
 */
export type Named =
  | ThingNamed
  | 'application'
  | 'context'
  | 'endpoint'
  | 'server'
  | 'media'
  | 'variable'
  | 'variables'
  | 'eventSource';
export type ThingNamed = 'channel' | 'bridge' | 'playback' | 'recording' | 'call';

export type Params = Readonly<Record<string, Param>>;

type Values = { string: string; int: number; long: number; boolean: boolean; list: string[]; object: unknown };
type PathNames<S extends Params> = { [K in keyof S]: S[K]['in'] extends 'path' ? K : never }[keyof S];

/** Parameters of a handler: path variables always, others if the client sent them. */
type ParamsOf<S extends Params> = { [K in PathNames<S>]: string } & {
  [K in Exclude<keyof S, PathNames<S>>]?: Values[S[K]['type']];
};

/** Paths of an operation: one, or several with the same meaning; `{name}` is a path variable. */
type Paths = `/${string}` | readonly [`/${string}`, ...`/${string}`[]];

/** The answer of a handler; the items of a list may be made when they are sent. */
type Answer<R extends TSchema> = R extends TArray<infer Item> ? Iterable<Static<Item>> : Static<R>;
// biome-ignore lint/suspicious/noConfusingVoidType: what a handler without an answer returns
type Result<R extends TSchema | undefined> = R extends TSchema ? Answer<R> : void;

/** An operation as it is declared; routing, parameters, checks and documents follow from it. */
type OperationSpec<K extends keyof Owners, S extends Params, R extends TSchema | undefined> = {
  method: Method;
  path: Paths;
  /** Name of the operation, unique in its resource; client libraries make it a method. */
  nickname: string;
  summary: string;
  notes?: string;
  /** The owner that carries it out. Without it the operation does not exist. */
  owner: K;
  params?: S;
  /** The answer's model; left out: no content. */
  returns?: R;
  /** Status of success; 200 with an answer and 204 without unless said otherwise. */
  status?: 200 | 201 | 202 | 204;
  /** Path of the new object, for `Location` (201). */
  location?(result: Result<R>): string;
  /** Its errors, besides those of every request. */
  errors?: readonly AriErrorCode[];
  /** `nothing`: allowed to read-only users with any method. Left out: GET changes nothing, others do. */
  changes?: 'nothing';
  /** Allowed to every authenticated user in any scope. */
  everyone?: true;
  handle(owner: Owners[K], params: ParamsOf<S>, requester: Requester): Result<R> | Promise<Result<R>>;
};

/** An operation, its types forgotten. */
export type Operation = {
  readonly method: Method;
  /** Name of its resource; empty as long as it is in none. */
  readonly resource: string;
  readonly paths: readonly string[];
  readonly nickname: string;
  readonly summary: string;
  readonly notes: string | undefined;
  readonly owner: keyof Owners;
  readonly params: Params;
  readonly returns: TSchema | undefined;
  readonly status: number;
  readonly errors: readonly AriErrorCode[];
  /** Set on the one operation that becomes a WebSocket; it has no handler of this kind. */
  readonly upgrade: boolean;
  /** Set where the answer is a file: `handle` gives a {@link FileAnswer}. */
  readonly file: boolean;
  /** Type of an answer that is text: `handle` gives a {@link TextAnswer}. */
  readonly content: string | undefined;
  /** Set where the answer is a list: `handle` gives its items, which may be made when they are sent. */
  readonly isList: boolean;
  /** Whether read-only users may use it: its verb is `read`, else `change`. */
  readonly changesNothing: boolean;
  /** Whether it is covered by every scope. */
  readonly everyone: boolean;
  location(result: unknown): string | undefined;
  handle(owner: unknown, params: Record<string, unknown>, requester: Requester): unknown;
};

/** Declares an operation. This is the only way a route comes to be. */
export function operation<
  K extends keyof Owners,
  const S extends Params = Record<never, never>,
  R extends TSchema | undefined = undefined,
>(spec: OperationSpec<K, S, R>): Operation {
  return {
    method: spec.method,
    resource: '',
    paths: typeof spec.path === 'string' ? [spec.path] : spec.path,
    nickname: spec.nickname,
    summary: spec.summary,
    notes: spec.notes,
    owner: spec.owner,
    params: spec.params ?? {},
    returns: spec.returns,
    status: spec.status ?? (spec.returns ? 200 : 204),
    errors: spec.errors ?? [],
    upgrade: false,
    file: false,
    content: undefined,
    isList: spec.returns !== undefined && 'items' in spec.returns,
    changesNothing: spec.changes === 'nothing' || spec.method === 'GET',
    everyone: spec.everyone === true,
    location: (result) => spec.location?.(result as Result<R>),
    handle: (owner, params, requester) => spec.handle(owner as Owners[K], params as ParamsOf<S>, requester),
  };
}

/** Declares the operation that turns the connection into a WebSocket; `events-socket.ts` carries it out. */
export function upgradeOperation(
  spec: Pick<OperationSpec<keyof Owners, Params, TSchema>, 'path' | 'nickname' | 'summary' | 'owner' | 'errors'> & {
    notes?: string;
    params: Params;
    returns: TSchema;
  },
): Operation {
  const handle = () => undefined;
  return { ...operation({ ...spec, method: 'GET', handle: handle as never }), upgrade: true };
}

/** The document's model of a file as answer. */
const binary = Type.String({ $id: 'binary', format: 'binary', description: 'The bytes of a file.' });

/** Declares an operation whose answer is a file, or a range of its bytes. */
export function fileOperation<K extends keyof Owners, const S extends Params>(
  spec: Omit<OperationSpec<K, S, undefined>, 'method' | 'returns' | 'status' | 'location' | 'handle'> & {
    handle(owner: Owners[K], params: ParamsOf<S>, requester: Requester): Promise<FileAnswer>;
  },
): Operation {
  return {
    ...operation({ ...spec, method: 'GET', handle: spec.handle as never }),
    returns: binary,
    status: 200,
    file: true,
  };
}

/** The document's model of a text as answer. */
const plainText = Type.String({ $id: 'text', description: 'The text.' });

/** Declares an operation whose answer is a text of some type, such as SDP. */
export function textOperation<K extends keyof Owners, const S extends Params>(
  spec: Omit<OperationSpec<K, S, undefined>, 'returns' | 'location' | 'handle'> & {
    /** Type of the text. */
    content: string;
    handle(owner: Owners[K], params: ParamsOf<S>, requester: Requester): Promise<TextAnswer>;
  },
): Operation {
  return { ...operation({ ...spec, handle: spec.handle as never }), returns: plainText, content: spec.content };
}

/** A resource: the operations that one file of the API documents describes. */
export type Resource = {
  readonly name: string;
  readonly description: string;
  /** Modules that clients of Asterisk expect a server to name. */
  readonly requiresModules?: readonly string[];
  readonly operations: readonly Operation[];
};

/** Resources whose operations know where they belong: a scope names them by that. */
export const inResources = (resources: readonly Resource[]): readonly Resource[] =>
  resources.map((resource) => ({
    ...resource,
    operations: resource.operations.map((each) => ({ ...each, resource: resource.name })),
  }));

/** A family of operations under one base path, with documents of its own. */
export type Api = {
  /** The prefix of all its paths, e.g. `/ari`. */
  readonly base: `/${string}`;
  readonly title: string;
  readonly description: string;
  /** Version of the description. */
  readonly version: string;
  readonly resources: readonly Resource[];
};

/** A path variable. */
export const pathParam = (description: string, names?: Named) =>
  ({ in: 'path', type: 'string', required: true, description, ...(names && { names }) }) as const;

/** Ids of new channels, whose operations are found under `/channels/<id>`. */
export const newChannel = { newIn: '/channels', creates: 'channel' } as const;

/** A parameter of the query; also accepted in a form or JSON body. */
export const queryParam = <const T extends ParamType, const O extends Omit<Param, 'in' | 'type' | 'description'>>(
  type: T,
  description: string,
  options?: O,
) => ({ in: 'query' as const, type, description, ...options }) as { in: 'query'; type: T; description: string } & O;

/** A member of the JSON body, handed on as the client sent it. */
export const bodyParam = (
  description: string,
  options: { required?: boolean; whole?: true; own?: true; names?: 'variables' } = {},
) => ({ in: 'body', type: 'object', description, ...options }) as const;
