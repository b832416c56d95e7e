import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type ConnectionCallEvent,
  connectionCallMachine,
  connectionCallTable,
} from '../../src/machines/connection-call.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: ConnectionCallEvent['type'][]) => afterEvents(connectionCallTable, 'outside', ...types);
const chart = suite('call of a connection chart');

chart('a connection lives as long as its call is in the application', () => {
  assert.equal(after('call.entered'), ['inside', 'keepConnection']);
  assert.equal(after('call.entered', 'call.entered'), ['inside', 'keepConnection']);
  assert.equal(after('call.entered', 'call.left'), ['outside', 'endConnection']);
  assert.equal(after('call.left'), ['outside', 'endConnection']);
  assert.equal(after('connection.ended'), ['over', 'retireInstance']);
});

chart('a call whose connection is closed keeps the name of its instance until it leaves', () => {
  assert.equal(after('call.entered', 'connection.ended'), ['orphaned', 'keepInstance']);
  assert.equal(after('call.entered', 'connection.ended', 'call.entered'), ['orphaned']);
  assert.equal(after('call.entered', 'connection.ended', 'connection.ended'), ['orphaned']);
  assert.equal(after('call.entered', 'connection.ended', 'call.left'), ['over', 'retireInstance']);
});

chart('every state and every transition is reached', () => assertTableCovered(connectionCallMachine, 'outside'));

chart.run();
