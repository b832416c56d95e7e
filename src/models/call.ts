import Type, { type Static } from 'typebox';
import { CallOutcome } from './call-outcome.ts';
import { CallerID } from './channel.ts';
import { double, flag, int, model, text, texts } from './schema.ts';
import { TimelineEntry } from './timeline.ts';

export const WaitingFor = model('WaitingFor', 'Something that stays longer than it is expected to.', {
  kind: Type.Enum(['object', 'application', 'mailbox', 'socket'], { description: 'The kind of object.' }),
  object: text('Its id: of a channel, playback, application…'),
  chart: Type.Optional(text('Id of its chart.')),
  state: Type.Optional(text('The state that it is in.')),
  since: double('Since when, in ms since the Unix epoch.'),
  expected_ms: int('How long it is expected to stay so at most, in ms.'),
  waits_for: text('The awaited event, in words.'),
  call: Type.Optional(text('Id of its call.')),
});
export type WaitingFor = Static<typeof WaitingFor>;

export const CallChannel = model('CallChannel', 'A channel of a call.', {
  id: text('Its id.'),
  name: text('Its name.'),
  state: text('The state that clients see.'),
  life: text("The state of its life's chart."),
  endpoint: Type.Optional(text('`technology/resource` of the endpoint that it belongs to.')),
  dialed: Type.Optional(text('The dialed target: `bob`, or `0301234@provider`. Left out for incoming channels.')),
  caller: CallerID,
  connected: CallerID,
  application: Type.Optional(text('The application in control of it.')),
  extension: text('`extension@context` of the dialplan that it is or was at.'),
  began: double('When it came, in ms since the Unix epoch.'),
  ended: Type.Optional(double('When it went, in ms since the Unix epoch.')),
  direction: Type.Enum(['in', 'out'], { description: 'Whether it came in or went out.' }),
  cause: int('Q.850 cause that it ended or is ending with; 0 while there is none.'),
  sip_status: Type.Optional(int('The SIP status that it ended with.')),
  outcome: CallOutcome,
  failure: Type.Optional(text('Why it failed, where the cause does not say so: its application was not connected.')),
});
export type CallChannel = Static<typeof CallChannel>;

export const CallMask = model('CallMask', 'Hidden parts of a call.', {
  digits: flag('Digits that were pressed or sent.'),
  variables: texts('Variables whose values are not shown.'),
});
export type CallMask = Static<typeof CallMask>;

const call = {
  id: text('Its id: the `linkedid` of its channels.'),
  state: Type.Enum(['live', 'ended'], { description: 'Whether a channel is left.' }),
  began: double('When its first channel came, in ms since the Unix epoch.'),
  ended: Type.Optional(double('When its last channel went.')),
  duration_ms: double('How long it has been, or was, in ms.'),
  outcome: CallOutcome,
  channels: Type.Array(CallChannel, { description: 'Its channels, in the order in which they came.' }),
  applications: texts('Applications that were in control of a channel of it.'),
  bridges: texts('Bridges that a channel of it was in.'),
  stuck: Type.Array(WaitingFor, { description: 'Its stuck objects.' }),
  entries: int('Entries of its timeline.'),
  gone: int('Entries that have gone because there were too many.'),
  seq: int('Place in the order of the last thing that was recorded of it.'),
  masked: Type.Optional(CallMask),
};

/** Channels that belong together, as one call. */
export const Call = model('Call', 'A call: channels that belong together.', call);
export type Call = Static<typeof Call>;

export const CallPage = model('CallPage', 'Some of the calls that were asked for.', {
  calls: Type.Array(Call),
  total: int('How many there are in all.'),
  next: Type.Optional(int('The `offset` of the next page; left out at the end.')),
  unsearched_before: Type.Optional(
    double(
      'Stored calls that ended before this were not looked at (`recorder.disk.searched`), in ms since the Unix epoch: ask again with it as `to`.',
    ),
  ),
  evicted: int('Ended calls that went before their time because everything together took too much memory.'),
});
export type CallPage = Static<typeof CallPage>;

export const CallDetail = model('CallDetail', 'A call with everything that was recorded of it.', {
  ...call,
  stored: Type.Optional(flag('It was read from the disk: the recorder no longer has it in memory.')),
  timeline: Type.Array(TimelineEntry, { description: 'In order.' }),
});
export type CallDetail = Static<typeof CallDetail>;
