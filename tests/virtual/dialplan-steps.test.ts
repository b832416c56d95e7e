import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createStory, serverAddress } from './snapshot-story.ts';

/** Steps of the dialplan that take time, and a server that is killed in the middle of them. */

const steps = suite('a dialplan step under way when its server is killed');

type Story = Awaited<ReturnType<typeof createStory>>;
type Told = { type: string; timestamp: string; args?: string[]; channel?: { dialplan: { app_name: string } } };
type Heard = { type: string; at: number; what?: unknown };

/**
 * A call of alice to an extension, for so many ms, with keys that she presses and kills at those moments (ms since the call).
 * `kill`: how the server is interrupted. Answers with what the application heard, at ms since the call.
 */
async function tell(
  extension: string,
  { ms = 15_000, keys = {}, kills = [] as readonly number[], kill = (story: Story) => story.crash() },
): Promise<Heard[]> {
  const story = await createStory(3, true);
  const { clock, phones } = story;
  const begun = clock.now();
  const alice = phones.alice.dial(`sip:${extension}@${serverAddress}:5060`);
  for (let at = 10; at <= ms; at += 10) {
    await clock.run(10);
    const digits = (keys as Record<number, string>)[at];
    if (digits) alice.leg.sendDigits({ digits, beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 });
    if (kills.includes(at)) await kill(story);
  }
  alice.leg.hangup(16);
  await clock.run(1_000);
  const { events, errors } = await story.close();
  assert.equal(errors, []);
  return events.flatMap((event): Heard[] => {
    const { type, timestamp, args, channel } = event as Told;
    const at = Date.parse(timestamp) - begun;
    if (type === 'ChannelDialplan') return [{ type, at, what: channel?.dialplan.app_name }];
    return type === 'StasisStart' ? [{ type, at, what: args }] : [];
  });
}

const said = (heard: readonly Heard[]): unknown[] => heard.map(({ type, what }) => [type, what]);

steps('goes on with the rest of its time, and with the keys that it had', async () => {
  const keys = { 4000: '12', 6000: '3' };
  const plain = await tell('timed', { keys });
  assert.equal(plain.at(-1)?.what, ['123', 'TIMEOUT']);
  // In Answer, early and late in Wait, behind two keys, and between two timeouts of Read.
  for (const kills of [[300], [600], [3_300], [5_000], [6_500, 7_500, 8_500], [200, 2_000, 4_800]])
    assert.equal(await tell('timed', { keys, kills }), plain, `killed at ${kills}`);
});

steps('fires a time that passed meanwhile once', async () => {
  const late = async (story: Story): Promise<void> => {
    story.server.powerOff();
    await story.clock.run(5_000);
    await story.crash();
  };
  const heard = await tell('timed', { kills: [1_000], kill: late });
  assert.equal(said(heard), said(await tell('timed', {})));
  const read = heard.find(({ what }) => what === 'Read');
  assert.ok(read && read.at >= 6_000 && read.at < 6_100, JSON.stringify(heard));
});

steps('plays on where the caller was', async () => {
  const plain = await tell('prompts', {});
  assert.equal(said(plain).at(-1), ['StasisStart', []]);
  for (const kills of [[1_200], [2_500], [4_300], [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]]) {
    const heard = await tell('prompts', { kills });
    assert.equal(said(heard), said(plain));
    const late = heard.at(-1)!.at - plain.at(-1)!.at;
    // The position was written within the last second.
    assert.ok(late >= 0 && late <= 1_000 * kills.length, `${late} ms late after kills at ${kills}`);
  }
  // Saved at the moment itself, nothing is repeated.
  const kill = (story: Story) => story.restoreSnapshot();
  assert.equal(await tell('prompts', { kills: [1_200, 2_500, 4_300], kill }), plain);
});

steps.run();
