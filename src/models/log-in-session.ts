import Type, { type Static } from 'typebox';
import { model, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';

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
