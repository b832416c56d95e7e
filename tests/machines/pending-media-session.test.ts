import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type PendingMediaSessionEvent,
  pendingMediaSessionMachine,
  pendingMediaSessionTable,
} from '../../src/machines/pending-media-session.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: PendingMediaSessionEvent['type'][]) =>
  afterEvents(pendingMediaSessionTable, 'opening', ...types);
const chart = suite('pending media session chart');

chart('tasks wait for the port, then run at once', () => {
  assert.equal(after('task'), ['opening', 'queueTask']);
  assert.equal(after('task', 'session.opened'), ['open', 'keepSession', 'runWaiting']);
  assert.equal(after('session.opened', 'task'), ['open', 'runTask']);
  assert.equal(after('session.opened', 'session.opened'), ['open']);
  assert.equal(after('session.opened', 'opening.failed'), ['open']);
});

chart('without a port all tasks fail', () => {
  assert.equal(after('opening.failed'), ['failed', 'refuseWaiting', 'tellFailed']);
  assert.equal(after('opening.failed', 'task'), ['failed', 'refuseTask']);
  assert.equal(after('opening.failed', 'opening.failed'), ['failed']);
  assert.equal(after('opening.failed', 'close'), ['closed']);
});

chart('closing fails waiting tasks, closes the session, and takes no more', () => {
  assert.equal(after('close'), ['closed', 'refuseWaiting']);
  assert.equal(after('close', 'session.opened'), ['closed']);
  assert.equal(after('close', 'opening.failed'), ['closed']);
  assert.equal(after('session.opened', 'close'), ['closed', 'closeSession']);
  assert.equal(after('session.opened', 'close', 'close'), ['closed']);
  assert.equal(after('close', 'task'), ['closed']);
});

chart('every state and every transition is reached', () => assertTableCovered(pendingMediaSessionMachine, 'opening'));

chart.run();
