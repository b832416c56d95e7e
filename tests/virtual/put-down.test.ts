import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Account, createStory, serverAddress } from './put-down-story.ts';

/** An account line by line, so that a difference shows. */
const lines = ({ events, ...rest }: Account): string[] => [
  ...events.map((event) => JSON.stringify(event)),
  ...Object.entries(rest).map(([name, value]) => `${name}: ${JSON.stringify(value, null, 1)}`),
];

const put = suite('a whole server that is put down and taken up');

put('calls, playbacks and subscriptions go on: same events, same messages, same streams', async () => {
  const tell = async (moments: readonly number[]) => {
    const story = await createStory(5);
    const { clock, ask, phones } = story;
    const begun = clock.now();
    const run = async (ms: number) => {
      for (let left = ms; left > 0; left -= 10) {
        await clock.run(10);
        if (moments.includes(clock.now() - begun)) await story.takeUp();
      }
    };
    await run(1_000);
    const out = phones.alice.dial(`sip:app@${serverAddress}:5060`);
    await run(500);
    const [channel] = (await ask('GET', '/channels')) as { id: string }[];
    await ask('POST', `/channels/${channel?.id}/play?media=tone:%21440/2000,tone:%21880/1000&playbackId=p1`);
    await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
    await run(1_500);
    await ask('POST', '/channels?endpoint=Local/app@default&app=app&channelId=near&otherChannelId=far');
    await ask('POST', '/channels/out/mute?direction=in');
    await run(3_000);
    out.leg.hangup(16);
    await run(500);
    await ask('DELETE', '/channels/near');
    await ask('DELETE', '/channels/out');
    await run(40_000);
    return story.close();
  };
  const plain = await tell([]);
  assert.equal(lines(await tell([1_510, 2_510, 3_510, 5_510])), lines(plain));
});

put('what does not fit is refused with the place that is wrong, and nothing is left open', async () => {
  const story = await createStory(6);
  const { clock, phones } = story;
  phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await clock.run(1_000);
  const data = story.server.dump();
  story.server.powerOff();
  const [channel] = data.calls.channels;
  assert.ok(channel);
  const refusals: [unknown, RegExp][] = [
    [{ ...data, version: 2 }, /^a server of version 2 cannot be taken up, only 1$/],
    [undefined, /^a server of version undefined/],
    [{ ...data, calls: { ...data.calls, version: 7 } }, /version 7/],
    [{ ...data, calls: { ...data.calls, channels: [{ ...channel, leg: 'none' }] } }, /\/channels\/0\/leg/],
    [
      { ...data, sip: { ...data.sip, transactions: { clients: [{}], servers: [] } } },
      /\/sip\/transactions\/clients\/0/,
    ],
    [{ ...data, globals: [['A', 1]] }, /\/globals\/0\/1/],
    [
      { ...data, calls: { ...data.calls, channels: [{ ...channel, leg: { version: 9 } }] } },
      new RegExp(`the channel ${channel.life.context.id} cannot be taken up: .*version 9`),
    ],
  ];
  for (const [wrong, words] of refusals) {
    const refused = await story.start(wrong ?? null).then(
      () => 'it was taken up',
      (error: Error) => error.message,
    );
    assert.match(refused, words);
  }
  // The ports are free again, and what fits is taken up.
  await story.goOn(data);
  assert.is(story.server.channels(), 1);
  const account = await story.close();
  assert.equal(account.errors, []);
});

put('a call of a phone that is no longer configured ends, the others go on', async () => {
  const story = await createStory(7);
  const { clock, ask, phones } = story;
  phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(1_000);
  await story.takeUp(['bob']);
  await clock.run(1_000);
  const left = (await ask('GET', '/channels')) as { name: string }[];
  assert.equal(
    left.map(({ name }) => name.replace(/-.*/, '')),
    ['PJSIP/bob'],
  );
  assert.equal(phones.alice.calls.length, 1);
  const { events } = await story.close();
  const ended = events.find((event) => event['type'] === 'ChannelDestroyed');
  assert.is(ended?.['cause'], 41);
});

put.run();
