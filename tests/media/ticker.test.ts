import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Ticker } from '../../src/media/ticker.ts';
import { StallingClock } from './support.ts';

function ticking() {
  const clock = new StallingClock(7);
  const ticks: string[] = [];
  const ticker = new Ticker(clock, (nominal, skipped) =>
    ticks.push(`${nominal}@${clock.monotonic()}${skipped ? ` -${skipped}` : ''}`),
  );
  ticker.start();
  return { clock, ticks, ticker };
}

test('ticks lie on a grid of 20 ms', () => {
  const { clock, ticks } = ticking();
  clock.advance(60);
  assert.equal(ticks, ['20@20', '40@40', '60@60']);
});

test('a late tick delays none after it', () => {
  const { clock, ticks, ticker } = ticking();
  clock.advance(13);
  clock.stall(15);
  clock.advance(20);
  clock.advance(10);
  assert.equal(ticks, ['20@20', '40@55', '60@60']);
  assert.equal([ticker.late, ticker.skipped], [1, 0]);
});

test('late ticks are all made up for, of up to one second; older ones are skipped and told', () => {
  const { clock, ticks, ticker } = ticking();
  clock.advance(13);
  clock.stall(40);
  clock.advance(20);
  assert.equal(ticks.splice(0), ['20@20', '40@80', '60@80', '80@80']);
  clock.stall(500);
  clock.advance(20);
  assert.equal(
    ticks.splice(0),
    Array.from({ length: 26 }, (_, index) => `${100 + 20 * index}@600`),
  );
  assert.is(ticker.skipped, 0);
  clock.stall(1100);
  clock.advance(20);
  assert.equal([ticks.length, ticks[0], ticks.at(-1)], [50, '740@1720 -6', '1720@1720']);
  assert.is(ticker.skipped, 6);
});

test('sockets are read before late ticks run, and again after every three of them', () => {
  const { clock, ticks } = ticking();
  const seen: string[] = [];
  clock.advance(13);
  clock.stall(200);
  const read = () => {
    seen.push(`${ticks.length}`);
    if (seen.length < 5) clock.setTimeout(read, 0);
  };
  clock.setTimeout(read, 20);
  clock.advance(20);
  assert.equal(seen, ['1', '4', '7', '10', '12']);
});

test('ticks that stay late for two seconds are given up', () => {
  const clock = new StallingClock(0);
  let slowTicks = 150;
  const ticker = new Ticker(clock, () => {
    if (slowTicks-- > 0) clock.stall(25);
  });
  ticker.start();
  clock.advance(1000);
  assert.ok(ticker.skipped > 0);
  const { late, skipped } = ticker;
  clock.advance(1000);
  assert.equal([ticker.late, ticker.skipped], [late, skipped]);
  ticker.stop();
});

test('stopping leaves no timer, also from inside a tick, and starting twice is starting once', () => {
  const { clock, ticks, ticker } = ticking();
  ticker.start();
  assert.is(clock.pending, 1);
  ticker.stop();
  assert.equal([clock.pending, ticker.running], [0, false]);
  const inside = new Ticker(clock, () => {
    ticks.push('once');
    inside.stop();
  });
  inside.start();
  clock.stall(60);
  clock.advance(20);
  assert.equal([ticks, clock.pending], [['once'], 0]);
});

test.run();
