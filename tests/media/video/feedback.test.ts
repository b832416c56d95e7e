import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  bitrateNotification,
  bitrateRequest,
  estimatedBitrate,
  intraRequest,
  missing,
  pictureLoss,
  readFeedback,
} from '../../../src/media/video/feedback.ts';

const report = [0x80, 201, 0, 1, 0, 0, 0, 9];

function read(packet: readonly number[], { last = -1, most = 100 } = {}) {
  const told: (number | 'key frame')[] = [];
  const intra = { last };
  const listener = { keyFrameAsked: () => told.push('key frame'), missed: (number: number) => told.push(number) };
  readFeedback(Uint8Array.from(packet), { ssrc: 0x01020304, intra, mostMissed: most }, listener as never);
  return told;
}

test('a picture loss indication about our stream asks for a key frame, behind a report or alone', () => {
  const loss = [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4];
  assert.equal(read([...report, ...loss]), ['key frame']);
  assert.equal(read(loss), ['key frame']);
  assert.equal(read([0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 5]), []);
});

test('a full intra request counts once, however often it is repeated', () => {
  const intra = [0x84, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 4, 7, 0, 0, 0];
  assert.equal(read([...intra, ...intra]), ['key frame']);
  assert.equal(read(intra, { last: 7 }), []);
  assert.equal(read([0x84, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 5, 7, 0, 0, 0]), []);
});

test('missed packets are told one by one, as many as may be', () => {
  const nack = [0x81, 205, 0, 4, 0, 0, 0, 9, 1, 2, 3, 4, 0xff, 0xff, 0x80, 0x01, 0, 20, 0, 0];
  assert.equal(read(nack), [0xffff, 0, 15, 20]);
  assert.equal(read(nack, { most: 2 }), [0xffff, 0]);
});

/** What is said of bit rates about the stream 0x01020304: `[bit/s, who is to be told that it holds]`. */
function bitrates(packet: readonly number[]) {
  const told: (number | undefined)[][] = [];
  const listener = { bitrateAsked: (bitrate: number, bound?: { owner: number }) => told.push([bitrate, bound?.owner]) };
  readFeedback(Uint8Array.from(packet), { ssrc: 0x01020304, intra: { last: -1 }, mostMissed: 100 }, listener as never);
  return told;
}
const all = Number.POSITIVE_INFINITY;

test('a bit rate that the far side takes is read as both drafts of it draw it, of our stream alone', () => {
  const request = (...fci: number[]) => [0x83, 205, 0, 2 + fci.length / 4, 0, 0, 0, 9, 0, 0, 0, 0, ...fci];
  // 100 × 2^3 bit/s, and 40 octets of overhead.
  assert.equal(bitrates(request(1, 2, 3, 4, 0x0c, 0x00, 0xc8, 0x28)), [[800, 9]]);
  assert.equal(bitrates(request(9, 9, 9, 9, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0)), [[0, 9]]);
  assert.equal(bitrates(request(1, 2, 3, 4, 0xff, 0xff, 0xff, 0xff)), [[all, 9]]);
  assert.equal(bitrates(request(1, 2, 3, 5, 0, 0, 0, 0)), []);
  const estimate = (...rest: number[]) => [0x8f, 206, 0, 3 + rest.length / 4, 0, 0, 0, 9, 0, 0, 0, 0, ...remb, ...rest];
  const remb = [0x52, 0x45, 0x4d, 0x42];
  // Mantissa 0x3ffff × 2^1, of two streams.
  assert.equal(bitrates(estimate(2, 0x07, 0xff, 0xff, 7, 7, 7, 7, 1, 2, 3, 4)), [[524_286, undefined]]);
  assert.equal(bitrates(estimate(1, 0, 0, 0, 1, 2, 3, 4)), [[0, undefined]]);
  assert.equal(bitrates(estimate(1, 0xff, 0xff, 0xff, 1, 2, 3, 4)), [[all, undefined]]);
  // Of others, of fewer than it says, of none; something else of the same format.
  assert.equal(bitrates(estimate(1, 0, 0, 1, 1, 2, 3, 5)), []);
  assert.equal(bitrates(estimate(255, 0, 0, 1, 1, 2, 3, 5)), []);
  assert.equal(bitrates(estimate(0, 0, 0, 1, 1, 2, 3, 4)), []);
  assert.equal(bitrates([0x8f, 206, 0, 5, 0, 0, 0, 9, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 2, 3, 4]), []);
  for (let length = 0; length < 24; length++) {
    const cut = estimate(1, 0, 0, 1, 1, 2, 3, 4).slice(0, length);
    assert.equal(bitrates(cut), [], `${length} octets`);
  }
});

test('a bit rate that we ask for is never more than what was meant', () => {
  for (const bitrate of [0, 1, 100_000, 131_071, 131_072, 262_143, 262_144, 300_001, 999_999_999])
    for (const make of [bitrateRequest, estimatedBitrate]) {
      const [[read] = [], ...more] = bitrates([...make(9, 0x01020304, bitrate)]);
      assert.equal(more, []);
      assert.ok(read! <= bitrate && read! > bitrate * 0.9999 - 1, `${bitrate}: ${read}`);
    }
  assert.equal(
    bitrates(
      [...bitrateRequest(9, 0x01020304, 1_000_000_000)].concat([...estimatedBitrate(9, 0x01020304, 1_000_000_001)]),
    ),
    [
      [999_997_440, 9],
      [999_997_440, undefined],
    ],
  );
  const bound = bitrateNotification(9, { owner: 0x01020304, word: 0x0c00c828 });
  assert.equal([...bound], [0x84, 205, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 4, 0x0c, 0x00, 0xc8, 0x28]);
  assert.equal(bitrates([...bound]), [], 'a far side that confirms asks for nothing');
});

test('what makes no sense ends it', () => {
  const loss = [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4];
  assert.equal(read([0x81, 206, 0xff, 0xff, 0, 0, 0, 9, 1, 2, 3, 4, ...loss]), []);
  assert.equal(read([0x01, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]), []);
  assert.equal(read([0x81, 206, 0, 1, 0, 0, 0, 9, ...loss]), ['key frame']);
  for (let length = 0; length < loss.length; length++) assert.equal(read(loss.slice(0, length)), []);
  // Another format of either type.
  assert.equal(read([0x8f, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]), []);
});

test('what we tell is as the RFCs draw it', () => {
  assert.equal([...pictureLoss(9, 0x01020304)], [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]);
  assert.equal([...intraRequest(9, 0x01020304, 7)].slice(0, 4), [0x84, 206, 0, 4]);
  assert.equal(read([...intraRequest(9, 0x01020304, 7)]), ['key frame']);
  const lost = [0xfffe, 0xffff, 3, 14, 15, 400];
  assert.equal(
    [...missing(9, 0x01020304, lost)],
    [0x81, 205, 0, 5, 0, 0, 0, 9, 1, 2, 3, 4, 0xff, 0xfe, 0x80, 0x11, 0, 15, 0, 0, 1, 0x90, 0, 0],
  );
  assert.equal(read([...missing(9, 0x01020304, lost)]), lost);
});

test.run();
