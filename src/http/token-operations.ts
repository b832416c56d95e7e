import { AriError } from '../models/errors.ts';
import { formatTimestamp } from '../models/timestamp.ts';
import type { AccessScope, KeptToken, NewToken, Token, Access as WhoAmI } from '../models/token.ts';
import type { TokenSettings, Tokens } from '../stores/tokens.ts';
import { accessOf, notCovered } from './access/access.ts';
import { type OperationName, operationPatternProblem } from './access/scope.ts';
import type { Requester } from './sessions.ts';
import type { HttpUser } from './user.ts';

/** Parameters of a new token; names as the operation has them. */
type TokenRequest = {
  name?: string | undefined;
  /** Its user; default: the requesting user. */
  user?: string | undefined;
  /** How long it is good, in s. */
  expires_in?: number | undefined;
  read_only?: boolean | undefined;
} & { [K in keyof AccessScope]?: string[] | undefined };

/**
 * Token operations. A token never has more rights or a longer life than its maker. A limited user makes tokens only for
 * itself, with all of its limits.
 */
export interface TokenOperations {
  /** All tokens, or only those of a limited user. */
  list(requester: Requester): Token[];
  /** @throws AriError (rejects) tokenNameInvalid, tokenNameTaken, tokenUserUnknown, tokenScopeInvalid, tokenLifetimeInvalid, tooManyTokens, scopeDenied, storageFailed. */
  make(request: TokenRequest, requester: Requester): Promise<NewToken>;
  /** @throws AriError (rejects) tokenNotFound, storageFailed. */
  revoke(name: string, requester: Requester): Promise<void>;
  /** The requesting user and its rights. */
  access(requester: Requester): WhoAmI;
}

type TokenOperationsOptions = {
  tokens: Tokens;
  settings: TokenSettings;
  /** Read at every use. */
  users(): readonly HttpUser[];
  /** Everything that a scope can name. */
  names: readonly OperationName[];
  /** Now, in ms since the Unix epoch. */
  now(): number;
};

/** Default lifetime of a token, in s. */
const usualLifetime = 2_592_000;

const scopeMembers = ['applications', 'operations', 'contexts', 'endpoints'] as const;

const modelOf = ({ name, user, scopes, read_only, created, made_by, expires }: KeptToken): Token => ({
  ...{ name, user, scopes, read_only, made_by },
  created: formatTimestamp(created),
  expires: formatTimestamp(expires),
});

/** The user as a token stands for it. */
export const holderOf = (user: HttpUser, { name, digest, scopes, read_only, expires }: KeptToken): HttpUser => ({
  ...user,
  read_only: user.read_only || read_only,
  token: { name, digest, scopes, expiresAt: expires },
});

/**
 * Whether a token has the name of another user. A browser gets the calls to the name of its token or user. So its holder
 * would get the calls of that user. No such token is made; a user that is added later makes one invalid.
 */
export const hasForeignName = (
  { name, user }: Pick<KeptToken, 'name' | 'user'>,
  users: readonly Pick<HttpUser, 'name'>[],
): boolean => name !== user && users.some((each) => each.name === name);

const isLimited = (user: HttpUser): boolean => user.read_only || accessOf(user).scope !== undefined;

/** Makes what carries out the operations on tokens. */
export function createTokenOperations({
  tokens,
  settings,
  users,
  names,
  now,
}: TokenOperationsOptions): TokenOperations {
  const readRequestedScope = (request: TokenRequest): AccessScope[] => {
    const given = scopeMembers.flatMap((member) => {
      const value = request[member];
      return value === undefined
        ? []
        : [[member, value.map((each) => each.trim()).filter((each) => each !== '')] as const];
    });
    const problem = (request.operations ?? [])
      .map((pattern) => operationPatternProblem(pattern, names))
      .find((each) => each !== undefined);
    if (problem !== undefined) throw new AriError('tokenScopeInvalid', { problem });
    return given.length === 0 ? [] : [Object.fromEntries(given)];
  };
  const lifetimeOf = ({ expires_in: asked }: TokenRequest): number => {
    const seconds = asked ?? Math.min(usualLifetime, settings.longest_lifetime);
    if (seconds < 1 || seconds > settings.longest_lifetime)
      throw new AriError('tokenLifetimeInvalid', { longest: String(settings.longest_lifetime) });
    return seconds * 1000;
  };
  return {
    list: ({ user }) =>
      tokens
        .list()
        .filter((token) => !isLimited(user) || token.user === user.name)
        .map(modelOf),

    async make(request, { user: requester }) {
      const { name = '', user = requester.name, read_only = false } = request;
      if (!/^[\w.@-]{1,64}$/.test(name)) throw new AriError('tokenNameInvalid');
      if (user !== requester.name && isLimited(requester)) throw notCovered(requester, `tokens of '${user}'`);
      if (!users().some((each) => each.name === user)) throw new AriError('tokenUserUnknown', { name: user });
      if (hasForeignName({ name, user }, users())) throw new AriError('tokenNameTaken', { name });
      const scopes = [...((requester.token?.scopes ?? []) as AccessScope[]), ...readRequestedScope(request)];
      const expires = Math.min(now() + lifetimeOf(request), requester.token?.expiresAt ?? Number.POSITIVE_INFINITY);
      const wanted = {
        name,
        user,
        scopes,
        read_only: read_only || requester.read_only,
        made_by: requester.name,
        expires,
      };
      const { secret, token } = await tokens.make(wanted);
      return { token: secret, ...modelOf(token) };
    },

    async revoke(name, { user }) {
      if (isLimited(user) && tokens.get(name)?.user !== user.name) throw new AriError('tokenNotFound');
      await tokens.revoke(name);
    },

    access({ user }) {
      const { mayDo } = accessOf(user);
      const { token, scope } = user;
      return {
        user: user.name,
        ...(token && { token: token.name, expires: formatTimestamp(token.expiresAt) }),
        read_only: user.read_only,
        scopes: [...(scope ? [scope as AccessScope] : []), ...((token?.scopes ?? []) as AccessScope[])],
        operations: names.filter(mayDo).map(({ resource, nickname }) => `${resource}:${nickname}`),
      };
    },
  };
}
