import Type from 'typebox';
import { Access, NewToken, Token } from '../../models/token.ts';
import { operation, pathParam, queryParam, type Resource } from '../operation.ts';

const patterns = (description: string) => queryParam('list', description, { strict: true });

/** Tokens: what stands for users in place of their passwords. */
export const tokens: Resource = {
  name: 'tokens',
  description: 'Tokens: what stands for a user in place of its password, narrower than that, until it expires.',
  operations: [
    operation({
      method: 'GET',
      path: '/tokens',
      nickname: 'list',
      summary: 'List the valid tokens. A scoped user sees its own.',
      owner: 'tokens',
      returns: Type.Array(Token),
      handle: (tokens, _params, requester) => tokens.list(requester),
    }),
    operation({
      method: 'POST',
      path: '/tokens',
      nickname: 'make',
      summary: 'Make a token.',
      notes:
        "A limited user (by a scope, a token or read-only) makes tokens only for itself. They may not exceed its rights or its token's lifetime.",
      owner: 'tokens',
      params: {
        name: queryParam('string', 'Name for revoking it: up to 64 letters, digits, `.`, `-`, `_` and `@`.', {
          required: true,
          strict: true,
        }),
        user: queryParam('string', 'Its user; default: the requesting user.', { strict: true }),
        expires_in: queryParam(
          'int',
          'How long it is good, in s; at most `http.tokens.longest_lifetime`, and 30 days when left out.',
          {
            min: 1,
            strict: true,
          },
        ),
        read_only: queryParam('boolean', 'It may only read.', { default: false, strict: true }),
        applications: patterns('Applications that it is limited to.'),
        operations: patterns('Operations that it is limited to.'),
        contexts: patterns('Contexts that it is limited to.'),
        endpoints: patterns('Endpoints that it may call.'),
      },
      returns: NewToken,
      errors: [
        'tokenNameInvalid',
        'tokenNameTaken',
        'tokenUserUnknown',
        'tokenScopeInvalid',
        'tokenLifetimeInvalid',
        'tooManyTokens',
        'storageFailed',
      ],
      handle: (tokens, request, requester) => tokens.make(request, requester),
    }),
    operation({
      method: 'DELETE',
      path: '/tokens/{tokenName}',
      nickname: 'revoke',
      summary: 'Revoke a token. Its connections are closed.',
      owner: 'tokens',
      params: { tokenName: pathParam('Name of the token.') },
      errors: ['tokenNotFound', 'storageFailed'],
      handle: (tokens, { tokenName }, requester) => tokens.revoke(tokenName, requester),
    }),
    operation({
      method: 'GET',
      path: '/access',
      nickname: 'access',
      summary: 'The requesting user, and its rights.',
      owner: 'tokens',
      everyone: true,
      returns: Access,
      handle: (tokens, _params, requester) => tokens.access(requester),
    }),
  ],
};
