import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createWebrtcCalls } from '../../src/actors/webrtc-calls.ts';

const test = suite('browsers that listen to channels');

test('two requests at once with one id for their channels: the second is refused, and counts as no listener', async () => {
  let listeners = 0;
  let fail: (error: Error) => void = () => {};
  const listening = {
    supervise: () => {
      listeners++;
      return () => void listeners--;
    },
  };
  const driver = {
    prepare: () =>
      new Promise((_, reject) => {
        fail = reject;
      }),
  };
  const channels = { find: () => undefined };
  const parts = { channels, driver, listening, facts: { on: () => () => {} }, turn: {}, formats: new Set() };
  const calls = createWebrtcCalls(parts as never);
  const request = { channelId: 'c1', supervisorId: 's1', offer: 'v=0' };
  const user = { user: { name: 'boss', read_only: false } };
  const first = calls.supervise(request, user);
  assert.match(String(await calls.supervise(request, user).catch(String)), /unique ID already exists/);
  assert.is(listeners, 1);
  fail(new Error('no port is left'));
  assert.match(String(await first.catch(String)), /no port is left/);
  assert.is(listeners, 0);
});

test.run();
