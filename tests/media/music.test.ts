import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { MusicOnHold } from '../../src/media/file/music-on-hold.ts';
import { MusicReader } from '../../src/media/music-reader.ts';
import { ManualClock } from '../support/manual-clock.ts';

const directories = [fileURLToPath(new URL('../../sounds/music', import.meta.url))];
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** What a listener reads next, once there is any. */
async function next(reader: MusicReader): Promise<number[]> {
  const target = new Uint8Array(160);
  while (reader.read(target, 0, 160) === 0) await turn();
  return [...target];
}

test('all who listen to a class hear the same, and whoever comes later what is then on', async () => {
  const music = new MusicOnHold({ directories });
  const clock = new ManualClock(0);
  const listen = () =>
    new MusicReader(music, { musicClass: 'default', codec: 'ulaw', clock }, (error) =>
      assert.unreachable(String(error)),
    );
  const [first, second] = [listen(), listen()];
  await next(first);
  await next(second);
  clock.advance(5000);
  const later = listen();
  const [one, other, last] = [await next(first), await next(second), await next(later)];
  assert.equal([other, last], [one, one]);
  assert.ok(new Set(one).size > 20, 'it is no silence');
  clock.advance(20);
  assert.is.not((await next(first)).join(), one.join());
  for (const reader of [first, second, later]) reader.close();
});

test('a class that does not exist is told once, and nothing sounds', async () => {
  const music = new MusicOnHold({ directories });
  const failed = await new Promise<unknown>((told) => {
    const reader = new MusicReader(music, { musicClass: 'none', codec: 'ulaw', clock: new ManualClock(0) }, told);
    assert.is(reader.read(new Uint8Array(160), 0, 160), 0);
  });
  assert.match(String(failed), /no music of class 'none'/);
});

test.run();
