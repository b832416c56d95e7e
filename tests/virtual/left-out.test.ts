import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { leaveOut, removeCall } from '../../src/build/left-out.ts';
import type { ServerData } from '../../src/build/server-data.ts';
import { createLogger } from '../../src/lib/log.ts';
import { anyDeed } from './random-deeds.ts';
import { createStory, serverAddress } from './snapshot-story.ts';

/** Calls that have crashed the server again and again, and are not taken up by the next one. */
const left = suite('a call that is left out');
const log = createLogger({ level: 'silent', destination: { write: () => {} } });

const dumped = (story: Awaited<ReturnType<typeof createStory>>): ServerData =>
  JSON.parse(JSON.stringify(story.server.dump()));

/** Two calls: one is bridged with another channel, hears something, and is recorded; one echoes. */
async function twoCalls() {
  const story = await createStory(5);
  const { clock, ask, phones } = story;
  phones.alice.dial(`sip:app@${serverAddress}:5060`);
  await clock.run(1_000);
  const [first] = (await ask('GET', '/channels')) as { id: string }[];
  await ask('POST', '/channels?endpoint=PJSIP/bob&app=app&channelId=out');
  await clock.run(1_000);
  await ask('POST', '/bridges?type=mixing&bridgeId=b');
  await ask('POST', `/bridges/b/addChannel?channel=${first!.id},out`);
  await ask('POST', `/channels/${first!.id}/play?media=tone:%21440/20000&playbackId=p1`);
  await ask('POST', `/channels/out/record?name=r1&format=wav`);
  phones.alice.dial(`sip:echo@${serverAddress}:5060`);
  await clock.run(1_000);
  const channels = (await ask('GET', '/channels')) as { id: string }[];
  const other = channels.map(({ id }) => id).find((id) => id !== 'out' && id !== first!.id)!;
  return { story, first: first!.id, other };
}

left('takes its channels, bridge, playback and recording along; other calls go on', async () => {
  const { story, first, other } = await twoCalls();
  const data = dumped(story);
  const removed = removeCall(data, `channel ${first}`)!;
  assert.equal(removed.channels.toSorted(), [first, 'out'].toSorted());
  assert.equal(
    ['channels', 'bridges', 'playbacks', 'recordings'].map((name) => (removed.removed[name] as unknown[]).length),
    [2, 1, 1, 1],
  );
  story.server.powerOff();
  await story.goOn(data);
  const channels = (await story.ask('GET', '/channels')) as { id: string; state: string }[];
  assert.equal(
    channels.map(({ id, state }) => [id, state]),
    [[other, 'Up']],
  );
  assert.equal(await story.ask('GET', '/bridges'), []);
  await story.close();
});

left('is found by what the server worked on: its channel, its dialog, a playback, a bridge', async () => {
  const { story, first, other } = await twoCalls();
  const dialog = dumped(story).calls.legs!.find(({ channel }) => channel === first)!.protocolId;
  const found = [`ownership ${first}`, `sip ${dialog}`, 'playback p1', 'bridge b', `leg ${other}`].map(
    (mark) => removeCall(dumped(story), mark)!.channels.length,
  );
  assert.equal(found, [2, 2, 2, 2, 1]);
  assert.is(removeCall(dumped(story), 'contact x'), undefined);
  await story.close();
});

left('is written to a file without keys', async () => {
  const { story, first } = await twoCalls();
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-crashes-'));
  const data = leaveOut(dumped(story), [`channel ${first}`, 'contact x'], { directory, clock: story.clock, log });
  assert.is(data!.calls.channels.length, 1);
  const [file = '', ...more] = readdirSync(directory);
  assert.equal(more, []);
  const text = readFileSync(join(directory, file), 'utf8');
  const bundle = JSON.parse(text) as { mark: string; removed: Record<string, unknown[]> };
  assert.equal([bundle.mark, bundle.removed['channels']!.length], [`channel ${first}`, 2]);
  assert.not.match(text, /"leg":/);
  rmSync(directory, { recursive: true });
  await story.close();
});

left('is that of a Local channel, too, which no phone is in', async () => {
  const story = await createStory(7);
  await story.clock.run(100);
  await story.act({ word: 'local', nth: 0 });
  await story.clock.run(300);
  const data = dumped(story);
  assert.equal(removeCall(data, 'channel l0')?.channels.toSorted(), ['l0', 'm0']);
  assert.equal(data.calls.channels, []);
  await story.close();
});

left('leaves data that a server can go on from, whatever happened before', async () => {
  const deeds = fc.array(anyDeed('call', 'call', 'originate', 'bridge', 'join'), { minLength: 3, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(deeds, fc.nat(5), async (all, nth) => {
      const story = await createStory(7);
      await story.clock.run(100);
      for (const deed of all) {
        await story.act(deed);
        await story.clock.run(300);
      }
      const data = dumped(story);
      const { channels } = data.calls;
      const one = channels[nth % Math.max(1, channels.length)];
      const gone = one ? removeCall(data, `channel ${one.life.context.id}`)!.channels : [];
      story.server.powerOff();
      await story.goOn(data);
      const now = (await story.ask('GET', '/channels')) as { id: string }[];
      assert.equal(
        now.filter(({ id }) => gone.includes(id)),
        [],
      );
      await story.clock.run(5_000);
      await story.close();
    }),
    { numRuns: 15, seed: Number(process.env['HOOKSWITCH_TEST_SEED'] ?? 1) },
  );
});

left.run();
