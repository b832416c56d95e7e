import { type Static, Type } from 'typebox';
import { logLevels } from '../lib/log.ts';
import { longestApplicationName } from '../models/application.ts';
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
      description: 'Id of this system in every event (`asterisk_id`). Empty: made once and kept in the data directory.',
    }),
    system_name: text({
      default: '',
      description: 'Put in front of channel ids when several servers share a database.',
    }),
    channelvars: list(Type.String({ minLength: 1 }), {
      default: [],
      commaList: true,
      description: 'Variables shown with every channel in every event; functions such as CHANNEL(language) too.',
    }),
    pretty: flag({ default: false, description: 'Indent JSON answers for people.' }),
    validate: flag({
      default: false,
      description:
        'Check every answer and event against its model: a wrong one becomes an error. For development; costs time.',
    }),
    compatibility: choice(['hookswitch', 'asterisk'], {
      default: 'hookswitch',
      description: 'Whose answers to give where they differ: see docs/differences.md.',
    }),
    log_level: choice(logLevels, {
      default: 'info',
      description: 'The least serious kind of line that is logged.',
    }),
    log_levels: partLevels,
    log_delay: whole(0, 1_000, {
      default: 20,
      unit: 'ms',
      description:
        'How long lines of the log may wait to be written together; a warning or an error is written at once, with all before it. 0: none waits.',
    }),
    data_directory: text({
      default: 'data',
      rule: 'directory',
      description: 'Where things are kept over a restart. Relative paths start at the configuration file.',
    }),
    drain_timeout: number(0, 86_400, {
      default: 10,
      unit: 's',
      description: 'How long calls may go on after SIGTERM before they are hung up.',
    }),
    ready_timeout: number(0.1, 60, {
      default: 1,
      unit: 's',
      description: 'How long audio may take to answer before `GET /health/ready` says that no calls can be taken.',
    }),
    return_timeout: number(0, 86_400, {
      default: 10,
      unit: 's',
      description:
        'How long applications may take to connect again to a server that was taken up; events wait for them.',
    }),
  },
  'What concerns the whole server.',
);

