import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type ConsultationEvent,
  type ConsultationInput,
  consultationMachine,
} from '../../src/machines/consultation.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const input: ConsultationInput = { id: 't1', transferer: 'c1', targetId: 'c2', bridgeId: 'b2', waitingIn: 'b1' };

/** Takes a consultation call through events; gives where it is, and the effects of the last one. */
function after(...types: ConsultationEvent['type'][]) {
  let [snapshot, actions] = initialTransition(consultationMachine, input);
  for (const type of types) [snapshot, actions] = transition(consultationMachine, snapshot, { type });
  return [snapshot.value, ...actions.map(({ type }) => type)];
}

const chart = suite('consultation chart');

chart('both talk until the transfer goes on, or ends', () => {
  assert.equal(after(), ['opening', 'openTalk']);
  assert.equal(after('talk.opened'), ['talking', 'watchTalk']);
  assert.equal(after('talk.opened', 'complete'), ['completing', 'completeTalk']);
  assert.equal(after('talk.opened', 'complete', 'talk.completed'), ['over', 'tellCompleted']);
  assert.equal(after('talk.opened', 'end'), ['over', 'returnParty']);
});

chart('a talk that cannot be, or that somebody else ends, is told to its transfer', () => {
  assert.equal(after('talk.refused'), ['over', 'tellRefused']);
  for (const who of ['party.elsewhere', 'target.elsewhere'] as const) {
    assert.equal(after('talk.opened', who), ['parted', 'tellParted']);
    assert.equal(after('talk.opened', who, 'end'), ['over', 'returnParty']);
    // Once: it knows it then, and they part when it goes on.
    assert.equal(after('talk.opened', who, who), ['parted']);
    assert.equal(after('talk.opened', 'complete', who), ['completing']);
  }
  assert.equal(after('talk.opened', 'complete', 'completion.refused'), ['parted', 'tellIncomplete']);
});

chart('every state and every transition is reached', () => {
  const { inputs, events } = chartSamples.find(({ machine }) => machine === consultationMachine)!;
  const coverage = coverChart(consultationMachine, {
    inputs: inputs as ConsultationInput[],
    events: events as ConsultationEvent[],
  });
  assertCovered(consultationMachine, coverage);
});

chart.run();
