import Type, { type Static } from 'typebox';
import { Bridge } from './bridge.ts';
import { Channel } from './channel.ts';
import { LiveRecording } from './live-recording.ts';
import { Playback } from './playback.ts';
import { flag, int, model, text, texts } from './schema.ts';
import { Timestamp } from './timestamp.ts';

/** Messages on the events WebSocket that are no events: requests carried over it, their answers, and complaints. */

export const RESTQueryStringParameter = model('RESTQueryStringParameter', 'A parameter of a request.', {
  name: text('Name of the parameter.'),
  value: text('Its value, not encoded.'),
});
export type RESTQueryStringParameter = Static<typeof RESTQueryStringParameter>;

/** A REST request carried over the WebSocket. */
export const RESTRequest = model('RESTRequest', 'A REST request carried over the WebSocket.', {
  type: Type.Literal('RESTRequest'),
  transaction_id: text('Returned in the answer.'),
  request_id: text('Returned in the answer.'),
  method: text('GET, POST, PUT, DELETE, OPTIONS or HEAD.'),
  uri: text('Path without a slash in front, with a query if wanted, e.g. channels/x/play?media=sound:beep.'),
  content_type: Type.Optional(text('application/json or application/x-www-form-urlencoded; needed with a body.')),
  query_strings: Type.Optional(
    Type.Array(RESTQueryStringParameter, { description: 'Parameters, instead of a query.' }),
  ),
  message_body: Type.Optional(text('Body of the request.')),
  traceparent: Type.Optional(text('Where in a trace the request is (W3C Trace Context), as the header over HTTP.')),
  tracestate: Type.Optional(text('The trace state of other systems (W3C Trace Context).')),
  idempotency_key: Type.Optional(text('As the header `Idempotency-Key` over HTTP.')),
  if_state: Type.Optional(text('As the header `If-State` over HTTP.')),
});
export type RESTRequest = Static<typeof RESTRequest>;

/** The answer to a {@link RESTRequest}. */
export const RESTResponse = model('RESTResponse', 'The answer to a request carried over the WebSocket.', {
  type: Type.Literal('RESTResponse'),
  transaction_id: text('As in the request; empty when it had none.'),
  request_id: text('As in the request; empty when it had none.'),
  status_code: int('HTTP status.'),
  reason_phrase: text('Words that go with the status.'),
  uri: text('As in the request, without its query.'),
  content_type: Type.Optional(text('Type of the body.')),
  message_body: Type.Optional(text('Body of the answer, as compact JSON.')),
  application: text('First application of the socket.'),
  timestamp: Timestamp,
  asterisk_id: text('Id of this system.'),
});
export type RESTResponse = Static<typeof RESTResponse>;

/** Common members of messages. */
export const Message = model('Message', 'A message on the events WebSocket.', {
  type: text('The type of message.'),
  asterisk_id: Type.Optional(text('Id of the system that it comes from.')),
});
export type Message = Static<typeof Message>;

/** The answer to a connection that lacks parameters. */
export const MissingParams = model('MissingParams', 'Parameters that a connection lacked.', {
  type: Type.Literal('MissingParams'),
  asterisk_id: Type.Optional(text('Id of this system.')),
  params: texts('Names of the missing parameters.'),
});
export type MissingParams = Static<typeof MissingParams>;

/** Told to a connection that asked to resume, when events since then are no longer kept. */
export const EventsLost = model('EventsLost', 'Events that a connection asked for are no longer kept.', {
  type: Type.Literal('EventsLost'),
  application: text('Application whose events they were.'),
  asterisk_id: text('Id of this system.'),
  timestamp: Timestamp,
  after: int('Number of the last event that it had, as it said.'),
  lost: Type.Optional(
    int('Number of lost events; left out if unknown, because the numbers are of an earlier application.'),
  ),
});
export type EventsLost = Static<typeof EventsLost>;

/** Told first to a connection that resumes by epoch or acknowledges events, unless its place is gone. */
export const ResumePoint = model('ResumePoint', 'Where the events of a connection resume.', {
  type: Type.Literal('ResumePoint'),
  application: text('Application whose events follow.'),
  asterisk_id: text('Id of this system.'),
  timestamp: Timestamp,
  epoch: text('Epoch of the numbers (`seq`) of all events that follow: resume with `<epoch>:<seq>`.'),
  seq: int('Number of the event before the next one.'),
});
export type ResumePoint = Static<typeof ResumePoint>;

/** The objects that an application holds at one moment. */
export const HeldObjects = model('HeldObjects', 'The objects of an application.', {
  channels: Type.Array(Channel, { description: 'Channels in the application, and those that it is subscribed to.' }),
  bridges: Type.Array(Bridge, { description: 'Bridges that it is subscribed to, and those with its channels.' }),
  playbacks: Type.Array(Playback, { description: 'What plays or waits on these.' }),
  recordings: Type.Array(LiveRecording, { description: 'What is recorded of these.' }),
  complete: flag('Whether these are all: `http.limits.resume_objects` bounds them.'),
});
export type HeldObjects = Static<typeof HeldObjects>;

/** Told first, in place of ResumePoint, to a connection whose missed events are no longer kept or unknown. */
export const ResumeGap = model('ResumeGap', 'Missed events are gone; a snapshot takes their place.', {
  type: Type.Literal('ResumeGap'),
  application: text('Application whose events they were.'),
  asterisk_id: text('Id of this system.'),
  timestamp: Timestamp,
  epoch: text('Epoch of the numbers of all events that follow.'),
  seq: int('Number of the event before the next one.'),
  after: int('Number of the last event that it had.'),
  lost: Type.Optional(int('Number of lost events; left out if unknown, because the epoch is not known.')),
  snapshot: HeldObjects,
});
export type ResumeGap = Static<typeof ResumeGap>;

/** Told to a member of a group of connections that drains, when its last call is over. */
export const GroupMemberDrained = model(
  'GroupMemberDrained',
  'The last call of a draining member of a group is over.',
  {
    type: Type.Literal('GroupMemberDrained'),
    application: text('Application that the group shares.'),
    group: text('Name of the group.'),
    member: text('Name of the member.'),
    asterisk_id: text('Id of this system.'),
    timestamp: Timestamp,
  },
);
export type GroupMemberDrained = Static<typeof GroupMemberDrained>;

/** Told to a connection that asked for it (`nodes`) when a node of the cluster is lost. */
export const NodeLost = model(
  'NodeLost',
  'A node of the cluster is lost: it ended without a word, or cannot be reached.',
  {
    type: Type.Literal('NodeLost'),
    application: text('Application of the connection.'),
    asterisk_id: text('Id of this system.'),
    timestamp: Timestamp,
    node: text('Name of the node. The ids of its objects begin with it.'),
    heard: Type.Optional(Timestamp),
    channels: int('Channels that it had, as it told last.'),
    replicated: flag('Whether another node goes on with its calls, if one can (`cluster.replicate`).'),
  },
);
export type NodeLost = Static<typeof NodeLost>;

/** The body of every refusal. */
export const ErrorBody = model('Error', 'Why a request was refused.', {
  message: Type.Optional(text('The error, in words.')),
  error: Type.Optional(text('The same under the name that some clients read.')),
});
export type ErrorBody = Static<typeof ErrorBody>;
