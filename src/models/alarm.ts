import Type, { type Static } from 'typebox';
import { double, int, model, text, texts } from './schema.ts';

/** The kinds of alarms, in the order in which those of one severity are listed. */
export const alarmKinds = [
  ...['registration', 'application', 'one_way_audio', 'media_late', 'state_store', 'disk', 'lost_records'],
  ...['certificate', 'phones', 'attack', 'failed_calls', 'stuck', 'event_loop_late', 'sip_unanswered', 'limit'],
] as const;
export type AlarmKind =
  | ('registration' | 'application' | 'one_way_audio' | 'media_late' | 'state_store' | 'disk' | 'lost_records')
  | ('certificate' | 'phones' | 'attack' | 'failed_calls' | 'stuck' | 'event_loop_late' | 'sip_unanswered' | 'limit');

export const Alarm = model('Alarm', 'Something that an operator should look at now.', {
  kind: Type.Enum([...alarmKinds], { description: 'The kind of alarm.' }),
  severity: Type.Enum(['critical', 'warning'], { description: '`critical`: calls fail or are lost.' }),
  text: text('The problem, in words.'),
  advice: text('What to do about it.'),
  object: Type.Optional(text('The endpoint, application, certificate or setting that it is about.')),
  since: Type.Optional(double('Its start in ms since the Unix epoch, if known.')),
  count: int('How many objects, calls or times.'),
  calls: texts('Ids of its calls, newest first: 20 at most.'),
});
export type Alarm = Static<typeof Alarm>;

/** The figures of a minute: those at its end, and how often something happened in it. */
export const historyFigures = {
  live_calls: 'Live calls at the end of the minute.',
  new_calls: 'Calls that began.',
  answered_calls: 'Calls that were answered.',
  failed_calls: 'Calls that failed or were refused.',
  one_way_calls: 'Answered calls that began to lack the audio of their far side.',
  missing_applications: 'Calls that asked for an application that was not connected.',
  skipped_ticks: 'Ticks that media threads left out.',
  sip_timeouts: 'SIP requests without response.',
  lost_records: 'Call records and audit lines that were lost.',
  loop_delay_ms: "99th percentile of the event loop's delay, in ms.",
  memory_mb: 'Memory of the process at the end of the minute, in MB.',
} as const;
export type HistoryFigure = keyof typeof historyFigures;

const series = (description: string) => Type.Array(Type.Number(), { description });

export const History = model(
  'History',
  'Figures of each minute, oldest first. They survive a restart; minutes without a server are 0.',
  {
    interval_s: int('Seconds between two values.'),
    from: double('End of the first interval, in ms since the Unix epoch.'),
    ...(Object.fromEntries(Object.entries(historyFigures).map(([name, about]) => [name, series(about)])) as Record<
      HistoryFigure,
      ReturnType<typeof series>
    >),
  },
);
export type History = Static<typeof History>;
