import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createApplications } from '../../src/actors/applications.ts';
import type { EventSourceLookup } from '../../src/actors/event-sources.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createBus } from '../../src/bus/bus.ts';
import { channelTopic, channelTopics, deviceStateTopics } from '../../src/bus/topics.ts';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import { AriError } from '../../src/models/errors.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { refusal } from '../support/refusal.ts';

const { log } = createRecordingLog();

const channel = (id: string): Channel => ({
  id,
  protocol_id: '',
  name: `Local/${id}`,
  state: 'Up',
  caller: { name: '', number: '' },
  connected: { name: '', number: '' },
  accountcode: '',
  dialplan: { context: 'default', exten: 's', priority: 1, app_name: '', app_data: '' },
  creationtime: '2026-01-01T00:00:00.000+0000',
  language: 'en',
});
const bridge = (id: string): Bridge => ({
  id,
  technology: 'simple_bridge',
  bridge_type: 'mixing',
  bridge_class: 'stasis',
  creator: 'Stasis',
  name: '',
  channels: [],
  creationtime: '2026-01-01T00:00:00.000+0000',
});
const alice: Endpoint = { technology: 'PJSIP', resource: 'alice', state: 'online', channel_ids: [] };

const resolve: EventSourceLookup = {
  channel: (id) => (id.startsWith('c') ? channel(id) : undefined),
  bridge: (id) => (id.startsWith('b') ? bridge(id) : undefined),
  endpoint: (technology, resource) =>
    technology.toUpperCase() === 'PJSIP' && resource.toLowerCase() === 'alice' ? alice : undefined,
  technology: (name) => (name.toUpperCase() === 'PJSIP' ? 'PJSIP' : undefined),
};

function world(limits?: { applications: number; subscriptions: number }) {
  const clock = new ManualClock();
  const bus = createBus({ log });
  const applications = createApplications({
    bus,
    clock,
    log,
    runtime: createRuntime(clock, log),
    entityId: 'e',
    resolve,
    limits,
  });
  const connect = (
    names: string[],
    options: { subscribeAll?: boolean; announce?: boolean; observes?: boolean } = {},
  ) => {
    const sent: string[] = [];
    const connected = applications.connect({
      names,
      ...options,
      describe: 'test',
      send: (json) => {
        const event = JSON.parse(json) as AriEvent;
        sent.push(`${event.application} ${event.type}`);
      },
    });
    return { ...connected, sent };
  };
  const change = (name: string): void =>
    bus.publish({
      event: { type: 'DeviceStateChanged', device_state: { name, state: 'BUSY' } },
      topics: deviceStateTopics(name),
    });
  const ring = (id: string): void =>
    bus.publish({ event: { type: 'ChannelStateChange', channel: channel(id) }, topics: channelTopics(id) });
  return { applications, bus, connect, change, ring };
}

const empty = {
  channel_ids: [],
  bridge_ids: [],
  endpoint_ids: [],
  device_names: [],
  events_allowed: [],
  events_disallowed: [],
};

const registering = suite('applications');

registering('are known while connected, and gone when nothing holds them', () => {
  const { applications, connect } = world();
  const socket = connect(['hello', 'bye', 'hello']);
  assert.equal(
    [...applications.list()],
    [
      { name: 'hello', ...empty },
      { name: 'bye', ...empty },
    ],
  );
  assert.ok(applications.isActive('hello'));
  applications.addInterest('bye', channelTopic('c1'));
  socket.close();
  socket.close();
  assert.equal(
    refusal(() => applications.get('hello')),
    [404, 'Application not found'],
  );
  assert.not(applications.isActive('bye'));
  assert.equal(applications.get('bye'), { name: 'bye', ...empty, channel_ids: ['c1'] });
  applications.removeInterest('bye', channelTopic('c1'));
  assert.equal([...applications.list()], []);
  assert.equal(socket.sent, []);
});

registering('an inactive one is held by channels, bridges and endpoints, not by device states', () => {
  const { applications, connect } = world();
  for (const source of ['channel:c1', 'bridge:b1', 'endpoint:PJSIP/alice', 'endpoint:PJSIP']) {
    const socket = connect(['hello']);
    applications.subscribe('hello', [source, 'deviceState:x']);
    socket.close();
    assert.not(applications.isActive('hello'));
    applications.unsubscribe('hello', [source]);
    assert.equal([...applications.list()], [], source);
  }
  connect(['hello']).close();
  assert.equal([...applications.list()], []);
});

