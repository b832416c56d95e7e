import * as assert from 'uvu/assert';
import { silence, type TestServer, tone } from '../../packages/testing/src/index.ts';

/** A normal call of a program of `examples`. */
export type ExampleCall = { name: string; title: string; call(pbx: TestServer): Promise<void> };

export const exampleCalls: readonly ExampleCall[] = [
  {
    name: 'hello',
    title: 'the caller is greeted, and # hangs up',
    async call(pbx) {
      const alice = pbx.phone('alice');
      await alice.call('100');
      await alice.hears('hello-world');
      await alice.press('1#');
      await alice.hungUp({ cause: 16 });
    },
  },
  {
    name: 'dial-and-bridge',
    title: 'both hear each other, and end together',
    async call(pbx) {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.dial('100');
      await bob.answer();
      await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
      await Promise.all([alice.says(tone(440, '500ms')), bob.hears(tone(440))]);
      await bob.hangup();
      await alice.hungUp();
    },
  },
  {
    name: 'conference',
    title: 'callers of one number hear each other',
    async call(pbx) {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.call('800');
      await alice.hears('beep');
      await bob.call('800');
      await bob.hears('beep');
      await Promise.all([alice.says(tone(440, '500ms')), bob.hears(tone(440))]);
      await bob.hangup();
      await alice.hears(silence('1s'));
      await alice.hangup();
      await pbx.event('BridgeDestroyed');
    },
  },
  {
    name: 'queue',
    title: 'an agent takes callers one after the other',
    async call(pbx) {
      const [alice, bob, agent] = [pbx.phone('alice'), pbx.phone('bob'), pbx.phone('carol')];
      await agent.call('700');
      await alice.call('100');
      const first = await pbx.event(
        'ChannelEnteredBridge',
        ({ bridge }) => bridge.id.startsWith('talk-') && bridge.channels.length === 2,
      );
      await Promise.all([alice.says(tone(440, '500ms')), agent.hears(tone(440))]);
      await bob.call('100');
      await alice.hangup();
      // The agent enters last.
      const isSecond = ({ bridge }: { bridge: { id: string; channels: string[] } }) =>
        bridge.id.startsWith('talk-') && bridge.id !== first.bridge.id && bridge.channels.length === 2;
      await pbx.event('ChannelEnteredBridge', isSecond);
      await Promise.all([bob.says(tone(700, '500ms')), agent.hears(tone(700))]);
      await agent.hangup();
      await bob.hungUp();
    },
  },
  {
    name: 'voicemail',
    title: 'a message is recorded, played and deleted',
    async call(pbx) {
      const alice = pbx.phone('alice');
      await alice.call('100');
      await alice.hears('beep');
      await alice.says(tone(440, '1s'));
      await alice.press('#');
      await alice.hears(tone(440, '500ms'));
      // Somebody who has heard all may be silent.
      await pbx.event('PlaybackFinished');
      await alice.press('1');
      await alice.hears(tone(440, '500ms'));
      await alice.press('7');
      await alice.hears('goodbye');
      await alice.hungUp();
    },
  },
  {
    name: 'recorded-call',
    title: 'both are told that they are recorded',
    async call(pbx) {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.dial('100');
      await bob.answer();
      await Promise.all([alice.hears('beep'), bob.hears('beep')]);
      await pbx.event('RecordingStarted');
      await Promise.all([alice.says(tone(440, '500ms')), bob.hears(tone(440))]);
      await alice.hangup();
      await bob.hungUp();
      const { recording } = await pbx.event('RecordingFinished');
      assert.match(recording.name, /^call-/);
    },
  },
  {
    name: 'video-conference',
    title: 'callers of one number hear each other',
    async call(pbx) {
      const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
      await alice.call('100');
      await bob.call('100');
      await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
      await Promise.all([alice.says(tone(440, '500ms')), bob.hears(tone(440))]);
      await bob.hangup();
      await alice.press('1');
      await alice.press('0');
      await alice.hangup();
      await pbx.event('BridgeDestroyed');
    },
  },
  {
    name: 'conversation',
    title: 'what the caller says is said back',
    async call(pbx) {
      const alice = pbx.phone('alice');
      await alice.call('100');
      await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
      await alice.says(tone(440, '200ms'));
      await alice.hears(tone(440, '200ms'));
      await alice.hangup();
      await pbx.event('BridgeDestroyed');
    },
  },
];
