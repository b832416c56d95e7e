import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OwnRefersEvent, ownRefersMachine, ownRefersTable } from '../../src/machines/own-refers.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: OwnRefersEvent['type'][]) => afterEvents(ownRefersTable, 'none', ...types);
const chart = suite('own REFERs chart');

chart('a NOTIFY is accepted after a REFER, and a success is told', () => {
  assert.equal(after('notify.progressed'), ['none']);
  assert.equal(after('notify.succeeded'), ['none']);
  assert.equal(after('refer'), ['sent', 'sendRefer']);
  assert.equal(after('refer', 'refer'), ['sent', 'sendRefer']);
  assert.equal(after('refer', 'notify.progressed'), ['sent']);
  assert.equal(after('refer', 'notify.succeeded'), ['sent', 'tellSucceeded']);
});

chart('nothing is taken after the call', () => {
  assert.equal(after('call.over'), ['over']);
  assert.equal(after('refer', 'call.over'), ['over']);
  assert.equal(after('refer', 'call.over', 'refer'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(ownRefersMachine, 'none'));

chart.run();
