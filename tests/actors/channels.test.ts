import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setChannelVariable } from '../../src/actors/channel-control.ts';
import { hangupAll, whenIdle } from '../../src/actors/channels.ts';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import { refusal } from '../support/refusal.ts';

const order = suite('order of a call’s events');

order('inbound, answered, hung up by the application', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello,a,b)'] } } });
  const { events } = call.connect('hello');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.answer('c1');
  call.operations.answer('c1');
  call.operations.hangup('c1', { reason: 'busy' });
  assert.equal(events.map(inShort), [
    'StasisStart Ring',
    'ChannelStateChange Up',
    'ChannelHangupRequest 17 soft',
    'StasisEnd',
  ]);
  assert.equal(events[0]?.type === 'StasisStart' && events[0].args, ['a', 'b']);
  assert.is(call.channels.size, 0);
});

order('inbound, hung up by the caller, with every channel subscribed', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello', true);
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  leg.report({ type: 'leg.hungUp', cause: 16 });
  assert.equal(events.map(inShort), [
    'ChannelCreated',
    'DeviceStateChanged',
    'EndpointStateChange',
    'ChannelDialplan Stasis',
    'ChannelVarset STASISSTATUS=',
    'StasisStart Ring',
    'ChannelHangupRequest 16',
    'StasisEnd',
    'ChannelVarset STASISSTATUS=SUCCESS',
    'ChannelDestroyed 16',
    'DeviceStateChanged',
    'EndpointStateChange',
  ]);
  assert.equal(leg.calls, ['hangup 16', 'release']);
});

order('originate into an application, with the far side alerting', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  const made = call.operations.originate({
    endpoint: 'fake/phone',
    app: 'hello',
    channelId: 'c1',
    callerId: '"Bob" <200>',
  });
  assert.is(made.state, 'Down');
  assert.equal(made.caller, { name: 'Bob', number: '200' });
  assert.equal(made.dialplan.app_name, 'AppDial2');
  call.report('c1', { type: 'leg.ringing' });
  call.report('c1', { type: 'leg.answered' });
  call.operations.hangup('c1', {});
  assert.equal(events.map(inShort), [
    'Dial',
    'ChannelStateChange Ringing',
    'Dial RINGING',
    'ChannelStateChange Up',
    'Dial ANSWER',
    'ChannelVarset STASISSTATUS=',
    'StasisStart Up',
    'ChannelHangupRequest 16 soft',
    'StasisEnd',
    'ChannelVarset STASISSTATUS=SUCCESS',
    'ChannelDestroyed 16',
  ]);
});

order('originate that nobody answers is given up after its timeout', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  call.operations.originate({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1', timeout: 5 });
  call.report('c1', { type: 'leg.ringing' });
  call.clock.advance(4_999);
  assert.is(call.channels.size, 1);
  call.clock.advance(1);
  assert.equal(events.map(inShort), ['Dial', 'ChannelStateChange Ringing', 'Dial RINGING', 'ChannelDestroyed 19']);
  assert.equal(call.legs.get('c1')?.calls, ['dial', 'hangup 19', 'release']);
});

order('originate that the far side refuses as busy', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  call.operations.originate({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1' });
  call.report('c1', { type: 'leg.hungUp', cause: 17, techCause: 486 });
  assert.equal(events.map(inShort), ['Dial', 'ChannelHangupRequest 17', 'Dial BUSY', 'ChannelDestroyed 17']);
});

order('create, then dial', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  call.operations.create({
    endpoint: 'Fake/phone',
    app: 'hello',
    appArgs: 'x',
    channelId: 'c1',
    variables: { A: '1' },
  });
  call.operations.dial('c1', {});
  call.report('c1', { type: 'leg.ringing' });
  call.report('c1', { type: 'leg.answered' });
  assert.equal(events.map(inShort), [
    'ChannelVarset A=1',
    'ChannelDialplan Stasis',
    'ChannelVarset STASISSTATUS=',
    'StasisStart Down',
    'Dial',
    'ChannelStateChange Ringing',
    'Dial RINGING',
    'ChannelStateChange Up',
    'Dial ANSWER',
  ]);
});

order('create, dial, and nobody answers in time', () => {
  const call = createCallControl();
  const { events } = call.connect('hello');
  call.operations.create({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1' });
  call.operations.dial('c1', { timeout: 3 });
  call.clock.advance(3_000);
  assert.equal(events.map(inShort).slice(3), [
    'Dial',
    'ChannelHangupRequest 19 soft',
    'StasisEnd',
    'ChannelVarset STASISSTATUS=SUCCESS',
    'ChannelDestroyed 19',
  ]);
});

order('what is played ends before the channel leaves', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.answer('c1');
  call.operations.play('c1', { media: ['sound:a'] });
  call.operations.play('c1', { media: ['sound:b'] });
  call.operations.hangup('c1', {});
  assert.equal(events.map(inShort), [
    'StasisStart Ring',
    'ChannelStateChange Up',
    'PlaybackStarted',
    'ChannelHangupRequest 16 soft',
    'PlaybackFinished failed',
    'StasisEnd',
  ]);
  assert.is(call.playbacks.size, 0);
});

order('continue waits for what is played, then runs the dialplan to its end', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)', 'NoOp(after)', 'Hangup(21)'] } } });
  const { events } = call.connect('hello', true);
  const leg = call.incoming('c1', '100', 'in');
  await settled();
  call.operations.play('c1', { media: ['sound:a'] });
  call.operations.continueInDialplan('c1', {});
  assert.is(
    events.some(({ type }) => type === 'StasisEnd'),
    false,
  );
  leg.media.finish();
  await settled();
  assert.equal(events.map(inShort).slice(6), [
    'PlaybackStarted',
    'PlaybackFinished done',
    'StasisEnd',
    'ChannelVarset STASISSTATUS=SUCCESS',
    'ChannelDialplan NoOp',
    'ChannelDialplan Hangup',
    'ChannelHangupRequest 21 soft',
    'ChannelDestroyed 21',
    'DeviceStateChanged',
    'EndpointStateChange',
  ]);
  assert.ok(leg.calls.includes('progress'), 'media on a ringing call opens the early audio path');
});

