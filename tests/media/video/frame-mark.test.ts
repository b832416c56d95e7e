import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyMark, type FrameMark, rewriteMark } from '../../../src/media/video/frame-mark.ts';
import { parameterSets } from '../../../src/media/video/h264.ts';
import { readMark } from '../../../src/media/video/read-mark.ts';
import type { VideoCodec } from '../../../src/telephony/video.ts';

const none = { key: false, idr: false, pictureId: undefined, pictureIdBits: 0, tl0: undefined };

/** What a payload tells; undefined for one that makes no sense. Octets before and behind it belong to nobody. */
function read(codec: VideoCodec, ...payload: number[]) {
  const mark: FrameMark = emptyMark();
  const packet = Uint8Array.from([0xff, 0xff, ...payload, 0xff]);
  if (!readMark(codec, packet, { payloadStart: 2, payloadEnd: 2 + payload.length }, mark)) return undefined;
  const { key, idr, pictureIdBits, pictureId, tl0At, tl0 } = mark;
  return {
    ...{ key, idr, pictureIdBits, tl0: tl0At < 0 ? undefined : tl0 },
    pictureId: pictureIdBits === 0 ? undefined : pictureId,
  };
}

test('VP8: a frame begins with S and partition 0, and is a key frame when P is not set', () => {
  assert.equal(read('vp8', 0x10, 0x50), { ...none, key: true });
  assert.equal(read('vp8', 0x10, 0x51), none);
  assert.equal(read('vp8', 0x00, 0x50), none);
  // A later partition.
  assert.equal(read('vp8', 0x11, 0x50), none);
  // N: nobody refers to it.
  assert.equal(read('vp8', 0x30, 0x50), { ...none, key: true });
});

test('VP8: picture ids of 7 and of 15 bits, TL0PICIDX, TID and KEYIDX are read in their order', () => {
  assert.equal(read('vp8', 0x90, 0x80, 0x7f, 0x50), { ...none, key: true, pictureIdBits: 7, pictureId: 127 });
  assert.equal(read('vp8', 0x90, 0x80, 0xff, 0xfe, 0x50), {
    ...none,
    ...{ key: true, pictureIdBits: 15, pictureId: 0x7ffe },
  });
  assert.equal(read('vp8', 0x90, 0xf0, 0x81, 0x02, 0x33, 0x44, 0x51), {
    ...none,
    ...{ pictureIdBits: 15, pictureId: 0x102, tl0: 0x33 },
  });
  assert.equal(read('vp8', 0x90, 0x40, 0x07, 0x50), { ...none, key: true, tl0: 7 });
  assert.equal(read('vp8', 0x90, 0x20, 0x07, 0x50), { ...none, key: true });
});

test('VP9: a key frame begins where nothing is predicted, at the beginning of a frame of the lowest layer', () => {
  assert.equal(read('vp9', 0x08, 0x82), { ...none, key: true });
  assert.equal(read('vp9', 0x48, 0x82), none);
  assert.equal(read('vp9', 0x04, 0x82), none);
  assert.equal(read('vp9', 0xa8, 0x85, 0x06, 0x00, 0x09, 0x82), {
    ...none,
    ...{ key: true, pictureIdBits: 15, pictureId: 0x506, tl0: 9 },
  });
  // The second spatial layer.
  assert.equal(read('vp9', 0xa8, 0x05, 0x02, 0x09, 0x82), { ...none, pictureIdBits: 7, pictureId: 5, tl0: 9 });
  // Flexible: reference indices instead of TL0PICIDX.
  assert.equal(read('vp9', 0xf8, 0x05, 0x00, 0x03, 0x02, 0x82), { ...none, pictureIdBits: 7, pictureId: 5 });
});

