import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type NodeMemberEvent, nodeMemberMachine, nodeMemberTable } from '../../src/machines/node-member.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: NodeMemberEvent['type'][]) => afterEvents(nodeMemberTable, 'joining', ...types);
const chart = suite('node member chart');

chart('a node that is heard is greeted once', () => {
  assert.equal(after('heard'), ['member', 'greetNode']);
  assert.equal(after('heard', 'heard'), ['member']);
});

chart('a silent node is suspected, and then away with its applications', () => {
  assert.equal(after('heard', 'overdue'), ['suspect', 'askProcess']);
  assert.equal(after('heard', 'overdue', 'heard'), ['member']);
  assert.equal(after('heard', 'lost'), ['member']);
  assert.equal(after('heard', 'overdue', 'lost'), ['away', 'dropApplications', 'tellLost']);
  assert.equal(after('heard', 'overdue', 'lost', 'heard'), ['member', 'greetNode']);
});

chart('a node that leaves is away at once', () => {
  assert.equal(after('heard', 'left'), ['away', 'dropApplications']);
  assert.equal(after('heard', 'overdue', 'left'), ['away', 'dropApplications']);
  assert.equal(after('left'), ['away']);
});

chart('a node that was never heard is away without applications', () => {
  assert.equal(after('lost'), ['away']);
  assert.equal(after('overdue'), ['joining']);
});

chart('every state and every transition is reached', () => assertTableCovered(nodeMemberMachine, 'joining'));

chart.run();
