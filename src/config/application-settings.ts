import { Type } from 'typebox';
import { longestApplicationName } from '../models/application.ts';
import { choice, flag, group, list, named, number, text, whole } from './setting.ts';

const application = group(
  {
    url: text({
      rule: 'webSocketUrl',
      description:
        "URL of the program's WebSocket server, e.g. wss://10.0.0.9:9000/ari. Over wss its certificate is checked against tls.authorities.",
    }),
    type: choice(['persistent', 'per_call'], {
      default: 'persistent',
      description:
        'persistent: one WebSocket that stays open. per_call: one for each call that enters an unregistered application, which is then named `<application>:<channel name>`.',
    }),
    apps: list(
      Type.String({
        minLength: 1,
        pattern: `^[^,\\s](?:[^,]{0,${longestApplicationName - 2}}[^,\\s])?$`,
        description: `expected 1 to ${longestApplicationName} characters without a comma`,
      }),
      {
        minItems: 1,
        commaList: true,
        description: 'Applications of this connection. Each may appear in only one connection.',
      },
    ),
    local_user: text({ description: 'User of http.users whose rights the program has on the WebSocket.' }),
    local_token: text({
      default: '',
      description:
        "A token of local_user (`hookswitch token make`) that limits the program to its rights while it is valid. Empty: the user's rights.",
    }),
    subscribe_all: flag({ default: false, description: 'Subscribes the applications to all events.' }),
    protocols: list(Type.String({ rule: 'token' }), {
      default: ['ari'],
      commaList: true,
      description: 'WebSocket sub-protocols offered to the program.',
    }),
    username: text({ default: '', description: 'User name sent to the program. Empty: none.' }),
    password: text({ default: '', description: 'Password sent with it.' }),
    token: text({
      default: '',
      description: 'Bearer token sent instead (`Authorization: Bearer`). Empty: none.',
    }),
    connection_timeout: number(0.01, 60, {
      default: 0.5,
      unit: 's',
      description: 'Time limit for one attempt to connect.',
    }),
    reconnect_interval: number(0.01, 3_600, {
      default: 0.5,
      unit: 's',
      description: 'Pause between attempts.',
    }),
    reconnect_attempts: whole(0, 1_000, {
      default: 4,
      unit: 'attempts',
      description:
        'Further attempts for a call (per_call) before it is refused. A persistent connection tries without end.',
    }),
  },
  'A program that this server connects to.',
);

/** The section `applications`. */
export const applications = named(application, {
  default: {},
  description:
    'WebSockets that this server opens to programs, by name. While a persistent one is away, events wait, up to half of http.limits.websocket_queue.',
});

const awayPolicy = group(
  {
    after: number(0.1, 86_400, {
      default: 30,
      unit: 's',
      description: "Time that the application's WebSocket may be away.",
    }),
    action: choice(['keep', 'hangup', 'continue', 'move'], {
      default: 'keep',
      description:
        'What then happens to its channels. keep: nothing; hangup: they are hung up; continue: they continue in the dialplan; move: they enter the application move_to, if it is connected.',
    }),
    move_to: text({ default: '', description: 'Application that the channels are moved to. Empty: none.' }),
    music_class: text({
      default: '',
      description: 'Class of music that the channels hear after that time, before the action. Empty: none.',
    }),
    music_for: number(0.1, 86_400, {
      default: 60,
      unit: 's',
      description: 'How long they hear it before the action.',
    }),
  },
  'Policy for the channels of an application that does not reconnect.',
);

/** The section `away_policies`. */
export const awayPolicies = named(awayPolicy, {
  default: {},
  description:
    'Away policy: what happens to the channels of an application whose WebSocket is away, by application. `*` applies to all others.',
});
