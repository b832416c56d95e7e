import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { decode, encode, silenceOctet, transcode } from '../../../src/media/codec/codecs.ts';
import { alawToLinear, linearToAlaw, linearToUlaw, ulawToLinear } from '../../../src/media/codec/g711.ts';

const codes = Array.from({ length: 256 }, (_, code) => code);

/** G.711 table 2a: values in units of 14 bits, segment by segment, from the definition of the law. */
function muLawValue(code: number): number {
  const bits = 255 - code;
  const segment = Math.floor((bits % 128) / 16);
  const units = (2 * (bits % 16) + 33) * 2 ** segment - 33;
  return (bits >= 128 ? -units : units) * 4;
}

/** G.711 table 1a: values in half units of 13 bits. */
function aLawValue(code: number): number {
  const bits = code ^ 0x55;
  const segment = Math.floor((bits % 128) / 16);
  const step = bits % 16;
  const halfUnits = segment === 0 ? 2 * step + 1 : (2 * step + 33) * 2 ** (segment - 1);
  return (bits >= 128 ? halfUnits : -halfUnits) * 8;
}

test('all 256 µ-law codes decode to the values of G.711', () => {
  assert.equal(
    [...ulawToLinear],
    codes.map((code) => muLawValue(code) + 0),
  );
  assert.equal(
    [0x80, 0x8f, 0x90, 0xff, 0x00, 0x0f].map((code) => ulawToLinear[code]),
    [32124, 16764, 15996, 0, -32124, -16764],
  );
});

test('all 256 A-law codes decode to the values of G.711', () => {
  assert.equal([...alawToLinear], codes.map(aLawValue));
  assert.equal(
    [0xaa, 0xa5, 0xd5, 0x55, 0x2a].map((code) => alawToLinear[code]),
    [32256, 16896, 8, -8, -32256],
  );
});

test('every code survives decoding and encoding, but the second µ-law zero', () => {
  for (const code of codes) {
    const again = linearToUlaw[ulawToLinear[code]! & 0xffff];
    assert.is(again, code === 0x7f ? 0xff : code);
    assert.is(linearToAlaw[alawToLinear[code]! & 0xffff], code);
  }
});

test('every sample is off by half a step of its segment at most, and by the clipping above the largest', () => {
  for (let sample = -32_768; sample <= 32_767; sample++) {
    const ulawCode = linearToUlaw[sample & 0xffff]!;
    const ulawStep = 8 << ((~ulawCode >> 4) & 7);
    const ulawError = Math.abs(ulawToLinear[ulawCode]! - Math.max(-32_635, Math.min(32_635, sample)));
    if (ulawError > ulawStep / 2) assert.unreachable(`µ-law ${sample}: ${ulawError}`);
    const alawCode = linearToAlaw[sample & 0xffff]!;
    const alawStep = 16 << Math.max(0, (((alawCode ^ 0x55) >> 4) & 7) - 1);
    const alawError = Math.abs(alawToLinear[alawCode]! - sample);
    if (alawError > alawStep / 2) assert.unreachable(`A-law ${sample}: ${alawError}`);
  }
});

test('both laws treat positive and negative samples alike', () => {
  for (let sample = 1; sample < 32_768; sample++) {
    if (ulawToLinear[linearToUlaw[sample]!] !== -ulawToLinear[linearToUlaw[-sample & 0xffff]!]! + 0)
      assert.unreachable(`µ-law ${sample}`);
    if (alawToLinear[linearToAlaw[sample - 1]!] !== -alawToLinear[linearToAlaw[-sample & 0xffff]!]!)
      assert.unreachable(`A-law ${sample}`);
  }
});

test('silence is the code of zero', () => {
  assert.equal(encode('ulaw', new Int16Array(1))[0], silenceOctet('ulaw'));
  assert.equal(encode('alaw', new Int16Array(1))[0], silenceOctet('alaw'));
});

test('octets of the same codec are not copied, others are converted over linear samples', () => {
  const octets = Uint8Array.from(codes);
  assert.is(transcode('ulaw', 'ulaw', octets), octets);
  assert.equal([...transcode('ulaw', 'alaw', octets)], [...encode('alaw', decode('ulaw', octets))]);
  assert.equal([...transcode('alaw', 'ulaw', octets)], [...encode('ulaw', decode('alaw', octets))]);
});

test.run();
