import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setup } from 'xstate';
import { isBeforeAnswer, isUp, type LegEvent, type LegState, legMachine, legTable } from '../../src/machines/leg.ts';
import { plainTable } from '../../src/machines/plain-table.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

type Type = LegEvent['type'];

/** Takes a leg through events; gives where it is, and the effects of the last one. */
function after(from: LegState, ...types: Type[]): [state: LegState, ...effects: string[]] {
  let state = from;
  let effects: readonly string[] = [];
  for (const type of types) {
    const row = legTable[state][type];
    effects = row?.effects ?? [];
    state = row?.to ?? state;
  }
  return [state, ...effects];
}
/** In which states an event changes something. */
const where = (type: Type): string[] =>
  Object.entries(legTable).flatMap(([state, rows]) => (rows[type] ? [state] : []));

const living = ['undialed', 'setup', 'unheard', 'up', 'held'] as const;
const chart = suite('leg chart');

chart('a call that we place is dialed once, one that came in is not', () => {
  assert.is(legMachine.root.initial.target[0]?.key, 'undialed');
  assert.equal(after('undialed', 'dial'), ['setup', 'placeCall']);
  assert.equal(where('dial'), ['undialed']);
});

chart('the answer makes it stand; media that was not heard before is expected anew', () => {
  assert.equal(after('setup', 'call.answered'), ['up', 'tellAnswered', 'considerVideo', 'noteChange']);
  assert.equal(after('setup', 'media.silent'), ['unheard']);
  assert.equal(after('setup', 'media.silent', 'call.answered'), [
    ...(['up', 'renewMedia', 'tellAnswered', 'considerVideo', 'noteChange'] as const),
  ]);
  assert.equal(where('call.answered'), ['setup', 'unheard']);
});

chart('before the answer the far side is told of ringing, forwarding and audio, and stays where it is', () => {
  const told = { ring: 'sendRinging', forwarding: 'sendForwarding', progress: 'sendProgress', answer: 'answerCall' };
  for (const state of ['setup', 'unheard'] as const) {
    for (const [type, effect] of Object.entries(told)) assert.equal(after(state, type as Type), [state, effect]);
    assert.equal(after(state, 'deflect'), ['gone', 'deflectCall', 'tellHungUp', 'noteChange']);
    assert.equal(after(state, 'call.forwarded'), ['gone', 'tellForwarded']);
  }
  for (const type of ['forwarding', 'progress', 'answer', 'deflect', 'call.forwarded'] as const)
    assert.equal(where(type), ['setup', 'unheard']);
});

chart('what stands can be held, negotiated again and referred, and hears ringing in its audio', () => {
  const done = { ring: 'playRinging', hold: 'holdCall', unhold: 'unholdCall', renegotiate: 'offerAgain' };
  for (const state of ['up', 'held'] as const)
    for (const [type, effect] of Object.entries({ ...done, stopRinging: 'stopRinging', refer: 'referCall' }))
      assert.equal(after(state, type as Type), [state, effect]);
  for (const type of ['hold', 'unhold', 'renegotiate', 'refer', 'stopRinging'] as const)
    assert.equal(where(type), ['up', 'held']);
});

chart('hold of the far side is told once, and only of a call that stands', () => {
  assert.equal(after('up', 'far.held'), ['held', 'tellHeld', 'noteChange']);
  assert.equal(after('held', 'far.held'), ['held']);
  assert.equal(after('held', 'far.unheld'), ['up', 'tellUnheld', 'noteChange']);
  assert.equal([where('far.held'), where('far.unheld')], [['up'], ['held']]);
});

chart('its end is told once, and then the hang-up is awaited', () => {
  for (const state of living) {
    assert.equal(after(state, 'call.ended'), ['gone', 'tellHungUp', 'noteChange']);
    assert.equal(after(state, 'call.ended', 'call.ended'), ['gone']);
    assert.equal(after(state, 'media.lost'), ['gone', 'refuseCall', 'tellHungUp', 'noteChange']);
  }
  for (const state of ['up', 'held'] as const)
    assert.equal(after(state, 'media.silent'), ['gone', 'tellHungUp', 'noteChange']);
  for (const state of [...living, 'gone'] as const) {
    assert.equal(after(state, 'hangup'), ['ended', 'endCall', 'tellEnded']);
    assert.equal(after(state, 'release'), ['ended', 'endCall']);
  }
  assert.equal(Object.keys(legTable.gone).sort(), ['hangup', 'release']);
  assert.equal(legTable.ended, {});
});

chart('states are grouped as those ask who show calls', () => {
  const states = Object.keys(legTable) as LegState[];
  assert.equal(states.filter(isBeforeAnswer), ['undialed', 'setup', 'unheard']);
  assert.equal(states.filter(isUp), ['up', 'held']);
});

chart('only a plain chart can be written as a table', () => {
  const made = (state: object, on: object = {}) =>
    setup({ actions: { act: () => {} }, guards: { may: () => true } }).createMachine({
      ...{ id: 'odd', initial: 'here', states: { here: state as never, there: {} }, on: on as never },
    });
  const table = plainTable(made({ on: { go: 'there', stay: { actions: 'act' } } }, { go: { actions: 'act' } }));
  assert.equal(table['here' as never], { go: { to: 'there', effects: [] }, stay: { to: 'here', effects: ['act'] } });
  assert.equal(table['there' as never], { go: { to: 'there', effects: ['act'] } });
  const odd = [
    { entry: 'act' },
    { exit: 'act' },
    { always: { guard: 'may', target: 'there' } },
    { after: { 5: 'there' } },
    { initial: 'inner', states: { inner: {} } },
    { on: { go: { guard: 'may', target: 'there' } } },
    { on: { go: [{ target: 'there' }, { actions: 'act' }] } },
    { on: { go: { actions: { type: 'act', params: {} } } } },
    { on: { go: { actions: () => {} } } },
  ];
  for (const state of odd) assert.throws(() => plainTable(made(state)), /is no plain/);
});

chart('every state and every transition is reached', () => {
  const { events } = chartSamples.find(({ machine }) => (machine as unknown) === legMachine)!;
  assertCovered(legMachine, coverChart(legMachine, { inputs: [undefined], events: events as LegEvent[] }));
});

chart.run();
