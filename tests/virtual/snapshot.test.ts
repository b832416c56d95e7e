import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { anySteps, fewRuns, manyDeeds, type Timed, tellInSteps, withCall } from './random-deeds.ts';
import { type Account, authorization, createStory, serverAddress } from './snapshot-story.ts';

/** An account line by line, so that a difference shows. */
const lines = ({ events, ...rest }: Account): string[] => {
  // Each process names requests in its own way: told by which of them it was.
  const requests = [...new Set(events.map(({ caused_by: request }) => request))];
  return [
    ...events.map((event) => JSON.stringify({ ...event, caused_by: requests.indexOf(event['caused_by']) })),
    ...Object.entries(rest).map(([name, value]) => `${name}: ${JSON.stringify(value, null, 1)}`),
  ];
};

const put = suite('a whole server that is saved and restored');

put('calls, playbacks and subscriptions go on: same events, same messages, same streams', async () => {
  const tell = async (moments: readonly number[]) => {
    const story = await createStory(5);
    const { clock, ask, phones } = story;
    const begun = clock.now();
    const run = async (ms: number) => {
      for (let left = ms; left > 0; left -= 10) {
        await clock.run(10);
        if (moments.includes(clock.now() - begun)) await story.restoreSnapshot();
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

type Plot = { deeds: Timed[]; powerCuts: number[] };

/** Tells a story whose server loses its power at the given steps. */
async function tellOf({ deeds, powerCuts }: Plot): Promise<Account> {
  const story = await createStory(9);
  const cuts = new Set(powerCuts);
  return tellInSteps(story, deeds, (step) => (cuts.has(step) ? story.restoreSnapshot() : undefined));
}

for (const [title, powerCuts] of [
  ['nobody notices at which moments a server lost its power and another went on', anySteps],
  [
    'two losses of power half a tick apart leave no packet out',
    fc.integer({ min: 1, max: 400 }).map((at) => [at, at + 1]),
  ],
] as const)
  put(title, async () => {
    await fc.assert(
      fc.asyncProperty(fc.record<Plot>({ deeds: manyDeeds, powerCuts }), async ({ deeds, powerCuts }) => {
        const begun = withCall(deeds);
        const plain = await tellOf({ deeds: begun, powerCuts: [] });
        assert.equal(lines(await tellOf({ deeds: begun, powerCuts })), lines(plain));
      }),
      fewRuns(6),
    );
  });

const plots: Readonly<Record<string, Plot>> = {
  'the stream of one who is alone in a bridge has no gap': {
    deeds: [
      { after: 0, deed: { word: 'sfu', nth: 0 } },
      { after: 53, deed: { word: 'join', nth: 2 } },
      { after: 54, deed: { word: 'holdAtAlice', nth: 3 } },
    ],
    powerCuts: [115],
  },
  'a bridge that everybody left keeps no time': {
    deeds: [
      { after: 64, deed: { word: 'bridge', nth: 3 } },
      { after: 3, deed: { word: 'join', nth: 1 } },
      { after: 32, deed: { word: 'hangup', nth: 3 } },
    ],
    powerCuts: [252],
  },
  'a ringing tone that ended left the silence below it': {
    deeds: [
      { after: 2, deed: { word: 'silence', nth: 0 } },
      { after: 60, deed: { word: 'ringOff', nth: 0 } },
    ],
    powerCuts: [100, 149],
  },
  'what a snoop whispers has no gap': {
    deeds: [
      { after: 1, deed: { word: 'snoop', nth: 3 } },
      { after: 5, deed: { word: 'stop', nth: 0 } },
      { after: 9, deed: { word: 'takeBackAtAlice', nth: 0 } },
      { after: 20, deed: { word: 'move', nth: 0 } },
      { after: 2, deed: { word: 'unpause', nth: 2 } },
      { after: 37, deed: { word: 'play', nth: 3 } },
      { after: 6, deed: { word: 'join', nth: 0 } },
      { after: 3, deed: { word: 'bridge', nth: 3 } },
    ],
    powerCuts: [292],
  },
};

for (const [title, { deeds, powerCuts }] of Object.entries(plots))
  put(title, async () => {
    const begun = [{ after: 1, deed: { word: 'call', nth: 0 } as const }, ...deeds];
    const plain = await tellOf({ deeds: begun, powerCuts: [] });
    assert.equal(lines(await tellOf({ deeds: begun, powerCuts })), lines(plain));
  });

put('who talks while another process goes on is told to begin once, and to end once', async () => {
  const story = await createStory(7);
  const { clock, ask, phones } = story;
  const alice = phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await clock.run(1_000);
  const [channel] = (await ask('GET', '/channels')) as { id: string }[];
  await ask('POST', `/channels/${channel?.id}/variable?variable=TALK_DETECT(set)&value=300,128`);
  await clock.run(500);
  await story.restoreSnapshot();
  await clock.run(1_000);
  await story.restoreSnapshot();
  alice.leg.hold();
  await clock.run(1_000);
  alice.leg.hangup(16);
  await clock.run(1_000);
  const { events, errors } = await story.close();
  assert.equal(errors, []);
  assert.equal(
    events.flatMap(({ type }) => (String(type).startsWith('ChannelTalking') ? [type] : [])),
    ['ChannelTalkingStarted', 'ChannelTalkingFinished'],
  );
});

put('a playback on a bridge goes on where it was heard', async () => {
  const tell = async (moments: readonly number[]): Promise<unknown[]> => {
    const story = await createStory(8);
    const { clock, ask, phones } = story;
    phones.alice.dial(`sip:app@${serverAddress}:5060`);
    await clock.run(1_000);
    const [alice] = (await ask('GET', '/channels')) as { id: string }[];
    await ask('POST', '/bridges?type=mixing&bridgeId=b1');
    await ask('POST', `/bridges/b1/addChannel?channel=${alice?.id}`);
    await ask('POST', '/bridges/b1/play?media=tone:%21440/1500,tone:%21880/1500&playbackId=p1');
    for (let at = 0; at < 4_000; at += 100) {
      if (moments.includes(at)) await story.restoreSnapshot();
      await clock.run(100);
    }
    const { events, errors } = await story.close();
    assert.equal(errors, []);
    return events.flatMap(({ type, timestamp }) => (String(type).startsWith('Playback') ? [[type, timestamp]] : []));
  };
  const plain = await tell([]);
  assert.equal(plain.length, 4);
  assert.equal(await tell([400, 1_000, 2_600]), plain);
});

put('channels that listen, and bridges with who is in them, go on', async () => {
  const story = await createStory(8);
  const { clock, ask, phones } = story;
  phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(1_000);
  await ask('POST', '/bridges?type=mixing&bridgeId=b1');
  const [alice] = ((await ask('GET', '/channels')) as { id: string; name: string }[]).filter(({ name }) =>
    name.startsWith('PJSIP/alice'),
  );
  await ask('POST', `/bridges/b1/addChannel?channel=out,${alice?.id}`);
  await ask('POST', '/channels/out/snoop/listener?spy=both&app=app');
  await clock.run(500);
  const look = async () => JSON.stringify([await ask('GET', '/channels'), await ask('GET', '/bridges')]);
  const before = await look();
  assert.match(before, /"listener"/);
  await story.restoreSnapshot();
  assert.is(await look(), before);
  await ask('DELETE', '/channels/out');
  await clock.run(1_000);
  const left = (await ask('GET', '/channels')) as { id: string }[];
  assert.equal(
    left.map(({ id }) => id),
    [alice?.id],
  );
  const { errors } = await story.close();
  assert.equal(errors, []);
});

put('a recording goes on in the same file, and ends once', async () => {
  const story = await createStory(9);
  const { clock, ask } = story;
  const live = async () => ((await ask('GET', '/recordings/live/r')) as { state?: string }).state;
  /** The disk is a real one: it has its turns. */
  const until = async (enough: () => Promise<boolean>) => {
    while (!(await enough())) await new Promise((resolve) => setImmediate(resolve));
  };
  const written = () => story.server.dump().calls.recordings?.[0]?.begun?.durationMs ?? 0;
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(1_000);
  await ask('POST', '/channels/out/record?name=r&format=wav');
  await until(async () => (await live()) === 'recording');
  await clock.run(1_500);
  await until(async () => written() >= 1_000);
  const before = written();
  await ask('POST', '/recordings/live/r/mute');
  await story.restoreSnapshot();
  assert.is(await live(), 'recording');
  // Its file is open again once something lies behind what was there.
  await until(async () => {
    await clock.run(1_000);
    return written() >= before + 1_000;
  });
  const kept = written();
  await ask('POST', '/recordings/live/r/stop');
  await until(async () => (await live()) === undefined);
  const { headers } = await story.server.ask(
    new Request(`http://${serverAddress}/ari/recordings/stored/r/file`, { headers: { authorization } }),
  );
  const durationMs = (Number(headers.get('content-length')) - 44) / 16;
  assert.ok(durationMs >= kept, `${durationMs} of ${kept} ms`);
  const { events, errors } = await story.close();
  assert.equal(errors, []);
  assert.equal(
    events.flatMap(({ type }) => (String(type).startsWith('Recording') ? [type] : [])),
    ['RecordingStarted', 'RecordingFinished'],
  );
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
    [{ ...data, version: 2 }, /^cannot restore a snapshot of version 2: this server reads version 1$/],
    [undefined, /^cannot restore a snapshot of version undefined/],
    [{ ...data, calls: { ...data.calls, version: 7 } }, /version 7/],
    [{ ...data, calls: { ...data.calls, channels: [{ ...channel, leg: 'none' }] } }, /\/channels\/0\/leg/],
    [
      { ...data, sip: { ...data.sip, transactions: { clients: [{}], servers: [] } } },
      /\/sip\/transactions\/clients\/0/,
    ],
    [{ ...data, globals: [['A', 1]] }, /\/globals\/0\/1/],
    [
      { ...data, calls: { ...data.calls, channels: [{ ...channel, leg: { version: 9 } }] } },
      new RegExp(`the channel ${channel.life.context.id} cannot be restored: .*version 9`),
    ],
  ];
  for (const [wrong, words] of refusals) {
    const refused = await story.start(wrong ?? null).then(
      () => 'it was restored',
      (error: Error) => error.message,
    );
    assert.match(refused, words);
  }
  // The ports are free again, and what fits is restored.
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
  await story.restoreSnapshot(['bob']);
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
