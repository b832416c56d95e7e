import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openRecording, outlineOf, waveformOf } from '../../page/core/waveform.ts';
import { openCodec } from '../../src/media/codec/open-codec.ts';

const waveform = suite('the waveform of a recording');

/** The waveform of a file of this format; undefined where it has none. */
const shapeOf = (octets: ArrayBuffer, columns: number, format = 'wav') => {
  const { samples } = openRecording(octets, format);
  return samples && waveformOf(samples, columns);
};

type Form = { channels?: number; bits?: number; rate?: number; size?: number };

/** A WAV file of these samples, with a chunk that nobody reads before them. */
function wav(samples: readonly number[], { channels = 1, bits = 16, rate = 8_000, size }: Form = {}): ArrayBuffer {
  const head = Buffer.alloc(12 + 24 + 12 + 8);
  head.write('RIFF', 0);
  head.write('WAVE', 8);
  head.write('fmt ', 12);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt16LE(bits, 34);
  head.write('LIST', 36);
  // Chunks begin at even places.
  head.writeUInt32LE(3, 40);
  head.write('data', 48);
  head.writeUInt32LE(size ?? samples.length * 2, 52);
  const file = Buffer.concat([head, Buffer.from(Int16Array.from(samples).buffer)]);
  return file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer;
}

waveform('has the loudest sample of each part, and the length', () => {
  const samples = Array.from({ length: 8_000 }, (_, at) => (at === 100 ? -32_768 : at >= 4_000 ? 16_384 : 0));
  assert.equal(shapeOf(wav(samples), 4), { peaks: [1, 0, 0.5, 0.5], seconds: 1 });
  assert.is(shapeOf(wav(samples, { channels: 2 }), 4)?.seconds, 0.5);
  assert.equal(shapeOf(wav([16_384]), 600), { peaks: [0.5], seconds: 1 / 8_000 });
});

waveform('of a recording that was cut off is that of what is there', () => {
  assert.equal(shapeOf(wav([0, 16_384], { size: 4_000_000 }), 2)?.peaks, [0, 0.5]);
});

waveform('is not there for other files', () => {
  for (const octets of [wav([1], { bits: 8 }), wav([1], { rate: 0 }), wav([1], { channels: 0 }), new ArrayBuffer(3)])
    assert.is(shapeOf(octets, 4), undefined);
  assert.is(shapeOf(wav([1]).slice(0, 30), 4), undefined);
  assert.equal(shapeOf(wav([]), 4), { peaks: [], seconds: 0 });
});

waveform(
  'of each format that recordings have is that of what was said, and the browser gets a file that it knows',
  async () => {
    for (const format of ['ulaw', 'alaw', 'slin', 'slin12', 'slin16', 'slin48', 'g722'] as const) {
      const codec = openCodec(format);
      const { sampleRate } = codec;
      // A second of a tone of half the loudness behind one of silence.
      const samples = Int16Array.from({ length: 2 * sampleRate }, (_, at) =>
        at < sampleRate ? 0 : 16_384 * Math.sin((at * 2 * Math.PI * 400) / sampleRate),
      );
      const octets = new Uint8Array(samples.length * 2);
      const length = codec.encode(samples, octets);
      const file = octets.slice(0, length).buffer;
      const name = format.replace('slin', 'sln');
      const shape = shapeOf(file, 20, name);
      assert.is(shape?.seconds, 2, format);
      const [quiet, loud] = [shape?.peaks[5] ?? 1, shape?.peaks[15] ?? 0];
      assert.ok(quiet < 0.01 && Math.abs(loud - 0.5) < 0.03, `${format}: ${quiet} ${loud}`);
      const { parts } = openRecording(file, name);
      const played = await new Blob([...parts]).arrayBuffer();
      assert.equal(shapeOf(played, 20), shape, `${format} as it is played`);
    }
  },
);

waveform('of a file that only the browser can decode, or that is too long, is left to it', () => {
  for (const format of ['ogg', 'opus', 'toString'])
    assert.is(openRecording(new ArrayBuffer(4), format).samples, undefined);
  const long = new ArrayBuffer(30_000_001);
  assert.equal(openRecording(long, 'g722'), { parts: [long], samples: undefined });
});

waveform('is drawn to both sides, and seen where it is silent', () => {
  assert.is(outlineOf([0, 0.5]), 'M0,0.990L1,0.500L1,1.500L0,1.010Z');
});

waveform.run();
