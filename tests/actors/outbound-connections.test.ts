import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type {
  OpenSocket,
  OutboundConnectionSettings,
  OutboundTarget,
  SocketReports,
} from '../../src/actors/outbound-connection-entry.ts';
import type { AriEvent } from '../../src/models/events.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';

/** A socket that the system has asked for; the test is the far side. */
type FakeSocket = {
  target: OutboundTarget;
  names: readonly string[];
  told: SocketReports;
  closed: [code: number, reason: string] | undefined;
  /** What came over it. */
  events: AriEvent[];
  accept(): void;
};

const target: OutboundTarget = {
  url: 'ws://127.0.0.1:9/ari',
  protocols: ['ari'],
  username: '',
  password: '',
  localUser: 'writer',
};
const persistent: OutboundConnectionSettings = {
  name: 'desk',
  kind: 'persistent',
  target,
  apps: ['hello', 'other'],
  subscribeAll: false,
  connectionTimeoutMs: 500,
  reconnectIntervalMs: 1_000,
  reconnectAttempts: 1,
};
const forCalls: OutboundConnectionSettings = { ...persistent, name: 'calls', kind: 'call', apps: ['hello'] };

const contexts = { default: { s: ['Stasis(hello,one)', 'Wait(60)'] } };

function world(...connections: OutboundConnectionSettings[]) {
  const control = createCallControl({ contexts, connections });
  const sockets: FakeSocket[] = [];
  const open: OpenSocket = (asked, names, told) => {
    const socket: FakeSocket = {
      target: asked,
      names,
      told,
      closed: undefined,
      events: [],
      accept: () => told.opened((json) => void socket.events.push(JSON.parse(json))),
    };
    sockets.push(socket);
    return { close: (code, reason) => void (socket.closed ??= [code, reason]) };
  };
  control.outbound.start(open);
  const userEvent = (name: string) => control.applications.userEvent(name, { application: 'hello' });
  return { ...control, sockets, userEvent };
}

/** Types, user events by name, with the application where there are several. */
const told = ({ events }: FakeSocket) =>
  events.map((event) => (event.type === 'ChannelUserevent' ? event.eventname : `${event.type} ${event.application}`));

const standing = suite('persistent outbound connections');

standing('registers its applications at once, and says so when it is connected', () => {
  const { sockets, applications } = world(persistent);
  assert.equal([sockets.length, sockets[0]?.target, sockets[0]?.names], [1, target, ['hello', 'other']]);
  assert.ok(applications.isActive('hello') && applications.isActive('other'));
  sockets[0]?.accept();
  assert.equal(told(sockets[0]!), ['ApplicationRegistered hello', 'ApplicationRegistered other']);
});

standing(
  'the log and the numbers of an application say that it is connected once its socket is open, and not before',
  () => {
    const { sockets, applications, log } = world(persistent);
    const told = () => log.lines.filter(({ level }) => level === 'info').map(({ message }) => message);
    assert.equal([told(), applications.isConnected('hello'), applications.isActive('hello')], [[], false, true]);
    sockets[0]?.accept();
    assert.equal([told(), applications.isConnected('hello')], [['connected to applications'], true]);
    sockets[0]?.told.closed();
    assert.is(applications.isConnected('hello'), false);
  },
);

standing('keeps events while it is away, and sends them in order behind the word that it is back', () => {
  const { sockets, userEvent, clock, applications, outbound } = world(persistent);
  userEvent('early');
  assert.equal(outbound.waiting(), [{ connection: 'desk', events: 1 }]);
  sockets[0]!.accept();
  userEvent('one');
  sockets[0]!.told.closed();
  assert.ok(applications.isActive('hello'));
  userEvent('two');
  userEvent('three');
  clock.advance(1_000);
  sockets[1]!.accept();
  userEvent('four');
  assert.equal(told(sockets[0]!), ['ApplicationRegistered hello', 'ApplicationRegistered other', 'early', 'one']);
  assert.equal(told(sockets[1]!), [
    'ApplicationRegistered hello',
    'ApplicationRegistered other',
    'two',
    'three',
    'four',
  ]);
});

standing('takes its applications back when it is made again, also from one that has left', () => {
  const { sockets, connect, clock, applications, userEvent } = world(persistent);
  sockets[0]!.accept();
  const other = connect('hello');
  assert.is(told(sockets[0]!).at(-1), 'ApplicationReplaced hello');
  other.close();
  assert.not(applications.isActive('hello'));
  sockets[0]!.told.closed();
  clock.advance(1_000);
  sockets[1]!.accept();
  userEvent('again');
  assert.equal(told(sockets[1]!), ['ApplicationRegistered hello', 'ApplicationRegistered other', 'again']);
});

