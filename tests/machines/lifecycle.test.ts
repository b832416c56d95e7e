import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LifecycleEvent, lifecycleMachine, lifecycleTable } from '../../src/machines/lifecycle.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: LifecycleEvent['type'][]) => afterEvents(lifecycleTable, 'made', ...types);
const chart = suite('lifecycle chart');

chart('a part is started once, drained and closed, and there is no way back', () => {
  assert.equal(after('start'), ['serving']);
  assert.equal(after('start', 'start'), ['serving']);
  assert.equal(after('drain'), ['draining']);
  assert.equal(after('start', 'drain'), ['draining']);
  for (const type of ['start', 'drain'] as const) assert.equal(after('start', 'drain', type), ['draining']);
  for (const before of [[], ['start'], ['drain']] as const) {
    assert.equal(after(...before, 'close'), ['closed']);
    assert.equal(after(...before, 'close', 'start', 'drain'), ['closed']);
  }
});

chart('a part can be cordoned and takes new calls again', () => {
  assert.equal(after('start', 'cordon'), ['cordoned']);
  assert.equal(after('start', 'cordon', 'cordon'), ['cordoned']);
  assert.equal(after('start', 'cordon', 'uncordon'), ['serving']);
  assert.equal(after('start', 'cordon', 'drain'), ['draining']);
  assert.equal(after('start', 'cordon', 'drain', 'uncordon'), ['draining']);
  assert.equal(after('start', 'cordon', 'close'), ['closed']);
});

chart('a part whose cluster is away takes no new calls until it is back, unless it is cordoned as well', () => {
  assert.equal(after('start', 'isolate'), ['isolated']);
  assert.equal(after('start', 'isolate', 'uncordon'), ['isolated']);
  assert.equal(after('start', 'isolate', 'rejoin'), ['serving']);
  assert.equal(after('start', 'isolate', 'cordon', 'rejoin'), ['cordoned']);
  assert.equal(after('start', 'cordon', 'isolate', 'uncordon'), ['isolated']);
  assert.equal(after('start', 'isolate', 'cordon', 'drain', 'rejoin'), ['draining']);
  assert.equal(after('start', 'isolate', 'drain'), ['draining']);
  assert.equal(after('start', 'isolate', 'close'), ['closed']);
  assert.equal(after('start', 'isolate', 'cordon', 'close'), ['closed']);
});

chart('every state and every transition is reached', () => assertTableCovered(lifecycleMachine, 'made'));

chart.run();
