import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';
import { checkOf } from './validator.ts';

/** The answer to a log-in. */
export const LogInSession = model('LogInSession', 'A log-in: a token that stands for name and password for a while.', {
  token: text('Sent as `Authorization: Bearer <token>`. To be kept in memory only.'),
  user: text('Its user.'),
  read_only: Type.Boolean({ description: 'Whether that user may only read.' }),
  expires: Timestamp,
});
export type LogInSession = Static<typeof LogInSession>;

/** A ticket for one WebSocket. */
export const Ticket = model('Ticket', 'A one-time ticket, for the address of a WebSocket.', {
  ticket: text('Sent as the query parameter `ticket`.'),
  expires: Timestamp,
});
export type Ticket = Static<typeof Ticket>;

/** A log-in or a ticket as nodes of a cluster tell each other: without its secret, and without what the user may do. */
const KeptLogIn = Type.Object({
  /** SHA-256 of the secret, in base64. */
  digest: Type.String(),
  user: Type.String(),
  /** Digest of the API token that the user had logged in with. */
  token: Type.Optional(Type.String()),
  /** HMAC of the user, with its password and rights; its key is the secret. So it says nothing to who has not got that. */
  proof: Type.String(),
  /** When it was made and when it ends, in ms since the Unix epoch. */
  opened: Type.Number(),
  expires: Type.Number(),
  /** It was ended: kept until it expires, so that no node that was away brings it back. */
  ended: Type.Optional(Type.Boolean()),
});
export type KeptLogIn = Static<typeof KeptLogIn>;

const keptLogIn = checkOf(KeptLogIn);

/** Whether something that was read is a log-in as it is kept. */
export const isKeptLogIn = (element: unknown): element is KeptLogIn => keptLogIn.fits(element);
