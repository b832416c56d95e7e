import Type, { type Static } from 'typebox';
import { Call, WaitingFor } from './call.ts';
import { refusedCalls } from './refused-call.ts';
import { double, int, model, text, texts } from './schema.ts';
import { EventTimelineEntry, TimelineEntry } from './timeline.ts';

const place = {
  at: double('When it was made, in ms since the Unix epoch.'),
  seq: int('Place in the order of the last thing that it knows of.'),
};

export const LiveFigures = model('LiveFigures', 'The server in numbers.', {
  live_calls: int('Calls with a channel.'),
  begun_calls: int(
    'Calls that began since recording started. For a user that does not see all calls: those that the user sees, since the WebSocket opened.',
  ),
  kept_calls: int('Calls that are kept, live ones among them.'),
  evicted: int('Ended calls that went before their time because everything together took too much memory.'),
  recorded: int('Things that were recorded since the server started.'),
  octets: int('Approximate memory of the kept records.'),
  recording: Type.Boolean({
    description: 'Whether anything is recorded (`recorder.off`); if not, no calls are shown.',
  }),
});
export type LiveFigures = Static<typeof LiveFigures>;

const LiveSocket = model('LiveSocket', 'A WebSocket that an application has opened.', {
  client: text('Its applications and where it comes from.'),
  unread: int('Octets of events that its client has not read yet.'),
  resumed: Type.Boolean({ description: 'Whether it asked for the events that were missed before.' }),
});

export const LiveApplication = model('LiveApplication', 'An application in numbers.', {
  name: text('Its name.'),
  connected: Type.Boolean({ description: 'Whether its WebSocket is there.' }),
  state: text('Its state, as its chart names it: `inactive`.'),
  events: int('Events made for it so far.'),
  missed: int('How many of these it missed since its connection went.'),
  sockets: Type.Optional(Type.Array(LiveSocket, { description: 'Its WebSockets; left out where there are none.' })),
});
export type LiveApplication = Static<typeof LiveApplication>;

export const Listened = model('Listened', 'The first message to a listener: the format of the binary ones.', {
  type: Type.Literal('listening'),
  channel: text('Id of the channel.'),
  sample_rate: int('Samples a second.'),
  bits: int('Bits of a sample; one channel, linear, signed, little end first.'),
});
export type Listened = Static<typeof Listened>;

export const LiveOverview = model('LiveOverview', 'Overview: the calls that have changed.', {
  type: Type.Literal('overview'),
  ...place,
  calls: Type.Array(Call, {
    description:
      'Calls that began, changed or ended. The first message has the newest; the following ones add other live calls, as many as `recorder.live.calls_burst` allows. While more change than `recorder.live.calls_per_second` for long, it is a sample: failures and new live calls. A call that a client has seen is always updated.',
  }),
  removed: texts('Ids of calls that were dropped or merged into others.'),
  figures: LiveFigures,
  applications: Type.Array(LiveApplication, { description: 'All applications.' }),
  stuck: Type.Array(WaitingFor, {
    description: 'Stuck objects, longest first; at most `recorder.live.stuck`.',
  }),
  stuck_left_out: Type.Optional(int('Further stuck objects; left out where `stuck` has all.')),
  refused: Type.Optional(refusedCalls),
});
export type LiveOverview = Static<typeof LiveOverview>;

export const LiveCall = model('LiveCall', 'One call: what was recorded of it since the last message.', {
  type: Type.Literal('call'),
  ...place,
  whole: Type.Optional(Type.Boolean({ description: 'True when `entries` are all there are: forget those of before.' })),
  call: Call,
  entries: Type.Array(TimelineEntry, { description: 'In order.' }),
  let_go: Type.Optional(
    double(
      'When its entries were dropped, in ms since the Unix epoch (`recorder.off`, or it ended too long ago). Earlier messages stay valid, and no more follow.',
    ),
  ),
});
export type LiveCall = Static<typeof LiveCall>;

export const LiveApplicationEvents = model('LiveApplicationEvents', 'The events of one application.', {
  type: Type.Literal('application'),
  ...place,
  application: LiveApplication,
  events: Type.Array(EventTimelineEntry, { description: 'Those since the last message, in order.' }),
  skipped: int('Events that were left out because there were too many.'),
});
export type LiveApplicationEvents = Static<typeof LiveApplicationEvents>;

/** Messages of the live WebSocket. */
export const LiveMessage = Type.Union([LiveOverview, LiveCall, LiveApplicationEvents], {
  $id: 'LiveMessage',
  description: 'A message of the live WebSocket; `type` says which.',
});
export type LiveMessage = Static<typeof LiveMessage>;
