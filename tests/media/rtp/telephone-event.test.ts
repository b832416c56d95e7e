import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { DigitReceiver, eventOfDigit, readEvent, writeEvent } from '../../../src/media/rtp/telephone-event.ts';

function receiver() {
  const heard: string[] = [];
  const digits = new DigitReceiver((digit, durationMs) => heard.push(`${digit} ${durationMs}`));
  return {
    heard,
    digits,
    hear: (timestamp: number, event: number, duration: number, end = false, now = 0) =>
      digits.receive(timestamp, { event, end, volume: 10, duration }, now),
  };
}

test('a payload is written and read octet by octet', () => {
  const payload = new Uint8Array(4);
  writeEvent(payload, 0, { event: 11, end: true, volume: 10, duration: 0x0320 });
  assert.equal([...payload], [0x0b, 0x8a, 0x03, 0x20]);
  assert.equal(readEvent(payload, 0, 4), { event: 11, end: true, volume: 10, duration: 800 });
  assert.is(readEvent(payload, 0, 3), undefined);
});

test('digits have the codes of RFC 4733, in any case', () => {
  assert.equal([...'0129*#ADadX'].map(eventOfDigit), [0, 1, 2, 9, 10, 11, 12, 15, 12, 15, -1]);
  assert.equal([eventOfDigit(''), eventOfDigit('12')], [-1, -1]);
});

test('a digit is told once, at its end, with its duration, however often the end is repeated', () => {
  const { heard, hear } = receiver();
  for (const duration of [160, 320, 480, 640]) hear(1000, 5, duration);
  assert.equal(heard, []);
  for (let repetition = 0; repetition < 3; repetition++) hear(1000, 5, 800, true);
  assert.equal(heard, ['5 100']);
});

test('a digit of which only an end packet arrived is told', () => {
  const { heard, hear } = receiver();
  hear(1000, 11, 800, true);
  assert.equal(heard, ['# 100']);
});

test('a digit whose end was lost ends when nothing is heard of it, with what was heard', () => {
  const { heard, hear, digits } = receiver();
  hear(1000, 10, 160, false, 0);
  hear(1000, 10, 320, false, 20);
  digits.expire(130);
  assert.equal(heard, []);
  digits.expire(140);
  assert.equal(heard, ['* 40']);
  hear(1000, 10, 800, true, 150);
  assert.equal(heard, ['* 40'], 'a late end does not tell it again');
});

test('a digit goes on when nothing could be heard of it for a while because nobody listened', () => {
  const { heard, hear, digits } = receiver();
  hear(1000, 10, 160, false, 0);
  digits.stoodStill();
  digits.expire(400);
  digits.expire(510);
  assert.equal(heard, []);
  hear(1000, 10, 1920, true, 510);
  assert.equal(heard, ['* 240']);
});

test('the next digit ends one whose end was lost; the same digit twice is two digits', () => {
  const { heard, hear } = receiver();
  hear(1000, 1, 400);
  hear(3000, 1, 400);
  hear(3000, 1, 800, true);
  hear(5000, 2, 800, true);
  assert.equal(heard, ['1 50', '1 100', '2 100']);
});

test('packets of an earlier digit that come late are dropped', () => {
  const { heard, hear } = receiver();
  hear(1000, 1, 800, true);
  hear(3000, 2, 160);
  hear(1000, 1, 800, true);
  hear(3000, 2, 800, true);
  assert.equal(heard, ['1 100', '2 100']);
});

test('a digit longer than one packet can tell is put together from its segments', () => {
  const { heard, hear } = receiver();
  hear(1000, 3, 0xffff);
  hear(1000 + 0xffff, 3, 800);
  hear(1000 + 0xffff, 3, 1600, true);
  assert.equal(heard, [`3 ${Math.round((0xffff + 1600) / 8)}`]);
});

test('timestamps may wrap between digits', () => {
  const { heard, hear } = receiver();
  hear(0xffff_fff0, 7, 800, true);
  hear(0x0000_1000, 8, 800, true);
  assert.equal(heard, ['7 100', '8 100']);
});

test('events that are no digits (flash and others) are not told', () => {
  const { heard, hear } = receiver();
  hear(1000, 16, 800, true);
  hear(9000, 255, 800, true);
  assert.equal(heard, []);
});

test('no series of events throws or tells anything but digits', () => {
  const event = fc.record({
    timestamp: fc.integer({ min: 0, max: 0xffff_ffff }),
    event: fc.integer({ min: 0, max: 255 }),
    duration: fc.integer({ min: 0, max: 0xffff }),
    end: fc.boolean(),
    now: fc.integer({ min: 0, max: 10_000 }),
  });
  fc.assert(
    fc.property(fc.array(event), (events) => {
      const { heard, hear, digits } = receiver();
      for (const each of events) {
        hear(each.timestamp, each.event, each.duration, each.end, each.now);
        digits.expire(each.now);
      }
      assert.ok(heard.every((each) => /^[0-9*#A-D] \d+$/.test(each)));
    }),
  );
});

test.run();