test('H.264: a key frame begins with its parameter sets, alone or together', () => {
  assert.equal(read('h264', 0x67, 0x42), { ...none, key: true });
  assert.equal(read('h264', 0x68, 0xce), none);
  assert.equal(read('h264', 0x78, 0, 2, 0x67, 0x42, 0, 2, 0x68, 0xce), { ...none, key: true });
  assert.equal(read('h264', 0x78, 0, 2, 0x67, 0x42, 0, 2, 0x65, 0x88), { ...none, key: true, idr: true });
  assert.equal(read('h264', 0x65, 0x88), { ...none, idr: true });
  assert.equal(read('h264', 0x7c, 0x85, 0x88), { ...none, idr: true });
  assert.equal(read('h264', 0x7c, 0x05, 0x88), none);
  assert.equal(read('h264', 0x7c, 0x41, 0x88), none);
  assert.equal(read('h264', 0x41, 0x9a), none);
});

test('H.264: parameter sets are found in packets of their own and among others', () => {
  const found: [number, number[]][] = [];
  const sets = (...payload: number[]) =>
    parameterSets(Uint8Array.from(payload), 0, payload.length, (type, from, to) =>
      found.push([type, payload.slice(from, to)]),
    );
  sets(0x67, 0x42);
  sets(0x78, 0, 2, 0x67, 0x43, 0, 3, 0x68, 0xce, 1, 0, 9, 0x68);
  sets(0x41, 0x9a);
  assert.equal(found, [
    [7, [0x67, 0x42]],
    [7, [0x67, 0x43]],
    [8, [0x68, 0xce, 1]],
  ]);
});

test('AV1: N marks the beginning of a sequence, unless an OBU goes on', () => {
  assert.equal(read('av1', 0x18, 0x0a), { ...none, key: true });
  assert.equal(read('av1', 0x10, 0x32), none);
  assert.equal(read('av1', 0x98, 0x0a), none);
});

test('what is cut off is refused, wherever it is cut', () => {
  const whole: [VideoCodec, number[]][] = [
    ['vp8', [0x90, 0xf0, 0x81, 0x02, 0x33, 0x44, 0x50]],
    ['vp9', [0xf8, 0x85, 0x06, 0x00, 0x03, 0x02, 0x82]],
    ['h264', [0x78, 0, 2, 0x67, 0x42]],
    ['h264', [0x7c, 0x85, 0x88]],
    ['av1', [0x18, 0x0a]],
  ];
  for (const [codec, payload] of whole) {
    assert.ok(read(codec, ...payload), codec);
    for (let length = 0; length < payload.length; length++)
      assert.is(read(codec, ...payload.slice(0, length)), undefined, `${codec} of ${length} octets`);
  }
  assert.is(read('h264', 0x78, 0, 0, 0x67), undefined, 'an empty unit');
  assert.is(read('h264', 0x00, 0x42), undefined, 'no type');
});

test('nothing that may come makes a reader throw', () => {
  let seed = 1;
  const octet = () => (seed = (seed * 48_271) % 0x7fff_ffff) & 0xff;
  for (let round = 0; round < 20_000; round++) {
    const payload = Array.from({ length: octet() % 24 }, octet);
    for (const codec of ['vp8', 'vp9', 'h264', 'av1'] as const) read(codec, ...payload);
  }
});

test('picture id and TL0PICIDX are written over in the bits they have', () => {
  const rewritten = (...payload: number[]) => {
    const mark = emptyMark();
    const packet = Uint8Array.from([0, 0, 0, ...payload]);
    assert.ok(readMark('vp8', packet, { payloadStart: 3, payloadEnd: packet.length }, mark));
    const out = Uint8Array.from(payload);
    rewriteMark(out, mark, -3, { pictureId: 0x1234, tl0: 0x1ff });
    return [...out];
  };
  assert.equal(rewritten(0x90, 0xc0, 0x05, 0x06, 0x50), [0x90, 0xc0, 0x34, 0xff, 0x50]);
  assert.equal(rewritten(0x90, 0xc0, 0x80, 0x05, 0x06, 0x50), [0x90, 0xc0, 0x92, 0x34, 0xff, 0x50]);
  assert.equal(rewritten(0x10, 0x50), [0x10, 0x50]);
});

test.run();
