import Type, { type Static } from 'typebox';
import { flag, model, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';
import { checkOf } from './validator.ts';

const patterns = (description: string) => Type.Optional(texts(description));

/** Limits of a user or token; as `http.users[].scope` of the configuration. */
export const AccessScope = model('AccessScope', 'Limits of a user or token. A list that is left out limits nothing.', {
  applications: patterns('Applications to be, to look at and to send channels to; `*` stands for any letters.'),
  operations: patterns('`resource`, `resource:read`, `resource:change`, `resource:operation`.'),
  contexts: patterns('Contexts of the dialplan that channels may be sent to.'),
  endpoints: patterns('Endpoints that may be called; `*` does not match `/` or `@`.'),
});
export type AccessScope = Static<typeof AccessScope>;

const token = {
  name: text('Name for revoking it.'),
  user: text('Its user.'),
  scopes: Type.Array(AccessScope, { description: "Scopes that limit it besides the user's own; all apply." }),
  read_only: flag('Whether it may only read.'),
  created: Timestamp,
  made_by: text('The user that made it.'),
  expires: Timestamp,
};

/** A token, without what stands for it. */
export const Token = model('Token', 'A token that represents a user until it expires or is revoked.', token);
export type Token = Static<typeof Token>;

export const NewToken = model('NewToken', 'A token that was just made.', {
  token: text('Given in place of the password, or as `Authorization: Bearer`. It is shown this once.'),
  ...token,
});
export type NewToken = Static<typeof NewToken>;

/** A stored token: only its digest. */
const KeptToken = Type.Object({
  name: Type.String(),
  user: Type.String(),
  /** SHA-256 of the token, in base64. */
  digest: Type.String(),
  /** Scopes that limit it besides its user's; all apply. */
  scopes: Type.Array(AccessScope),
  read_only: Type.Boolean(),
  made_by: Type.String(),
  /** When it was made and when it ends, in ms since the Unix epoch. */
  created: Type.Number(),
  expires: Type.Number(),
  /** It was revoked: kept until it expires, so that no node of a cluster that was away brings it back. */
  revoked: Type.Optional(Type.Boolean()),
});
export type KeptToken = Static<typeof KeptToken>;

const keptToken = checkOf(KeptToken);

/** Whether something that was read is a token as it is kept. */
export const isKeptToken = (element: unknown): element is KeptToken => keptToken.fits(element);

/** The requesting user, and its rights. */
export const Access = model('Access', 'The requesting user, and its rights.', {
  user: text('The user.'),
  token: Type.Optional(text('Name of the token that it came with.')),
  read_only: flag('Whether it may only read.'),
  scopes: Type.Array(AccessScope, { description: 'Its scopes; all apply.' }),
  operations: texts('Its operations, as `resource:operation`.'),
  expires: Type.Optional(Timestamp),
});
export type Access = Static<typeof Access>;
