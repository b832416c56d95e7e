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

/** How a media thread keeps up. */
export const ThreadLoad = model('ThreadLoad', 'How a media thread keeps up: audio is made every 20 ms.', {
  late: int('Ticks that ran late since the start.'),
  skipped: int('Ticks that were left out since the start.'),
});
export type ThreadLoad = Static<typeof ThreadLoad>;

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
  media_load: Type.Array(ThreadLoad, { description: 'How each media thread keeps up, in their order.' }),
});
export type ServerInfo = Static<typeof ServerInfo>;
