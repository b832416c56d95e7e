import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dataOf, savedIn, writtenAtKey } from '../../src/build/saved-state.ts';
import { serverDataVersion } from '../../src/build/server-data.ts';
import { createLogger } from '../../src/lib/log.ts';
import { openStateStore } from '../../src/stores/state-store.ts';
import { untilAsked } from '../support/waiting.ts';
import { anySteps, fewRuns, manyDeeds, type Timed, tellInSteps, withCall } from './random-deeds.ts';
import { type Account, createStory, serverAddress } from './snapshot-story.ts';

/** A whole server on a simulated network that is killed, and goes on with what it has written. */

const store = suite('the state of a server that is killed');

const log = createLogger({ level: 'silent', destination: { write: () => {} } });

/** What a state file has, as the next process reads it. */
function left(directory: string) {
  const copy = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  copyFileSync(join(directory, 'state.log'), join(copy, 'state.log'));
  const store = openStateStore({
    ...{ directory: copy, log, version: serverDataVersion, compactAbove: 1e9, mostEvents: 1_000, retryMs: 1_000 },
    ...{ mostEventCharacters: 1e6, keepEventsMs: 3_600_000, longestWriteMs: 500, wallClock: () => 0, now: () => 0 },
  });
  store.close();
  rmSync(copy, { recursive: true });
  return store;
}

/** What was read last: most steps write nothing, and to open a store takes longer than a step. */
let latest: { octets: Buffer; data: Record<string, unknown> } | undefined;

/** The data in a state file. */
function written(directory: string): Record<string, unknown> {
  const octets = readFileSync(join(directory, 'state.log'));
  if (!latest?.octets.equals(octets)) latest = { octets, data: dataOf(left(directory)) };
  return latest.data;
}

/** What changes by itself is only written once a second. */
const unsteady = new Set(['stream', 'item', 'heardMs', 'begun', 'missed']);
/** Members in one order, without those that are empty or unsteady. */
function steady(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(steady);
  if (typeof data !== 'object' || data === null) return data;
  const members = Object.entries(data).filter(
    ([name, value]) => !unsteady.has(name) && value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, steady(value)]));
}

/** Paths and values of all that is in the data. */
function* leaves(data: unknown, path = ''): Generator<string> {
  if (typeof data !== 'object' || data === null) yield `${path}: ${JSON.stringify(data)}`;
  else for (const [name, value] of Object.entries(data)) yield* leaves(value, `${path}.${name}`);
}

const differences = (one: unknown, other: unknown): string[] => {
  const both = [one, other].map(steady);
  if (isDeepStrictEqual(both[0], both[1])) return [];
  const [ones, others] = both.map((data) => new Set(leaves(data))) as [Set<string>, Set<string>];
  return [
    ...[...ones].filter((leaf) => !others.has(leaf)).map((leaf) => `written, not so: ${leaf}`),
    ...[...others].filter((leaf) => !ones.has(leaf)).map((leaf) => `not written: ${leaf}`),
  ];
};

store('is at every moment what a snapshot would have', async () => {
  const story = await createStory(5, true);
  const { clock, ask, phones } = story;
  const compare = (): void => assert.equal(differences(written(story.directory), story.server.dump()), []);
  const run = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10) {
      await clock.run(10);
      compare();
    }
  };
  await run(1_000);
  const out = phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await run(500);
  const [channel] = (await ask('GET', '/channels')) as { id: string }[];
  await ask('POST', `/channels/${channel?.id}/play?media=tone:%21440/2000,tone:%21880/1000&playbackId=p1`);
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await run(1_500);
  out.leg.hangup(16);
  await run(1_000);
  await story.close();
});

store('has the events of each change of a channel, also when channels are written again by time', async () => {
  const story = await createStory(5, true);
  const { clock, ask, directory } = story;
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(6);
  // Bob answers, and time passes, within one turn of the event loop: nothing else writes.
  clock.advance(1_000);
  const { calls } = written(directory) as { calls: { channels: { life: { value: string } }[] } };
  assert.is(calls.channels[0]?.life.value, 'up');
  assert.equal(differences(written(directory), story.server.dump()), []);
  await story.close();
});