registering('one that comes back has its subscriptions and filter, not what it missed', () => {
  const { applications, connect, ring } = world();
  const first = connect(['hello']);
  applications.subscribe('hello', ['channel:c1']);
  applications.filter('hello', { disallowed: [{ type: 'Dial' }] });
  first.close();
  ring('c1');
  const second = connect(['hello']);
  ring('c1');
  assert.equal(second.sent, ['hello ChannelStateChange']);
  assert.equal(applications.get('hello').events_disallowed, [{ type: 'Dial' }]);
  assert.equal(applications.figures('hello'), { events: 2, missed: 0, unread: 0 });
});

registering('a second connection takes an application over and the first is told', () => {
  const { applications, connect, ring } = world();
  const first = connect(['a', 'b']);
  applications.subscribe('a', ['channel:c1']);
  applications.filter('a', { allowed: [{ type: 'ChannelStateChange' }] });
  const second = connect(['a']);
  assert.equal(first.sent, ['a ApplicationReplaced']);
  ring('c1');
  first.close();
  ring('c1');
  assert.equal(second.sent, ['a ChannelStateChange', 'a ChannelStateChange']);
  assert.ok(applications.isActive('a'));
  assert.not(applications.isActive('b'));
});

registering('names are checked before any application is registered', () => {
  const { applications, connect } = world();
  for (const names of [[], [''], ['ok', ''], ['x'.repeat(74)]]) {
    assert.instance(
      (() => {
        try {
          return connect(names);
        } catch (error) {
          return error;
        }
      })(),
      AriError,
    );
    assert.equal([...applications.list()], []);
  }
  connect(['x'.repeat(73)]);
  assert.is([...applications.list()].length, 1);
});

registering('subscribeAll hears everything, also when the application exists, until the connection closes', () => {
  const { applications, connect, change, ring } = world();
  connect(['hello']);
  applications.subscribe('hello', ['channel:c1']);
  const socket = connect(['hello'], { subscribeAll: true });
  assert.equal(applications.get('hello'), {
    name: 'hello',
    channel_ids: ['__AST_CHANNEL_ALL_TOPIC', 'c1'],
    bridge_ids: ['__AST_BRIDGE_ALL_TOPIC'],
    endpoint_ids: ['__AST_ENDPOINT_ALL_TOPIC'],
    device_names: ['__AST_DEVICE_STATE_ALL_TOPIC'],
    events_allowed: [],
    events_disallowed: [],
  });
  ring('c1');
  ring('c2');
  change('x');
  assert.equal(socket.sent, ['hello ChannelStateChange', 'hello ChannelStateChange', 'hello DeviceStateChanged']);
  socket.close();
  assert.equal(applications.get('hello'), { name: 'hello', ...empty, channel_ids: ['c1'] });
});

registering('subscribing is counted, lists are sorted, and names are canonical', () => {
  const { applications, connect } = world();
  connect(['hello']);
  applications.subscribe('hello', ['channel:c2', 'channel:c1', 'endpoint:pjsip/ALICE', 'endpoint:pjsip']);
  const model = applications.subscribe('hello', ['channel:c1', 'bridge:b1', 'deviceState:Stasis:x', 'deviceState:']);
  assert.equal(model, {
    ...empty,
    name: 'hello',
    channel_ids: ['c1', 'c2'],
    bridge_ids: ['b1'],
    endpoint_ids: ['PJSIP', 'PJSIP/alice'],
    device_names: ['Stasis:x', '__AST_DEVICE_STATE_ALL_TOPIC'],
  });
  assert.equal(applications.unsubscribe('hello', ['channel:c1']).channel_ids, ['c1', 'c2']);
  assert.equal(applications.unsubscribe('hello', ['channel:c1']).channel_ids, ['c2']);
  assert.equal(applications.subscribe('hello', ['channels:', 'endpoint:']).channel_ids, [
    '__AST_CHANNEL_ALL_TOPIC',
    'c2',
  ]);
  assert.equal(applications.unsubscribe('hello', ['channel:']).channel_ids, ['c2']);
  assert.equal(applications.get('hello').endpoint_ids, ['PJSIP', 'PJSIP/alice', '__AST_ENDPOINT_ALL_TOPIC']);
});

