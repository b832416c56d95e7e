import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createBus } from '../../src/bus/bus.ts';
import { type Connection, createDelivery, type MessageCheck } from '../../src/bus/delivery.ts';
import {
  allChannels,
  allDeviceStates,
  channelTopic,
  deviceStateTopic,
  deviceStateTopics,
} from '../../src/bus/topics.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { createRecordingLog, type LoggedLine } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

function world(check?: MessageCheck) {
  const { log, lines } = createRecordingLog();
  const said = (level: LoggedLine['level']) => lines.filter((line) => line.level === level).map(({ fields }) => fields);
  const warnings = () => said('warn');
  const errors = () => said('error');
  const clock = new ManualClock();
  const bus = createBus({ log });
  const released: string[] = [];
  const delivery = createDelivery({
    bus,
    clock,
    log,
    entityId: '00:11:22:33:44:55',
    check,
    onReleased: (name) => void released.push(name),
  });
  /** Changes the state of a device, which topics of device states hear. */
  const change = (name: string): void =>
    bus.publish({
      event: { type: 'DeviceStateChanged', device_state: { name, state: 'BUSY' } },
      topics: deviceStateTopics(name),
    });
  return { bus, clock, delivery, change, warnings, errors, released };
}

function fakeConnection() {
  const sent: string[] = [];
  const connection: Connection = { send: (json) => void sent.push(json), describe: '127.0.0.1' };
  const events = (): AriEvent[] => sent.map((json) => JSON.parse(json) as AriEvent);
  return { connection, sent, events };
}

/** Who got which number, to compare deliveries briefly. */
const brief = (event: AriEvent): string =>
  `${event.application} ${event.seq} ${'device_state' in event ? event.device_state.name : event.type}`;

const delivering = suite('delivery');

delivering('an event is stamped for each application that is interested and for nobody else', () => {
  const { delivery, change, clock } = world();
  const { connection, events } = fakeConnection();
  for (const name of ['a', 'say "b"', 'c']) {
    delivery.add(name);
    delivery.attach(name, connection, false);
  }
  delivery.subscribe('a', deviceStateTopic('x'));
  delivery.subscribe('say "b"', allDeviceStates);
  change('x');
  change('y');
  const stamp = (application: string, seq: number) => ({
    timestamp: formatTimestamp(clock.now()),
    application,
    asterisk_id: '00:11:22:33:44:55',
    seq,
  });
  const body = (name: string) => ({ type: 'DeviceStateChanged', device_state: { name, state: 'BUSY' } });
  assert.equal(events(), [
    { ...body('x'), ...stamp('a', 1) },
    { ...body('x'), ...stamp('say "b"', 1) },
    { ...body('y'), ...stamp('say "b"', 2) },
  ]);
});

delivering('an event comes once, however many subscriptions an application has to it', () => {
  const { delivery, change, bus } = world();
  const { connection, events } = fakeConnection();
  delivery.add('a');
  delivery.attach('a', connection, false);
  delivery.subscribe('a', deviceStateTopic('x'));
  delivery.subscribe('a', deviceStateTopic('x'));
  delivery.subscribe('a', allDeviceStates);
  change('x');
  bus.publish({
    event: { type: 'DeviceStateChanged', device_state: { name: 'x', state: 'BUSY' } },
    topics: deviceStateTopics('x'),
    to: 'a',
  });
  assert.equal(events().map(brief), ['a 1 x', 'a 2 x']);
});

delivering('what is meant for one application needs no subscription and reaches no other', () => {
  const { delivery, bus } = world();
  const { connection, events } = fakeConnection();
  for (const name of ['a', 'b']) {
    delivery.add(name);
    delivery.attach(name, connection, true);
  }
  const event = { type: 'DeviceStateChanged', device_state: { name: 'x', state: 'BUSY' } } as const;
  bus.publish({ event, topics: [], to: 'b' });
  bus.publish({ event, topics: [], to: 'nobody' });
  assert.equal(events().map(brief), ['b 1 x']);
});

delivering('a muted event is not sent and uses up no number', () => {
  const { delivery, change } = world();
  const { connection, events } = fakeConnection();
  delivery.add('a');
  delivery.attach('a', connection, true);
  delivery.setFilter('a', { disallowed: [{ type: 'DeviceStateChanged' }] });
  change('x');
  delivery.setFilter('a', {});
  change('y');
  assert.equal(events().map(brief), ['a 1 y']);
  assert.equal(delivery.filterOf('nobody'), { allowed: [], disallowed: [] });
});

