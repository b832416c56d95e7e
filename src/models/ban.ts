import Type, { type Static } from 'typebox';
import { int, model, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** The ways in that ask for a password. */
export const doors = ['sip', 'http'] as const;
export type Door = (typeof doors)[number];

/** An address whose log-ins failed of late. */
export const Ban = model('Ban', 'An address that gave wrong passwords of late.', {
  address: text('Address, or for IPv6 the network of 64 bits.'),
  attempts: int('Wrong log-ins that count against it.'),
  users: texts('User names that were tried; only the first few are kept.'),
  doors: Type.Array(Type.Enum([...doors]), { description: 'Where they were tried: sip, http.' }),
  first: Timestamp,
  last: Timestamp,
  ignored_until: Type.Optional(Timestamp),
});
export type Ban = Static<typeof Ban>;
