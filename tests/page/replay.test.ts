import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allowedOn, keyOf, modelOf, tracedAt } from '../../page/core/replay.ts';
import { type Contents, describeStep } from '../../src/actors/step.ts';
import type { StepEntry, TimelineEntry } from '../../src/models/timeline.ts';
import { createCallControl, settled } from '../support/call-control.ts';

const replaying = suite('the past, as the page shows it');

replaying('models and operations are at every moment what the server gave then', async () => {
  const world = createCallControl({ contexts: { default: { s: ['Stasis(hello)'] } } });
  world.connect('hello');
  const timeline: TimelineEntry[] = [];
  const before = new Map<string, Contents>();
  /** What clients would have been answered after each step of the channel. */
  const then: { count: number; model: object; possible: object }[] = [];
  world.runtime.turn.keep((step) => {
    const key = keyOf(step.object, step.chart);
    const known = before.get(key);
    before.set(key, step.after as Contents);
    const { seq, causedBy: _cause, change, ...told } = describeStep(step, known);
    const entry = { kind: 'step', ...told, seq, step: seq, change: { ...(known ? {} : { whole: true }), ...change } };
    timeline.push(JSON.parse(JSON.stringify(entry)) as StepEntry);
    const count = timeline.length;
    if (
      world.channels.findByIdOrName('c1') &&
      before.has(keyOf('c1', 'ownership')) &&
      before.has(keyOf('c1', 'channel'))
    )
      then.push({ count, model: world.operations.get('c1'), possible: world.operations.possible('c1') });
  });
  world.incoming('c1');
  await settled();
  void world.operations.answer('c1');
  world.operations.play('c1', { media: ['sound:a'], playbackId: 'p1' });
  world.playbacks.control('p1', { operation: 'pause' });
  world.operations.setVariable('c1', { variable: 'X', value: '1' });
  world.operations.hangup('c1', {});

  assert.ok(then.length > 8, `${then.length} moments`);
  for (const { count, model, possible } of then) {
    const traced = tracedAt(timeline, count);
    const channel = traced.get(keyOf('c1', 'channel'));
    assert.ok(channel);
    assert.equal(modelOf(channel, traced), model, `the model after ${count} steps`);
    const found = allowedOn(channel, traced);
    if (found) assert.equal(found, possible, `what could be done after ${count} steps`);
  }
  const playback = tracedAt(timeline, timeline.length).get(keyOf('p1', 'playback'));
  assert.equal(playback?.way.slice(0, 3), ['queued', 'playing', 'paused']);
});

replaying.run();