const http = group(
  {
    bind: text({ default: '127.0.0.1', rule: 'address', description: 'Address to listen on; 0.0.0.0 for all.' }),
    port: port({ default: 8088, description: 'TCP port of the interface; 0 lets the system choose.' }),
    allowed_origins: list(Type.String({ rule: 'origin' }), {
      default: [],
      commaList: true,
      description: 'Web pages that may use the interface from a browser, e.g. https://desk.example.org, or *.',
    }),
    tls: flag({
      default: false,
      description: 'Speak https and wss on this port, with a certificate of tls.certificates, and nothing else.',
    }),
    auth_realm: text({
      default: 'Asterisk REST Interface',
      description: 'What a browser shows when it asks for a password.',
    }),
    users: list(user, {
      default: [{ name: 'hookswitch' }],
      description:
        'Who may use the interface. A user without any password has HOOKSWITCH_PASSWORD, or one made up at start-up.',
    }),
    sessions: group(
      {
        lifetime: whole(60, 604_800, {
          default: 43_200,
          unit: 's',
          description: 'How long a log-in of the page is good; then it asks for the password again.',
        }),
        most: whole(1, 100_000, { default: 1_000, unit: 'log-ins', description: 'Log-ins at once; the oldest goes.' }),
        ticket_lifetime: whole(1, 600, {
          default: 30,
          unit: 's',
          description: 'How long a ticket for a WebSocket is good, which is used up when the WebSocket is opened.',
        }),
      },
      'Log-ins of the page.',
    ),
    tokens: group(
      {
        most: whole(1, 100_000, { default: 1_000, unit: 'tokens', description: 'Tokens at once.' }),
        longest_lifetime: whole(60, 315_360_000, {
          default: 31_536_000,
          unit: 's',
          description: 'Longest that a token may be good.',
        }),
      },
      'Tokens, which stand for users in place of their passwords: `hookswitch token`.',
    ),
    limits: group(
      {
        body: whole(1_024, 16_777_216, { default: 40_960, unit: 'bytes', description: 'Largest request body.' }),
        headers: whole(4_096, 1_048_576, {
          default: 16_384,
          unit: 'bytes',
          description: 'Largest head of a request: its line and all headers.',
        }),
        connections: whole(8, 1_000_000, {
          default: 1_024,
          unit: 'connections',
          description:
            'Connections at once, WebSockets among them; never more than a quarter of the descriptors that the process may open, so that calls have theirs.',
        }),
        address_share: number(0.01, 1, {
          default: 0.5,
          unit: 'part',
          description:
            'The part of `connections` and of `unread_total` that one address may take; 1 behind a reverse proxy.',
        }),
        header_timeout: number(0.1, 600, {
          default: 5,
          unit: 's',
          description: 'How long a client may take to begin a request, and to send its head.',
        }),
        request_timeout: number(1, 600, {
          default: 10,
          unit: 's',
          description: 'How long a client may take to send a whole request.',
        }),
        keep_alive: number(0, 600, {
          default: 15,
          unit: 's',
          description: 'How long an idle connection is kept for the next request.',
        }),
        answer_timeout: number(0.1, 600, {
          default: 5,
          unit: 's',
          description:
            'How long what is asked may take, e.g. a message to a phone; then the client is answered 503, and it goes on without them.',
        }),
        response_timeout: number(1, 600, {
          default: 30,
          unit: 's',
          description: 'How long a client may take to read an answer.',
        }),
        password_queue: whole(1, 10_000, {
          default: 64,
          unit: 'passwords',
          description:
            'Passwords that may wait to be checked against a `password_hash`; further ones are answered 503.',
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
            'How long to look for the next request before sleeping, while requests follow closely; 0 never. Makes a call quicker, costs idle time of one core.',
        }),
        websocket_message: whole(1_024, 16_777_216, {
          default: 65_535,
          unit: 'bytes',
          description: 'Largest message accepted on the events WebSocket.',
        }),
        websocket_queue: whole(65_536, 1_073_741_824, {
          default: 16_777_216,
          unit: 'bytes',
          description: 'How far a client may fall behind on events before its WebSocket is closed.',
        }),
        unread_total: whole(65_536, 17_179_869_184, {
          default: 67_108_864,
          unit: 'bytes',
          description:
            'How far all clients together may fall behind, on events and on answers each; beyond it the one that is furthest behind is cut off.',
        }),
      },
      'Bounds on what clients may cost.',
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
            description: 'PEM file: the certificate, and those between it and its authority.',
          }),
          key: text({ rule: 'file', description: 'PEM file of its key.' }),
        },
        'A certificate and its key.',
      ),
      {
        default: [],
        description:
          'What is shown to who connects to us: the one that has the name that is asked for, else the first. Read anew when a file changes, and at SIGHUP.',
      },
    ),
    authorities: list(Type.String({ rule: 'file' }), {
      default: ['system'],
      commaList: true,
      description:
        'PEM files of the authorities that must have signed the certificate of whom we connect to: SIP peers, applications, media servers. `system` stands for those that browsers believe.',
    }),
    client_authorities: list(Type.String({ rule: 'file' }), {
      default: [],
      commaList: true,
      description: 'PEM files of the authorities of the certificates that SIP peers show us.',
    }),
    client_crl: list(Type.String({ rule: 'file' }), {
      default: [],
      commaList: true,
      description:
        'PEM files of the revocation lists (CRL) of these authorities, a list for each of them. Certificates that they name are refused, and so is everybody when a list is missing or has expired. Empty: no certificate is looked up.',
    }),
    minimum_version: choice(['1.2', '1.3'], { default: '1.2', description: 'Oldest version of TLS that is spoken.' }),
    check_interval: number(1, 86_400, {
      default: 60,
      unit: 's',
      description: 'How often to look whether one of these files has changed.',
    }),
  },
  'Certificates, for SIP and for the interface. Relative files start at the configuration file.',
);