order('what the far side is to hear before the answer opens the early audio path, whatever asks for it', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  call.connect('hello');
  const { operations } = call;
  const asked: Record<string, (id: string) => unknown> = {
    play: (id) => operations.play(id, { media: ['sound:a'] }),
    dtmf: (id) => operations.sendDtmf(id, { dtmf: '1' }),
    moh: (id) => operations.startMoh(id, {}),
    silence: (id) => operations.startSilence(id),
    progress: (id) => operations.progress(id),
    'stop moh': (id) => operations.stopMoh(id),
    'stop silence': (id) => operations.stopSilence(id),
    mute: (id) => operations.mute(id, {}),
    hold: (id) => operations.hold(id),
    ring: (id) => operations.ring(id),
  };
  const opened: string[] = [];
  for (const [what, ask] of Object.entries(asked)) {
    const leg = call.incoming(what, '100', 'in');
    await settled();
    ask(what);
    assert.is(operations.get(what).state, 'Ring', what);
    if (leg.calls.includes('progress')) opened.push(what);
  }
  assert.equal(opened, ['play', 'dtmf', 'moh', 'silence', 'progress']);
  // Up, there is nothing to open.
  const leg = call.incoming('up', '100', 'in');
  await settled();
  await operations.answer('up');
  for (const what of ['play', 'dtmf', 'moh', 'silence']) asked[what]!('up');
  assert.is(leg.calls.includes('progress'), false);
});

order('a move tells the one application and then the other', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(one)'] } } });
  const one = call.connect('one');
  const two = call.connect('two');
  call.incoming('c1', '100', 'in');
  await settled();
  call.operations.move('c1', { app: 'nobody', appArgs: 'x' });
  call.operations.move('c1', { app: 'two', appArgs: 'a,,b' });
  call.operations.hangup('c1', {});
  assert.equal(one.events.map(inShort), ['StasisStart Ring', 'ApplicationMoveFailed', 'StasisEnd']);
  assert.equal(two.events.map(inShort), ['StasisStart Ring', 'ChannelHangupRequest 16 soft', 'StasisEnd']);
  const [start] = two.events;
  assert.equal(start?.type === 'StasisStart' && start.args, ['a', 'b']);
});

