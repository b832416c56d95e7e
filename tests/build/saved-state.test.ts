import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { moveAhead } from '../../src/build/saved-state.ts';
import { memoryWord, ownMemory } from '../../src/media/session-memory.ts';
import { Sealer } from '../../src/media/srtp/sealer.ts';
import { videoWord } from '../../src/media/video/stream-memory.ts';

/** Streams of a process that was killed go on behind all that it may have sent. */
const saved = suite('numbers of saved streams');

const elapsedMs = 3_000;
const legOf = (media: unknown): unknown => ({ version: 1, media });

/** A video stream whose next packet has the index, sealed or not. */
function videoAt(index: number, sealed: boolean): number[] {
  const numbers = [...ownMemory()];
  numbers[videoWord.begun] = 1;
  numbers[videoWord.sequence] = index;
  if (sealed) Object.assign(numbers, { [memoryWord.sealed]: index, [memoryWord.control]: 7 });
  return numbers;
}

saved('of video move past what may have been sent, and no SRTP index comes twice', () => {
  const numbers = videoAt(65_000, true);
  moveAhead(legOf({ video: [{ stream: 1, local: {}, numbers }] }), elapsedMs);
  const sequence = numbers[videoWord.sequence]!;
  assert.ok(sequence - 65_000 >= 3_000);
  assert.ok(numbers[memoryWord.control]! > 7);
  const counters = { audio: numbers[memoryWord.sealed]!, control: 0 };
  const sealer = new Sealer({ suite: 'AES_CM_128_HMAC_SHA1_80', key: Buffer.alloc(30).toString('base64') }, counters);
  const packet = Buffer.alloc(20);
  packet[0] = 0x80;
  packet.writeUInt16BE(sequence & 0xffff, 2);
  sealer.audio(packet);
  assert.is(counters.audio, sequence + 1, 'the rollover counter follows the sequence number');
});

/** Whether `id` counts as newer than `before`, of ids with so many bits. */
const isNewer = (id: number, before: number, bits: number): boolean => {
  const ahead = (id - before) & ((1 << bits) - 1);
  return ahead > 0 && ahead < 1 << (bits - 1);
};

for (const passedMs of [100, 1_000, 20_000, 120_000])
  saved(`of frames are newer than all that were sent within ${passedMs} ms, wherever they wrap`, () => {
    for (const first of [0, 100, 32_700]) {
      const numbers = videoAt(1, false);
      numbers[videoWord.pictureId] = first;
      numbers[videoWord.tl0] = first & 0xff;
      moveAhead(legOf({ video: [{ stream: 1, local: {}, numbers }] }), passedMs);
      // A camera of 30 frames a second.
      const sent = (passedMs * 30) / 1000;
      assert.ok(isNewer(numbers[videoWord.pictureId]!, first + sent - 1, 15), `15 bits, from ${first}`);
      if (passedMs > 1_000) continue;
      assert.ok(isNewer(numbers[videoWord.pictureId]! & 0x7f, (first + sent - 1) & 0x7f, 7), `7 bits, from ${first}`);
      assert.ok(isNewer(numbers[videoWord.tl0]!, (first + sent - 1) & 0xff, 8), `TL0PICIDX, from ${first}`);
    }
  });

saved('of video do not move further than a receiver of SRTP follows', () => {
  const numbers = videoAt(40_000, true);
  moveAhead(legOf({ video: [{ stream: 1, local: {}, numbers }] }), 120_000);
  const moved = numbers[videoWord.sequence]! - 40_000;
  assert.ok(moved > 30_000 && moved < 0x8000, String(moved));
  assert.is(numbers[memoryWord.sealed]! - 40_000, moved);
});

saved('of plain video keep no SRTP index, and unused ones stay', () => {
  const plain = videoAt(100, false);
  const unused = [...ownMemory()];
  const video = [plain, unused].map((numbers, stream) => ({ stream, local: {}, numbers }));
  moveAhead(legOf({ video }), elapsedMs);
  assert.ok(plain[videoWord.sequence]! >= 3_100);
  assert.is(plain[memoryWord.sealed], 0);
  assert.equal(unused, [...ownMemory()]);
});

saved('of audio wrap, while their SRTP index does not', () => {
  const stream = { ssrc: 1, sequence: 65_500, secret: { sealed: 65_500, control: 2 } };
  moveAhead(legOf({ stream }), elapsedMs);
  assert.ok(stream.secret.sealed - 65_500 >= 300);
  assert.is(stream.secret.sealed & 0xffff, stream.sequence);
});

saved.run();
