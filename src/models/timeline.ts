import Type, { type Static } from 'typebox';
import { anyObject, double, flag, int, model, text } from './schema.ts';

/** Common members of timeline entries. */
const place = {
  seq: int('Place in the order of everything that the server has recorded; grows, with gaps.'),
  at: double('When it was, in ms since the Unix epoch.'),
};

const value = (description: string) => Type.Unknown({ description });

const StepChange = model('StepChange', 'The changes of a step in the snapshot of its chart.', {
  whole: Type.Optional(flag('True when it holds the whole snapshot: nothing from before is left.')),
  status: Type.Optional(text('`done` or `error` when the chart came to its end.')),
  value: Type.Optional(value('The state, if it is different.')),
  set: Type.Optional(anyObject('Members of the context that are new or have another value.')),
  unset: Type.Optional(Type.Array(Type.String(), { description: 'Members of the context that are gone.' })),
});

export const StepEntry = model('StepEntry', 'One step of one chart: an event, and all that came of it.', {
  kind: Type.Literal('step'),
  ...place,
  step: int('Counts the steps of the process.'),
  object: text('Id of the object, e.g. of a channel.'),
  chart: text('Id of its chart, e.g. `channel`, `ownership`, `playback`.'),
  event: anyObject('The event; `xstate.init` at the start.'),
  from: Type.Optional(value('Its state before; left out when it began.')),
  to: value('Its state after.'),
  facts: Type.Array(anyObject('A fact.'), { description: 'Its facts, in order.' }),
  effects: Type.Array(anyObject('An effect: `type` and `params`.'), { description: 'Its effects, in order.' }),
  caused_by: Type.Optional(
    Type.Union([Type.Integer(), Type.String()], { description: 'The step that led to it, or the name of a cause.' }),
  ),
  request_id: Type.Optional(text('Id of the request that it follows from.')),
  change: StepChange,
});
export type StepEntry = Static<typeof StepEntry>;

const RequestTimelineEntry = model('RequestEntry', 'A request of a client, with its answer.', {
  kind: Type.Literal('request'),
  ...place,
  request_id: text('Its X-Request-Id.'),
  method: text('Method.'),
  path: text('Path.'),
  query: text('Query, without secrets; empty when there was none.'),
  user: text('Who asked.'),
  over: Type.Enum(['http', 'websocket'], { description: 'The transport.' }),
  status: int('Status of the answer; 0 while there is none.'),
  duration_ms: double('How long the answer took, in ms.'),
});

export const EventTimelineEntry = model('EventEntry', 'An event that an application was sent, or missed.', {
  kind: Type.Literal('event'),
  ...place,
  application: text('Application that it was for.'),
  number: int("Its `seq` among the application's events."),
  type: text('Type of the event.'),
  missed: flag('True when the application had no connection.'),
  event: anyObject('The event.'),
});
export type EventTimelineEntry = Static<typeof EventTimelineEntry>;

const SipTimelineEntry = model('SipEntry', 'A SIP message.', {
  kind: Type.Literal('sip'),
  ...place,
  direction: Type.Enum(['in', 'out'], { description: 'Whether it came in or went out.' }),
  protocol: text('The transport, e.g. `udp`.'),
  local: text('Our address and port.'),
  remote: text("The far side's address and port."),
  first_line: text('First line.'),
  headers: text('Headers as they were written, without credentials.'),
  body: Type.Optional(text('Body; left out unless bodies are recorded.')),
  body_length: int('Octets of the body.'),
});

export const MediaTimelineEntry = model('MediaEntry', 'A report of the media plane about a channel.', {
  kind: Type.Literal('media'),
  ...place,
  object: text('Id of the channel.'),
  report: anyObject(
    "Measurements by name. Since the start: `codec`, `flow`, packets, loss, `late` packets and `digits`; jitter and round trip in ms. `remote` is the address of the far side's RTP. `level_db` and `level_sent_db` are the present levels received and sent. A channel without RTP has levels, and for a server's audio `waiting_ms` and `dropped_ms`. Each active video stream has the same, its number as `video`, key frames, retransmissions, dropped packets and `switches`. `shows` is the channel in it, `awaits` the channel that is not visible yet, with the reason in `unseen`.",
  ),
});
export type MediaTimelineEntry = Static<typeof MediaTimelineEntry>;

export const TimelineEntry = Type.Union(
  [StepEntry, RequestTimelineEntry, EventTimelineEntry, SipTimelineEntry, MediaTimelineEntry],
  { $id: 'TimelineEntry', description: 'One thing that was recorded; `kind` says which.' },
);
export type TimelineEntry = Static<typeof TimelineEntry>;
