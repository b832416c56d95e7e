import { type Static, Type } from 'typebox';
import { logLevels } from '../lib/log.ts';
import { absences, applications } from './application-settings.ts';
import { features } from './feature-settings.ts';
import { listening } from './listening-settings.ts';
import { recorder } from './recorder-settings.ts';
import { choice, flag, group, list, named, number, port, text, whole } from './setting.ts';
import { type endpoint, sip } from './sip-settings.ts';
import { bridges, externalMedia, media, recordings, sounds } from './sound-settings.ts';
import { user } from './user-settings.ts';
import { audit, cdr, metrics, partLevels, stuck } from './watch-settings.ts';

/**
 * Every setting there is: its type, default, unit and meaning. The checks (`check.ts`), the default configuration and
 * the test of `hookswitch.example.yaml` all follow from here. Keys are spelled the same in the file and in the code.
 */

const general = group(
  {
    entity_id: text({
      default: '',
      description:
        'Id of this system, sent in every event as `asterisk_id`. Empty: generated once and kept in the data directory.',
    }),
    system_name: text({
      default: '',
      description: 'Prefix of channel ids. Set it when several servers share a database.',
    }),
    channelvars: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description:
        'Variables included with every channel in every event. Functions such as CHANNEL(language) are allowed.',
    }),
    pretty: flag({ default: false, description: 'Indents JSON answers, to make them readable.' }),
    validate: flag({
      default: false,
      description:
        'Checks every answer and event against its model. A mismatch becomes an error. For development only: it costs time.',
    }),
    compatibility: choice(['hookswitch', 'asterisk'], {
      default: 'hookswitch',
      description: "Which server's answers to give where Hookswitch and Asterisk differ: see docs/differences.md.",
    }),
    log_level: choice(logLevels, {
      default: 'info',
      description: 'Lowest level that is logged.',
    }),
    log_levels: partLevels,
    log_delay: whole(0, 1_000, {
      default: 20,
      unit: 'ms',
      description:
        'Longest time that a log line waits to be written together with others. Warnings and errors are written immediately, with all lines before them. 0: write every line immediately.',
    }),
    data_directory: text({
      default: 'data',
      rule: 'directory',
      description: 'Directory of data that survives a restart. A relative path starts at the configuration file.',
    }),
    drain_timeout: number(0, 86_400, {
      default: 10,
      unit: 's',
      description: 'Time that calls may continue after SIGTERM. Then they are hung up.',
    }),
    ready_timeout: number(0.1, 60, {
      default: 1,
      unit: 's',
      description:
        'Time limit for the media threads to respond to `GET /health/ready`. After it the server reports that it is not ready.',
    }),
    return_timeout: number(0, 86_400, {
      default: 10,
      unit: 's',
      description: 'Time that events wait for applications to reconnect after the server restored its state.',
    }),
  },
  'The whole server.',
);