registering('refusals of subscriptions come in the order of Asterisk and keep what went before', () => {
  const { applications, connect } = world();
  connect(['hello']);
  const subscribe = (name: string, ...sources: string[]) => refusal(() => applications.subscribe(name, sources));
  const unsubscribe = (name: string, ...sources: string[]) => refusal(() => applications.unsubscribe(name, sources));
  for (const [call, nothing] of [
    [subscribe, 'Event source does not exist'],
    [unsubscribe, 'Event source was not subscribed to'],
  ] as const) {
    assert.equal(call('nobody'), [400, 'Missing parameter eventSource']);
    assert.equal(call('nobody', 'channel:c1'), [404, 'Application not found']);
    assert.equal(call('hello', 'nonsense'), [400, 'Invalid event source URI scheme']);
    assert.equal(call('hello', 'channels:c1'), [400, 'Invalid event source URI scheme']);
    assert.equal(call('hello', ''), [400, 'Invalid event source URI scheme']);
    for (const source of ['channel:x', 'bridge:x', 'endpoint:SIP', 'endpoint:PJSIP/bob', 'endpoint:/'])
      assert.equal(call('hello', source), [422, nothing], source);
  }
  assert.equal(unsubscribe('hello', 'channel:c1'), [422, 'Event source was not subscribed to']);
  assert.equal(subscribe('hello', 'channel:c1', 'channel:x', 'channel:c2'), [422, 'Event source does not exist']);
  assert.equal(applications.get('hello').channel_ids, ['c1']);
});

registering('who has all of a type is not counted for one of it', () => {
  const { applications, connect } = world();
  connect(['hello'], { subscribeAll: true });
  applications.subscribe('hello', ['channel:c1']);
  assert.equal(
    refusal(() => applications.unsubscribe('hello', ['channel:c1'])),
    [422, 'Event source was not subscribed to'],
  );
});

registering('the death of an object ends its subscriptions', () => {
  const { applications, connect, ring } = world();
  const socket = connect(['hello']);
  applications.addInterest('hello', channelTopic('c1'));
  applications.subscribe('hello', ['channel:c1']);
  applications.forget(channelTopic('c1'));
  ring('c1');
  assert.equal(socket.sent, []);
  assert.equal(applications.get('hello').channel_ids, []);
  applications.addInterest('nobody', channelTopic('c1'));
});

registering('a filter is set and refused as a whole', () => {
  const { applications, connect } = world();
  connect(['hello']);
  assert.equal(
    refusal(() => applications.filter('nobody', {})),
    [404, 'Application not found'],
  );
  assert.equal(
    refusal(() => applications.filter('hello', { allowed: 1 })),
    [400, 'Invalid format definition'],
  );
  const model = applications.filter('hello', { allowed: [{ type: 'Dial', note: 'kept' }] });
  assert.equal(model.events_allowed, [{ type: 'Dial', note: 'kept' }]);
});

registering('a user event goes to one application with what it is about', () => {
  const { applications, connect } = world();
  const messages: AriEvent[] = [];
  applications.connect({ names: ['hello'], describe: 'test', send: (json) => void messages.push(JSON.parse(json)) });
  const other = connect(['other'], { subscribeAll: true });
  applications.userEvent('ping', {
    application: 'hello',
    source: ['channel:c1', 'channel:c2', 'endpoint:pjsip/alice', 'bridge:b1'],
    variables: { a: '1', eventname: 'overridden' },
  });
  const [event] = messages;
  assert.equal(event && { ...event, timestamp: '' }, {
    type: 'ChannelUserevent',
    eventname: 'ping',
    userevent: { a: '1', eventname: 'ping' },
    channel: channel('c2'),
    bridge: bridge('b1'),
    endpoint: alice,
    timestamp: '',
    application: 'hello',
    asterisk_id: 'e',
    seq: 1,
  } as never);
  assert.equal(other.sent, []);
  const send = (application?: string, ...source: string[]) =>
    refusal(() => applications.userEvent('ping', { application, source }));
  assert.equal(send(), [400, 'Missing parameter application']);
  assert.equal(send('nobody'), [404, 'Application not found']);
  assert.equal(send('hello', 'deviceState:x'), [400, 'Invalid event source URI scheme']);
  for (const source of ['channel:x', 'channel:', 'endpoint:PJSIP', 'endpoint:PJSIP/bob', 'bridge:x'])
    assert.equal(send('hello', source), [422, 'Event source was not found'], source);
  assert.is(messages.length, 1);
});