order('a Local channel: both halves, from dialing to the end', async () => {
  const call = createCallControl({ contexts: { default: { echo: ['Answer', 'Echo'] } } });
  const { events } = call.connect('hello');
  const made = call.operations.originate({ endpoint: 'Local/echo@default', app: 'hello', channelId: 'c1' });
  assert.match(made.name, /^Local\/echo@default-[0-9a-f]{8};1$/);
  await settled();
  assert.equal(
    [...call.operations.list()].map(({ id, state }) => [id, state]),
    [
      ['c1', 'Up'],
      ['c1;2', 'Up'],
    ],
  );
  call.operations.hangup('c1', {});
  const of = (id: string) =>
    events
      .filter(
        (event) =>
          ('channel' in event ? event.channel?.id : 'peer' in event && 'id' in event.peer && event.peer.id) === id,
      )
      .map(inShort);
  assert.equal(of('c1'), [
    'Dial',
    'ChannelStateChange Up',
    'Dial ANSWER',
    'ChannelVarset STASISSTATUS=',
    'StasisStart Up',
    'ChannelHangupRequest 16 soft',
    'StasisEnd',
    'ChannelVarset STASISSTATUS=SUCCESS',
    'ChannelDestroyed 16',
  ]);
  assert.equal(of('c1;2'), [
    'ChannelDialplan Answer',
    'ChannelStateChange Up',
    'ChannelDialplan Echo',
    'ChannelHangupRequest 16',
    'ChannelDestroyed 16',
  ]);
  assert.is(call.clock.pending, 0);
});

order.run();

const owner = suite('owner of channels');

owner('an application that is not there: an originated call ends, a dialplan call goes on', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(nobody)', 'Hangup(21)'] } } });
  const { events } = call.connect('all', true);
  call.operations.originate({ endpoint: 'Fake/phone', app: 'nobody', channelId: 'c1' });
  call.report('c1', { type: 'leg.answered' });
  assert.is(call.channels.find('c1') !== undefined, false);
  call.incoming('c2', '100', 'in');
  await settled();
  assert.ok(events.map(inShort).includes('ChannelVarset STASISSTATUS=FAILED'));
  assert.is(events.map(inShort).at(-3), 'ChannelDestroyed 21');
});

owner('a leg that breaks ends its channel alone, and everything is let go of', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello', true);
  const leg = call.incoming('c1', '100', 'in');
  call.incoming('c2', '100', 'in');
  await settled();
  leg.broken = 'answer';
  call.operations.answer('c1');
  assert.equal(
    [...call.operations.list()].map(({ id }) => id),
    ['c2'],
  );
  assert.ok(leg.calls.includes('release'));
  assert.ok(events.map(inShort).includes('ChannelDestroyed 41'));
  assert.ok(call.log.lines.some(({ message }) => message.includes('an effect of a channel failed')));
});

owner('an answer is done when the channel is Up, and fails when it ends first', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const { events } = call.connect('hello');
  for (const id of ['c1', 'c2']) {
    const leg = call.incoming(id, '100', 'in');
    leg.answers = false;
    await settled();
    const answer = call.operations.answer(id);
    assert.instance(answer, Promise);
    leg.report(id === 'c1' ? { type: 'leg.answered' } : { type: 'leg.hungUp', cause: 16 });
    const outcome = await Promise.resolve(answer).then(
      () => 'up',
      (error: Error) => error.message,
    );
    assert.is(outcome, id === 'c1' ? 'up' : 'Failed to answer channel');
  }
  assert.ok(events.length > 0);
});

owner('a leg that never ends is let go of after five seconds', async () => {
  const call = createCallControl({ contexts: { in: { '100': ['Stasis(hello)'] } } });
  const leg = call.incoming('c1', '100', 'in');
  leg.ends = false;
  await settled();
  call.operations.hangup('c1', {});
  assert.is(call.channels.size, 1);
  call.clock.advance(5_000);
  assert.is(call.channels.size, 0);
  assert.ok(leg.calls.includes('release'));
  assert.is(call.clock.pending, 0);
});

owner('channelvars and reported variables are shown in the channel', async () => {
  const call = createCallControl({ channelvars: ['A', 'CHANNEL(language)'] });
  call.incoming('c1');
  await settled();
  const entry = call.channels.get('c1');
  call.channels.tell(entry, { type: 'variable.set', name: 'B', value: '2', report: true });
  assert.equal(call.operations.get('c1').channelvars, { A: '', 'CHANNEL(language)': 'en', B: '2' });
});

