import Type, { type Static } from 'typebox';
import { int, model, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** The protocols with log-ins. */
const logInProtocols = ['sip', 'http'] as const;
export type LogInProtocol = (typeof logInProtocols)[number];

export const Ban = model('Ban', 'An address that gave wrong passwords of late.', {
  address: text('Address, or for IPv6 the network of 64 bits.'),
  attempts: int('Wrong log-ins that count against it.'),
  users: texts('User names that were tried; only the first few are kept.'),
  protocols: Type.Array(Type.Enum([...logInProtocols]), { description: 'Protocols of these log-ins.' }),
  doors: Type.Array(Type.Enum([...logInProtocols]), { description: 'Old name of `protocols`, until 0.3.' }),
  first: Timestamp,
  last: Timestamp,
  ignored_until: Type.Optional(Timestamp),
});
export type Ban = Static<typeof Ban>;

/** What counts against a source. Times are in ms since the Unix epoch. */
export const SavedBan = Type.Object({
  source: Type.String(),
  exempt: Type.Boolean(),
  attempts: Type.Integer({ minimum: 0 }),
  users: Type.Array(Type.Tuple([Type.String(), Type.Integer({ minimum: 0 })])),
  protocols: Type.Array(Type.Enum([...logInProtocols])),
  since: Type.Number(),
  last: Type.Number(),
  ignoredUntil: Type.Optional(Type.Number()),
});
export type SavedBan = Static<typeof SavedBan>;