registering('who only observes hears events, and no calls enter', () => {
  const { applications, connect, ring } = world();
  const observer = connect(['wall'], { observes: true, subscribeAll: true });
  ring('c1');
  assert.equal(observer.sent, ['wall ChannelStateChange']);
  assert.not(applications.isActive('wall'));
  observer.close();
  assert.equal([...applications.list()], []);
});

registering('who only observes takes no name that somebody else has, and leaves none half taken', () => {
  const { applications, connect } = world();
  const owner = connect(['hello']);
  const taken = [403, "Application 'hello' is registered by another user. A read-only user cannot take it over"];
  assert.equal(
    refusal(() => connect(['free', 'hello'], { observes: true })),
    taken,
  );
  assert.equal(
    [...applications.list()].map(({ name }) => name),
    ['hello'],
  );
  applications.subscribe('hello', ['channel:c1']);
  owner.close();
  // Its connection is away, but what it subscribed to waits for it.
  assert.equal(
    refusal(() => connect(['hello'], { observes: true })),
    taken,
  );
  assert.not(applications.isActive('hello'));
});

registering('an application takes its name from who only observes, and another observer does', () => {
  const { applications, connect } = world();
  const first = connect(['hello'], { observes: true });
  const second = connect(['hello'], { observes: true });
  assert.equal(first.sent, ['hello ApplicationReplaced']);
  assert.not(applications.isActive('hello'));
  const owner = connect(['hello']);
  assert.equal(second.sent, ['hello ApplicationReplaced']);
  assert.ok(applications.isActive('hello'));
  second.close();
  assert.ok(applications.isActive('hello'));
  owner.close();
  connect(['hello'], { observes: true });
  assert.not(applications.isActive('hello'));
});

registering('what others subscribe an observer to stays his while he is away', () => {
  const { applications, connect, ring } = world();
  const first = connect(['wall'], { observes: true });
  applications.subscribe('wall', ['channel:c1']);
  first.close();
  const second = connect(['wall'], { observes: true });
  ring('c1');
  assert.equal(second.sent, ['wall ChannelStateChange']);
});

registering('there are no more applications than allowed, but for those of this system', () => {
  const { applications, connect } = world({ applications: 2, subscriptions: 10 });
  const socket = connect(['a', 'b']);
  const full = [409, 'The limit of 2 is reached (limits.applications)'];
  assert.equal(
    refusal(() => connect(['b', 'c'])),
    full,
  );
  assert.equal(
    refusal(() => applications.requireRegistrable(['c'], false)),
    full,
  );
  connect(['a', 'b']);
  connect(['own'], { announce: true });
  assert.equal(
    [...applications.list()].map(({ name }) => name),
    ['a', 'b', 'own'],
  );
  assert.equal(socket.sent, ['a ApplicationReplaced', 'b ApplicationReplaced']);
});

registering('a connection made by this system is announced and taken back', () => {
  const { connect } = world();
  const socket = connect(['a', 'b'], { announce: true });
  const other = connect(['b']);
  socket.announce();
  socket.close();
  assert.equal(other.sent, ['b ApplicationReplaced']);
  assert.equal(socket.sent, [
    'a ApplicationRegistered',
    'b ApplicationRegistered',
    'b ApplicationReplaced',
    'a ApplicationRegistered',
    'b ApplicationRegistered',
    'a ApplicationUnregistered',
    'b ApplicationUnregistered',
  ]);
});

registering('nothing is delivered once they are closed', () => {
  const { applications, connect, change } = world();
  const socket = connect(['hello'], { subscribeAll: true });
  applications.close();
  change('x');
  assert.equal(socket.sent, []);
});

registering.run();
