import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { FormatName } from '../../../src/lib/formats.ts';
import { formatRates, maximumPayload } from '../../../src/media/codec/audio-codec.ts';
import { decode, encode } from '../../../src/media/codec/codecs.ts';
import { openCodec } from '../../../src/media/codec/open-codec.ts';
import { noise, speech } from '../signal.ts';

const names = Object.keys(formatRates) as FormatName[];

test('every codec tells its own format', () => {
  for (const name of names) {
    const codec = openCodec(name);
    const { sampleRate, clockRate } = codec;
    assert.equal({ codec: codec.codec, sampleRate, clockRate }, { codec: name, ...formatRates[name] });
    codec.close();
  }
});

test('G.711 as a stream is G.711 by tables', () => {
  const samples = speech(8000, 1);
  for (const name of ['ulaw', 'alaw'] as const) {
    const codec = openCodec(name);
    const payload = new Uint8Array(maximumPayload(samples.length));
    const heard = new Int16Array(samples.length);
    assert.is(codec.encode(samples, payload), samples.length);
    assert.equal(payload.subarray(0, samples.length), encode(name, samples));
    assert.is(codec.decode(payload.subarray(0, samples.length), heard), samples.length);
    assert.equal(heard, decode(name, encode(name, samples)));
  }
});

test('linear audio is the same after a way there and back, the big end first on the network', () => {
  const samples = Int16Array.of(0, 1, -1, 0x1234, -0x1234, 32_767, -32_768);
  for (const [order, first] of [
    ['host', [0x34, 0x12]],
    ['network', [0x12, 0x34]],
  ] as const) {
    const codec = openCodec('slin16', { order });
    const payload = new Uint8Array(14);
    const heard = new Int16Array(7);
    assert.is(codec.encode(samples, payload), 14);
    assert.equal([...payload.subarray(6, 8)], first);
    assert.is(codec.decode(payload, heard), 7);
    assert.equal(heard, samples);
  }
});

test('what does not fit into the target is left out, and half a sample too', () => {
  const full = noise(320);
  for (const name of names.filter((each) => each !== 'opus')) {
    const codec = openCodec(name);
    const payload = new Uint8Array(maximumPayload(320));
    const octets = codec.encode(full, payload);
    const short = new Int16Array(100);
    assert.is(codec.decode(payload.subarray(0, octets), short), 100, name);
    assert.is(codec.decode(new Uint8Array(0), short), 0, name);
  }
  assert.is(openCodec('slin').decode(new Uint8Array(3), new Int16Array(8)), 1);
});

test('no payload makes a codec throw', async () => {
  const codecs = names.map((name) => openCodec(name));
  const target = new Int16Array(5760);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), (payload) => {
      for (const codec of codecs) codec.decode(payload, target);
    }),
  );
});

test.run();
