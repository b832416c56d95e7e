import Type, { type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { Bridge } from './bridge.ts';
import { Channel } from './channel.ts';
import { ContactInfo, Peer } from './contact.ts';
import { DeviceState } from './device-state.ts';
import { Endpoint } from './endpoint.ts';
import { LiveRecording } from './live-recording.ts';
import { Playback } from './playback.ts';
import { anyObject, int, model, text, texts } from './schema.ts';
import { TextMessage } from './text-message.ts';
import { Timestamp } from './timestamp.ts';

/** The words that `dialstatus` may hold; '' when dialing begins. */
const dialStatuses = [
  '',
  'RINGING',
  'PROCEEDING',
  'PROGRESS',
  'ANSWER',
  'BUSY',
  'CONGESTION',
  'NOANSWER',
  'CHANUNAVAIL',
  'CANCEL',
] as const;
export type DialStatus = (typeof dialStatuses)[number];

const AdditionalParam = model('AdditionalParam', 'A parameter that a technology added.', {
  parameter_name: text('Name of the parameter.'),
  parameter_value: text('Its value.'),
});

const RequiredDestination = model('RequiredDestination', 'The transfer target that a party requests.', {
  protocol_id: Type.Optional(text("The technology's id of the call that is asked for.")),
  destination: Type.Optional(text('Extension or address that is asked for.')),
  additional_protocol_params: Type.Optional(Type.Array(AdditionalParam, { description: 'Details of the technology.' })),
});

const ReferTo = model('ReferTo', 'The target of a transfer.', {
  requested_destination: RequiredDestination,
  destination_channel: Type.Optional(Channel),
  connected_channel: Type.Optional(Channel),
  bridge: Type.Optional(Bridge),
});

const ReferredBy = model('ReferredBy', 'The transferring party.', {
  source_channel: Channel,
  connected_channel: Type.Optional(Channel),
  bridge: Type.Optional(Bridge),
});

const soft = Type.Optional(
  Type.Boolean({ description: 'True when asked for by software, absent when by the device.' }),
);
const isExternal = Type.Boolean({ description: 'True when the party asked for it, false when an application did.' });
const techCause = Type.Optional(int("The technology's own code, e.g. the SIP status."));

/**
 * Every event: what it tells, and what it carries beside the fields that delivery stamps on it. A new event starts
 * here; types, check and documents follow.
 */
export const events = {
  ChannelCreated: ['A channel has come to life.', { channel: Channel }],
  ChannelDestroyed: [
    'A channel has ended for good.',
    {
      channel: Channel,
      cause: int('Q.850 code of why it ended.'),
      cause_txt: text('The same in words.'),
      tech_cause: techCause,
    },
  ],
  ChannelStateChange: ['The state of a channel is another.', { channel: Channel }],
  ChannelDialplan: [
    'A channel has moved in the dialplan.',
    {
      channel: Channel,
      dialplan_app: text('Dialplan application that is about to run.'),
      dialplan_app_data: text('Its arguments.'),
    },
  ],
  ChannelCallerId: [
    'The name or number that a channel presents is another.',
    {
      channel: Channel,
      caller_presentation: int('Code of whether it may be shown.'),
      caller_presentation_txt: text('The same in words.'),
    },
  ],
  ChannelConnectedLine: ['The party that a channel is connected to is another.', { channel: Channel }],
  ChannelVarset: [
    'A variable has been set.',
    {
      variable: text('Name of the variable, as written.'),
      value: text('Its new value; empty when it was removed.'),
      channel: Type.Optional(Channel),
    },
  ],
  ChannelHangupRequest: [
    'The end of a channel has been asked for.',
    { channel: Channel, cause: Type.Optional(int('Q.850 code that was given.')), soft, tech_cause: techCause },
  ],
  ChannelDtmfReceived: [
    'A digit came from the far side; told when it ends.',
    { channel: Channel, digit: text('0-9, A-D, * or #.'), duration_ms: int('How long it lasted, in ms.') },
  ],
  ChannelHold: [
    'The far side put us on hold.',
    { channel: Channel, musicclass: Type.Optional(text('Music it suggested; N/A when none.')) },
  ],
  ChannelUnhold: ['The far side took us back from hold.', { channel: Channel }],
  ChannelTalkingStarted: ['Talking began on the channel.', { channel: Channel }],
  ChannelTalkingFinished: [
    'The talking on the channel ended.',
    { channel: Channel, duration: int('How long it lasted, in ms.') },
  ],
  ChannelToneDetected: ['A tone that was listened for was heard.', { channel: Channel }],
  ChannelUserevent: [
    'An event of the user’s own making.',
    {
      eventname: text('Name that the user gave it.'),
      userevent: anyObject("The user's content."),
      channel: Type.Optional(Channel),
      bridge: Type.Optional(Bridge),
      endpoint: Type.Optional(Endpoint),
    },
  ],
  ChannelTransfer: [
    'A party asks for a transfer, or one that it asked for goes on.',
    { refer_to: ReferTo, referred_by: ReferredBy, state: Type.Optional(text('How far the transfer is.')) },
  ],
  Dial: [
    'A channel is being dialed; one event for each step.',
    {
      peer: Channel,
      caller: Type.Optional(Channel),
      dialstatus: Type.Enum([...dialStatuses], { description: 'How far dialing is; empty when it begins.' }),
      dialstring: Type.Optional(text('The dialed resource.')),
      forward: Type.Optional(text('The new target of a forwarded call.')),
      forwarded: Type.Optional(Channel),
    },
  ],
  StasisStart: [
    'A channel came into the application.',
    { channel: Channel, args: texts('Arguments it came with.'), replace_channel: Type.Optional(Channel) },
  ],
  StasisEnd: ['A channel left the application.', { channel: Channel }],
  BridgeCreated: ['A bridge has been made.', { bridge: Bridge }],
  BridgeDestroyed: ['A bridge was destroyed.', { bridge: Bridge }],
  BridgeMerged: ['The channels of a bridge have gone over to another.', { bridge: Bridge, bridge_from: Bridge }],
  BridgeVideoSourceChanged: [
    'The picture that a bridge shows is of another channel.',
    { bridge: Bridge, old_video_source_id: Type.Optional(text('Channel whose video was shown.')) },
  ],
  BridgeBlindTransfer: [
    'A channel has sent those it was joined with somewhere else.',
    {
      channel: Channel,
      replace_channel: Type.Optional(Channel),
      transferee: Type.Optional(Channel),
      exten: text('Extension they were sent to.'),
      context: text('Context of the extension.'),
      result: text('Its result: Success, Fail, Invalid or Not Permitted.'),
      is_external: isExternal,
      bridge: Type.Optional(Bridge),
    },
  ],
  BridgeAttendedTransfer: [
    'A party has joined the two calls that it had.',
    {
      transferer_first_leg: Channel,
      transferer_second_leg: Channel,
      replace_channel: Type.Optional(Channel),
      transferee: Type.Optional(Channel),
      transfer_target: Type.Optional(Channel),
      result: text('Its result: Success, Fail, Invalid or Not Permitted.'),
      is_external: isExternal,
      transferer_first_leg_bridge: Type.Optional(Bridge),
      transferer_second_leg_bridge: Type.Optional(Bridge),
      destination_type: text('How they were joined: bridge, application, link, threeway or fail.'),
      destination_bridge: Type.Optional(text('Bridge that they are in.')),
      destination_application: Type.Optional(text('Application that they went to.')),
      destination_link_first_leg: Type.Optional(Channel),
      destination_link_second_leg: Type.Optional(Channel),
      destination_threeway_channel: Type.Optional(Channel),
      destination_threeway_bridge: Type.Optional(Bridge),
    },
  ],
  ChannelEnteredBridge: ['A channel came into a bridge.', { bridge: Bridge, channel: Type.Optional(Channel) }],
  ChannelLeftBridge: ['A channel left a bridge.', { bridge: Bridge, channel: Channel }],
  PlaybackStarted: ['An item of a playback began, or went on after a pause.', { playback: Playback }],
  PlaybackContinuing: ['An item of a playback ended and another follows.', { playback: Playback }],
  PlaybackFinished: ['A playback is over.', { playback: Playback }],
  RecordingStarted: ['A recording began.', { recording: LiveRecording }],
  RecordingFinished: ['A recording is over.', { recording: LiveRecording }],
  RecordingFailed: ['A recording could not be made.', { recording: LiveRecording }],
  DeviceStateChanged: ['The state of a device is another.', { device_state: DeviceState }],
  EndpointStateChange: ['An endpoint is another: its state or its channels.', { endpoint: Endpoint }],
  PeerStatusChange: ['An endpoint became reachable or stopped being so.', { endpoint: Endpoint, peer: Peer }],
  ContactStatusChange: [
    'An address of an endpoint became reachable or stopped being so.',
    { endpoint: Endpoint, contact_info: ContactInfo },
  ],
  TextMessageReceived: [
    'A text message came from an endpoint.',
    { message: TextMessage, endpoint: Type.Optional(Endpoint) },
  ],
  ApplicationReplaced: ['Another connection took the application over.', {}],
  ApplicationRegistered: ['The application is registered (connections made by this system only).', {}],
  ApplicationUnregistered: ['The application is no longer registered (connections made by this system only).', {}],
  ApplicationMoveFailed: [
    'A channel could not be moved; it stays where it is.',
    {
      channel: Channel,
      destination: text('Application it should have moved to.'),
      args: texts('Arguments it should have come with.'),
    },
  ],
  CallBroadcast: [
    'A channel is offered to several applications; one may claim it.',
    {
      channel: Channel,
      caller: Type.Optional(text('Number that calls.')),
      called: Type.Optional(text('Number that was called.')),
    },
  ],
  CallClaimed: [
    'A channel that was offered has been claimed.',
    { channel: Channel, winner_app: text('Application that claimed it.') },
  ],
} as const satisfies Record<string, readonly [description: string, payload: TProperties]>;

/** The type of every event. */
export type AriEventType = keyof typeof events;

/** All event types, in the order of their declaration. */
export const eventTypes = Object.keys(events) as readonly AriEventType[];

/** Members that delivery adds to an event for each application. */
export const EventStamp = Type.Object({
  timestamp: Timestamp,
  application: text('Application that the event is for.'),
  asterisk_id: text('Id of the system that the event comes from.'),
  seq: int(
    'Counts the events made for this application, from 1; a gap means that events were lost. ApplicationReplaced, which concerns a connection alone, has that of the event before it.',
  ),
  caused_by: Type.Optional(
    text('Id of the request that it follows from (its X-Request-Id), when it follows from one.'),
  ),
  traceparent: Type.Optional(
    text('Trace context of the request that caused it, else of its call (W3C Trace Context). Only with tracing.'),
  ),
  tracestate: Type.Optional(text('The vendor part of the trace context, if any (W3C Trace Context).')),
});
export type EventStamp = Static<typeof EventStamp>;

/** Trace context of an event (W3C Trace Context). */
export type TraceFields = Pick<EventStamp, 'traceparent' | 'tracestate'>;

/** An event of the given type before delivery. */
export type AriEventBodyOf<T extends AriEventType> = { type: T } & Static<TObject<(typeof events)[T][1]>>;

/** An event of the given type as clients get it. */
export type AriEventOf<T extends AriEventType> = AriEventBodyOf<T> & EventStamp;

/** An event as it is published in the system: without time, receiver, system id and sequence number. */
export type AriEventBody = { [T in AriEventType]: AriEventBodyOf<T> }[AriEventType];

/** An event as a client gets it. */
export type AriEvent = { [T in AriEventType]: AriEventOf<T> }[AriEventType];

function eventSchema(type: AriEventType): TSchema {
  const [description, payload]: readonly [string, TProperties] = events[type];
  return model(type, description, { type: Type.Literal(type), ...EventStamp.properties, ...payload });
}

/** The schema of every event as a client gets it. */
export const eventSchemas: Readonly<Record<AriEventType, TSchema>> = Object.fromEntries(
  eventTypes.map((type) => [type, eventSchema(type)]),
) as Record<AriEventType, TSchema>;
