import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type PhoneSubscriptionEvent,
  phoneSubscriptionMachine,
  phoneSubscriptionTable,
} from '../../src/machines/phone-subscription.ts';
import { afterEvents, assertTableCovered } from '../support/table-runs.ts';

const after = (...types: PhoneSubscriptionEvent['type'][]) => afterEvents(phoneSubscriptionTable, 'asked', ...types);
const chart = suite('phone subscription chart');

chart('an accepted SUBSCRIBE begins the subscription, later ones refresh it', () => {
  const begun = ['active', 'acceptSubscribe', 'keepSubscription', 'startWatcher'];
  assert.equal(after('subscribe.accepted'), begun);
  assert.equal(after('subscribe.accepted', 'subscribe.accepted'), ['active', 'acceptSubscribe', 'startWatcher']);
  assert.equal(after('subscribe.accepted', 'notify'), ['active', 'sendNotify']);
});

chart('nothing is told before the first SUBSCRIBE is accepted', () => {
  for (const type of ['notify', 'notify.last', 'subscribe.withdrawn', 'watcher.ended', 'last.answered'] as const)
    assert.equal(after(type), ['asked']);
});

chart('the last NOTIFY ends it, and it counts until that is answered', () => {
  const last = ['subscribe.accepted', 'notify.last'] as const;
  assert.equal(after('subscribe.accepted', 'subscribe.withdrawn'), ['active', 'acceptSubscribe', 'endWatcher']);
  assert.equal(after(...last), ['terminating', 'forgetSubscription', 'sendLastNotify']);
  for (const type of ['notify', 'notify.last', 'subscribe.accepted', 'watcher.ended'] as const)
    assert.equal(after(...last, type), ['terminating']);
  assert.equal(after(...last, 'last.answered'), ['terminated', 'uncount']);
  assert.equal(after('subscribe.accepted', 'last.answered'), ['active']);
});

chart('it ends with its watcher', () => {
  assert.equal(after('subscribe.accepted', 'watcher.ended'), ['terminated', 'forgetSubscription', 'uncount']);
});

chart('every state and every transition is reached', () => assertTableCovered(phoneSubscriptionMachine, 'asked'));

chart.run();
