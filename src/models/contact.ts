import Type, { type Static } from 'typebox';
import { double, model, text } from './schema.ts';

const contactStatuses = ['Unreachable', 'Reachable', 'Unknown', 'NonQualified', 'Removed'] as const;
export type ContactStatus = (typeof contactStatuses)[number];

/** One address that an endpoint is reached at. */
export const ContactInfo = model('ContactInfo', 'An address that an endpoint is reached at, and whether it answers.', {
  uri: text('Where requests are sent.'),
  contact_status: Type.Enum([...contactStatuses], { description: 'Result of the last check.' }),
  aor: text('Address of record that the contact belongs to.'),
  roundtrip_usec: Type.Optional(text('Round trip of the last answered check, in microseconds.')),
});
export type ContactInfo = Static<typeof ContactInfo>;

/** Whether an endpoint as a whole can be reached. */
export const Peer = model('Peer', 'Whether an endpoint can be reached.', {
  peer_status: text('Reachable or Unreachable; other technologies have more words.'),
  cause: Type.Optional(text('Why the status changed.')),
  address: Type.Optional(text('IP address of the peer.')),
  port: Type.Optional(text('Port of the peer.')),
  time: Type.Optional(text('When it was last seen.')),
});
export type Peer = Static<typeof Peer>;

export const ChartDeadline = model('ChartDeadline', 'An event that a chart is sent at a time.', {
  event: text('The event, as the chart names it: `after qualifyInterval`.'),
  at: double('When, in ms since the Unix epoch.'),
});

/** A contact as the server keeps it: whose it is, and where in its chart it is. */
export const ContactView = model('ContactView', 'An address that an endpoint is reached at, and how it is doing.', {
  endpoint: text('Endpoint that it belongs to, as `technology/resource`.'),
  uri: text('Where requests are sent.'),
  aor: text('Address of record that the contact belongs to.'),
  contact_status: Type.Enum([...contactStatuses], { description: 'Result of the last check.' }),
  roundtrip_usec: Type.Optional(text('Round trip of the last answered check, in microseconds.')),
  state: text('Its state, as its chart names it: `reachable.resting`.'),
  deadlines: Type.Array(ChartDeadline, { description: 'The pending deadlines of its chart: event and time.' }),
});
export type ContactView = Static<typeof ContactView>;
