import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import {
  emptyHeader,
  readHeader,
  sequenceDistance,
  timestampDistance,
  writeHeader,
} from '../../../src/media/rtp/header.ts';

function read(octets: number[]) {
  const header = emptyHeader();
  return readHeader(Uint8Array.from(octets), header) ? header : undefined;
}

const plain = [0x80, 0x80, 0x12, 0x34, 0xff, 0xff, 0xff, 0xfe, 0xde, 0xad, 0xbe, 0xef];

test('a plain header is read field by field', () => {
  assert.equal(read([...plain, 1, 2, 3]), {
    marker: true,
    payloadType: 0,
    sequence: 0x1234,
    timestamp: 0xfffffffe,
    ssrc: 0xdeadbeef,
    payloadStart: 12,
    payloadEnd: 15,
  });
});

test('contributing sources, extension and padding are left out of the payload', () => {
  const sources = [1, 1, 1, 1, 2, 2, 2, 2];
  const extension = [0xbe, 0xde, 0, 1, 9, 9, 9, 9];
  const packet = [0xb2, 101, ...plain.slice(2), ...sources, ...extension, 42, 43, 0, 2];
  const header = read(packet)!;
  assert.equal(packet.slice(header.payloadStart, header.payloadEnd), [42, 43]);
  assert.is(header.payloadType, 101);
  assert.is(header.marker, false);
});

test('packets whose lengths cannot be are refused', () => {
  assert.is(read(plain.slice(0, 11)), undefined, 'too short');
  assert.is(read([0x40, ...plain.slice(1)]), undefined, 'version 1');
  assert.is(read([0x8f, ...plain.slice(1)]), undefined, 'fifteen sources in no space');
  assert.is(read([0x90, ...plain.slice(1)]), undefined, 'an extension without its header');
  assert.is(read([0x90, ...plain.slice(1), 0, 0, 0xff, 0xff]), undefined, 'an extension longer than the packet');
  assert.is(read([0xa0, ...plain.slice(1), 1, 2, 4]), undefined, 'more padding than payload');
  assert.is(read([0xa0, ...plain.slice(1), 1, 2, 0]), undefined, 'no padding where some is announced');
});

test('any octets are either refused or have their payload inside the packet', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
      const header = emptyHeader();
      if (!readHeader(octets, header)) return;
      assert.ok(
        header.payloadStart >= 12 && header.payloadStart <= header.payloadEnd && header.payloadEnd <= octets.length,
      );
    }),
  );
});

test('what is written is read back', () => {
  const field = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
  fc.assert(
    fc.property(
      fc.boolean(),
      field(7),
      field(16),
      field(32),
      field(32),
      (marker, payloadType, sequence, timestamp, ssrc) => {
        const packet = new Uint8Array(12);
        writeHeader(packet, { marker, payloadType, sequence, timestamp, ssrc });
        assert.equal(read([...packet]), {
          marker,
          payloadType,
          sequence,
          timestamp,
          ssrc,
          payloadStart: 12,
          payloadEnd: 12,
        });
      },
    ),
  );
});

test('distances go the short way round the circle', () => {
  assert.equal([sequenceDistance(65_535, 0), sequenceDistance(0, 65_535), sequenceDistance(5, 9)], [1, -1, 4]);
  assert.equal([timestampDistance(0xffffffff, 159), timestampDistance(159, 0xffffffff)], [160, -160]);
});

test.run();
