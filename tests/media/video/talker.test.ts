import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Talker } from '../../../src/media/video/talker.ts';

const tickMs = 20;

/** A talker, and a clock that runs while somebody has the floor. */
function begin() {
  const talker = new Talker({ afterMs: 500, holdMs: 2000 });
  let now = 0;
  return {
    talker,
    /** Lets somebody have the floor for a time. @returns who is shown then. */
    floor(speaker: number | undefined, live: number[], ms: number) {
      for (const end = now + ms; now < end; now += tickMs) talker.decide(speaker, live, now);
      return talker.current;
    },
  };
}

test('before anybody talks the first who sends video is shown, at once', () => {
  const { talker, floor } = begin();
  assert.is(floor(undefined, [], 20), undefined);
  assert.is(floor(undefined, [1, 2], 20), 1);
  assert.equal([talker.shownTo(1, [1, 2]), talker.shownTo(2, [1, 2])], [2, 1]);
});

test('who talks long enough is shown to all others, and is shown the one before', () => {
  const { talker, floor } = begin();
  const live = [1, 2, 3];
  floor(undefined, live, 3000);
  assert.is(floor(3, live, 480), 1);
  assert.is(floor(3, live, 60), 3);
  assert.equal(
    live.map((each) => talker.shownTo(each, live)),
    [3, 3, 1],
  );
});

test('a cough switches nobody, and two who alternate do not flicker', () => {
  const { floor } = begin();
  const live = [1, 2];
  floor(1, live, 3000);
  assert.is(floor(2, live, 300), 1);
  assert.is(floor(1, live, 200), 1);
  assert.is(floor(2, live, 480), 1);
  assert.is(floor(2, live, 100), 2);
  // Shown for less than two seconds.
  assert.is(floor(1, live, 1300), 2);
  assert.is(floor(1, live, 700), 1);
});

test('who sends no video is heard only', () => {
  const { floor } = begin();
  floor(1, [1, 2], 3000);
  assert.is(floor(9, [1, 2], 3000), 1);
});

test('who is lost makes room for the speaker, else for the one before, else for the first', () => {
  const { talker, floor } = begin();
  floor(1, [1, 2, 3], 3000);
  assert.is(floor(3, [1, 2, 3], 3000), 3);
  assert.is(floor(3, [1, 2], 20), 1);
  assert.is(floor(2, [2], 20), 2);
  assert.is(floor(undefined, [], 20), undefined);
  assert.is(talker.shownTo(2, []), undefined);
  assert.is(floor(undefined, [3], 20), 3);
});

test.run();