/** What an application asks for while alice (`@`) and bob (`out`) are in calls with it, and how long that takes, in ms. */
const requests: readonly (readonly [method: string, path: string, ms?: number])[] = [
  ['POST', '/asterisk/variable?variable=GLOBAL_ONE&value=1'],
  ['POST', '/channels/@/variable?variable=GLOBAL(TWO)&value=2'],
  ['POST', '/asterisk/variable?variable=GLOBAL_ONE&value='],
  ['PUT', '/deviceStates/Stasis%3Ax?deviceState=BUSY'],
  ['DELETE', '/deviceStates/Stasis%3Ax'],
  ['PUT', '/mailboxes/m1?oldMessages=1&newMessages=2'],
  ['PUT', '/mailboxes/m2?oldMessages=1&newMessages=2'],
  ['DELETE', '/mailboxes/m1'],
  ['POST', '/applications/app/subscription?eventSource=endpoint:PJSIP/bob'],
  ['POST', '/bridges?type=mixing&bridgeId=b1&name=n'],
  ['POST', '/bridges/b1/addChannel?channel=@,out'],
  ['POST', '/bridges/b1/moh'],
  ['DELETE', '/bridges/b1/moh'],
  ['POST', '/bridges/b1/play?media=tone:%21440/300&playbackId=bp', 500],
  ['POST', '/bridges/b1/record?name=r1&format=wav'],
  ['POST', '/recordings/live/r1/pause'],
  ['POST', '/recordings/live/r1/mute'],
  ['POST', '/recordings/live/r1/stop'],
  ['POST', '/channels/@/hold'],
  ['DELETE', '/channels/@/hold'],
  ['POST', '/channels/@/dtmf?dtmf=12&between=50&duration=60', 400],
  ['POST', '/channels/@/snoop/s1?spy=both&whisper=both&app=app'],
  ['DELETE', '/channels/s1'],
  ['POST', '/channels/@/variable?variable=TALK_DETECT(set)&value='],
  ['POST', '/channels/@/variable?variable=HOLD_INTERCEPT(set)&value='],
  ['POST', '/bridges/b1/videoSource/@'],
  ['POST', '/bridges/b1/removeChannel?channel=@'],
  ['POST', '/channels/@/moh'],
  ['POST', '/channels/@/silence'],
  ['POST', '/channels/@/mute?direction=in'],
  ['POST', '/channels/@/play?media=tone:%21440/500,tone:%21440/500&playbackId=p1'],
  ['POST', '/playbacks/p1/control?operation=pause'],
  ['POST', '/channels/@/redirect?endpoint=PJSIP/bob'],
  ['POST', '/channels/@/continue?context=default&extension=dial', 500],
  ['DELETE', '/channels/@'],
  ['DELETE', '/bridges/b1'],
];

store('is so whatever an application asks for', async () => {
  const story = await createStory(5, true);
  const { clock, ask, phones } = story;
  phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await clock.run(500);
  const [channel] = (await ask('GET', '/channels')) as { id: string }[];
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(1_500);
  for (const [method, path, ms = 100] of requests) {
    const asked = path.replace('@', channel!.id);
    await ask(method, asked);
    // Its file is opened in real time.
    if (path.endsWith('?name=r1&format=wav'))
      await untilAsked(
        async () => ((await ask('GET', '/recordings/live/r1')) as { state: string }).state === 'recording',
        () => 'r1 is not recorded',
      );
    for (let left = ms; left >= 0; left -= 50) {
      assert.equal(differences(written(story.directory), story.server.dump()), [], `${method} ${asked}`);
      await clock.run(50);
    }
  }
  const { replies } = await story.close();
  assert.equal(
    replies.filter((reply) => !/: 20\d$/.test(reply)),
    [],
  );
});

store('is moved ahead by what may have been sent, however the clock was set meanwhile', async () => {
  const story = await createStory(5, true);
  story.phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await story.clock.run(2_000);
  const store = left(story.directory);
  const writtenAt = Number(store.left.get(writtenAtKey));
  const sequenceAt = (now: number): number => {
    const [channel] = savedIn(store, now, 1_000, log)!.calls.channels;
    const text = JSON.stringify(channel!.leg);
    return Number(/"sequence":(\d+)/.exec(text)?.[1]);
  };
  const after = (ms: number): number => (sequenceAt(writtenAt + ms) - sequenceAt(writtenAt + 1_000)) & 0xffff;
  assert.is(after(-3_600_000), 0, 'set back: as after one interval');
  assert.is(after(3_000), 200);
  assert.is(after(365 * 86_400_000), 11_900, 'set forward: as after two minutes');
  await story.close();
});

