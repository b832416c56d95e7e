import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type HistoryFigure, historyFigures } from '../../src/models/alarm.ts';
import { createFigureHistory, type PresentFigures } from '../../src/watch/figure-history.ts';
import { silentLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const none = Object.fromEntries(Object.keys(historyFigures).map((name) => [name, 0])) as Record<HistoryFigure, number>;

/** A history on simulated time, whose figures a test sets. */
function world(hours: number, directory?: string, clock = new ManualClock(0)) {
  const now: { figures: PresentFigures; fails: boolean } = { figures: none, fails: false };
  const read = async () => {
    if (now.fails) throw new Error('no answer');
    return now.figures;
  };
  const history = createFigureHistory({
    clock,
    hours,
    read,
    ...(directory && { kept: { directory, log: silentLog } }),
  });
  const set = (figures: Partial<PresentFigures>) => {
    now.figures = { ...now.figures, ...figures };
  };
  return { clock, history, set, now };
}

test('counts are kept by how much they grew in each minute, what is held as it was at the end', async () => {
  const { clock, history, set } = world(24);
  set({ new_calls: 5, live_calls: 2 });
  await clock.run(60_000);
  set({ new_calls: 12, live_calls: 1 });
  await clock.run(60_000);
  const { interval_s: interval, from, new_calls: calls, live_calls: live } = history.all();
  assert.equal([interval, from, calls, live], [60, 60_000, [5, 7], [2, 1]]);
  history.close();
  assert.is(clock.pending, 0);
});

test('the oldest minutes make room: there are never more than the setting says', async () => {
  const { clock, history, set } = world(2);
  for (let minute = 1; minute <= 300; minute++) {
    set({ new_calls: minute * minute });
    await clock.run(60_000);
  }
  const { from, new_calls: calls } = history.all();
  assert.equal([calls.length, calls.at(-1), from], [120, 300 * 300 - 299 * 299, 181 * 60_000]);
  assert.is(calls[0], 181 * 181 - 180 * 180);
  history.close();
});

test('the growth of some minutes includes the present one; the lowest value is that of full minutes', async () => {
  const { clock, history, set } = world(1);
  set({ failed_calls: 3, loop_delay_ms: 80 });
  await clock.run(60_000);
  set({ failed_calls: 10, loop_delay_ms: 5 });
  await history.look();
  assert.equal([history.grew('failed_calls', 0), history.grew('failed_calls', 5)], [7, 10]);
  assert.equal([history.lowest('loop_delay_ms', 1), history.lowest('loop_delay_ms', 2)], [80, 0]);
  set({ loop_delay_ms: 90 });
  await clock.run(60_000);
  assert.is(history.lowest('loop_delay_ms', 2), 80);
  assert.is(history.grew('failed_calls', 1), 7);
  history.close();
});

test('figures that cannot be read leave the last ones, and the next minute is taken all the same', async () => {
  const { clock, history, set, now } = world(1);
  set({ new_calls: 4 });
  await clock.run(60_000);
  now.fails = true;
  await clock.run(60_000);
  now.fails = false;
  set({ new_calls: 9 });
  await clock.run(60_000);
  assert.equal(history.all().new_calls, [4, 0, 5]);
  history.close();
});

test('with no hours there is no history, and no timer', async () => {
  const { clock, history, set } = world(0);
  set({ new_calls: 4 });
  await history.look();
  assert.equal([history.all().new_calls, history.grew('new_calls', 5), clock.pending], [[], 0, 0]);
  history.close();
});

test('figures survive a restart; the minutes without a server are 0', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-history-'));
  try {
    const first = world(1, directory);
    for (let minute = 1; minute <= 3; minute++) {
      first.set({ new_calls: minute * 10, live_calls: minute });
      await first.clock.run(60_000);
    }
    await first.history.close();
    const second = world(1, directory, new ManualClock(5 * 60_000));
    second.set({ new_calls: 4, live_calls: 9 });
    await second.clock.run(60_000);
    const { from, new_calls: calls, live_calls: live } = second.history.all();
    assert.equal([from, calls, live], [60_000, [10, 10, 10, 0, 0, 4], [1, 2, 3, 0, 0, 9]]);
    await second.history.close();
    // Longer away than minutes are kept: all begins anew.
    const third = world(1, directory, new ManualClock(3 * 3_600_000));
    assert.equal(third.history.all().new_calls, []);
    await third.history.close();
    writeFileSync(join(directory, 'history.json'), '[{"name":"new_calls","until":1,"values":"1 x"},{"name":"none"},7]');
    const fourth = world(1, directory, new ManualClock(60_000));
    assert.equal(fourth.history.all().new_calls, []);
    await fourth.history.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test.run();