const http = group(
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
          default: 15,
          unit: 's',
          description: 'Time that an idle connection stays open for the next request.',
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
            'Time to poll for the next request before sleeping, while requests follow closely. It makes calls faster and costs idle time of one core. 0: never poll.',
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

const tls = group(
  {
    certificates: list(
      group(
        {
          certificate: text({
            rule: 'file',
            description: 'PEM file of the certificate and its intermediate certificates.',
          }),
          key: text({ rule: 'file', description: 'PEM file of the private key.' }),
        },
        'A certificate and its key.',
      ),
      {
        default: [],
        description:
          'Server certificates. The one that matches the requested name (SNI) is used, else the first. Files are read again when they change and at SIGHUP. `hookswitch certificate` makes a pair for a first try.',
      },
    ),
    authorities: list(Type.String({ rule: 'file' }), {
      default: ['system'],
      commaList: true,
      description:
        "PEM files of the authorities that servers' certificates must be signed by: SIP peers, applications, media servers. `system` stands for the system's own.",
    }),
    client_authorities: list(Type.String({ rule: 'file' }), {
      default: [],
      commaList: true,
      description: "PEM files of the authorities that SIP peers' client certificates must be signed by.",
    }),
    client_crl: list(Type.String({ rule: 'file' }), {
      default: [],
      commaList: true,
      description:
        'PEM files of revocation lists (CRL), one for each of these authorities. Revoked certificates are refused. If a list is missing or expired, all client certificates are refused. Empty: revocation is not checked.',
    }),
    minimum_version: choice(['1.2', '1.3'], { default: '1.2', description: 'Oldest TLS version that is accepted.' }),
    check_interval: number(1, 86_400, {
      default: 60,
      unit: 's',
      description: 'Interval between checks whether one of these files has changed.',
    }),
  },
  'Certificates, for SIP and for the interface. Relative paths start at the configuration file.',
);

const most = (fallback: number, unit: string, about: string) =>
  whole(1, 10_000_000, { default: fallback, unit, description: about });

const limits = group(
  {
    channel_variables: most(
      1_000,
      'variables',
      'Variables of one channel or bridge. Further ones that the dialplan sets are dropped and logged.',
    ),
    global_variables: most(10_000, 'variables', 'Global variables.'),
    applications: most(1_000, 'applications', 'Applications known at the same time.'),
    subscriptions: most(
      10_000,
      'subscriptions',
      'Subscriptions of one application, its own channels included. Beyond this a client cannot add any.',
    ),
    subroutines: most(
      100,
      'subroutines',
      'Nesting depth of subroutines (Gosub) on one channel. A call beyond this hangs up the channel and is logged.',
    ),
    playbacks: most(100, 'playbacks', 'Playbacks that play or wait on one channel.'),
    mailboxes: most(10_000, 'mailboxes', 'Mailboxes.'),
    device_states: most(10_000, 'states', 'Device states set by clients.'),
    dynamic_objects: most(10_000, 'objects', 'Objects of dynamic configuration.'),
  },
  'Objects that clients of the interface may create. Beyond a limit they get 409 and nothing changes.',
);

const bans = group(
  {
    window: whole(1, 86_400, {
      default: 300,
      unit: 's',
      description:
        'Time over which wrong log-ins of an address, by SIP and HTTP, are counted. For IPv6 a /64 network counts as one address.',
    }),
    slow_after: whole(1, 1_000_000, {
      default: 5,
      unit: 'log-ins',
      description: 'Number of wrong log-ins after which further ones are answered with growing delay.',
    }),
    longest_delay: number(0, 30, { default: 4, unit: 's', description: 'Longest delay of such an answer.' }),
    ignore_after: whole(1, 1_000_000, {
      default: 30,
      unit: 'log-ins',
      description:
        'Number of wrong log-ins after which the address is ignored. Registered phones and phones in a call are still served.',
    }),
    ignore_for: whole(1, 31_536_000, { default: 900, unit: 's', description: 'Time that the address is ignored.' }),
    exempt: list(Type.String({ rule: 'network' }), {
      default: ['127.0.0.1', '::1'],
      commaList: true,
      description: 'Addresses and networks that are reported but never delayed or ignored.',
    }),
    sources: whole(1, 1_000_000, {
      default: 10_000,
      unit: 'addresses',
      description: 'Addresses with wrong log-ins that are remembered. Beyond this the oldest are forgotten.',
    }),
  },
  'Protection against guessed passwords. `GET /hookswitch/bans` lists the addresses. See docs/security.md.',
);

const step = Type.Union([
  Type.String(),
  group(
    {
      label: text({ description: 'Name that Goto and `continue` can jump to.' }),
      app: text({ description: 'The step itself, `App(arguments)`.' }),
    },
    'A step with a label.',
  ),
]);

const hints = named(text({ description: 'Devices, e.g. PJSIP/alice&Stasis:desk.' }), {
  description: 'Under `hints`: the devices that BLF shows for an extension or pattern.',
});

const dialplan = named(
  named(Type.Union([Type.Array(step, { minItems: 1 }), hints]), {
    description: 'Extensions and patterns (`_X.`) of a context.',
  }),
  {
    default: {
      default: {
        hints: { '201': 'PJSIP/alice', '202': 'PJSIP/bob' },
        '_X.': ['Stasis(hello,${EXTEN})'],
        '201': ['Dial(PJSIP/alice,30)'],
        '202': ['Dial(PJSIP/bob,30)'],
        echo: ['Answer', 'Echo'],
        s: ['Answer', 'Wait(60)'],
        '1000': ['Answer', 'Wait(60)'],
      },
    },
    description:
      'Calls outside an application: context, then extension or pattern, then steps `App(arguments)`. An exact extension wins over a pattern. `include` lists contexts that are searched when nothing here matches. `hints` maps extensions to the devices that BLF keys show.',
  },
);

/** The whole configuration file. */
export const ConfigSchema = group(
  {
    general,
    http,
    tls,
    applications,
    absences,
    sip,
    media,
    sounds,
    recordings,
    bridges,
    external_media: externalMedia,
    metrics,
    audit,
    cdr,
    bans,
    recorder,
    stuck,
    listening,
    limits,
    features,
    dialplan,
  },
  'Hookswitch configuration.',
);

/** A configuration that has been checked, with every default filled in and directories made absolute. */
export type Config = Static<typeof ConfigSchema> & {
  /** The password made up for users and endpoints that had none; undefined when all have their own. */
  generated_password?: string;
};

/** One endpoint of `sip.endpoints`. */
export type EndpointConfig = Static<typeof endpoint>;
/** `dialplan`: context → extension or pattern → steps. */
export type DialplanConfig = Static<typeof dialplan>;

/**
 * The address that audio is sent from: where it is left out, that of SIP, as a call that is let in must be heard, too; all
 * addresses where SIP has several.
 */
export function audioAddress({ media: { rtp_address: own }, sip: { transports } }: Config): string {
  const binds = [...new Set(transports.map(({ bind }) => bind))];
  // A socket of `::` takes both families.
  const all = binds.some((bind) => bind.includes(':')) ? '::' : '0.0.0.0';
  const followed = binds.length > 1 ? all : (binds[0] ?? '127.0.0.1');
  return own ?? followed;
}
