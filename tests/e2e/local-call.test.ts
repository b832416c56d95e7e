import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { onServer, type TestServer } from '../support/server.ts';

const calls = suite('calls without a network');

const dialplan = {
  default: { echo: ['Answer', 'Echo'], '1000': ['Answer', 'Wait(3600)'], unattended: ['Ringing', 'Wait(3600)'] },
};

const test = (title: string, body: (server: TestServer) => Promise<void>) =>
  calls(title, () => onServer({ dialplan }, body));

test('an application originates a call into the dialplan, and everything is told in order', async (server) => {
  const app = await server.app('desk');
  const channel = await app.ok<{ id: string; state: string }>(
    'POST',
    '/channels?endpoint=Local/echo@default&app=desk&appArgs=one,two&channelId=call-1',
  );
  assert.is(channel.state, 'Down');
  const start = await app.waitFor('StasisStart');
  assert.is(start.channel.id, 'call-1');
  assert.equal(start.args, ['one', 'two']);
  await app.ok('POST', '/channels/call-1/variable?variable=COLOUR&value=green');
  assert.equal(await app.ok('GET', '/channels/call-1/variable?variable=COLOUR'), { value: 'green' });
  await app.ok('DELETE', '/channels/call-1?reason=busy');
  const destroyed = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'call-1');
  assert.is(destroyed.cause, 17);
  assert.equal(app.story('call-1'), [
    'Dial',
    'ChannelStateChange',
    'Dial ANSWER',
    'ChannelVarset',
    'StasisStart',
    'ChannelVarset',
    'ChannelHangupRequest',
    'StasisEnd',
    'ChannelVarset',
    'ChannelDestroyed',
  ]);
});

test('a prompt played to one half is over when its audio is', async (server) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/call-1/play/prompt?media=sound:beep,sound:does-not-exist,digits:1');
  const finished = await app.waitFor('PlaybackFinished');
  assert.is(finished.playback.state, 'done');
  const told = app.events.filter(({ type }) => type.startsWith('Playback')).map(({ type }) => type);
  assert.equal(told, [
    'PlaybackStarted',
    'PlaybackContinuing',
    'PlaybackStarted',
    'PlaybackContinuing',
    'PlaybackStarted',
    'PlaybackFinished',
  ]);
  await app.ok('DELETE', '/channels/call-1');
  await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === 'call-1');
});

test('digits sent on one half are received on the other', async (server) => {
  const app = await server.app('desk', { subscribeAll: true });
  await app.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk&otherChannelId=other');
  await app.waitFor('StasisStart');
  await app.ok('POST', '/channels/call-1/dtmf?dtmf=7&duration=120');
  const received = await app.waitFor('ChannelDtmfReceived');
  assert.is(received.channel.id, 'other');
  assert.is(received.digit, '7');
  assert.is(received.duration_ms, 120);
  await app.ok('DELETE', '/channels/call-1');
});

test('a call that nobody answers ends after its timeout with cause 19', async (server) => {
  const app = await server.app('desk');
  const { id } = await app.ok<{ id: string }>(
    'POST',
    '/channels?endpoint=Local/unattended@default&app=desk&timeout=20',
  );
  await app.waitFor('Dial', ({ dialstatus }) => dialstatus === 'RINGING');
  server.clock.skip(20_000);
  const destroyed = await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
  assert.is(destroyed.cause, 19);
});

calls.run();
