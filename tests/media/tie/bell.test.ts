import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/lib/clock.ts';
import { answer, inlineBells, newBell, noBells, numberOf, ringFor, systemBells } from '../../../src/media/tie/bell.ts';

test('a bell that is rung for several slots is answered once, with each of them', async () => {
  for (const bells of [systemBells(systemClock), inlineBells()]) {
    const bell = new Int32Array(newBell(7));
    assert.is(numberOf(bell), 7);
    const heard: number[][] = [];
    let told = () => {};
    bells.watch(bell, () => {
      const slots: number[] = [];
      answer(bell, (slot) => slots.push(slot));
      heard.push(slots);
      told();
    });
    const woken = () => new Promise<void>((resolve) => (told = resolve));
    const first = woken();
    for (const slot of [0, 31, 32, 4095, 32]) ringFor(bells, bell, slot);
    await first;
    const second = woken();
    ringFor(bells, bell, 5);
    await second;
    assert.equal(heard, [[0, 31, 32, 4095], [5]]);
  }
});

test('where nobody is woken the slots are found when somebody looks', () => {
  const bell = new Int32Array(newBell(0));
  noBells.watch(bell, () => assert.unreachable());
  ringFor(noBells, bell, 3);
  const slots: number[] = [];
  answer(bell, (slot) => slots.push(slot));
  answer(bell, (slot) => slots.push(slot));
  assert.equal(slots, [3]);
});

test.run();