delivering('events for an absent application are lost, counted, logged once, and their numbers are used up', () => {
  const { delivery, change, warnings } = world();
  const { connection, events } = fakeConnection();
  delivery.add('a');
  delivery.subscribe('a', deviceStateTopic('x'));
  delivery.attach('a', connection, false);
  change('x');
  delivery.detach('a');
  change('x');
  change('x');
  assert.equal(delivery.figures('a'), { events: 3, missed: 2, unread: 0 });
  assert.equal(warnings(), [{ application: 'a', event: 'DeviceStateChanged' }]);
  delivery.attach('a', connection, false);
  change('x');
  assert.equal(events().map(brief), ['a 1 x', 'a 4 x']);
  assert.is(warnings().length, 2);
  assert.equal(delivery.figures('nobody'), { events: 0, missed: 0, unread: 0 });
});

delivering('a connection that closes takes one reference from each "all"', () => {
  const { delivery } = world();
  const { connection } = fakeConnection();
  delivery.add('a');
  delivery.attach('a', connection, true);
  delivery.attach('a', connection, true);
  assert.equal(delivery.topicsOf('a'), ['channel:', 'bridge:', 'endpoint:', 'deviceState:']);
  delivery.subscribe('a', allChannels);
  delivery.detach('a');
  assert.equal(delivery.topicsOf('a'), ['channel:']);
});

delivering('the loss of the last channel, bridge or endpoint is told, device states do not hold', () => {
  const { delivery, released } = world();
  delivery.add('a');
  delivery.subscribe('a', channelTopic('1'));
  delivery.subscribe('a', channelTopic('2'));
  delivery.subscribe('a', deviceStateTopic('x'));
  assert.ok(delivery.isHeld('a'));
  delivery.unsubscribe('a', channelTopic('1'));
  assert.equal(released, []);
  delivery.forget(channelTopic('2'));
  assert.equal(released, ['a']);
  assert.not(delivery.isHeld('a'));
  delivery.unsubscribe('a', deviceStateTopic('x'));
  assert.equal(released, ['a']);
});

delivering('an unknown application can neither subscribe nor be written to', () => {
  const { delivery } = world();
  const { connection, sent } = fakeConnection();
  delivery.attach('a', connection, true);
  delivery.detach('a');
  delivery.send('a', connection, { type: 'ApplicationReplaced' });
  delivery.remove('a');
  assert.not(delivery.subscribe('a', allChannels));
  assert.not(delivery.unsubscribe('a', allChannels));
  assert.not(delivery.isHeld('a'));
  assert.equal(delivery.topicsOf('a'), []);
  assert.equal(sent, []);
});

delivering('a connection that throws costs its message alone', () => {
  const { delivery, change, errors } = world();
  const { connection, events } = fakeConnection();
  const broken: Connection = {
    send: () => {
      throw new Error('closed');
    },
    describe: 'broken',
  };
  for (const [name, through] of [
    ['a', broken],
    ['b', connection],
  ] as const) {
    delivery.add(name);
    delivery.attach(name, through, true);
  }
  change('x');
  assert.equal(events().map(brief), ['b 1 x']);
  assert.is(errors().length, 1);
});

delivering('in development mode a message that does not fit its model is replaced', () => {
  const { delivery, change, errors } = world((message) =>
    (message as AriEvent).seq === 2 ? '/device_state/state is missing' : undefined,
  );
  const { connection, sent } = fakeConnection();
  delivery.add('a');
  delivery.attach('a', connection, true);
  change('x');
  change('x');
  change('x');
  assert.is(sent[1], '{"error":"InvalidMessage","message":"Message validation failed"}');
  assert.match(sent[2] ?? '', '"seq":3');
  assert.is(errors().length, 1);
});

delivering('nothing is delivered after the end', () => {
  const { delivery, change } = world();
  const { connection, sent } = fakeConnection();
  delivery.add('a');
  delivery.attach('a', connection, true);
  delivery.close();
  change('x');
  assert.equal(sent, []);
});

delivering.run();