standing('bounds what waits by bytes; what does not fit is counted and told twice', () => {
  const { sockets, userEvent, log } = world(persistent);
  for (let index = 0; index < 20; index++) userEvent(`event-${index}`);
  sockets[0]!.accept();
  const kept = told(sockets[0]!).slice(2);
  assert.ok(kept.length > 5 && kept.length < 15, `${kept.length} of 20 were kept`);
  assert.equal(
    kept,
    kept.map((_, index) => `event-${index}`),
  );
  const warned = log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  assert.equal(warned, [
    'an application was away too long: its queued events are dropped',
    'an application reconnected and lost events',
  ]);
  userEvent('later');
  assert.is(told(sockets[0]!).at(-1), 'later');
});

standing('is tried for ever, and only its first failure is a warning', () => {
  const { sockets, clock, log } = world(persistent);
  for (let index = 0; index < 5; index++) {
    sockets[index]!.told.failed('refused');
    clock.advance(1_000);
  }
  assert.is(sockets.length, 6);
  const levels = log.lines.filter(({ message }) => message.includes('reached')).map(({ level }) => level);
  assert.equal(levels, ['warn', 'debug', 'debug', 'debug', 'debug']);
});

standing('an attempt that takes too long is given up and not heard any more', () => {
  const { sockets, clock } = world(persistent);
  clock.advance(500);
  assert.ok(sockets[0]!.closed);
  sockets[0]!.accept();
  sockets[0]!.told.closed();
  clock.advance(1_000);
  sockets[1]!.accept();
  assert.equal(told(sockets[0]!), []);
  assert.is(told(sockets[1]!).length, 2);
});

standing('says goodbye when the system stops, and leaves nothing', () => {
  const { sockets, outbound, clock, applications } = world(persistent);
  sockets[0]!.accept();
  outbound.close();
  assert.equal(told(sockets[0]!).slice(2), ['ApplicationUnregistered hello', 'ApplicationUnregistered other']);
  assert.equal(sockets[0]!.closed, [1001, 'the server is shutting down']);
  assert.equal([outbound.size, clock.pending, [...applications.list()]], [0, 0, []]);
});

