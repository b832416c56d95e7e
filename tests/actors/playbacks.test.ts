import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bring } from '../../src/actors/late-item.ts';
import { createPlaybacks, type PlayTarget } from '../../src/actors/playbacks.ts';
import { createRuntime } from '../../src/actors/spawn.ts';
import { type Bus, createBus } from '../../src/bus/bus.ts';
import { channelTopics } from '../../src/bus/topics.ts';
import type { Ids } from '../../src/lib/ids.ts';
import type { MediaSession, PlayHandle, PlayItem, PlayReport } from '../../src/telephony/media.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { refusal } from '../support/refusal.ts';

/** A media session whose items end when the test says so. */
class FakeMedia implements MediaSession {
  readonly id = 'm1';
  readonly said: unknown[] = [];
  readonly items: PlayItem[] = [];
  told: (report: PlayReport) => void = () => undefined;
  /** Items that fail at once, before `play` returns. */
  readonly broken = new Set<string>();

  play(item: PlayItem, told: (report: PlayReport) => void): PlayHandle {
    this.items.push(item);
    this.said.push(`play ${item.uri}`);
    this.told = told;
    if (item.uri === 'throw:') throw new Error('the plane is broken');
    if (this.broken.has(item.uri)) told({ type: 'media.failed', reason: 'unknown scheme' });
    return {
      stop: () => {
        this.said.push(`stop ${item.uri}`);
        told({ type: 'media.finished' });
      },
      pause: () => void this.said.push('pause'),
      resume: () => void this.said.push('resume'),
      restart: () => void this.said.push('restart'),
      seek: (ms) => void this.said.push(`seek ${ms}`),
    };
  }
  finish(): void {
    this.told({ type: 'media.finished' });
  }
  fail(): void {
    this.told({ type: 'media.failed', reason: 'no such file' });
  }
  sendDigits(): void {}
  hearDigit(): void {}
  music(): void {}
  silence(): void {}
  detectTalking(): void {}
  detectTone(): void {}
  record(): never {
    throw new Error('nothing is recorded here');
  }
  dump(): never {
    throw new Error('nothing is dumped here');
  }
  indicate(): void {}
  echo(): void {}
  mute(): void {}
  statistics(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
  close(): void {}
}

function world(bring?: Bring) {
  const { log, lines } = createRecordingLog();
  const problems = (): string[] => lines.filter(({ level }) => level === 'error').map(({ message }) => message);
  const bus: Bus = createBus({ log });
  const events: string[] = [];
  const topics: unknown[] = [];
  bus.subscribe(({ event, topics: to }) => {
    if (!('playback' in event)) return;
    const { id, media_uri, state } = event.playback;
    events.push(`${event.type} ${id} ${media_uri} ${state}`);
    topics.push(to);
  });
  let next = 1;
  const ids = { uuid: () => `uuid-${next++}` } as Ids;
  const playbacks = createPlaybacks({ bus, runtime: createRuntime(new ManualClock(), log), ids, log, bring });
  const media = new FakeMedia();
  const target: PlayTarget = { kind: 'channel', id: 'c1', language: 'en', topics: channelTopics('c1'), media };
  return { playbacks, media, target, events, topics, problems };
}

const playing = suite('playbacks');

playing('a list is played an item at a time and told to the topics of its target', () => {
  const { playbacks, media, target, events, topics } = world();
  const model = playbacks.playOn(target, { media: ['sound:a', 'sound:b'], playbackId: 'p1', offsetms: 500 });
  assert.equal(model, {
    id: 'p1',
    media_uri: 'sound:a',
    next_media_uri: 'sound:b',
    target_uri: 'channel:c1',
    language: 'en',
    state: 'playing',
  });
  media.finish();
  assert.is(playbacks.get('p1').media_uri, 'sound:b');
  media.finish();
  assert.equal(events, [
    'PlaybackStarted p1 sound:a playing',
    'PlaybackContinuing p1 sound:a continuing',
    'PlaybackStarted p1 sound:b playing',
    'PlaybackFinished p1 sound:b done',
  ]);
  assert.equal(topics[0], ['channel:c1', 'channel:']);
  assert.equal(media.items, [
    { uri: 'sound:a', language: 'en', offsetMs: 500 },
    { uri: 'sound:b', language: 'en', offsetMs: 0 },
  ]);
  assert.equal(
    refusal(() => playbacks.get('p1')),
    [404, 'Playback not found'],
  );
  assert.is(playbacks.size, 0);
});

/** Items that come from another node when the test says so, or do not come. */
function late() {
  let come = (): void => {};
  let fail = (): void => {};
  const counts = { released: 0 };
  const bring: Bring = (uri) =>
    uri.startsWith('recording:')
      ? new Promise((resolve, reject) => {
          come = () => resolve({ uri: 'recording:.copy', release: () => void counts.released++ });
          fail = () => reject(new Error('no recording at any node'));
        })
      : undefined;
  const then = (act: () => void) => async (): Promise<void> => {
    act();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...world(bring), counts, come: then(() => come()), fail: then(() => fail()) };
}

playing('an item of another node is played when it has come, as was asked meanwhile', async () => {
  const { playbacks, media, target, events, counts, come } = late();
  playbacks.playOn(target, { media: ['recording:x', 'sound:b'], playbackId: 'p1', offsetms: 500 });
  playbacks.control('p1', { operation: 'forward' });
  playbacks.control('p1', { operation: 'pause' });
  assert.equal([media.items, playbacks.get('p1').state], [[], 'paused']);
  await come();
  assert.equal(media.items, [{ uri: 'recording:.copy', language: 'en', offsetMs: 3_500 }]);
  assert.equal(media.said, ['play recording:.copy', 'pause']);
  for (const operation of ['unpause', 'reverse', 'restart']) playbacks.control('p1', { operation });
  assert.equal(media.said.slice(2), ['resume', 'seek -3000', 'restart']);
  media.finish();
  assert.is(counts.released, 1);
  media.finish();
  assert.is(events.at(-1), 'PlaybackFinished p1 sound:b done');

  playbacks.playOn(target, { media: ['recording:x'], playbackId: 'p2', offsetms: 500 });
  for (const operation of ['pause', 'unpause', 'restart', 'reverse']) playbacks.control('p2', { operation });
  await come();
  assert.equal([media.items.at(-1)?.offsetMs, media.said.at(-1)], [0, 'play recording:.copy']);
  playbacks.stop('p2');
  assert.equal([events.at(-1), counts.released], ['PlaybackFinished p2 recording:x done', 2]);
});

playing('an item of another node that is not wanted any more, or does not come, is not played', async () => {
  const { playbacks, media, target, events, counts, come, fail } = late();
  playbacks.playOn(target, { media: ['recording:x'], playbackId: 'p1' });
  playbacks.stop('p1');
  assert.is(events.at(-1), 'PlaybackFinished p1 recording:x done');
  await come();
  playbacks.playOn(target, { media: ['recording:x'], playbackId: 'p2' });
  playbacks.targetGone('channel', 'c1');
  assert.is(events.at(-1), 'PlaybackFinished p2 recording:x failed');
  await come();
  assert.equal([media.items, counts.released], [[], 2]);
  playbacks.playOn(target, { media: ['recording:x'], playbackId: 'p3' });
  await fail();
  assert.is(events.at(-1), 'PlaybackFinished p3 recording:x failed');
  assert.is(playbacks.size, 0);
});

playing('playbacks on one target wait for one another, those on another do not', () => {
  const { playbacks, media, target, events } = world();
  const other = new FakeMedia();
  playbacks.playOn(target, { media: ['sound:a'], playbackId: 'p1' });
  assert.is(playbacks.playOn(target, { media: ['sound:b'], playbackId: 'p2' }).state, 'queued');
  playbacks.playOn({ ...target, id: 'c2', media: other }, { media: ['sound:c'], playbackId: 'p3', lang: 'de' });
  assert.equal(other.items, [{ uri: 'sound:c', language: 'de', offsetMs: 0 }]);
  assert.equal(playbacks.waiting(), [{ kind: 'channel', id: 'c1', works: 1 }]);
  media.finish();
  assert.equal(playbacks.waiting(), []);
  media.finish();
  assert.equal(events, [
    'PlaybackStarted p1 sound:a playing',
    'PlaybackStarted p3 sound:c playing',
    'PlaybackFinished p1 sound:a done',
    'PlaybackStarted p2 sound:b playing',
    'PlaybackFinished p2 sound:b done',
  ]);
});

playing('one stopped in the queue tells its end when its turn comes, a thousand of them too', () => {
  const { playbacks, media, target, events, problems } = world();
  playbacks.playOn(target, { media: ['sound:a'], playbackId: 'first' });
  for (let n = 0; n < 5_000; n++) {
    playbacks.playOn(target, { media: ['sound:x'], playbackId: `p${n}` });
    playbacks.stop(`p${n}`);
  }
  assert.is(playbacks.get('p7').state, 'done');
  assert.is(events.length, 1);
  media.finish();
  assert.is(events.length, 5_002);
  assert.is(events.at(-1), 'PlaybackFinished p4999 sound:x done');
  assert.is(playbacks.size, 0);
  assert.equal(problems(), []);
});

playing('items that cannot even be tried are started and then skipped or fail the list', () => {
  const { playbacks, media, target, events } = world();
  media.broken.add('http:x').add('http:y');
  const model = playbacks.playOn(target, { media: ['http:x', 'http:y'], playbackId: 'p1' });
  assert.is(model.state, 'failed');
  assert.equal(events, [
    'PlaybackStarted p1 http:x playing',
    'PlaybackContinuing p1 http:x continuing',
    'PlaybackStarted p1 http:y playing',
    'PlaybackFinished p1 http:y failed',
  ]);
  assert.is(playbacks.size, 0);
});

playing('what plays fails when its target goes, what waits vanishes without an event', () => {
  const { playbacks, target, events, media } = world();
  playbacks.playOn(target, { media: ['sound:a', 'sound:b'], playbackId: 'p1' });
  playbacks.playOn(target, { media: ['sound:c'], playbackId: 'p2' });
  playbacks.targetGone('channel', 'c1');
  assert.equal(events, ['PlaybackStarted p1 sound:a playing', 'PlaybackFinished p1 sound:a failed']);
  assert.equal(media.said, ['play sound:a', 'stop sound:a']);
  assert.equal(
    refusal(() => playbacks.get('p2')),
    [404, 'Playback not found'],
  );
  assert.is(playbacks.size, 0);
  playbacks.targetGone('channel', 'c1');
});

playing('operations reach the media, and wrong ones are refused in the order of Asterisk', () => {
  const { playbacks, media, target, events } = world();
  playbacks.playOn(target, { media: ['sound:a'], playbackId: 'p1', skipms: 0 });
  for (const operation of ['forward', 'reverse', 'restart', 'unpause', 'pause', 'pause'])
    playbacks.control('p1', { operation });
  assert.equal(media.said, ['play sound:a', 'seek 3000', 'seek -3000', 'restart', 'pause']);
  assert.is(playbacks.get('p1').state, 'paused');
  assert.equal(
    refusal(() => playbacks.control('p1', { operation: 'forward' })),
    [409, 'Can only forward while media is playing'],
  );
  playbacks.control('p1', { operation: 'unpause' });
  assert.is(events.at(-1), 'PlaybackStarted p1 sound:a playing');
  assert.equal(
    refusal(() => playbacks.control('nobody', {})),
    [400, 'Missing operation'],
  );
  assert.equal(
    refusal(() => playbacks.control('nobody', { operation: 'stop' })),
    [400, 'Invalid operation stop'],
  );
  assert.equal(
    refusal(() => playbacks.control('nobody', { operation: 'pause' })),
    [404, 'Playback not found'],
  );
  assert.equal(
    refusal(() => playbacks.stop('nobody')),
    [404, 'Playback not found'],
  );
  playbacks.stop('p1');
  assert.is(events.at(-1), 'PlaybackFinished p1 sound:a done');
});

playing('parameters are refused before anything is queued', () => {
  const { playbacks, target, media } = world();
  playbacks.playOn(target, { media: ['sound:a'], playbackId: 'p1' });
  const play = (request: object) => refusal(() => playbacks.playOn(target, { media: ['sound:b'], ...request }));
  assert.equal(play({ skipms: -1 }), [400, 'skipms cannot be negative']);
  assert.equal(play({ offsetms: -1 }), [400, 'offsetms cannot be negative']);
  const mediaRequired = "Parameter 'media' must name at least one media URI, none of them empty";
  assert.equal(play({ media: [] }), [400, mediaRequired]);
  assert.equal(play({ media: ['sound:a', ''] }), [400, mediaRequired]);
  assert.equal(play({ playbackId: 'p1' }), [409, 'Playback with given ID already exists']);
  assert.is(playbacks.size, 1);
  media.finish();
  assert.is(playbacks.playOn(target, { media: ['sound:b'], playbackId: 'p1' }).id, 'p1');
  assert.is(playbacks.playOn(target, { media: ['sound:b'] }).id, 'uuid-1');
});

playing('a quiet playback waits its turn like others but no client hears of it', async () => {
  const { playbacks, target, media, events } = world();
  const first = playbacks.playQuietly(target, ['sound:a', 'sound:b']);
  const second = playbacks.playQuietly(target, ['sound:c', 'sound:d']);
  const third = playbacks.playQuietly(target, ['sound:e']);
  const fourth = playbacks.playQuietly(target, ['sound:f']);
  media.finish();
  media.finish();
  media.fail();
  media.finish();
  third.stop();
  third.stop();
  playbacks.targetGone('channel', 'c1');
  assert.equal(await Promise.all([first.done, second.done, third.done, fourth.done]), [
    'done',
    'failed',
    'done',
    'failed',
  ]);
  assert.is(await playbacks.playQuietly(target, []).done, 'done');
  assert.equal(events, []);
  assert.is(playbacks.size, 0);
});

playing('a media plane that throws costs that playback alone, and its end is told', () => {
  const { playbacks, target, media, events, problems } = world();
  playbacks.playOn(target, { media: ['throw:'], playbackId: 'p1' });
  playbacks.playOn(target, { media: ['sound:b'], playbackId: 'p2' });
  assert.equal(problems(), ['an actor crashed']);
  assert.equal(events, [
    'PlaybackStarted p1 throw: playing',
    'PlaybackFinished p1 throw: failed',
    'PlaybackStarted p2 sound:b playing',
  ]);
  media.finish();
  assert.is(playbacks.size, 0);
});

playing('other work shares the queue of a target', () => {
  const { playbacks, target, media, events } = world();
  playbacks.playOn(target, { media: ['sound:a'], playbackId: 'p1' });
  const queue = playbacks.queueOf(target);
  const told: string[] = [];
  const work = { begin: () => void told.push('begin'), abandon: () => void told.push('abandon') };
  queue.add(work);
  playbacks.playOn(target, { media: ['sound:b'], playbackId: 'p2' });
  assert.equal(told, []);
  media.finish();
  assert.equal(told, ['begin']);
  assert.is(playbacks.get('p2').state, 'queued');
  queue.finished(work);
  queue.finished(work);
  assert.is(events.at(-1), 'PlaybackStarted p2 sound:b playing');
  playbacks.targetGone('channel', 'c1');
  queue.add(work);
  assert.equal(told, ['begin', 'abandon']);
});

playing.run();
