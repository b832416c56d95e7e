import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type NodeNameEvent, nodeNameMachine, nodeNameTable } from '../../src/machines/node-name.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: NodeNameEvent['type'][]) => afterEvents(nodeNameTable, 'unheld', ...types);
const chart = suite('node name chart');

chart('a server takes part while it has its name', () => {
  assert.equal(after('granted'), ['held', 'takePart']);
  assert.equal(after('granted', 'link.lost'), ['lost', 'stopPart']);
  assert.equal(after('granted', 'link.lost', 'granted'), ['held', 'takePart']);
});

chart('a server whose name another has takes no part until that one is gone', () => {
  assert.equal(after('refused'), ['excluded', 'tellRefused']);
  assert.equal(after('refused', 'refused'), ['excluded']);
  assert.equal(after('refused', 'granted'), ['held', 'takePart']);
  assert.equal(after('refused', 'link.lost'), ['unheld']);
});

chart('a server whose name is taken over stops at once', () => {
  assert.equal(after('granted', 'overtaken'), ['excluded', 'stopPart', 'tellRefused', 'leaveCalls']);
  assert.equal(after('granted', 'link.lost', 'refused'), ['excluded', 'tellRefused', 'leaveCalls']);
  assert.equal(after('overtaken'), ['unheld']);
});

chart('every state and every transition is reached', () => assertTableCovered(nodeNameMachine, 'unheld'));

chart.run();
