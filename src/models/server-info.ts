import Type, { type Static } from 'typebox';
import { int, model, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** A place where SIP is spoken. */
export const SipListener = model('SipListener', 'A place where SIP is spoken.', {
  protocol: text('udp, tcp, tls, ws or wss.'),
  host: text('Address that it listens on.'),
  port: int('Port.'),
});
export type SipListener = Static<typeof SipListener>;

/** What the server is, and where phones reach it. */
export const ServerInfo = model('ServerInfo', 'The server: what it is, and where phones reach it.', {
  name: text('Name of the program.'),
  version: text('Its version.'),
  started: Timestamp,
  sip: Type.Array(SipListener),
  listening: Type.Enum(['nobody', 'operators', 'everyone'], {
    description: 'Who may listen to calls: users who may also act, those who may only look as well, or nobody.',
  }),
  media_threads: Type.Array(Type.Integer(), { description: 'Audio sessions of each media thread, in their order.' }),
});
export type ServerInfo = Static<typeof ServerInfo>;
