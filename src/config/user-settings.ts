import { Type } from 'typebox';
import { flag, group, list, optional, text, whole } from './setting.ts';

const patterns = (description: string) =>
  optional(list(Type.String({ minLength: 1, maxLength: 200 }), { commaList: true, description }));

const scope = group(
  {
    applications: patterns('Applications that it may register, see and send channels to.'),
    operations: list(Type.String({ minLength: 1, maxLength: 200 }), {
      default: ['*'],
      commaList: true,
      description:
        'Operations that it may use, as the API documents name resources and operations: `channels`, `channels:read`, `channels:change`, `channels:originate`.',
    }),
    contexts: patterns('Contexts of the dialplan that it may send channels to.'),
    endpoints: patterns(
      'Endpoints that it may call, e.g. `PJSIP/alice`, `PJSIP/0049*@provider`, `Local/*@default`. Here a star does not match `/` or `@`.',
    ),
  },
  'Limits of the user; `*` matches any characters. A list that is left out limits nothing. An empty list allows nothing.',
);

/** Someone who may use the interface. */
export const user = group(
  {
    name: Type.String({ minLength: 1, pattern: '^[^:]+$', description: 'User name, without a colon.' }),
    password: optional(text({ description: 'The password in plain text. Set this or `password_hash`.' })),
    password_hash: optional(
      text({ rule: 'passwordHash', description: 'The password as scrypt hash, made by `hookswitch hash`.' }),
    ),
    read_only: flag({ default: false, description: 'Allows only GET and OPTIONS.' }),
    may_register: flag({
      default: false,
      description:
        'Lets a read-only user act as an application: calls enter it, and it takes over a WebSocket of that name. Otherwise its WebSocket only receives events.',
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
        description: 'Addresses and networks that the user may not come from, even if they are allowed.',
      }),
    ),
    channels: optional(
      whole(1, 1_000_000, {
        unit: 'channels',
        description:
          'Live channels that it may have made, at all nodes of a cluster. A Local channel is two. Further requests for one get 409. Left out: no limit.',
      }),
    ),
    scope: optional(scope),
  },
  'A user of the interface.',
);
