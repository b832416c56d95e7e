import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsumerGroup, type GroupMember, type Replay } from '../../src/bus/consumer-group.ts';

/** A group over a list of events, whose replays are answered when the test says so. */

const group = suite('a group of connections that share an application');

type Member = GroupMember & { heard: string[]; told: string[] };
type Sent = { type: string; seq?: number; channel?: { id: string }; [name: string]: unknown };

function createWorld() {
  const made: Sent[] = [];
  const alive = new Map<string, string>();
  const replays: { after: number; resolve(replay: Replay): void; reject(error: Error): void }[] = [];
  const errors: unknown[] = [];
  const consumers = new ConsumerGroup({
    callOf: (channel) => alive.get(channel),
    replay: (after) => new Promise((resolve, reject) => replays.push({ after, resolve, reject })),
    onError: (error) => void errors.push(error),
  });
  const member = (name: string): Member => {
    const heard: string[] = [];
    const told: string[] = [];
    const send = (json: string): void => {
      const { type, seq, channel } = JSON.parse(json) as Sent;
      heard.push(seq === undefined ? type : `${seq} ${type}${channel ? ` ${channel.id}` : ''}`);
    };
    const joined = { name, heard, told, send, drained: () => void told.push('drained') };
    consumers.join(joined);
    return joined;
  };
  const event = (type: string, more: Omit<Sent, 'type' | 'seq'> = {}): void => {
    const sent = { type, ...more, seq: made.length + 1 };
    made.push(sent);
    consumers.take(JSON.stringify(sent));
  };
  const on = (type: string, id: string, more: object = {}) => event(type, { channel: { id }, ...more });
  /** Answers the oldest replay with what was made so far. */
  const replayed = async (lost?: string): Promise<void> => {
    const next = replays.shift();
    assert.ok(next, 'a replay is asked for');
    next?.resolve({ events: made.slice(next.after).map((each) => JSON.stringify(each)), lost });
    await Promise.resolve();
    await Promise.resolve();
  };
  return { consumers, member, event, on, alive, replays, replayed, errors };
}

group('a call sticks to one member, and new calls go to the member with the fewest', () => {
  const { member, on } = createWorld();
  const [a, b] = [member('a'), member('b')];
  for (const id of ['c1', 'c2', 'c3']) on('StasisStart', id);
  for (const id of ['c1', 'c2', 'c3']) on('ChannelVarset', id);
  on('StasisEnd', 'c1');
  on('StasisEnd', 'c3');
  on('StasisStart', 'c4');
  assert.equal(a.heard, [
    ...['1 StasisStart c1', '3 StasisStart c3', '4 ChannelVarset c1', '6 ChannelVarset c3'],
    ...['7 StasisEnd c1', '8 StasisEnd c3', '9 StasisStart c4'],
  ]);
  assert.equal(b.heard, ['2 StasisStart c2', '5 ChannelVarset c2']);
});

group('channels of one call, and bridges and playbacks of it, go to the same member', () => {
  const { member, on, event, alive } = createWorld();
  const [a, b] = [member('a'), member('b')];
  on('StasisStart', 'c1');
  alive.set('c2', 'c1');
  on('StasisStart', 'c2');
  event('Dial', { caller: { id: 'c1' }, peer: { id: 'c3' } });
  on('ChannelStateChange', 'c3');
  event('ChannelEnteredBridge', { channel: { id: 'c1' }, bridge: { id: 'b1', channels: ['c1'] } });
  event('PlaybackStarted', { playback: { target_uri: 'bridge:b1' } });
  event('PlaybackStarted', { playback: { target_uri: 'channel:c2' } });
  event('RecordingStarted', { recording: { target_uri: 'channel:c3' } });
  event('BridgeDestroyed', { bridge: { id: 'b1', channels: [] } });
  assert.is(a.heard.length, 9);
  assert.equal(b.heard, []);
});

group('events of no call go to the first member, and messages without a number to all', () => {
  const { member, event, consumers } = createWorld();
  const [a, b] = [member('a'), member('b')];
  event('DeviceStateChanged');
  event('BridgeCreated', { bridge: { id: 'b1', channels: [] } });
  consumers.take('{"type":"EventsLost"}');
  consumers.take('{"type":"ApplicationReplaced","seq":2}');
  assert.equal(a.heard, ['1 DeviceStateChanged', '2 BridgeCreated', 'EventsLost', '2 ApplicationReplaced']);
  assert.equal(b.heard, ['EventsLost', '2 ApplicationReplaced']);
});

