import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { linearToAlaw, ulawToLinear } from '../../src/media/codec/g711.ts';
import { Player } from '../../src/media/player.ts';
import type { Sequence } from '../../src/media/sequence.ts';
import type { PlayReport } from '../../src/telephony/media.ts';
import { ramp, settle } from './support.ts';

/** A player of 20 ms that are each filled with their number: `0000 1111 …`, one sample standing for 1 ms. */
async function playing({ length = 10, offsetMs = 0, seekable = true, loaded = true } = {}) {
  const reports: PlayReport[] = [];
  let finishLoading: (sequence: Sequence) => void = () => {};
  const payload = Uint8Array.from(ramp(length * 160).map((_, index) => Math.floor(index / 160)));
  const sequence: Sequence = { codec: 'ulaw', segments: [{ payload, samples: payload.length }], seekable };
  const player = new Player(
    { uri: 'x:y', language: 'en', offsetMs },
    'ulaw',
    () => new Promise((resolve) => (finishLoading = resolve)),
    (report) => reports.push(report),
  );
  const load = async () => {
    finishLoading(sequence);
    await settle();
  };
  if (loaded) await load();
  return {
    player,
    reports,
    load,
    /** Number of the next 20 ms, undefined when nothing was read. */
    next(): number | undefined {
      const target = new Uint8Array(160);
      return player.read(target, 0, 160) > 0 ? target[0] : undefined;
    },
  };
}

test('an item is read to its end, and told with its last piece, once', async () => {
  const { next, reports, player } = await playing({ length: 3 });
  assert.equal([next(), next(), reports.length, next(), reports], [0, 1, 0, 2, [{ type: 'media.finished' }]]);
  assert.is(next(), undefined);
  player.stop();
  player.fail('late');
  assert.is(reports.length, 1);
});

test('pause keeps the position, resume goes on from there', async () => {
  const { player, next } = await playing();
  next();
  player.control('pause');
  assert.equal([next(), next()], [undefined, undefined]);
  player.control('resume');
  assert.is(next(), 1);
});

test('restart begins at the start of the item, also with an offset', async () => {
  const { player, next } = await playing({ offsetMs: 100 });
  assert.is(next(), 5);
  player.control('restart');
  assert.is(next(), 0);
});

test('seek moves both ways; before the start it is at the start', async () => {
  const { player, next } = await playing();
  next();
  player.seek(60);
  assert.is(next(), 4);
  player.seek(-40);
  assert.is(next(), 3);
  player.seek(-10_000);
  assert.is(next(), 0);
});

test('past the end, by seek or by offset, the item ends', async () => {
  const sought = await playing();
  sought.player.seek(200);
  assert.equal(sought.reports, [{ type: 'media.finished' }]);
  const offset = await playing({ offsetMs: 200 });
  assert.equal(offset.reports, [{ type: 'media.finished' }]);
});

test('what is asked for while loading holds afterwards', async () => {
  const { player, next, load } = await playing({ loaded: false, offsetMs: 40 });
  assert.is(next(), undefined);
  player.seek(40);
  player.control('pause');
  await load();
  assert.is(next(), undefined);
  player.control('resume');
  assert.is(next(), 4);
});

test('stop while loading tells at once that it finished, and what is loaded then is not played', async () => {
  const { player, next, load, reports } = await playing({ loaded: false });
  player.stop();
  await load();
  assert.equal([reports, next(), player.ended], [[{ type: 'media.finished' }], undefined, true]);
});

test('what cannot be loaded has failed, with the reason', async () => {
  const reports: PlayReport[] = [];
  new Player(
    { uri: 'x:y', language: 'en', offsetMs: 0 },
    'ulaw',
    () => Promise.reject(new Error('no such thing')),
    (report) => reports.push(report),
  );
  await settle();
  assert.equal(reports, [{ type: 'media.failed', reason: 'no such thing' }]);
});

test('another codec takes over at the same position', async () => {
  const { player, next } = await playing();
  next();
  player.convert('alaw');
  assert.is(next(), linearToAlaw[ulawToLinear[1]! & 0xffff]);
});

test('tones ignore movement', async () => {
  const { player, next } = await playing({ seekable: false, offsetMs: 100 });
  assert.is(next(), 0);
  player.seek(100);
  assert.is(next(), 1);
});

test.run();
