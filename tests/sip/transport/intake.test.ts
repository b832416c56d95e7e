import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Intake } from '../../../src/sip/transport/intake.ts';
import type { Source } from '../../../src/sip/transport/transport.ts';

const source: Source = { protocol: 'udp', address: '192.0.2.2', port: 5060, listener: 1 };

/** An intake whose messages take so many ms each to handle; turns of the event loop end when the test says so. */
function createBench(eachMs: number, most = 10) {
  let now = 0;
  let turns: (() => void)[] = [];
  let dropped = 0;
  const taken: [text: string, waitedMs: number][] = [];
  const intake: Intake = new Intake({
    clock: { monotonic: () => now, soon: (fn) => void turns.push(fn) },
    most,
    take(bytes) {
      taken.push([String(bytes), intake.waitedMs]);
      now += eachMs;
    },
    full: () => void dropped++,
  });
  return {
    intake,
    arrive: (...texts: string[]) => {
      for (const text of texts) intake.arrived(Buffer.from(text), source);
    },
    pass: (ms: number) => void (now += ms),
    endTurn() {
      const due = turns;
      turns = [];
      for (const fn of due) fn();
    },
    taken: () => taken.splice(0),
    dropped: () => dropped,
    waits: () => turns.length > 0,
  };
}

test('messages that can be handled are handled as they come', () => {
  const { arrive, pass, taken, waits } = createBench(1);
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    arrive(text);
    pass(1);
  }
  assert.equal(
    taken(),
    ['a', 'b', 'c', 'd', 'e'].map((text) => [text, 0]),
  );
  assert.not(waits());
});

test('a burst is handled over several turns, in order, and each message says how long it waited', () => {
  const { arrive, endTurn, taken, waits } = createBench(1);
  arrive('a', 'b', 'c', 'd', 'e', 'f', 'g');
  assert.equal(taken(), [
    ['a', 0],
    ['b', 0],
    ['c', 0],
  ]);
  endTurn();
  arrive('h');
  assert.equal(taken(), [
    ['d', 0],
    ['e', 1],
    ['f', 2],
  ]);
  endTurn();
  assert.equal(taken(), [
    ['g', 3],
    ['h', 1],
  ]);
  assert.not(waits());
  arrive('i');
  assert.equal(taken(), [['i', 0]]);
});

test('beyond the bound messages are dropped and counted', () => {
  const { arrive, endTurn, taken, dropped } = createBench(3, 2);
  arrive('a', 'b', 'c', 'd');
  assert.is(dropped(), 1);
  endTurn();
  endTurn();
  assert.equal(taken(), [
    ['a', 0],
    ['b', 0],
    ['c', 3],
  ]);
});

test('what waits when it is closed is dropped', () => {
  const { intake, arrive, endTurn, taken, waits } = createBench(3);
  arrive('a', 'b');
  intake.close();
  endTurn();
  assert.equal(taken(), [['a', 0]]);
  assert.not(waits());
});

test.run();
