import { Type } from 'typebox';
import { flag, group, list, optional, text } from './setting.ts';

const patterns = (description: string) =>
  optional(list(Type.String({ minLength: 1, maxLength: 200 }), { commaList: true, description }));

const scope = group(
  {
    applications: patterns('Applications that it may be, look at and send channels to.'),
    operations: list(Type.String({ minLength: 1, maxLength: 200 }), {
      default: ['*'],
      commaList: true,
      description:
        'What it may do: `channels`, `channels:read`, `channels:change`, `channels:originate`, as the API documents name resources and operations.',
    }),
    contexts: patterns('Contexts of the dialplan that it may send channels to.'),
    endpoints: patterns(
      'What it may call, e.g. `PJSIP/alice`, `PJSIP/0049*@provider`, `Local/*@default`; a star stands for no `/` and no `@`.',
    ),
  },
  'What the user is limited to; `*` stands for any letters. What is left out limits nothing, an empty list lets nothing through.',
);

/** Someone who may use the interface. */
export const user = group(
  {
    name: Type.String({ minLength: 1, pattern: '^[^:]+$', description: 'The user name; holds no colon.' }),
    password: optional(text({ description: 'The password as it is. Give this or `password_hash`.' })),
    password_hash: optional(
      text({ rule: 'passwordHash', description: 'The password as scrypt hash, made by `hookswitch hash`.' }),
    ),
    read_only: flag({ default: false, description: 'The user may look (GET, OPTIONS) but change nothing.' }),
    may_register: flag({
      default: false,
      description:
        'A read-only user may be an application all the same: calls enter it, and it takes over a WebSocket of that name. Otherwise its WebSocket only hears events.',
    }),
    allowed_addresses: optional(
      list(Type.String({ rule: 'network' }), {
        commaList: true,
        description: 'Addresses and networks that the user may come from. Left out: anywhere.',
      }),
    ),
    denied_addresses: optional(
      list(Type.String({ rule: 'network' }), {
        commaList: true,
        description: 'Those that it may not come from, even if they are allowed.',
      }),
    ),
    scope: optional(scope),
  },
  'Someone who may use the interface.',
);
