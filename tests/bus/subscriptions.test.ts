import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Subscriptions } from '../../src/bus/subscriptions.ts';
import { allChannels, bridgeTopic, channelTopic, deviceStateTopic } from '../../src/bus/topics.ts';

const one = channelTopic('1');
const interest = suite('subscriptions');

interest('one call is one reference, and interest lasts until the last is gone', () => {
  const subscriptions = new Subscriptions<string>();
  assert.ok(subscriptions.subscribe('app', one));
  assert.ok(subscriptions.subscribe('app', one));
  assert.is(subscriptions.count('app', one), 2);
  assert.ok(subscriptions.unsubscribe('app', one));
  assert.equal([...(subscriptions.of(one) ?? [])], ['app']);
  assert.ok(subscriptions.unsubscribe('app', one));
  assert.is(subscriptions.of(one), undefined);
  assert.not(subscriptions.unsubscribe('app', one));
  assert.is(subscriptions.topics, 0);
});

interest('all of a type and device states are counted too', () => {
  const subscriptions = new Subscriptions<string>();
  for (const topic of [allChannels, deviceStateTopic('Stasis:x')]) {
    subscriptions.subscribe('app', topic);
    subscriptions.subscribe('app', topic);
    assert.is(subscriptions.count('app', topic), 2);
    subscriptions.unsubscribe('app', topic);
    assert.equal(subscriptions.topicsOf('app'), [topic]);
    subscriptions.unsubscribe('app', topic);
  }
  assert.equal(subscriptions.topicsOf('app'), []);
});

interest('who has all of a type gains nothing from one of it, but keeps what it had', () => {
  const subscriptions = new Subscriptions<string>();
  subscriptions.subscribe('app', one);
  subscriptions.subscribe('app', allChannels);
  assert.not(subscriptions.subscribe('app', one));
  assert.not(subscriptions.subscribe('app', channelTopic('2')));
  assert.ok(subscriptions.subscribe('app', bridgeTopic('1')));
  assert.not(subscriptions.unsubscribe('app', channelTopic('2')));
  assert.equal(subscriptions.topicsOf('app'), [one, allChannels, bridgeTopic('1')]);
  assert.is(subscriptions.count('app', one), 1);
});

interest('a channel and a bridge of the same id stay apart', () => {
  const subscriptions = new Subscriptions<string>();
  subscriptions.subscribe('app', one);
  assert.is(subscriptions.of(bridgeTopic('1')), undefined);
  assert.not(subscriptions.unsubscribe('app', bridgeTopic('1')));
});

interest('the death of an object ends every interest in it whatever the counts', () => {
  const subscriptions = new Subscriptions<string>();
  subscriptions.subscribe('a', one);
  subscriptions.subscribe('a', one);
  subscriptions.subscribe('b', one);
  subscriptions.subscribe('b', allChannels);
  assert.equal(subscriptions.forget(one), ['a', 'b']);
  assert.equal(subscriptions.forget(one), []);
  assert.equal(subscriptions.topicsOf('a'), []);
  assert.equal(subscriptions.topicsOf('b'), [allChannels]);
  assert.ok(subscriptions.some('b', (topic) => topic === allChannels));
  assert.not(subscriptions.some('a', () => true));
});

interest('a subscriber that goes leaves nothing behind', () => {
  const subscriptions = new Subscriptions<string>();
  subscriptions.subscribe('a', one);
  subscriptions.subscribe('b', one);
  subscriptions.subscribe('a', allChannels);
  subscriptions.remove('a');
  subscriptions.remove('a');
  assert.equal([...(subscriptions.of(one) ?? [])], ['b']);
  assert.is(subscriptions.of(allChannels), undefined);
  subscriptions.remove('b');
  assert.is(subscriptions.topics, 0);
});

interest.run();
