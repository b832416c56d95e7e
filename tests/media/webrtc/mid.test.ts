import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { emptyHeader, readHeader } from '../../../src/media/rtp/header.ts';
import { textIn, withExtensions } from '../../../src/media/webrtc/mid.ts';

const mids = suite('names of lines in packets');

/** A packet with these octets behind its header. @param first V, P, X, and how many contributing sources. */
const packet = (first: number, ...rest: number[]) => Buffer.from([first, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, ...rest]);

mids('a name is put in and read, and the payload stays what it was', () => {
  for (const mid of ['1', 'video', 'sixteen-octets-.']) {
    const named = withExtensions(packet(0x80, 7, 8, 9), { mid, midExtension: 4 }, 0);
    assert.is(textIn(named, 4), mid);
    assert.is(textIn(named, 5), undefined);
    const header = emptyHeader();
    assert.ok(readHeader(named, header));
    assert.equal([...named.subarray(header.payloadStart, header.payloadEnd)], [7, 8, 9]);
  }
});

mids('the time when it is sent stands behind the name, or alone, in 6 bits of seconds and 18 below', () => {
  const line = { mid: 'v', midExtension: 4, sendTimeExtension: 2 };
  const head = [0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xbe, 0xde];
  const extended = (...how: Parameters<typeof withExtensions>) => [...withExtensions(...how)];
  const plain = packet(0x80, 7);
  // 1.5 s are 1.5 times 2^18.
  assert.equal(extended(plain, line, 1500), [...head, 0, 2, 0x40, 0x76, 0x22, 0x06, 0, 0, 0, 0, 7]);
  assert.equal(extended(plain, { mid: 'v', sendTimeExtension: 2 }, 65_500), [...head, 0, 1, 0x22, 0x06, 0, 0, 7]);
  assert.equal(extended(plain, { ...line, midExtension: 15 }, 1500), [...head, 0, 1, 0x22, 0x06, 0, 0, 7]);
  assert.equal(extended(plain, { ...line, sendTimeExtension: 15 }, 1500), [...head, 0, 1, 0x40, 0x76, 0, 0, 7]);
  assert.is(textIn(withExtensions(plain, line, 63_999.999), 2), '\xff\xff\xff');
});

mids('a packet stays as it is without a number for names, with extensions, or with a name that is too long', () => {
  const plain = packet(0x80, 7);
  for (const line of [{ mid: '1' }, { mid: '1', midExtension: 15 }, { mid: 'x'.repeat(17), midExtension: 4 }])
    assert.is(withExtensions(plain, line, 0), plain);
  const extended = packet(0x90, 0xbe, 0xde, 0, 0);
  assert.is(withExtensions(extended, { mid: '1', midExtension: 4 }, 0), extended);
});

mids('names are found behind other extensions and sources, in both forms', () => {
  assert.is(textIn(packet(0x91, 0, 0, 0, 9, 0xbe, 0xde, 0, 2, 0x10, 7, 0, 0x41, 0x61, 0x62, 0, 0), 4), 'ab');
  assert.is(textIn(packet(0x90, 0x10, 0x05, 0, 2, 1, 0, 0, 4, 2, 0x61, 0x62, 0), 4), 'ab');
  assert.is(textIn(packet(0x80, 0x10, 0, 0, 1, 4, 1, 0x61, 0), 4), undefined, 'no extension');
  assert.is(textIn(packet(0x90, 0xbe, 0xde, 0, 1, 0xf0, 0x40, 0x61, 0), 4), undefined, '15 ends it (RFC 8285 4.2)');
});

mids('no packet makes it throw or read beyond its end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 12, maxLength: 80 }), fc.integer({ min: 1, max: 14 }), (octets, id) => {
      octets[0]! |= 0x90;
      const mid = textIn(octets, id);
      assert.ok(mid === undefined || mid.length <= 255);
    }),
  );
});

mids.run();
