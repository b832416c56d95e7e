import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import type { OutboundConnectionSettings, SocketReports } from '../../src/actors/outbound-connection-entry.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

/** What goes wrong, comes at a bad time or is out of the ordinary; nothing of it may cost a channel or an event. */

const faults = suite('channels when something goes wrong');

faults('a function that cannot be written is no reason to refuse a channel that is there by then', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  const variables = { 'CALLERID(nothing)': 'x', A: '1' };
  call.operations.create({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1', variables });
  assert.is(events.map(inShort).at(-1), 'StasisStart Down');
  assert.equal(call.operations.getVariable('c1', { variable: 'A' }), { value: '1' });
  call.operations.hangup('c1', {});
  assert.is(call.channels.size, 0);
});

faults('a leg that breaks while it is hung up is let go of after five seconds', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  leg.broken = 'hangup 16';
  call.operations.hangup('c1', {});
  call.clock.advance(5_000);
  assert.is(call.channels.size, 0);
  assert.ok(leg.calls.includes('release'));
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16 soft', 'StasisEnd']);
});

faults('the application hears that a channel has left also when the leg never tells its end', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  leg.ends = false;
  const { ownership } = call.channels.get('c1');
  leg.report({ type: 'leg.hungUp', cause: 16 });
  call.clock.advance(5_000);
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16', 'StasisEnd']);
  assert.is(ownership.getSnapshot().status, 'done');
  assert.equal(call.applications.get('hello').channel_ids, []);
});

faults('a caller that gives up before the dialplan has handed it over enters nothing', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  const leg = call.incoming('c1', '100', 'in');
  leg.ends = false;
  leg.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(events.map(inShort), []);
});

faults('a channel that is being hung up is not moved any more', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  const other = call.connect('other');
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  leg.ends = false;
  call.operations.hangup('c1', {});
  call.operations.move('c1', { app: 'other' });
  leg.report({ type: 'leg.ended' });
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16 soft', 'StasisEnd']);
  assert.equal(other.events, []);
});

faults('an id that a client has taken is not made up again', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Wait(60)'] } } });
  const seconds = Math.floor(call.clock.now() / 1000);
  for (const number of [0, 1, 3]) call.incoming(`${seconds}.${number}`, '100', 'in');
  const made = call.operations.originate({ endpoint: 'Local/s@default', app: 'hello' });
  assert.is(made.id, `${seconds}.2`);
  assert.is(call.channels.find(made.id)?.companionId, `${seconds}.4`);
});

faults('both halves of a Local channel are let go of when the id of the second is taken', () => {
  const call = createCallControl();
  call.incoming('taken');
  const request = { endpoint: 'Local/s@default', app: 'hello', channelId: 'c1' };
  call.incoming('c1;2');
  assert.is(refusal(() => call.operations.originate(request))?.[0], 409);
  assert.equal(
    call.pairs.map((half) => half.calls),
    [['close'], ['close']],
  );
  assert.is(call.channels.size, 2);
});

faults('an empty variable can be removed, and a flag set on one that is not there', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  call.connect('hello');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.setVariable('c1', { variable: 'A', value: '' });
  assert.equal(call.operations.getVariable('c1', { variable: 'A' }), { value: '' });
  call.operations.setVariable('c1', { variable: 'A' });
  assert.is(refusal(() => call.operations.getVariable('c1', { variable: 'A' }))?.[0], 404);
  call.operations.setVariable('c1', { variable: 'B', report_events: true });
  assert.equal(call.operations.get('c1').channelvars, { B: '' });
});

faults('variables named as what every object has are variables like any other', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  call.connect('hello');
  call.incoming('c1', '100', 'in');
  await settled();
  for (const [written, name] of [
    ['____proto__', '__proto__'],
    ['constructor', 'constructor'],
  ] as const) {
    call.operations.setVariable('c1', { variable: written, value: name, report_events: true });
    assert.equal(call.operations.getVariable('c1', { variable: name }), { value: name });
    assert.is(JSON.parse(JSON.stringify(call.operations.get('c1').channelvars))[name], name);
  }
  const made = call.operations.originate({
    endpoint: 'Fake/phone',
    app: 'hello',
    channelId: 'c2',
    variables: { ____proto__: { value: 'born', report_events: true } },
  });
  assert.equal(call.operations.getVariable('c2', { variable: '__proto__' }), { value: 'born' });
  assert.is(Object.entries(made.channelvars ?? {})[0]?.[1], 'born');
});

