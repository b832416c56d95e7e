import Type, { type Static } from 'typebox';
import { model, stringMap, text } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** Channel states. `Rsrvd` is what Asterisk sends, although its documents spell it otherwise. */
export const channelStates = [
  'Down',
  'Rsrvd',
  'OffHook',
  'Dialing',
  'Ring',
  'Ringing',
  'Up',
  'Busy',
  'Dialing Offhook',
  'Pre-ring',
  'Mute',
  'Unknown',
] as const;

export const ChannelState = Type.Enum([...channelStates], {
  description: "The channel's state.",
});
export type ChannelState = (typeof channelStates)[number];

/** A party's identity. */
export const CallerID = model('CallerID', 'A party of a call, with the identity that it presents.', {
  name: text('Name to show; empty when unknown.'),
  number: text('Number to show; empty when unknown.'),
});
export type CallerID = Static<typeof CallerID>;

/** A channel's dialplan position and application. */
const DialplanCEP = model('DialplanCEP', 'A dialplan position, and its application.', {
  context: text('Context of the dialplan.'),
  exten: text('Extension within the context.'),
  priority: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Step within the extension, from 1; null when the channel is at none.',
  }),
  app_name: text('Dialplan application that runs now; empty when none does.'),
  app_data: text('Arguments of that application.'),
});

/** One side of a call, as clients see it. All strings are present, possibly empty. */
export const Channel = model('Channel', 'The connection between this system and one party of a call.', {
  id: text('Unique id, given by the creator or the system.'),
  protocol_id: text("The technology's own id of the call, e.g. the SIP Call-ID; empty when it has none."),
  name: text('Technology, resource and a unique tail, e.g. PJSIP/alice-0a1b2c3d.'),
  state: ChannelState,
  caller: CallerID,
  connected: CallerID,
  accountcode: text('Account that the call is charged to.'),
  dialplan: DialplanCEP,
  creationtime: Timestamp,
  language: text('Language that sounds are played in.'),
  channelvars: Type.Optional(
    stringMap('Variables that the configuration or a client asked to see, with their values.'),
  ),
  caller_rdnis: Type.Optional(text('Number that redirected the call here.')),
  tenantid: Type.Optional(text('Tenant that the channel belongs to.')),
});
export type Channel = Static<typeof Channel>;
