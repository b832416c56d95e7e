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