faults('a cause that no integer holds is refused', () => {
  const call = createCallControl();
  call.incoming('c1');
  const hangup = () => call.operations.hangup('c1', { reason_code: '9'.repeat(400) });
  assert.is(refusal(hangup)?.[0], 400);
});

faults('what a created Local channel was given reaches its other half when it is dialed', () => {
  const call = createCallControl({ contexts: { in: { '100': ['Wait(60)'] } } });
  call.connect('hello');
  call.incoming('caller', '100', 'in');
  const from = call.channels.get('caller');
  call.channels.tell(from, { type: 'variable.set', name: '__FROM', value: 'caller' });
  call.operations.create({
    endpoint: 'Local/s@default',
    app: 'hello',
    channelId: 'c1',
    variables: { __ALWAYS: '1', _ONCE: '2', PLAIN: '3' },
  });
  call.operations.setVariable('c1', { variable: '__LATER', value: '4' });
  call.operations.dial('c1', { caller: 'caller' });
  const { variables, inheritance } = snapshotOf(call.channels.get('c1;2')).context;
  assert.equal(variables, { ALWAYS: '1', ONCE: '2', PLAIN: '3', STASISSTATUS: '', LATER: '4', FROM: 'caller' });
  assert.equal(inheritance, { ALWAYS: 'always', ONCE: 'once', LATER: 'always', FROM: 'always' });
});

faults('the other half of a created Local channel is called by whom it is dialed for', () => {
  const call = createCallControl({ contexts: { in: { '100': ['Wait(60)'] } } });
  call.connect('hello');
  call.incoming('caller', '100', 'in');
  call.operations.create({ endpoint: 'Local/s@default', app: 'hello', channelId: 'c1' });
  call.operations.dial('c1', { caller: 'caller' });
  assert.equal(call.operations.get('c1').connected, { name: 'Alice', number: '100' });
  assert.equal(call.operations.get('c1;2').caller, { name: 'Alice', number: '100' });
});

/** A connection made for a call, whose socket opens when the test says so. */
function perCall() {
  const settings: OutboundConnectionSettings = {
    name: 'per-call',
    kind: 'call',
    target: { url: 'ws://app', protocols: [], username: '', password: '', localUser: 'hookswitch' },
    apps: ['far'],
    subscribeAll: false,
    connectionTimeoutMs: 500,
    reconnectIntervalMs: 500,
    reconnectAttempts: 0,
  };
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } }, connections: [settings] });
  const sockets: SocketReports[] = [];
  call.outbound.start((_target, _names, told) => {
    sockets.push(told);
    return { close: () => {} };
  });
  return { call, sockets };
}

faults('what is asked while a move waits for its destination is done afterwards', async () => {
  const { call, sockets } = perCall();
  const { events } = call.connect('hello');
  const third = call.connect('third');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.move('c1', { app: 'far' });
  call.operations.move('c1', { app: 'third' });
  assert.equal(events.map(inShort), ['StasisStart Ring']);
  sockets[0]?.failed('nobody there');
  await settled();
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ApplicationMoveFailed', 'StasisEnd']);
  assert.equal(third.events.map(inShort), ['StasisStart Ring']);
});

faults('a channel hung up while a move waits leaves nothing behind', async () => {
  const { call, sockets } = perCall();
  const { events } = call.connect('hello');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.move('c1', { app: 'far' });
  call.operations.continueInDialplan('c1', {});
  call.operations.hangup('c1', {});
  sockets[0]?.opened(() => {});
  await settled();
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16 soft', 'StasisEnd']);
  call.clock.advance(3_000);
  assert.is(call.channels.size, 0);
  assert.is(call.outbound.size, 0);
});

faults('a channel that is being hung up does not enter the application that was being connected', async () => {
  const { call, sockets } = perCall();
  const { events } = call.connect('hello');
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  call.operations.move('c1', { app: 'far' });
  leg.ends = false;
  call.operations.hangup('c1', {});
  const sent: string[] = [];
  sockets[0]?.opened((json) => void sent.push(json));
  await settled();
  leg.report({ type: 'leg.ended' });
  assert.equal(events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16 soft', 'StasisEnd']);
  assert.equal(sent, []);
});

faults.run();
