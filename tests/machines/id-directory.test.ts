import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type IdDirectoryEvent, idDirectoryMachine, idDirectoryTable } from '../../src/machines/id-directory.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: IdDirectoryEvent['type'][]) => afterEvents(idDirectoryTable, 'lost', ...types);
const chart = suite('id directory chart');

chart('a node that is alone decides until another one comes, and writes its ids first', () => {
  assert.equal(after('link.up'), ['looking', 'look']);
  assert.equal(after('link.up', 'granted'), ['sole']);
  assert.equal(after('link.up', 'granted', 'joined'), ['sharing', 'writeIds']);
  assert.equal(after('link.up', 'granted', 'joined', 'again'), ['sharing', 'writeIds']);
  assert.equal(after('link.up', 'granted', 'joined', 'written'), ['shared']);
});

chart('a node that is alone again looks whether it may decide', () => {
  assert.equal(after('link.up', 'free'), ['shared']);
  assert.equal(after('link.up', 'free', 'deserted'), ['looking', 'look']);
});

chart('a node that comes waits for the one that was alone', () => {
  assert.equal(after('link.up', 'held'), ['waiting', 'askHolder']);
  assert.equal(after('link.up', 'held', 'again'), ['looking', 'look']);
  assert.equal(after('link.up', 'again'), ['looking', 'look']);
  assert.equal(after('link.up', 'held', 'link.lost'), ['lost']);
});

chart('a node whose row another process has removed, or that lost NATS, looks again', () => {
  assert.equal(after('link.up', 'granted', 'overtaken'), ['looking', 'look']);
  assert.equal(after('link.up', 'granted', 'joined', 'overtaken'), ['looking', 'look']);
  assert.equal(after('link.up', 'link.lost'), ['lost']);
  assert.equal(after('link.up', 'granted', 'link.lost'), ['lost']);
  assert.equal(after('link.up', 'granted', 'joined', 'link.lost'), ['lost']);
  assert.equal(after('link.up', 'free', 'link.lost'), ['lost']);
});

chart('every state and every transition is reached', () => assertTableCovered(idDirectoryMachine, 'lost'));

chart.run();
