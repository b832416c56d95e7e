import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createBusyPoll } from '../../src/http/busy-poll.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A clock whose turns end when the test says so. */
class TurnClock extends ManualClock {
  waiting: (() => void)[] = [];

  override soon(fn: () => void): void {
    this.waiting.push(fn);
  }

  /** Ends the turn; says whether anything kept the loop awake. */
  turn(): boolean {
    const [next] = this.waiting.splice(0);
    next?.();
    return next !== undefined;
  }
}

/** Lets the moment after a request pass without another. */
function pass(clock: TurnClock): void {
  clock.advance(1);
  clock.turn();
}

test('after a request the loop stays awake for the time given, and no longer', () => {
  const clock = new TurnClock();
  createBusyPoll(clock, 400, () => true).awake();
  assert.is(clock.turn(), true);
  clock.advance(0.3);
  assert.is(clock.turn(), true);
  clock.advance(0.2);
  assert.is(clock.turn(), true);
  assert.is(clock.turn(), false);
});

test('a request that follows prolongs it, without a second poll beside the first', () => {
  const clock = new TurnClock();
  const poll = createBusyPoll(clock, 400, () => true);
  poll.awake();
  clock.advance(0.3);
  poll.awake();
  assert.is(clock.waiting.length, 1);
  clock.advance(0.3);
  clock.turn();
  assert.is(clock.waiting.length, 1);
});

test('where requests come far apart it is left out but for a probe, and comes back when one bears fruit', () => {
  const clock = new TurnClock();
  const poll = createBusyPoll(clock, 400, () => true);
  const polls = (requests: number): number => {
    let count = 0;
    for (let request = 0; request < requests; request++) {
      poll.awake();
      if (clock.waiting.length > 0) count++;
      pass(clock);
    }
    return count;
  };
  assert.is(polls(4), 4);
  assert.is(polls(31), 0);
  poll.awake();
  assert.is(clock.waiting.length, 1);
  poll.awake();
  pass(clock);
  assert.is(polls(3), 3);
});

test('it ends also where the clock stands still', () => {
  const clock = new TurnClock();
  createBusyPoll(clock, 400, () => true).awake();
  let turns = 0;
  while (clock.turn()) turns++;
  assert.is(turns, 401);
});

test('turned off it never polls', () => {
  const clock = new TurnClock();
  createBusyPoll(clock, 0, () => true).awake();
  assert.is(clock.waiting.length, 0);
});

test('it does not poll while others wait for a core, and does again afterwards', () => {
  const clock = new TurnClock();
  let free = false;
  const poll = createBusyPoll(clock, 400, () => free);
  for (let request = 0; request < 3; request++) poll.awake();
  assert.is(clock.waiting.length, 0);
  free = true;
  poll.awake();
  assert.is(clock.waiting.length, 1);
});

test.run();