owner('a function among channelvars is shown as it is now, though nothing of the channel has changed', async () => {
  const call = createCallControl({ channelvars: ['GLOBAL(shift)', 'A'] });
  call.incoming('c1');
  call.incoming('c2');
  await settled();
  const shown = () => call.operations.get('c1').channelvars;
  assert.equal(shown(), { 'GLOBAL(shift)': '', A: '' });
  setChannelVariable(call, call.channels.get('c2'), { name: 'GLOBAL(shift)', value: 'night' });
  assert.equal(shown(), { 'GLOBAL(shift)': 'night', A: '' });
  // While nothing has moved on it is made once.
  assert.is(call.operations.get('c1'), call.operations.get('c1'));
});

owner('the other half of a Local channel has every variable, and the parties the other way round', async () => {
  const call = createCallControl({ contexts: { default: { wait: ['Wait(9)'] } } });
  const { events } = call.connect('watcher', true);
  call.operations.originate({
    endpoint: 'Local/wait@default',
    app: 'hello',
    channelId: 'c1',
    callerId: '"Bob" <200>',
    variables: { _ONE: '1', PLAIN: '2', 'CALLERID(name)': 'Zoe' },
  });
  assert.is(call.operations.getVariable('c1;2', { variable: 'ONE' }).value, '1');
  assert.is(call.operations.getVariable('c1;2', { variable: 'PLAIN' }).value, '2');
  assert.is(call.operations.get('c1').caller.name, 'Zoe');
  const { caller, connected } = call.operations.get('c1;2');
  assert.equal(
    [caller, connected],
    [
      { name: 'Bob', number: '200' },
      { name: 'Zoe', number: '200' },
    ],
  );
  assert.equal(events.map(inShort).slice(0, 8), [
    'ChannelCreated',
    'ChannelCreated',
    'ChannelDialplan AppDial2',
    'ChannelVarset _ONE=1',
    'ChannelVarset PLAIN=2',
    'ChannelCallerId',
    'Dial',
    'ChannelConnectedLine',
  ]);
});

owner('a drained server takes no calls and tells when the last has ended', async () => {
  const call = createCallControl();
  call.incoming('c1');
  await settled();
  call.channels.enter('drain');
  assert.throws(() => call.operations.originate({ endpoint: 'Fake/phone', app: 'a' }), /shutting down/);
  let idle = false;
  const done = whenIdle(call.channels, call.channelFacts).then(() => {
    idle = true;
  });
  assert.is(idle, false);
  hangupAll(call.channels, 16);
  await done;
  assert.is(idle, true);
});

owner('a cordoned server takes no new calls, but lets live ones place others', async () => {
  const call = createCallControl();
  call.incoming('c1');
  await settled();
  call.channels.enter('cordon');
  assert.throws(() => call.operations.originate({ endpoint: 'Fake/phone', app: 'a' }), /takes no new calls/);
  call.incoming('c2');
  assert.is(call.channels.find('c2'), undefined);
  call.incoming('c3', 's', 'default', { joins: true });
  assert.ok(call.channels.find('c3'), 'it joins a call that is there');
  assert.equal([call.channels.refusal(true), call.channels.refusal(false)], ['serverDrained', undefined]);
  call.channels.enter('isolate');
  call.channels.enter('uncordon');
  assert.equal([call.channels.refusal(true), call.channels.refusal(false)], ['serverIsolated', undefined]);
  call.channels.enter('cordon');
  call.channels.enter('rejoin');
  assert.ok(call.operations.originate({ endpoint: 'Fake/phone', app: 'a', originator: 'c1' }));
  call.channels.enter('uncordon');
  assert.is(call.channels.refusal(true), undefined);
  assert.ok(call.operations.originate({ endpoint: 'Fake/phone', app: 'a' }));
});

owner('beyond limits.channels no new calls are taken, but live ones may place others', async () => {
  const call = createCallControl({ limits: { bridges: 1, members: 1, channels: 2 } });
  call.incoming('c1');
  call.incoming('c2');
  await settled();
  assert.is(call.channels.refusal(true), 'tooManyChannels');
  call.incoming('c3');
  assert.is(call.channels.find('c3'), undefined);
  assert.equal(
    refusal(() => call.operations.originate({ endpoint: 'Fake/phone', app: 'a' })),
    [503, 'The limit of live channels is reached: no new calls are taken (limits.channels)'],
  );
  assert.ok(call.operations.originate({ endpoint: 'Fake/phone', app: 'a', originator: 'c1' }));
  hangupAll(call.channels, 16);
  await whenIdle(call.channels, call.channelFacts);
  call.incoming('c4');
  assert.ok(call.channels.find('c4'));
});

owner.run();
