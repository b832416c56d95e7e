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

test('up to three ticks are made up for at once, older ones are skipped and told', () => {
  const { clock, ticks, ticker } = ticking();
  clock.advance(13);
  clock.stall(40);
  clock.advance(20);
  assert.equal(ticks.splice(0), ['20@20', '40@80', '60@80', '80@80']);
  clock.stall(100);
  clock.advance(20);
  assert.equal(ticks, ['160@200 -3', '180@200', '200@200']);
  assert.equal([ticker.late, ticker.skipped], [4, 3]);
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