standing('channels enter its applications while it is away', async () => {
  const { sockets, incoming } = world(persistent);
  const leg = incoming('c1');
  await settled();
  leg.report({ type: 'leg.hungUp', cause: 16 });
  sockets[0]!.accept();
  assert.equal(sockets[0]!.events.slice(2).map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16', 'StasisEnd']);
});

const calling = suite('outbound connections for calls');

calling('a call that enters gets a connection and an application of its own', async () => {
  const { sockets, incoming, channels, applications } = world(forCalls);
  assert.is(sockets.length, 0);
  incoming('c1');
  await settled();
  const instance = `hello:${channels.get('c1').name}`;
  assert.equal([sockets.length, sockets[0]?.names], [1, [instance]]);
  assert.equal([...applications.list()], []);
  sockets[0]!.accept();
  await settled();
  assert.equal(told(sockets[0]!), [`StasisStart ${instance}`]);
  assert.equal(applications.get(instance).channel_ids, ['c1']);
});

calling('its application hears the call to its end, and is gone 3 s later', async () => {
  const { sockets, incoming, clock, outbound, applications } = world({ ...forCalls, subscribeAll: true });
  const leg = incoming('c1');
  await settled();
  sockets[0]!.accept();
  await settled();
  leg.report({ type: 'leg.hungUp', cause: 16 });
  assert.ok(told(sockets[0]!).some((each) => each.startsWith('StasisEnd')));
  clock.advance(2_999);
  assert.equal([sockets[0]!.closed, outbound.size], [undefined, 1]);
  clock.advance(1);
  assert.equal([sockets[0]!.closed, outbound.size], [[1000, 'the call has left'], 0]);
  assert.equal([[...applications.list()], clock.pending], [[], 0]);
});

calling('subscriptions that its application made do not keep it', async () => {
  const { sockets, incoming, clock, applications, channels } = world(forCalls);
  const leg = incoming('c1');
  await settled();
  sockets[0]!.accept();
  await settled();
  applications.subscribe(`hello:${channels.get('c1').name}`, ['endpoint:Fake/phone']);
  leg.report({ type: 'leg.hungUp', cause: 16 });
  clock.advance(3_000);
  assert.equal([...applications.list()], []);
});

calling('without a connection the call is refused: STASISSTATUS is FAILED and the dialplan goes on', async () => {
  const { sockets, incoming, channels, clock, connect, operations, log, outbound } = world(forCalls);
  const watcher = connect('watcher', true);
  incoming('c1');
  await settled();
  sockets[0]!.told.failed('refused');
  clock.advance(1_000);
  sockets[1]!.told.failed('refused');
  await settled();
  assert.equal(
    watcher.events.filter(({ type }) => type === 'ChannelVarset' || type === 'ChannelDialplan').map(inShort),
    ['ChannelDialplan Stasis', 'ChannelVarset STASISSTATUS=FAILED', 'ChannelDialplan Wait'],
  );
  assert.equal([outbound.size, sockets.length], [0, 2]);
  assert.ok(log.lines.some(({ level, message }) => level === 'warn' && message.includes('cannot be reached')));
  operations.hangup('c1', {});
  assert.is(channels.size, 0);
});

calling('a caller who hangs up before it is connected ends it', async () => {
  const { sockets, incoming, clock, outbound } = world(forCalls);
  const leg = incoming('c1');
  await settled();
  leg.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.ok(sockets[0]!.closed);
  assert.equal([outbound.size, clock.pending], [0, 0]);
  sockets[0]!.accept();
  assert.equal(told(sockets[0]!), []);
});

calling('a call whose application closes the connection stays, and can be taken over until it leaves', async () => {
  const { sockets, incoming, channels, applications, connect, clock } = world(forCalls);
  const leg = incoming('c1');
  await settled();
  sockets[0]!.accept();
  await settled();
  const instance = `hello:${channels.get('c1').name}`;
  sockets[0]!.told.closed();
  assert.equal([channels.size, applications.isActive(instance)], [1, false]);
  assert.equal(applications.get(instance).channel_ids, ['c1']);
  const rescue = connect(instance);
  leg.report({ type: 'leg.digit', digit: '5', durationMs: 100 });
  assert.equal(rescue.events.map(inShort), ['ChannelDtmfReceived']);
  rescue.close();
  applications.subscribe(instance, ['endpoint:Fake/phone']);
  leg.report({ type: 'leg.hungUp', cause: 16 });
  assert.equal([[...applications.list()], clock.pending], [[], 0]);
});

calling('a call that comes back while its connection lingers keeps it', async () => {
  const { sockets, incoming, channels, operations, clock } = world(forCalls);
  incoming('c1');
  await settled();
  sockets[0]!.accept();
  await settled();
  operations.continueInDialplan('c1', { context: 'default', extension: 's', priority: 1 });
  await settled();
  clock.advance(10_000);
  assert.equal([sockets.length, sockets[0]!.closed], [1, undefined]);
  assert.equal(
    sockets[0]!.events.filter(({ type }) => type.startsWith('Stasis')).map(({ type }) => type),
    ['StasisStart', 'StasisEnd', 'StasisStart'],
  );
  operations.hangup('c1', {});
  clock.advance(3_000);
  assert.equal([sockets[0]!.closed, channels.size], [[1000, 'the call has left'], 0]);
});

calling('a move into such an application makes a connection, too', async () => {
  const { sockets, incoming, channels, operations, connect } = world({ ...forCalls, apps: ['expert'] });
  const first = connect('hello');
  incoming('c1');
  await settled();
  operations.move('c1', { app: 'expert', appArgs: 'now' });
  sockets[0]!.accept();
  await settled();
  const instance = `expert:${channels.get('c1').name}`;
  const [start] = sockets[0]!.events;
  assert.equal([start?.type, start?.application], ['StasisStart', instance]);
  assert.equal(first.events.map(inShort).at(-1), 'StasisEnd');
});

calling('a move that comes to nothing leaves the call where it is', async () => {
  const { sockets, incoming, operations, connect, clock } = world({ ...forCalls, apps: ['expert'] });
  const first = connect('hello');
  incoming('c1');
  await settled();
  operations.move('c1', { app: 'expert' });
  clock.advance(500 + 1_000 + 500);
  await settled();
  assert.is(sockets.length, 2);
  assert.is(first.events.at(-1)?.type, 'ApplicationMoveFailed');
});

calling('before the start, and for names nobody configured, calls are refused at once', async () => {
  const { outbound } = createCallControl({ connections: [forCalls] });
  assert.is(outbound.admit('hello', { id: 'c1', name: 'Fake/phone-1' }), undefined);
  assert.is(world(forCalls).outbound.admit('nobody', { id: 'c1', name: 'Fake/phone-1' }), undefined);
  const tooLong = { id: 'c1', name: `Local/${'9'.repeat(255)}@default-1;1` };
  assert.is(world(forCalls).outbound.admit('hello', tooLong), undefined);
});

calling('when the system stops, calls under way are refused and connections closed', async () => {
  const { sockets, outbound, clock } = world(forCalls);
  const verdicts = ['a', 'b'].map((name) => outbound.admit('hello', { id: name, name: `Fake/${name}` }));
  sockets[0]!.accept();
  outbound.close();
  assert.equal(await Promise.all(verdicts), ['hello:Fake/a', undefined]);
  assert.ok(sockets[0]!.closed && sockets[1]!.closed);
  assert.equal([outbound.size, clock.pending], [0, 0]);
});

standing.run();
calling.run();
