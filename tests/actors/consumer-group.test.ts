import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ConsumerGroup, type GroupMember, type Replay } from '../../src/actors/consumer-group.ts';
import { anyDeed, likewise } from '../support/deeds.ts';

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
    name: 'ivr workers',
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
  assert.equal(consumers.members, [{ name: 'b', draining: false, away: false, calls: 2 }]);
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

group('the last connected member keeps its calls while others are awaited, and so do those', async () => {
  const { consumers, member, on, replayed } = createWorld();
  for (const [call, name] of [
    ['c1', 'a'],
    ['c2', 'b'],
  ] as const)
    consumers.restore({ call, member: name, after: 0, channels: [call], inside: [call], bridges: [] });
  const a = member('a');
  await replayed();
  consumers.leave(a);
  on('ChannelVarset', 'c1');
  on('ChannelVarset', 'c2');
  assert.equal(
    consumers.members.map(({ name, away, calls }) => [name, away, calls]),
    [
      ['a', true, 1],
      ['b', true, 1],
    ],
  );
  const b = member('b');
  await replayed();
  assert.equal([a.heard, b.heard], [[], ['2 ChannelVarset c2']]);
  consumers.settle();
  await replayed();
  assert.equal(b.heard, ['2 ChannelVarset c2', '1 ChannelVarset c1']);
  assert.equal(consumers.members, [{ name: 'b', draining: false, away: false, calls: 2 }]);
});

/** What was made of one call, in order. */
const anyStep = anyDeed(
  likewise(['start', 'start', 'event', 'event', 'event', 'end', 'join', 'join', 'leave', 'restart', 'settle'], {
    nth: fc.nat(3),
  }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;

/** A group whose server is killed at any moment: a new group goes on from what was saved. */
async function tellOfGroup(plot: readonly Step[]): Promise<void> {
  const made: Sent[] = [];
  const alive = new Set<string>();
  const members = new Map<string, GroupMember & { heard: Map<string, number[]> }>();
  const saved = new Map<string, ReturnType<ConsumerGroup['dump']>[number]>();
  const open = (): ConsumerGroup => {
    const consumers: ConsumerGroup = new ConsumerGroup({
      name: 'ivr workers',
      callOf: (channel) => (alive.has(channel) ? channel : undefined),
      replay: async (after) => ({ events: made.slice(after).map((each) => JSON.stringify(each)) }),
      onError: assert.unreachable,
      changed(call) {
        const [now] = consumers.dump(call);
        if (now) saved.set(call, now);
        else saved.delete(call);
      },
    });
    return consumers;
  };
  let consumers = open();
  const restart = (): void => {
    members.clear();
    consumers = open();
    for (const call of [...saved.values()]) consumers.restore(JSON.parse(JSON.stringify(call)));
  };
  const join = (name: string): void => {
    const heard = new Map<string, number[]>();
    const send = (json: string): void => {
      const { seq = 0, channel } = JSON.parse(json) as Sent;
      heard.set(channel!.id, [...(heard.get(channel!.id) ?? []), seq]);
    };
    const member = { name, heard, send, drained: assert.unreachable };
    members.set(name, member);
    consumers.join(member);
  };
  const event = (type: string, id: string): void => {
    const sent = { type, seq: made.length + 1, channel: { id } };
    made.push(sent);
    consumers.take(JSON.stringify(sent));
  };
  const holders = (): [string, string][] => consumers.dump().map(({ call, member }) => [call, member]);
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  join('a');
  for (const [index, { kind: what, nth }] of plot.entries()) {
    const name = 'abcd'[nth]!;
    const id = [...alive][nth % Math.max(1, alive.size)];
    if (what === 'start') {
      alive.add(`c${index}`);
      event('StasisStart', `c${index}`);
    } else if (what === 'event' && id) event('ChannelVarset', id);
    else if (what === 'end' && id) {
      event('StasisEnd', id);
      alive.delete(id);
      event('ChannelDestroyed', id);
    } else if (what === 'join' && !members.has(name)) join(name);
    else if (what === 'leave' && members.size > 1 && members.has(name)) {
      const gone = members.get(name)!;
      members.delete(name);
      consumers.leave(gone);
    } else if (what === 'restart') {
      const before = holders();
      restart();
      assert.equal(holders(), before, 'each call is still with its member');
      join(name);
    } else if (what === 'settle') consumers.settle();
    // A kill may also come before a replay is over.
    if (nth > 0) await settled();
  }
  consumers.settle();
  await settled();
  const present = new Set(members.keys());
  for (const [call, member] of holders()) {
    assert.ok(present.has(member), `${call} is with ${member}`);
    const { after } = consumers.dump(call)[0]!;
    const due = made.filter(({ channel, seq = 0 }) => channel?.id === call && seq > after).map(({ seq }) => seq);
    assert.equal(members.get(member)!.heard.get(call), due, `${member} has heard ${call} from its start, once`);
  }
  assert.equal(
    holders().map(([call]) => call),
    [...alive],
  );
}

group('in any order of restarts, joins and leaves each call is heard whole by its member', () =>
  fc.assert(fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 30 }), tellOfGroup), { numRuns: 300 }),
);

group.run();
