import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** A SIP listener. */
const SipListener = model('SipListener', 'An address and port where SIP listens.', {
  protocol: text('udp, tcp, tls, ws or wss.'),
  host: text('Address that it listens on.'),
  port: int('Port.'),
});

/** How late an event loop was. */
export const LoopDelay = model('LoopDelay', "Delays of a thread's event loop since the last request; in ms.", {
  mean: double('On average.'),
  p99: double('99th percentile.'),
  max: double('At most.'),
});
export type LoopDelay = Static<typeof LoopDelay>;

/** Counts of call detail records. */
const RecordCounts = model('RecordCounts', 'Results of call detail records since the start.', {
  made: int('Records that were made.'),
  lost: int('Records that were lost: a disk or the webhook did not take them.'),
  waiting_octets: int('Octets that wait for the webhook.'),
});

/** Counts of audit log lines. */
export const AuditCounts = model('AuditCounts', 'Results of audit log lines since the start.', {
  lines: int('Lines that were written, or should have been.'),
  lost: int('Lines that were lost: the disk did not take them.'),
});
export type AuditCounts = Static<typeof AuditCounts>;

/** How the state store is written. */
const StateStoreInfo = model('StateStoreInfo', 'The state store: what a crash would leave to the next process.', {
  octets: int('Size of its file.'),
  failing_since: Type.Optional(Timestamp),
  reason: Type.Optional(text('Why it cannot be written. Calls go on; a crash now would end them.')),
});

/** The collector of SIP messages. */
export const HepCollector = model(
  'HepCollector',
  'The collector that SIP messages are sent to (HOMER), and how that goes.',
  {
    address: text('Its address.'),
    port: int('Its port.'),
    transport: text('udp or tcp. Over udp a missing collector is not noticed.'),
    state: Type.Enum(['sending', 'behind', 'connecting', 'lost'], {
      description:
        'Whether messages go there; `behind`: it does not read them, and so many wait that further ones are left out. Of a connection that is lost, a new one is tried every 30 s at least.',
    }),
    since: Timestamp,
    reason: Type.Optional(text('Why it is lost or behind.')),
    left_out: int('Messages that were not sent since the start.'),
    refused: Type.Optional(text('Why the newly configured collector could not be used.')),
  },
);
export type HepCollector = Static<typeof HepCollector>;

/** How a media thread keeps up. */
const ThreadLoad = model('ThreadLoad', 'How a media thread keeps up: audio is made every 20 ms.', {
  late: int('Ticks that ran late since the start.'),
  skipped: int('Ticks that were left out since the start.'),
  delay: Type.Optional(LoopDelay),
});

/** The server and its addresses. */
export const ServerInfo = model('ServerInfo', 'The server: its version and the addresses for phones.', {
  name: text('Name of the program.'),
  version: text('Its version.'),
  started: Timestamp,
  draining: Type.Boolean({ description: 'Whether it takes no new calls.' }),
  channels: int('Live channels.'),
  sip: Type.Array(SipListener),
  listening: Type.Enum(['nobody', 'operators', 'everyone'], {
    description: 'Who may listen to calls: users with full rights, read-only users too, or none.',
  }),
  media_threads: Type.Array(Type.Integer(), { description: 'Audio sessions of each media thread, in their order.' }),
  media_load: Type.Array(ThreadLoad, { description: 'How each media thread keeps up, in their order.' }),
  event_loop: LoopDelay,
  records: Type.Optional(RecordCounts),
  audit: Type.Optional(AuditCounts),
  hep: Type.Optional(HepCollector),
  state_store: Type.Optional(StateStoreInfo),
  cluster: Type.Optional(text('Its name as a node of a cluster. Left out: it is on its own.')),
});
export type ServerInfo = Static<typeof ServerInfo>;
