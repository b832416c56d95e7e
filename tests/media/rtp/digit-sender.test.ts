import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DigitSender } from '../../../src/media/rtp/digit-sender.ts';

const usual = { digits: '1', beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 };

/** Ticks until all is sent: `.` for a quiet tick, else event, flags and duration. */
function run(sender: DigitSender): string[] {
  const ticks: string[] = [];
  while (!sender.idle) {
    const step = sender.tick();
    const flags = step && `${step.start ? 's' : ''}${step.ended ? 'E' : step.end ? 'e' : ''}`;
    ticks.push(step ? `${step.event}${flags} ${step.durationMs}` : '.');
  }
  return ticks;
}

const quiet = (ticks: number): string[] => new Array(ticks).fill('.');

test('a digit follows 100 ms of quiet, grows by 20 ms a tick, and its end is sent three times', () => {
  const sender = new DigitSender(20);
  sender.add(usual);
  const digit = ['1s 20', '1 40', '1 60', '1 80', '1E 100', '1e 100', '1e 100'];
  assert.equal(run(sender), [...quiet(5), ...digit, ...quiet(3)]);
});

test('digits are apart by the pause asked for, counted from the end of the digit', () => {
  const sender = new DigitSender(20);
  sender.add({ ...usual, digits: '12', betweenMs: 60, durationMs: 40 });
  const one = ['1s 20', '1E 40', '1e 40', '1e 40'];
  const two = ['2s 20', '2E 40', '2e 40', '2e 40'];
  assert.equal(run(sender), [...quiet(5), ...one, '.', ...two, '.']);
});

test('before, after and the pauses w and W are kept; other characters are skipped', () => {
  const sender = new DigitSender(20);
  sender.add({ digits: 'wx#W', beforeMs: 40, betweenMs: 40, durationMs: 20, afterMs: 60 });
  const pound = ['11sE 20', '11e 20', '11e 20'];
  assert.equal(run(sender), [...quiet(5 + 2 + 25), ...pound, ...quiet(50 + 3)]);
});

test('a sequence waits for the one before', () => {
  const sender = new DigitSender(20);
  sender.add({ ...usual, durationMs: 20, betweenMs: 40, digits: 'a' });
  sender.add({ ...usual, durationMs: 20, betweenMs: 40, digits: '*' });
  const first = ['12sE 20', '12e 20', '12e 20'];
  const second = ['10sE 20', '10e 20', '10e 20'];
  assert.equal(run(sender), [...quiet(5), ...first, ...quiet(5), ...second]);
});

test('a duration between two ticks is told exactly', () => {
  const sender = new DigitSender(20);
  sender.add({ ...usual, durationMs: 50, betweenMs: 0 });
  assert.equal(run(sender).slice(5), ['1s 20', '1 40', '1E 50', '1e 50', '1e 50']);
});

test('a digit longer than one event can tell is cut at eight seconds', () => {
  const sender = new DigitSender(20);
  sender.add({ ...usual, durationMs: 60_000, betweenMs: 0 });
  assert.is(run(sender).at(-1), '1e 8000');
});

test('digits of others leave room for audio, and only so many wait', () => {
  const sender = new DigitSender(20, 3);
  for (let pressed = 0; pressed < 1_000; pressed++) sender.pass('5', 2_000);
  const ticks = run(sender);
  assert.is(ticks.filter((tick) => tick.includes('s')).length, 3);
  assert.ok(ticks.filter((tick) => tick === '.').length >= ticks.length * 0.3, ticks.join());
  sender.pass('6', 100);
  assert.is(run(sender)[0], '6s 20');
});

test('a digit of another party that is short is followed by 60 ms of audio', () => {
  const sender = new DigitSender(20);
  sender.pass('1', 100);
  sender.pass('2', 100);
  const one = ['1s 20', '1 40', '1 60', '1 80', '1E 100', '1e 100', '1e 100'];
  assert.equal(run(sender).slice(0, 9), [...one, '.', '2s 20']);
});

test.run();
