import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import {
  answer,
  inlineWakeUps,
  newWakeUp,
  noWakeUps,
  numberOf,
  systemWakeUps,
  wakeFor,
} from '../../../src/media/pipe/wake-up.ts';

test('a wake-up that is rung for several slots is answered once, with each of them', async () => {
  for (const wakeUps of [systemWakeUps(systemClock), inlineWakeUps()]) {
    const wakeUp = new Int32Array(newWakeUp(7));
    assert.is(numberOf(wakeUp), 7);
    const heard: number[][] = [];
    let told = () => {};
    wakeUps.watch(wakeUp, () => {
      const slots: number[] = [];
      answer(wakeUp, (slot) => slots.push(slot));
      heard.push(slots);
      told();
    });
    const woken = () => new Promise<void>((resolve) => (told = resolve));
    const first = woken();
    for (const slot of [0, 31, 32, 4095, 32]) wakeFor(wakeUps, wakeUp, slot);
    await first;
    const second = woken();
    wakeFor(wakeUps, wakeUp, 5);
    await second;
    assert.equal(heard, [[0, 31, 32, 4095], [5]]);
  }
});

test('where nobody is woken the slots are found when somebody looks', () => {
  const wakeUp = new Int32Array(newWakeUp(0));
  noWakeUps.watch(wakeUp, () => assert.unreachable());
  wakeFor(noWakeUps, wakeUp, 3);
  const slots: number[] = [];
  answer(wakeUp, (slot) => slots.push(slot));
  answer(wakeUp, (slot) => slots.push(slot));
  assert.equal(slots, [3]);
});

test.run();
