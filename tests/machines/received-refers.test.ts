import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ReceivedRefersEvent,
  receivedRefersMachine,
  receivedRefersTable,
} from '../../src/machines/received-refers.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: ReceivedRefersEvent['type'][]) => afterEvents(receivedRefersTable, 'none', ...types);
const chart = suite('received REFERs chart');

chart('only the first REFER of a call has a subscription without an id', () => {
  assert.equal(after('refer.accepted'), ['received', 'subscribeFirst']);
  assert.equal(after('refer.accepted', 'refer.accepted'), ['received', 'subscribeById']);
});

chart('nothing is taken after the call', () => {
  assert.equal(after('call.over'), ['over']);
  assert.equal(after('refer.accepted', 'call.over'), ['over']);
  assert.equal(after('call.over', 'refer.accepted'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(receivedRefersMachine, 'none'));

chart.run();