const application = group(
  {
    url: text({
      rule: 'webSocketUrl',
      description:
        'Where the program waits for our WebSocket, e.g. wss://10.0.0.9:9000/ari; over wss its certificate is checked against tls.authorities.',
    }),
    type: choice(['persistent', 'per_call'], {
      default: 'persistent',
      description:
        'One WebSocket that is always there; or one for each call that enters an application nobody registered, which is then named `<application>:<channel name>`.',
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
        description: 'The applications it is for; each may stand in one connection only.',
      },
    ),
    local_user: text({ description: 'The one of http.users whose rights the program has over the WebSocket.' }),
    local_token: text({
      default: '',
      description:
        'A token of local_user (`hookswitch token make`): the program has its rights alone, as long as it is good. Empty: those of the user.',
    }),
    subscribe_all: flag({ default: false, description: 'Subscribe the applications to everything there is.' }),
    protocols: list(Type.String({ rule: 'token' }), {
      default: ['ari'],
      commaList: true,
      description: 'WebSocket sub-protocols offered to the program.',
    }),
    username: text({ default: '', description: 'User name that we tell the program. Empty: none.' }),
    password: text({ default: '', description: 'The password to it.' }),
    token: text({
      default: '',
      description: 'A token that we tell the program instead (`Authorization: Bearer`). Empty: none.',
    }),
    connection_timeout: number(0.01, 60, {
      default: 0.5,
      unit: 's',
      description: 'How long one attempt to connect may take.',
    }),
    reconnect_interval: number(0.01, 3_600, {
      default: 0.5,
      unit: 's',
      description: 'How long to wait between attempts.',
    }),
    reconnect_attempts: whole(0, 1_000, {
      default: 4,
      unit: 'attempts',
      description:
        'How often it is tried again for a call before the call is refused. A persistent one is tried for ever.',
    }),
  },
  'A program that we connect to, rather than it to us.',
);

const applications = named(application, {
  default: {},
  description:
    'WebSockets that this server opens to programs, by name. What an application misses while a persistent one is away waits, up to half of http.limits.websocket_queue.',
});

const absence = group(
  {
    after: number(0.1, 86_400, { default: 30, unit: 's', description: 'How long its WebSocket may be away.' }),
    action: choice(['keep', 'hangup', 'continue'], {
      default: 'keep',
      description: 'What becomes of its channels then: kept as they are, hung up, or sent on in the dialplan.',
    }),
  },
  'What becomes of the channels of an application that does not come back.',
);

const absences = named(absence, {
  default: {},
  description:
    'What becomes of the channels of applications whose WebSocket is away, by application; `*` for all others.',
});

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
    applications: most(1_000, 'applications', 'Applications known at once.'),
    subscriptions: most(
      10_000,
      'subscriptions',
      'Subscriptions of one application, those to its own channels among them, beyond which a client cannot add any.',
    ),
    subroutines: most(
      100,
      'subroutines',
      'Subroutines of the dialplan (Gosub) inside one another on a channel; what calls one more is hung up, and logged.',
    ),
    playbacks: most(100, 'playbacks', 'Playbacks that play and wait on one channel.'),
    mailboxes: most(10_000, 'mailboxes', 'Mailboxes.'),
    device_states: most(10_000, 'states', 'Device states that clients set.'),
    dynamic_objects: most(10_000, 'objects', 'Objects of dynamic configuration.'),
  },
  'What clients of the interface may make; beyond it they are answered 409.',
);

const bans = group(
  {
    window: whole(1, 86_400, {
      default: 300,
      unit: 's',
      description: 'How long the wrong log-ins of an address, by SIP and HTTP, are added up.',
    }),
    slow_after: whole(1, 1_000_000, {
      default: 5,
      unit: 'log-ins',
      description: 'With so many its next wrong ones are answered later and later.',
    }),
    longest_delay: number(0, 30, { default: 4, unit: 's', description: 'The latest that a wrong log-in is answered.' }),
    ignore_after: whole(1, 1_000_000, {
      default: 30,
      unit: 'log-ins',
      description: 'With so many the address is ignored; phones there that are registered or in a call are not.',
    }),
    ignore_for: whole(1, 31_536_000, { default: 900, unit: 's', description: 'How long it is ignored.' }),
    exempt: list(Type.String({ rule: 'network' }), {
      default: ['127.0.0.1', '::1'],
      commaList: true,
      description: 'Addresses and networks that are reported, but neither slowed nor ignored.',
    }),
    sources: whole(1, 1_000_000, {
      default: 10_000,
      unit: 'addresses',
      description: 'How many addresses with wrong log-ins are remembered; beyond it the oldest are forgotten.',
    }),
  },
  'Who gives wrong passwords.',
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
      'What calls do outside an application: context, then extension or pattern, then steps `App(arguments)`. An exact extension wins over a pattern. `include` lists contexts that are looked in when nothing here fits; `hints` says which devices the lamps of phones show.',
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
