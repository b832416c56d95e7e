import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type MediaQueueEvent, mediaQueueMachine, mediaQueueTable } from '../../src/machines/media-queue.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: MediaQueueEvent['type'][]) => afterEvents(mediaQueueTable, 'idle', ...types);
const chart = suite('media queue chart');

chart('works begin one after another', () => {
  assert.equal(after('work.added'), ['idle', 'keepWork']);
  assert.equal(after('work.added', 'work.due'), ['beginning', 'beginFirst']);
  assert.equal(after('work.due', 'work.begun'), ['busy']);
  assert.equal(after('work.due', 'work.begun', 'work.added'), ['busy', 'keepWork']);
  assert.equal(after('work.due', 'work.begun', 'work.due'), ['busy']);
  assert.equal(after('work.due', 'work.begun', 'work.ended'), ['idle']);
  assert.equal(after('queue.emptied'), ['drained', 'tellIdle']);
});

chart('a work that ends while it is begun makes way when its beginning returns', () => {
  assert.equal(after('work.due', 'work.ended'), ['passing']);
  assert.equal(after('work.due', 'work.ended', 'work.due'), ['passing']);
  assert.equal(after('work.due', 'work.ended', 'queue.emptied'), ['passing']);
  assert.equal(after('work.due', 'work.ended', 'work.begun'), ['idle']);
  for (const type of ['work.added', 'work.restored'] as const) {
    assert.equal(after('work.due', type), ['beginning', 'keepWork']);
    assert.equal(after('work.due', 'work.ended', type), ['passing', 'keepWork']);
  }
});

chart('a restored work runs already', () => {
  assert.equal(after('work.restored'), ['busy', 'keepWork']);
  assert.equal(after('work.restored', 'work.restored'), ['busy', 'keepWork']);
});

chart('a closed queue abandons its works, and takes no more', () => {
  const closed = ['closed', 'abandonAll', 'tellIdle'];
  assert.equal(after('close'), closed);
  assert.equal(after('work.due', 'close'), closed);
  assert.equal(after('work.due', 'work.ended', 'close'), closed);
  assert.equal(after('work.restored', 'close'), closed);
  for (const type of ['work.added', 'work.restored', 'work.due', 'queue.emptied', 'close', 'work.begun'] as const)
    assert.equal(after('close', type), ['closed']);
});

chart('every state and every transition is reached', () => assertTableCovered(mediaQueueMachine, 'idle'));

chart.run();
