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

audio('ends with its channel', () => {
  assert.is(after({ type: 'channel.gone' }).status, 'done');
});

audio('every state is reached and every transition taken by paths made from the chart', () => {
  const coverage = coverChart(channelAudioMachine, {
    inputs: [{ id: 'c1' }],
    events: [
      ...(['both', 'in', 'out'] as const).flatMap((direction) => [
        { type: 'mute', direction } as const,
        { type: 'unmute', direction } as const,
      ]),
      { type: 'hold' },
      { type: 'unhold' },
      { type: 'startMoh', musicClass: 'default' },
      { type: 'stopMoh' },
      { type: 'startSilence' },
      { type: 'stopSilence' },
      { type: 'application.left' },
      { type: 'channel.gone' },
    ],
  });
  assertCovered(channelAudioMachine, coverage);
});

audio.run();
