import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type ChannelAudioEvent, channelAudioMachine } from '../../src/machines/channel-audio.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

/** Takes a channel's sound through events; gives the state and all effects on the way. */
function after(...events: ChannelAudioEvent[]) {
  let [snapshot, actions] = initialTransition(channelAudioMachine, { id: 'c1' });
  const effects: unknown[] = [];
  for (const event of events) {
    [snapshot, actions] = transition(channelAudioMachine, snapshot, event);
    for (const { type, params } of actions as { type: string; params?: unknown }[])
      if (!type.startsWith('xstate.')) effects.push(params ? [type, params] : type);
  }
  return { value: snapshot.value, status: snapshot.status, effects };
}

const audio = suite('channel audio chart');

audio('directions of muting add up and are taken away one by one', () => {
  const { value, effects } = after(
    { type: 'mute', direction: 'in' },
    { type: 'mute', direction: 'in' },
    { type: 'mute', direction: 'out' },
    { type: 'unmute', direction: 'in' },
    { type: 'unmute', direction: 'both' },
  );
  assert.equal(value, { there: { mute: 'unmuted', hold: 'active', background: 'nothing' } });
  assert.equal(effects, [
    ['muteMedia', { in: true, out: false }],
    ['muteMedia', { in: true, out: true }],
    ['muteMedia', { in: false, out: true }],
    ['muteMedia', { in: false, out: false }],
  ]);
});

audio('hold is told once and taken back once', () => {
  assert.equal(after({ type: 'hold' }, { type: 'hold' }, { type: 'unhold' }, { type: 'unhold' }).effects, [
    'holdLeg',
    'unholdLeg',
  ]);
});

audio('music switches its class, silence replaces it, and leaving the application stops either', () => {
  const { value, effects } = after(
    { type: 'startMoh', musicClass: 'a' },
    { type: 'startMoh', musicClass: 'b' },
    { type: 'startSilence' },
    { type: 'application.left' },
  );
  assert.equal(value, { there: { mute: 'unmuted', hold: 'active', background: 'nothing' } });
  assert.equal(effects, [
    ['startMusic', { musicClass: 'a' }],
    ['startMusic', { musicClass: 'b' }],
    'startSilence',
    'stopBackground',
  ]);
});

const commands: readonly ChannelAudioEvent[] = [
  ...(['both', 'in', 'out'] as const).flatMap((direction) => [
    { type: 'mute', direction } as const,
    { type: 'unmute', direction } as const,
  ]),
  { type: 'hold' },
  { type: 'unhold' },
  { type: 'startMoh', musicClass: 'a' },
  { type: 'startMoh', musicClass: 'b' },
  { type: 'stopMoh' },
  { type: 'startSilence' },
  { type: 'stopSilence' },
  { type: 'application.left' },
];

/** What is to be heard of a channel, as a person would keep it in mind. */
function createListener() {
  let [muted, held, background] = [new Set<string>(), false, 'nothing'];
  const directions = (event: { direction: string }) => (event.direction === 'both' ? ['in', 'out'] : [event.direction]);
  return {
    hear(event: ChannelAudioEvent): void {
      if (event.type === 'mute') muted = new Set([...muted, ...directions(event)]);
      if (event.type === 'unmute') muted = new Set([...muted].filter((each) => !directions(event).includes(each)));
      if (event.type === 'hold') held = true;
      if (event.type === 'unhold') held = false;
      if (event.type === 'startMoh') background = `music ${event.musicClass}`;
      if (event.type === 'startSilence') background = 'silence';
      if (event.type === 'stopMoh' && background.startsWith('music')) background = 'nothing';
      if (event.type === 'stopSilence' && background === 'silence') background = 'nothing';
      if (event.type === 'application.left') background = 'nothing';
    },
    get now() {
      return { in: muted.has('in'), out: muted.has('out'), held, background };
    },
  };
}

/** What is heard after the effects of a chart. */
function heardAfter(effects: readonly unknown[]) {
  let now = { in: false, out: false, held: false, background: 'nothing' };
  for (const effect of effects as (string | [string, { musicClass: string; in: boolean; out: boolean }])[]) {
    const [type, params] = typeof effect === 'string' ? [effect] : effect;
    if (type === 'muteMedia') now = { ...now, ...params };
    if (type === 'holdLeg' || type === 'unholdLeg') now = { ...now, held: type === 'holdLeg' };
    if (type === 'startMusic') now = { ...now, background: `music ${params?.musicClass}` };
    if (type === 'startSilence') now = { ...now, background: 'silence' };
    if (type === 'stopBackground') now = { ...now, background: 'nothing' };
  }
  return now;
}

audio('three commands in any order leave the sound that they ask for', () => {
  const walk = (events: readonly ChannelAudioEvent[], left: number): void => {
    const listener = createListener();
    for (const event of events) listener.hear(event);
    const { effects } = after(...events);
    assert.equal(heardAfter(effects), listener.now, events.map(({ type }) => type).join(', '));
    // What is over is not ended again.
    for (const [index, effect] of effects.entries())
      if (index > 0 && typeof effect === 'string') assert.is.not(effects.slice(0, index).at(-1), effect);
    if (left > 0) for (const event of commands) walk([...events, event], left - 1);
  };
  walk([], 3);
});

audio('ends with its channel, whatever was done to its sound', () => {
  for (const command of commands) assert.is(after(command, { type: 'channel.gone' }).status, 'done');
});

audio('every state is reached and every transition taken by paths made from the chart', () => {
  const coverage = coverChart(channelAudioMachine, {
    inputs: [{ id: 'c1' }],
    events: [...commands, { type: 'channel.gone' }],
  });
  assertCovered(channelAudioMachine, coverage);
});

audio.run();
