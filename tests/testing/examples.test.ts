import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { paths, silence, type TestServer, type TestServerOptions, tone } from '../../packages/testing/src/index.ts';
import { nodeArguments } from '../../scripts/compiled.ts';

/** The programs of `examples`, with the testing kit: a normal call, and disturbed ones. */
const examples = suite('examples with the testing kit');

/** A loaded machine lets programs wait longer than usual. */
const quietMs = 15;

type Call = (pbx: TestServer) => Promise<void>;

const starts = (name: string) => (pbx: TestServer) => pbx.run(process.execPath, nodeArguments(`examples/${name}.ts`));

/** Tests an example with a normal call, and then with some of the calls that `paths` makes of it. */
function example(name: string, title: string, call: Call, { server = {} as TestServerOptions, most = 8 } = {}): void {
  examples(`${name}: ${title}; disturbed calls do no harm`, async () => {
    const all = Number(process.env['HOOKSWITCH_TEST_PATHS'] ?? most);
    const application = { server: { app: 'hello', quietMs, ...server }, start: starts(name), call };
    const report = await paths({ ...application, most: all, within: '9m' });
    assert.equal(report.findings, [], report.text);
    assert.ok(report.runs > 0, report.text);
  });
}

example('hello', 'the caller is greeted, and # hangs up', async (pbx) => {
  const alice = pbx.phone('alice');
  await alice.call('100');
  await alice.hears('hello-world');
  await alice.press('1#');
  await alice.hungUp({ cause: 16 });
});

example('dial-and-bridge', 'both hear each other, and end together', async (pbx) => {
  const [alice, bob] = [pbx.phone('alice'), pbx.phone('bob')];
  await alice.dial('100');
  await bob.answer();
  await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  await Promise.all([alice.says(tone(440, '500ms')), bob.hears(tone(440))]);
  await bob.hangup();
  await alice.hungUp();
});

example('conference', 'callers of one number hear each other', async (pbx) => {
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
});

example('queue', 'an agent takes callers one after the other', async (pbx) => {
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
});

example('voicemail', 'a message is recorded, played and deleted', async (pbx) => {
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
});

example('recorded-call', 'both are told that they are recorded', async (pbx) => {
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
});

example('video-conference', 'callers of one number hear each other', async (pbx) => {
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
});

example('conversation', 'what the caller says is said back', async (pbx) => {
  const alice = pbx.phone('alice');
  await alice.call('100');
  await pbx.event('ChannelEnteredBridge', ({ bridge }) => bridge.channels.length === 2);
  await alice.says(tone(440, '500ms'));
  await alice.hears(tone(440, '500ms'));
  await alice.hangup();
  await pbx.event('BridgeDestroyed');
});

examples.run();
