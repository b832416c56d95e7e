import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ActiveSpeaker } from '../../../src/media/dsp/active-speaker.ts';

/** Lets the levels sound for `ms` and tells who got the floor, and when. */
function run(speaker: ActiveSpeaker<string>, levels: Record<string, number>, ms: number): unknown[] {
  const told: unknown[] = [];
  for (let at = 20; at <= ms; at += 20) {
    for (const [id, level] of Object.entries(levels)) speaker.hear(id, level);
    if (speaker.tick(20)) told.push([at, speaker.current]);
  }
  return told;
}

test('the first who speaks has the floor, and keeps it in silence', () => {
  const speaker = new ActiveSpeaker<string>();
  assert.equal(run(speaker, { alice: 10, bob: 20 }, 1000), []);
  assert.equal(run(speaker, { alice: 2000, bob: 20 }, 1000), [[20, 'alice']]);
  assert.equal(run(speaker, {}, 60_000), []);
  assert.is(speaker.current, 'alice');
});

test('a cough takes no floor; who is louder for long enough does', () => {
  const speaker = new ActiveSpeaker<string>();
  run(speaker, { alice: 1000 }, 1000);
  assert.equal(run(speaker, { alice: 1000, bob: 8000 }, 200), []);
  assert.equal(run(speaker, { alice: 1000, bob: 0 }, 1000), []);
  const told = run(speaker, { alice: 1000, bob: 4000 }, 2000) as [number, string][];
  assert.is(told.length, 1);
  assert.is(told[0]![1], 'bob');
  assert.ok(told[0]![0] >= 400 && told[0]![0] <= 700, `${told[0]![0]} ms`);
});

test('two who are equally loud do not hand it to and fro', () => {
  const speaker = new ActiveSpeaker<string>();
  run(speaker, { alice: 1000 }, 1000);
  const told: unknown[] = [];
  for (let turn = 0; turn < 20; turn++)
    told.push(...run(speaker, { alice: 1000 + (turn % 2) * 500, bob: 1500 - (turn % 2) * 500 }, 300));
  assert.equal(told, []);
});

test('after a pause of the one the other gets it', () => {
  const speaker = new ActiveSpeaker<string>();
  run(speaker, { alice: 1000 }, 1000);
  const told = run(speaker, { alice: 0, bob: 500 }, 1500) as [number, string][];
  assert.equal(
    told.map(([, id]) => id),
    ['bob'],
  );
});

test('who leaves gives it up; with a time to keep it, silence does', () => {
  const speaker = new ActiveSpeaker<string>({ keepsMs: 1000 });
  run(speaker, { alice: 1000 }, 200);
  speaker.leave('alice');
  assert.is(speaker.current, undefined);
  run(speaker, { bob: 1000 }, 200);
  assert.equal(
    run(speaker, { bob: 0 }, 3000).map((each) => (each as [number, unknown])[1]),
    [undefined],
  );
});

test.run();
