import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OutsideReferEvent, outsideReferMachine, outsideReferTable } from '../../src/machines/outside-refer.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: OutsideReferEvent['type'][]) => afterEvents(outsideReferTable, 'asked', ...types);
const chart = suite('outside REFER chart');

chart('the sender of the REFER is told how the transfer goes, until it has ended', () => {
  assert.equal(after('transfer.progressed'), ['active', 'keepSubscription', 'notifySender']);
  assert.equal(after('transfer.progressed', 'transfer.progressed'), ['active', 'notifySender']);
  const done = ['over', 'forgetSubscription', 'notifySender'];
  assert.equal(after('transfer.progressed', 'transfer.ended'), done);
  assert.equal(after('transfer.ended'), ['over', 'notifySender']);
  assert.equal(after('transfer.progressed', 'transfer.ended', 'transfer.progressed'), ['over']);
});

chart('it may refresh its subscription, or end it', () => {
  assert.equal(after('transfer.progressed', 'subscription.refreshed'), ['active', 'repeatLast']);
  assert.equal(after('transfer.progressed', 'subscription.ended'), ['over', 'forgetSubscription', 'tellTimeout']);
  for (const type of ['subscription.refreshed', 'subscription.ended', 'notify.failed'] as const)
    assert.equal(after(type), ['asked']);
});

chart('who refuses a NOTIFY is told no more, nor is anybody when the system stops', () => {
  for (const type of ['notify.failed', 'system.closing'] as const)
    assert.equal(after('transfer.progressed', type), ['over', 'forgetSubscription']);
  assert.equal(after('system.closing'), ['over']);
});

chart('every state and every transition is reached', () => assertTableCovered(outsideReferMachine, 'asked'));

chart.run();
