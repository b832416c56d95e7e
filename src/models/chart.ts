import Type, { type Static } from 'typebox';
import { model, stringMap, text, texts } from './schema.ts';

/** The charts as documents: made of src/machines when the program is built. */

const optionalText = (description: string) => Type.Optional(text(description));

export const ChartState = model('ChartState', 'A state of a chart.', {
  id: text('Its path in the chart, e.g. `up` or `there.mute.mutedIn`; the SVG has it as `state:<id>`.'),
  kind: Type.Enum(['atomic', 'compound', 'parallel', 'final'], { description: 'As in xstate.' }),
  parent: optionalText('The state that it lies in.'),
  initial: Type.Optional(Type.Boolean({ description: 'It is entered first.' })),
  shown: optionalText('The public state.'),
  effects: texts('Effects on entry.'),
  facts: texts('Facts on entry.'),
});
export type ChartState = Static<typeof ChartState>;

export const ChartTransition = model('ChartTransition', 'A transition of a state by an event.', {
  from: text('The state that declares it; `` for the chart as a whole.'),
  to: optionalText('The next state. Left out if the state stays.'),
  event: text('The event, or `after …`, or `always`.'),
  guard: optionalText('Only when this holds.'),
  effects: texts('Its effects.'),
  facts: texts('Its facts.'),
  edge: optionalText('Id of its line in the SVG.'),
});
export type ChartTransition = Static<typeof ChartTransition>;

export const ChartEvent = model('ChartEvent', 'The transitions of one event in each state.', {
  event: text('The command, report or operation.'),
  kind: Type.Enum(['command', 'report'], { description: '`command` comes from above, `report` from below.' }),
  in: stringMap('By state, in words: the action, the error for the client, or the reason why it is ignored.'),
});
export type ChartEvent = Static<typeof ChartEvent>;

export const ChartSummary = model('ChartSummary', 'A chart.', {
  name: text('Its name, as steps have it.'),
  title: text('The same for people.'),
  about: text('Its subject.'),
  states: Type.Array(Type.String(), { description: 'Ids of its states.' }),
});
export type ChartSummary = Static<typeof ChartSummary>;

export const Chart = model('Chart', 'A chart with everything it says.', {
  name: text('Its name, as steps have it.'),
  title: text('The same for people.'),
  about: text('Its subject.'),
  file: text('Its source file.'),
  states: Type.Array(ChartState),
  transitions: Type.Array(ChartTransition),
  events: Type.Array(ChartEvent),
  delays: stringMap('Its delays, in words.'),
});
export type Chart = Static<typeof Chart>;