/** A call of an application that has gone 20 s before its channels hear music, and 40 s before they are hung up. */
async function awayStory(
  tell: (story: Awaited<ReturnType<typeof createStory>>, comeBack: () => void) => Promise<void>,
) {
  const story = await createStory(5, true);
  const comeBack = () => story.server.connect({ names: ['patient'], describe: 'patient', send: () => {} });
  const connection = comeBack();
  story.phones.alice.dial(`sip:patient@${serverAddress}:5060`);
  await story.clock.run(1_000);
  connection.close();
  await tell(story, comeBack);
  await story.close();
}
type Heard = { calls: { channels: { audio?: { value: { there: { background: string } } } }[] } };
const heardBy = ({ server }: Awaited<ReturnType<typeof createStory>>): (string | undefined)[] =>
  (server.dump() as unknown as Heard).calls.channels.map(({ audio }) => audio?.value.there.background);

store('goes on to await an application that was away', () =>
  awayStory(async (story) => {
    await story.clock.run(5_000);
    await story.crash();
    assert.equal(differences(written(story.directory), story.server.dump()), []);
    await story.clock.run(14_000);
    assert.equal(heardBy(story), [undefined]);
    await story.clock.run(2_000);
    assert.equal(heardBy(story), ['music']);
    await story.crash();
    assert.equal(heardBy(story), ['music']);
    await story.clock.run(17_000);
    assert.equal(heardBy(story), ['music']);
    await story.clock.run(3_000);
    assert.equal(heardBy(story), []);
  }),
);

store('leaves an application time to come back, whose channels then hear no music any more', () =>
  awayStory(async (story, comeBack) => {
    await story.clock.run(39_000);
    await story.crash();
    // general.return_timeout is 10 s.
    await story.clock.run(9_000);
    assert.equal(heardBy(story), ['music']);
    comeBack();
    await story.clock.run(1_000);
    assert.equal(heardBy(story), ['nothing']);
    await story.crash();
    await story.clock.run(5_000);
    comeBack();
    await story.clock.run(60_000);
    assert.equal(heardBy(story), ['nothing']);
  }),
);

type Plot = { deeds: Timed[]; cuts: number[] };

/** Tells a story whose server is killed at the given steps. With `compare` what is written is compared at each step. */
async function tellOf({ deeds, cuts }: Plot, keeps = true, compare = false): Promise<Account> {
  const story = await createStory(9, keeps);
  const killed = new Set(cuts);
  return tellInSteps(story, deeds, async (step) => {
    if (killed.has(step)) await story.crash();
    if (compare) assert.equal(differences(written(story.directory), story.server.dump()), []);
  });
}

const plots = fc.record<Plot>({ deeds: manyDeeds, cuts: anySteps });
/** Where a playback is, is written once a second: it may end so much later than it would have. */
const isPrompt = ({ deed: { word } }: Plot['deeds'][number]): boolean =>
  !['play', 'stop', 'pause', 'unpause'].includes(word);
const runs = fewRuns(5);

store('is complete whatever is done', () =>
  fc.assert(
    fc.asyncProperty(plots, async ({ deeds }) => void (await tellOf({ deeds: withCall(deeds), cuts: [] }, true, true))),
    runs,
  ),
);

/** Two of three channels are in a bridge, and the far side of one puts it on hold. */
const held: Plot['deeds'] = [
  ['call', 0] as const,
  ['originate', 0] as const,
  ['originate', 0] as const,
  ['bridge', 0] as const,
  ['join', 0] as const,
  ['join', 2] as const,
  ['holdAtAlice', 0] as const,
  ['takeBackAtAlice', 0] as const,
].map(([word, nth]) => ({ after: 60, deed: { word, nth } }));

store('is complete when one of two in a bridge holds the other', () =>
  tellOf({ deeds: held, cuts: [] }, true, true).then(({ events }) => {
    const held = events.some(({ type }) => type === 'ChannelHold');
    assert.ok(held);
  }),
);

/** What peers and applications notice; the numbers of packets jump. */
const told = ({ events, streams, ...rest }: Account): string[] => [
  ...events.map(({ caused_by: _request, ...event }) => JSON.stringify(event)),
  ...Object.entries({ ...rest, streams: streams.length }).map(
    ([name, value]) => `${name}: ${JSON.stringify(value, null, 1)}`,
  ),
];

store('lets another process go on as if nothing had happened', () =>
  fc.assert(
    fc.asyncProperty(plots, async ({ deeds, cuts }) => {
      const prompt = withCall(deeds.filter(isPrompt));
      const plain = await tellOf({ deeds: prompt, cuts: [] });
      assert.equal(told(await tellOf({ deeds: prompt, cuts })), told(plain));
    }),
    runs,
  ),
);

store.run();
