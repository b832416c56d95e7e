import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type LifecycleEvent, lifecycleMachine, lifecycleTable } from '../../src/machines/lifecycle.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart } from '../support/charts.ts';
import { afterEvents } from '../support/table-runs.ts';

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

chart('every state and every transition is reached', () => {
  assert.is(lifecycleMachine.root.initial.target[0]?.key, 'made');
  const { events } = chartSamples.find(({ machine }) => (machine as unknown) === lifecycleMachine)!;
  const coverage = coverChart(lifecycleMachine, { inputs: [undefined], events: events as never });
  assertCovered(lifecycleMachine, coverage);
});

chart.run();
