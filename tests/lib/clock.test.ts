import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { systemClock } from '../../src/lib/clock.ts';

/** Runs `body` with Node's timers replaced: what is set is listed, and fired by hand. */
function withTimers(body: (set: { fn: () => void; ms: number }[], cleared: unknown[]) => void): void {
  const { setTimeout, clearTimeout } = globalThis;
  const set: { fn: () => void; ms: number }[] = [];
  const cleared: unknown[] = [];
  Object.assign(globalThis, {
    setTimeout: (fn: () => void, ms: number) => set[set.push({ fn, ms }) - 1],
    clearTimeout: (id: unknown) => void cleared.push(id),
  });
  try {
    body(set, cleared);
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
  }
}

const longest = 2 ** 31 - 1;

test('a timer longer than those of Node is several in a row, and fires once, when it is due', () => {
  withTimers((set) => {
    let fired = 0;
    systemClock.setTimeout(() => fired++, 2 * longest + 5);
    for (let each = 0; each < set.length; each++) {
      assert.is(fired, 0);
      set[each]!.fn();
    }
    assert.equal(
      set.map(({ ms }) => ms),
      [longest, longest, 5],
    );
    assert.is(fired, 1);
  });
});

test('a long timer is cleared wherever it has got to, a short one as ever', () => {
  withTimers((set, cleared) => {
    const long = systemClock.setTimeout(() => {}, longest + 1);
    set[0]!.fn();
    systemClock.clearTimeout(long);
    systemClock.clearTimeout(systemClock.setTimeout(() => {}, longest));
    systemClock.clearTimeout(undefined);
    assert.equal(cleared, [set[1], set[2], undefined]);
  });
});

test.run();
