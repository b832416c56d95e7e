import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { dueAt, guardNow } from '../../page/core/guards.ts';
import type { SnapshotImage } from '../../src/actors/step.ts';

const guards = suite('what decides the next transitions of a chart');
const image = (context: object) => ({ status: 'active', value: 'x', context }) as unknown as SnapshotImage;

guards('a guard says what it would say of this object now', () => {
  const playing = (index: number) => image({ index, media: ['a', 'b'] });
  assert.is(guardNow('playback', 'hasNextItem', 'media.finished', playing(0)), true);
  assert.is(guardNow('playback', 'hasNextItem', 'media.finished', playing(1)), false);
  assert.is(guardNow('playback', 'not(hasNextItem)', 'media.finished', playing(1)), true);
  const dial = image({ callees: [], waiting: 'alert' });
  assert.is(guardNow('dial', 'and(nobodyIsLeft, alerts)', 'x', dial), true);
  assert.is(guardNow('dial', 'and(nobodyIsLeft, hasPreparation)', 'x', dial), false);
  assert.is(guardNow('dial', 'or(hasPreparation, alerts)', 'x', dial), true);
});

guards('what depends on the event that comes is not known before, nor is what is hidden, or of another chart', () => {
  const bridge = image({ members: [{ channelId: 'a' }] });
  assert.is(guardNow('bridge', 'isLast', 'leave', bridge), undefined);
  assert.is(guardNow('bridge', 'isLast', 'destroy', bridge), false);
  assert.is(guardNow('bridge', 'isLast', 'leave', image({})), undefined);
  assert.is(guardNow('dial', 'isCallee', 'callee.left', image({ callees: [] })), undefined);
  assert.is(guardNow('dial', 'and(isCallee, nobodyIsLeft)', 'x', image({ callees: [] })), undefined);
  assert.is(guardNow('playback', 'none', 'x', bridge), undefined);
  assert.is(guardNow('toString', 'isLast', 'leave', bridge), undefined);
});

guards('a deadline is known by the name of its transition', () => {
  const event = { type: 'xstate.after.dialTimeout.channel.dialing' };
  const dialing = image({ deadlines: { a: { at: 5_000, event }, b: { at: 7_000, event: { type: 'other' } } } });
  assert.equal(
    [dueAt('after dialTimeout', dialing), dueAt('after lingering', dialing), dueAt('after dialTimeout', image({}))],
    [5_000, undefined, undefined],
  );
});

guards.run();
