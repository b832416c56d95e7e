import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type StateReplicaEvent, stateReplicaMachine, stateReplicaTable } from '../../src/machines/state-replica.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: StateReplicaEvent['type'][]) => afterEvents(stateReplicaTable, 'missing', ...types);
const chart = suite('state replica chart');

chart('the whole state is written first, then changes', () => {
  assert.equal(after('due'), ['copying', 'writeAll']);
  assert.equal(after('due', 'written'), ['current']);
  assert.equal(after('due', 'written', 'due'), ['following', 'writeChanges']);
  assert.equal(after('due', 'written', 'due', 'due'), ['following']);
  assert.equal(after('due', 'written', 'due', 'written'), ['current']);
});

chart('the whole state is written again when a change was lost, or NATS was', () => {
  for (const lost of ['overflowed', 'outgrown', 'link.lost'] as const)
    assert.equal(after('due', 'written', lost), ['missing']);
  assert.equal(after('due', 'failed'), ['missing']);
  assert.equal(after('due', 'written', 'due', 'failed'), ['missing']);
  for (const writing of [['due'], ['due', 'written', 'due']] as const)
    for (const end of ['written', 'failed'] as const) {
      assert.equal(after(...writing, 'overflowed'), ['outdated']);
      assert.equal(after(...writing, 'overflowed', end), ['missing']);
    }
});

chart('every state and every transition is reached', () => assertTableCovered(stateReplicaMachine, 'missing'));

chart.run();