group('the calls of a member that leaves go to the others, with their events from the start', async () => {
  const { member, on, consumers, replayed, replays } = createWorld();
  const [a, b] = [member('a'), member('b')];
  for (const id of ['c1', 'c2', 'c3']) on('StasisStart', id);
  consumers.leave(a);
  on('ChannelDtmfReceived', 'c1');
  on('ChannelDtmfReceived', 'c2');
  assert.equal(b.heard, ['2 StasisStart c2', '5 ChannelDtmfReceived c2']);
  assert.is(replays[0]?.after, 0);
  await replayed();
  on('StasisEnd', 'c3');
  assert.equal(b.heard.slice(2), [
    '1 StasisStart c1',
    '3 StasisStart c3',
    '4 ChannelDtmfReceived c1',
    '6 StasisEnd c3',
  ]);
  assert.equal(consumers.members, [{ name: 'b', draining: false, calls: 2 }]);
  assert.is(a.heard.length, 2);
});

group('a call that moves twice is replayed once, to its last member', async () => {
  const { member, on, consumers, replayed } = createWorld();
  const [a, b] = [member('a'), member('b')];
  on('StasisStart', 'c1');
  consumers.leave(a);
  const c = member('c');
  consumers.leave(b);
  on('ChannelDtmfReceived', 'c1');
  await replayed();
  assert.equal([b.heard, c.heard], [[], []]);
  await replayed();
  on('StasisEnd', 'c1');
  assert.equal(c.heard, ['1 StasisStart c1', '2 ChannelDtmfReceived c1', '3 StasisEnd c1']);
});

group('events that are no longer kept are told, and what came meanwhile is not lost', async () => {
  const { member, on, consumers, replays, errors } = createWorld();
  const a = member('a');
  const b = member('b');
  on('StasisStart', 'c1');
  consumers.leave(a);
  on('ChannelDtmfReceived', 'c1');
  replays.shift()?.resolve({ events: [], lost: '{"type":"EventsLost"}' });
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(b.heard, ['EventsLost', '2 ChannelDtmfReceived c1']);
  const c = member('c');
  consumers.leave(b);
  on('StasisEnd', 'c1');
  replays.shift()?.reject(new Error('the disk'));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal([c.heard, errors.length], [['3 StasisEnd c1'], 1]);
});

group('a new connection of the same name takes over the calls', async () => {
  const { member, on, replayed } = createWorld();
  member('a');
  member('b');
  on('StasisStart', 'c1');
  on('StasisStart', 'c2');
  const again = member('a');
  await replayed();
  on('StasisEnd', 'c1');
  assert.equal(again.heard, ['1 StasisStart c1', '3 StasisEnd c1']);
});

group('a draining member gets no new calls, and hears when its last call is over', () => {
  const { member, on, consumers } = createWorld();
  const [a, b] = [member('a'), member('b')];
  on('StasisStart', 'c1');
  assert.is(consumers.drain('a'), true);
  assert.is(consumers.drain('a'), true);
  assert.is(consumers.drain('x'), false);
  on('StasisStart', 'c2');
  on('StasisStart', 'c3');
  assert.equal(b.heard, ['2 StasisStart c2', '3 StasisStart c3']);
  assert.equal(a.told, []);
  on('StasisEnd', 'c1');
  assert.equal(a.told, ['drained']);
  consumers.drain('b');
  on('StasisStart', 'c4');
  assert.equal(
    consumers.members.map(({ calls }) => calls).reduce((sum, calls) => sum + calls),
    3,
  );
});

group('calls whose channels end without an event are forgotten', () => {
  const { member, on, consumers, alive } = createWorld();
  member('a');
  for (let number = 1; number <= 500; number++) {
    alive.set(`c${number}`, `c${number}`);
    on('StasisStart', `c${number}`);
    alive.delete(`c${number}`);
  }
  assert.ok((consumers.members[0]?.calls ?? 0) <= 64);
});

group.run();
