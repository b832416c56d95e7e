import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { uncounted } from '../../../src/lib/limit-counts.ts';
import { PacketRoom } from '../../../src/media/video/packet-room.ts';
import { PacketStore } from '../../../src/media/video/packet-store.ts';
import { HandCamera, type HandClock, handScreen, taken } from './cameras.ts';

test("memory that was given back is used by the next packet of that length, and is nobody else's", () => {
  const room = new PacketRoom();
  const [one, other, longer] = [room.take(100), room.take(100), room.take(101)];
  one.fill(1);
  other.fill(2);
  longer.fill(3);
  room.give(one);
  assert.not.ok([one, other, longer].includes(room.take(101)));
  assert.is(room.take(100), one);
  assert.not.ok([one, other, longer].includes(room.take(100)));
  assert.equal([other[0], other[99], longer[0], longer[100]], [2, 2, 3, 3]);
});

test('of what was given back no more waits than a few megabytes', () => {
  const room = new PacketRoom();
  const all = Array.from({ length: 200 }, () => room.take(65_000));
  for (const each of all) room.give(each);
  const again = all.map(() => room.take(65_000)).filter((each) => all.includes(each));
  assert.ok(again.length > 0 && again.length * 65_000 <= 8_388_608, `${again.length} of 200`);
  assert.is(new Set(again).size, again.length);
});

test('a packet is let go of once, when its place is used, its time is over, or all are forgotten', () => {
  const gone: number[] = [];
  const store = new PacketStore({ packets: 4, ms: 100, letGo: ([first = 0]) => gone.push(first), hit: uncounted });
  for (let number = 0; number < 6; number++) store.put(number, Uint8Array.of(number), 10 * number);
  assert.equal(gone, [0, 1]);
  store.expire(135);
  store.expire(135);
  assert.equal(gone, [0, 1, 2, 3]);
  store.clear();
  store.clear();
  assert.equal(gone, [0, 1, 2, 3, 4, 5]);
});

test('that memory is used again changes nothing of what is sent, nor of what is sent again', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const [plain, reusing] = [false, true].map((copies) =>
    handScreen(clock, { resendPackets: 8, resendMs: 100 }, undefined, copies),
  );
  for (const { shown } of [plain!, reusing!]) shown.show(one.camera);
  for (let frame = 0; frame < 100; frame++) {
    one.receive(...one.frame(1 + (frame % 4)));
    clock.now += 25;
    for (const { shown, sent } of [plain!, reusing!]) {
      shown.missed(taken(sent.at(-1 - (frame % 3)) ?? sent.at(-1)!).sequence);
      shown.tick(clock.now);
    }
  }
  assert.ok(plain!.shown.sentAgain > 50);
  assert.equal(
    reusing!.sent.map((packet) => [...packet]),
    plain!.sent.map((packet) => [...packet]),
  );
});

test.run();
