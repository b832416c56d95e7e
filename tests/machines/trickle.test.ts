import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type TrickleEvent, trickleMachine, trickleTable } from '../../src/machines/trickle.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: TrickleEvent['type'][]) => afterEvents(trickleTable, 'early', ...types);
const chart = suite('trickle chart');

chart('candidates that come before the answer are kept until it is there', () => {
  assert.equal(after('candidates.came'), ['early', 'keepCandidates']);
  assert.equal(after('candidates.came', 'candidates.ended', 'ice.agreed'), ['open', 'addKept']);
});

chart('candidates are checked until the far side says that there are no more, and again after a restart', () => {
  assert.equal(after('ice.agreed', 'candidates.came'), ['open', 'addCandidates']);
  assert.equal(after('ice.agreed', 'candidates.ended'), ['complete']);
  assert.equal(after('ice.agreed', 'candidates.ended', 'candidates.came'), ['complete']);
  assert.equal(after('ice.agreed', 'candidates.ended', 'ice.agreed'), ['open']);
});

chart('every state and every transition is reached', () => assertTableCovered(trickleMachine, 'early'));

chart.run();
