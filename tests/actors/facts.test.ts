import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { answered } from '../../src/actors/channel-entry.ts';
import { Facts } from '../../src/actors/facts.ts';
import { createCallControl, settled } from '../support/call-control.ts';
import { recordingLog } from '../support/log.ts';

const facts = suite('facts');

type News = { type: 'begun' } | { type: 'ended'; why: string };

function world() {
  const log = recordingLog();
  const heard: string[] = [];
  const bus = new Facts<{ id: string }, News>(log);
  const note = (who: string) => heard.push(who);
  return { log, heard, bus, note, a: { id: 'a' }, b: { id: 'b' } };
}

facts('listeners to a type, to all and to one object hear in this order, each in the order of subscription', () => {
  const { bus, heard, note, a, b } = world();
  bus.of('a', ({ type }) => note(`a ${type}`));
  bus.all(({ id }, { type }) => note(`all ${id} ${type}`));
  bus.on('ended', ({ id }, { why }) => note(`ended ${id} ${why}`));
  bus.of('a', ({ type }) => note(`a again ${type}`));
  bus.publish(a, { type: 'begun' });
  bus.publish(b, { type: 'ended', why: 'so' });
  bus.publish(a, { type: 'ended', why: 'too' });
  assert.equal(heard, [
    ...['all a begun', 'a begun', 'a again begun'],
    ...['ended b so', 'all b ended'],
    ...['ended a too', 'all a ended', 'a ended', 'a again ended'],
  ]);
});

facts('a listener that fails starves no other, and the publisher learns of it', () => {
  const { bus, heard, note, a, log } = world();
  const fail = (): never => {
    throw new Error('broken');
  };
  bus.on('begun', fail);
  bus.all(fail);
  bus.of('a', fail);
  assert.is(bus.publish(a, { type: 'ended', why: '' }), false);
  bus.on('begun', () => note('type'));
  bus.all(() => note('all'));
  bus.of('a', () => note('own'));
  assert.is(bus.publish(a, { type: 'begun' }), false);
  assert.equal(heard, ['type', 'all', 'own']);
  assert.is(log.lines.filter(({ message }) => message === 'a listener of facts failed').length, 5);
});

facts('who unsubscribes while a fact is published does not hear it, and who subscribes then hears the next', () => {
  const { bus, heard, note, a } = world();
  bus.of('a', () => {
    unsubscribe();
    bus.of('a', () => note('late'));
  });
  const unsubscribe = bus.of('a', () => note('never'));
  assert.is(bus.publish(a, { type: 'begun' }), true);
  assert.equal(heard, []);
  unsubscribe();
  bus.publish(a, { type: 'begun' });
  assert.equal(heard, ['late']);
});

facts('listeners of a type and of all can unsubscribe, too', () => {
  const { bus, heard, note, a } = world();
  const stops = [bus.on('begun', () => note('type')), bus.all(() => note('all'))];
  bus.on('begun', () => note('stays'));
  for (const stop of stops) stop();
  for (const stop of stops) stop();
  bus.publish(a, { type: 'begun' });
  assert.equal(heard, ['stays']);
});

facts('nothing is kept of an object that nobody listens to, or that is forgotten', () => {
  const { bus, heard, note, a } = world();
  const unsubscribe = bus.of('a', () => note('a'));
  bus.of('b', () => note('b'));
  assert.equal([bus.size, bus.isHeard('a'), bus.isHeard('c')], [2, true, false]);
  unsubscribe();
  assert.equal([bus.size, bus.isHeard('a')], [1, false]);
  bus.of('a', () => {
    bus.forget('a');
  });
  bus.of('a', () => note('forgotten'));
  bus.publish(a, { type: 'begun' });
  assert.equal([heard, bus.isHeard('a'), bus.size], [[], false, 1]);
});

facts.run();

const channels = suite('facts of channels');

channels('the facts of all charts and of the owner come in the order of commits', async () => {
  const w = createCallControl();
  w.connect('app');
  const heard: string[] = [];
  w.channelFacts.all(({ id }, { type }) => heard.push(`${id} ${type}`));
  w.incoming('c1');
  w.channels.tell(w.channels.get('c1'), { type: 'enter', app: 'app', args: [] });
  w.operations.hangup('c1', {});
  await settled();
  assert.equal(heard, [
    ...['c1 ChannelCreated', 'c1 ChannelDialplan', 'c1 dialplan.due', 'c1 ChannelVarset', 'c1 StasisStart'],
    ...['c1 ChannelHangupRequest', 'c1 channel.ending', 'c1 dialplan.over', 'c1 channel.departing'],
    ...['c1 channel.departed', 'c1 StasisEnd', 'c1 ChannelVarset', 'c1 ChannelDestroyed', 'c1 channel.gone'],
  ]);
});

channels('a change is told to those who listen to that channel, after the facts of its step', () => {
  const w = createCallControl();
  const leg = w.incoming('c1');
  const heard: string[] = [];
  const unsubscribe = w.channelFacts.of('c1', (fact) => {
    heard.push(fact.type === 'channel.changed' ? `changed ${fact.snapshot.value}` : fact.type);
  });
  leg.report({ type: 'leg.answered' });
  unsubscribe();
  w.channels.tell(w.channels.get('c1'), { type: 'language.set', language: 'de' });
  assert.equal(heard, ['ChannelStateChange', 'changed up']);
});

channels('a channel ends though a listener of its departure fails', async () => {
  const w = createCallControl();
  const leg = w.incoming('c1');
  for (const type of ['channel.ending', 'channel.departing', 'channel.departed'] as const)
    w.channelFacts.on(type, () => {
      throw new Error('broken');
    });
  w.operations.hangup('c1', {});
  await settled();
  assert.equal([w.channels.size, leg.calls], [0, ['hangup 16', 'release']]);
});

channels('a channel whose request fails is hung up', async () => {
  const w = createCallControl();
  const leg = w.incoming('c1');
  leg.report({ type: 'leg.answered' });
  w.channelFacts.on('peer.held', () => {
    throw new Error('broken');
  });
  leg.report({ type: 'leg.held' });
  await settled();
  assert.equal([w.channels.size, leg.calls], [0, ['hangup 41', 'release']]);
});

channels('who waits for an answer learns of it, or that there will be none', async () => {
  const w = createCallControl();
  const told: [string, boolean][] = [];
  for (const id of ['c1', 'c2']) {
    w.incoming(id);
    void answered(w.channelFacts, w.channels.get(id)).then((isUp) => told.push([id, isUp]));
  }
  assert.is(w.channelFacts.size, 2);
  w.channels.tell(w.channels.get('c1'), { type: 'answer' });
  w.operations.hangup('c2', {});
  await settled();
  assert.equal(
    [told, w.channelFacts.size],
    [
      [
        ['c1', true],
        ['c2', false],
      ],
      0,
    ],
  );
  assert.is(await answered(w.channelFacts, w.channels.get('c1')), true);
});

channels.run();
