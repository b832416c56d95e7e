import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { VideoPacket } from '../../../src/media/video/camera.ts';
import { WholeUnits } from '../../../src/media/video/whole-units.ts';
import { HandCamera, type HandClock } from './cameras.ts';

type Told = { unit: number[]; time: number; marker: boolean; key: boolean; index: number; generation: number };

/** Puts together what a camera sends, and keeps what goes out, numbered from 1. */
function units({ largest = 100, most = 8 } = {}) {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.camera.configure({ ...hand.flow, codec: 'h264' });
  const told: Told[] = [];
  let tooLong = 0;
  const whole = new WholeUnits({
    largest,
    most,
    pass: ({ octets, payloadStart, payloadEnd, time, marker, key, index, generation }) =>
      told.push({ unit: [...octets.subarray(payloadStart, payloadEnd)], time, marker, key, index, generation }),
    tooLong: () => void tooLong++,
  });
  const viewer = {
    take: (packet: VideoPacket) => whole.take(packet, clock.now),
    takes: () => Number.POSITIVE_INFINITY,
  };
  hand.camera.watch(viewer);
  const hear = (
    ...packets: readonly (readonly [sequence: number, time: number, marker: boolean, ...payload: number[]])[]
  ) => {
    for (const [sequence, time, marker, ...payload] of packets) hand.receive(packetOf(sequence, time, marker, payload));
  };
  return { clock, whole, told, hear, tooLong: () => tooLong };
}

function packetOf(sequence: number, time: number, marker: boolean, payload: readonly number[]): Buffer {
  const packet = Buffer.alloc(12 + payload.length);
  packet[0] = 0x80;
  packet[1] = (marker ? 0x80 : 0) | 96;
  packet.writeUInt16BE(sequence, 2);
  packet.writeUInt32BE(time, 4);
  packet.writeUInt32BE(7, 8);
  packet.set(payload, 12);
  return packet;
}

/** Both parameter sets together, a picture in three parts, and one alone. */
const sets = [0x78, 0, 2, 0x67, 1, 0, 2, 0x68, 2] as const;
const key = [
  [1, 10, false, ...sets],
  [2, 10, false, 0x7c, 0x85, 3, 4],
  [3, 10, false, 0x7c, 0x05, 5],
  [4, 10, true, 0x7c, 0x45, 6],
] as const;
const shape = (told: readonly Told[]) => told.map(({ unit, marker, key: isKey }) => [unit, marker, isKey]);
const keyUnits = [
  [[0x67, 1], false, true],
  [[0x68, 2], false, false],
  [[0x65, 3, 4, 5, 6], true, false],
];

test('units that come together or in parts go out whole, each in a packet of its own', () => {
  const { told, hear } = units();
  hear(...key, [5, 20, true, 0x41, 7]);
  assert.equal(shape(told), [...keyUnits, [[0x41, 7], true, false]]);
  const [first] = told;
  assert.equal(
    told.map(({ index, time, generation }) => [index - first!.index, time - first!.time, generation]),
    [0, 1, 2, 3].map((at) => [at, at < 3 ? 0 : 10, first!.generation]),
  );
});

test('a unit whose parts never end is left out as one that is too long, and the next picture goes out', () => {
  const { told, hear, tooLong } = units({ largest: 10 });
  hear([1, 10, false, ...sets], [2, 10, false, 0x7c, 0x85, 3, 4]);
  for (let sequence = 3; sequence < 60; sequence++) hear([sequence, 10, false, 0x7c, 0x05, 5, 6]);
  assert.equal([told, tooLong()], [[], 1]);
  hear([60, 10, true, 0x7c, 0x45, 7], [61, 20, true, 0x41, 8]);
  assert.equal([shape(told), tooLong()], [[[[0x41, 8], true, false]], 1]);
});

test('packets are put in order, and one that comes again after it was lost mends its picture', () => {
  const { told, hear, clock } = units();
  const [one, two, three, four] = key;
  hear(one, two, four, [5, 20, true, 0x41, 7]);
  assert.equal(told, []);
  clock.now += 100;
  hear(three, three);
  assert.equal(shape(told), [...keyUnits, [[0x41, 7], true, false]]);
});

test('a picture that lacks something is left out whole, and what follows is of another generation', () => {
  const { told, hear, clock, whole } = units();
  hear(...key.slice(0, 2), key[3]);
  clock.now += 200;
  hear([5, 20, true, 0x41, 7]);
  assert.equal([shape(told), whole.leftOut], [[[[0x41, 7], true, false]], 1]);
  hear([6, 30, false, ...sets], [7, 30, true, 0x65, 1], [8, 40, true, 0x41, 2], [10, 50, false, 0x41, 3]);
  clock.now += 200;
  // Its beginning may be what is lost.
  hear([11, 50, true, 0x41, 4], [12, 60, true, 0x41, 5]);
  assert.equal(
    told.slice(1).map(({ unit }) => unit[1]),
    [1, 2, 1, 2, 5],
  );
  const generations = told.map(({ generation }) => generation);
  assert.equal(new Set(generations).size, 2, String(generations));
});

test('no more packets wait than may, nor units of a picture, nor is any longer than is passed on', () => {
  const { told, hear, tooLong } = units({ largest: 4, most: 3 });
  hear([1, 10, true, 0x65, 1]);
  for (let count = 3; count < 7; count++) hear([count, 10 * count, true, 0x41, count]);
  assert.equal(
    told.map(({ unit }) => unit[1]),
    [1, 4, 5, 6],
  );
  told.length = 0;
  hear([7, 80, true, 0x78, 0, 1, 0x41, 0, 1, 0x41, 0, 1, 0x41, 0, 1, 0x41], [8, 90, true, 0x41, 2, 3, 4, 5]);
  assert.equal([told, tooLong()], [[], 1]);
  hear([9, 100, false, 0x7c, 0x81, 1, 2], [10, 100, true, 0x7c, 0x41, 3, 4], [11, 110, true, 0x41, 9]);
  assert.equal([shape(told), tooLong()], [[[[0x41, 9], true, false]], 2]);
});

test('whatever comes, nothing goes out but units that are whole and short enough, in order', () => {
  const octet = fc.constantFrom(0x7c, 0x78, 0x41, 0x65, 0x67, 0x85, 0x45, 0x05, 0, 1, 2, 3);
  const packet = fc.record({
    step: fc.integer({ min: -3, max: 4 }),
    later: fc.boolean(),
    marker: fc.boolean(),
    payload: fc.array(octet, { maxLength: 12 }),
  });
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 40 }), (packets) => {
      const { told, hear, clock } = units({ largest: 6, most: 4 });
      let [sequence, time] = [100, 10];
      for (const { step, later, marker, payload } of packets) {
        sequence += step;
        if (later) time += 10;
        clock.now += 30;
        hear([sequence, time, marker, ...payload]);
      }
      for (const [at, { unit, index }] of told.entries()) {
        assert.ok(unit.length > 0 && unit.length <= 6);
        const type = unit[0]! & 0x1f;
        assert.ok(type > 0 && type < 24, `${type}`);
        assert.is(index, told[0]!.index + at);
      }
    }),
    { seed: 1 },
  );
});

test.run();
