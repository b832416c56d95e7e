import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type TakeoverEvent, takeoverMachine, takeoverTable } from '../../src/machines/takeover.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: TakeoverEvent['type'][]) => afterEvents(takeoverTable, 'watching', ...types);
const chart = suite('takeover chart');

chart('the name is claimed before anything of the node goes on', () => {
  assert.equal(after('overdue'), ['claiming', 'claimName']);
  assert.equal(after('overdue', 'refused'), ['watching']);
  assert.equal(after('overdue', 'claimed'), ['starting', 'startStandIn']);
  assert.equal(after('overdue', 'claimed', 'started'), ['running']);
  assert.equal(after('overdue', 'claimed', 'started', 'ended'), ['watching', 'freeName']);
});

chart('a node without calls is forgotten', () => {
  assert.equal(after('overdue', 'claimed', 'ended'), ['watching', 'freeName', 'forgetNode']);
});

chart('a server that cannot go on with the calls leaves them to others', () => {
  assert.equal(after('overdue', 'claimed', 'failed'), ['failed', 'freeName']);
  assert.equal(after('overdue', 'claimed', 'failed', 'overdue'), ['failed']);
  assert.equal(after('overdue', 'claimed', 'failed', 'heard'), ['watching']);
});

chart('a server that ends lets the calls that it took over end first', () => {
  assert.equal(after('stop'), ['stopped']);
  assert.equal(after('overdue', 'claimed', 'failed', 'stop'), ['stopped']);
  const running = ['overdue', 'claimed', 'started', 'stop'] as const;
  assert.equal(after(...running), ['stopping', 'stopStandIn']);
  assert.equal(after(...running, 'ended'), ['stopped', 'freeName']);
});

chart('a server that ends begins no stand-in, and ends one that starts', () => {
  assert.equal(after('overdue', 'stop'), ['lettingGo']);
  assert.equal(after('overdue', 'stop', 'claimed'), ['stopped', 'freeName']);
  assert.equal(after('overdue', 'stop', 'refused'), ['stopped']);
  const starting = ['overdue', 'claimed', 'stop'] as const;
  assert.equal(after(...starting), ['stoppingStart']);
  assert.equal(after(...starting, 'started'), ['stopping', 'stopStandIn']);
  assert.equal(after(...starting, 'failed'), ['stopped', 'freeName']);
  assert.equal(after(...starting, 'ended'), ['stopped', 'freeName', 'forgetNode']);
});

chart('every state and every transition is reached', () => assertTableCovered(takeoverMachine, 'watching'));

chart.run();
