import { type Static, Type } from 'typebox';
import { logLevels } from '../lib/log.ts';
import { applications, awayPolicies } from './application-settings.ts';
import { cluster } from './cluster-settings.ts';
import { features } from './feature-settings.ts';
import { http } from './http-settings.ts';
import { listening } from './listening-settings.ts';
import { recorder } from './recorder-settings.ts';
import { choice, flag, group, list, named, number, text, whole } from './setting.ts';
import { type endpoint, sip } from './sip-settings.ts';
import { bridges, externalMedia, media, recordings, sounds } from './sound-settings.ts';
import { stateStore } from './state-store-settings.ts';
import { supervisor } from './supervisor-settings.ts';
import { alarms, audit, cdr, metrics, partLevels, stuck } from './watch-settings.ts';

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
    channels: whole(0, 1_000_000, {
      default: 0,
      unit: 'channels',
      description:
        'Live channels; in a cluster those of all nodes, as their last heartbeats say. New calls beyond this get 503. Live calls may place further ones. 0: no limit.',
    }),
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
    away_policies: awayPolicies,
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
    state_store: stateStore,
    cluster,
    supervisor,
    stuck,
    alarms,
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
 * The local address of RTP. Default: that of SIP, so that admitted calls have audio; all addresses if SIP has several.
 */
export function audioAddress({ media: { rtp_address: own }, sip: { transports } }: Config): string {
  const binds = [...new Set(transports.map(({ bind }) => bind))];
  // A socket of `::` takes both families.
  const all = binds.some((bind) => bind.includes(':')) ? '::' : '0.0.0.0';
  const followed = binds.length > 1 ? all : (binds[0] ?? '127.0.0.1');
  return own ?? followed;
}
