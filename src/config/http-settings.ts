import { Type } from 'typebox';
import { flag, group, list, number, port, text, whole } from './setting.ts';
import { user } from './user-settings.ts';

/** The settings of the REST and WebSocket interface. */
export const http = group(
  {
    bind: text({ default: '127.0.0.1', rule: 'address', description: 'Address to listen on. 0.0.0.0 listens on all.' }),
    port: port({ default: 8088, description: 'TCP port of the interface. 0: the system chooses one.' }),
    allowed_origins: list(Type.String({ rule: 'origin' }), {
      default: [],
      commaList: true,
      description:
        'Origins of web pages that may use the interface from a browser, e.g. https://desk.example.org, or * for any.',
    }),
    tls: flag({
      default: false,
      description: 'Serves only https and wss on this port, with a certificate of tls.certificates.',
    }),
    auth_realm: text({
      default: 'Asterisk REST Interface',
      description: 'Realm that a browser shows when it asks for a password.',
    }),
    users: list(user, {
      default: [{ name: 'hookswitch' }],
      description:
        'Users of the interface. A user without a password gets HOOKSWITCH_PASSWORD, or a random password made at start-up.',
    }),
    sessions: group(
      {
        lifetime: whole(60, 604_800, {
          default: 43_200,
          unit: 's',
          description: 'Lifetime of a log-in on the page. Then the page asks for the password again.',
        }),
        most: whole(1, 100_000, {
          default: 1_000,
          unit: 'log-ins',
          description: 'Log-ins at the same time. A further one ends the oldest.',
        }),
        ticket_lifetime: whole(1, 600, {
          default: 30,
          unit: 's',
          description: 'Lifetime of a ticket that opens a WebSocket. Each ticket works once.',
        }),
      },
      'Log-ins of the page.',
    ),
    tokens: group(
      {
        most: whole(1, 100_000, {
          default: 1_000,
          unit: 'tokens',
          description: 'Tokens that may exist at the same time.',
        }),
        longest_lifetime: whole(60, 315_360_000, {
          default: 31_536_000,
          unit: 's',
          description: 'Longest lifetime of a token.',
        }),
      },
      'Tokens, which replace the passwords of users: see `hookswitch token`. They are stored in the data directory, as digests.',
    ),
    idempotency: group(
      {
        lifetime: whole(1, 2_592_000, {
          default: 86_400,
          unit: 's',
          description: 'How long the answer to a request with an Idempotency-Key is kept.',
        }),
        most: whole(1, 1_000_000, {
          default: 10_000,
          unit: 'answers',
          description: 'Answers of one user; the oldest goes.',
        }),
        memory: whole(4_096, 1_073_741_824, {
          default: 8_388_608,
          unit: 'bytes',
          description: 'All answers of one user together; the oldest goes.',
        }),
        write_timeout: number(0.01, 60, {
          default: 1,
          unit: 's',
          description: 'How long an answer may wait for the disk. After that it is sent, and lost if the process dies.',
        }),
      },
      'Answers to requests with an Idempotency-Key. A repeated request gets the first answer and is not carried out again.',
    ),
    limits: group(
      {
        body: whole(1_024, 16_777_216, { default: 40_960, unit: 'bytes', description: 'Largest request body.' }),
        headers: whole(4_096, 1_048_576, {
          default: 16_384,
          unit: 'bytes',
          description: 'Largest head of a request: request line and all headers.',
        }),
        connections: whole(8, 1_000_000, {
          default: 1_024,
          unit: 'connections',
          description:
            "Connections at the same time, WebSockets included. At most a quarter of the process's file descriptors, because calls need the others.",
        }),
        address_share: number(0.01, 1, {
          default: 0.5,
          unit: 'part',
          description:
            'Share of `connections` and of `unread_total` that one address may use. Set 1 behind a reverse proxy.',
        }),
        header_timeout: number(0.1, 600, {
          default: 5,
          unit: 's',
          description: 'Time limit for a client to begin a request and to send its head.',
        }),
        request_timeout: number(1, 600, {
          default: 10,
          unit: 's',
          description: 'Time limit for a client to send a whole request.',
        }),
        keep_alive: number(0, 600, {
          default: 75,
          unit: 's',
          description:
            'Time that an idle connection stays open for the next request. A balancer in front must close its idle connections before.',
        }),
        answer_timeout: number(0.1, 600, {
          default: 5,
          unit: 's',
          description:
            'Time limit for operations that wait, e.g. for a phone to accept a message. Then the client gets 503 and the operation continues.',
        }),
        response_timeout: number(1, 600, {
          default: 30,
          unit: 's',
          description: 'Time limit for a client to read an answer.',
        }),
        password_queue: whole(1, 10_000, {
          default: 64,
          unit: 'passwords',
          description: 'Passwords that may wait for their check against a `password_hash`. Further requests get 503.',
        }),
        pipelined: whole(0, 1_024, {
          default: 16,
          unit: 'requests',
          description: 'Requests that may wait on one connection while an earlier one is answered.',
        }),
        busy_poll: whole(0, 10_000, {
          default: 400,
          unit: 'µs',
          description:
            'Time to poll for the next request before sleeping, while requests follow closely and cores are free (`/proc/pressure/cpu`). It uses one core while it waits. 0: never poll.',
        }),
        websocket_message: whole(1_024, 16_777_216, {
          default: 65_535,
          unit: 'bytes',
          description: 'Largest message accepted on the events WebSocket.',
        }),
        websocket_queue: whole(65_536, 1_073_741_824, {
          default: 16_777_216,
          unit: 'bytes',
          description: 'Unread events of one client. Beyond this its WebSocket is closed.',
        }),
        resume_objects: whole(0, 1_000_000, {
          default: 1_000,
          unit: 'objects',
          description:
            'Objects in the snapshot that an application gets in place of missed events that are gone (ResumeGap).',
        }),
        unread_total: whole(65_536, 17_179_869_184, {
          default: 67_108_864,
          unit: 'bytes',
          description:
            'Unread bytes of all clients together, for events and for answers each. Beyond this the client that is furthest behind is disconnected.',
        }),
      },
      'Limits for clients.',
    ),
  },
  'The REST and WebSocket interface.',
);
