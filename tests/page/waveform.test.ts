import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { outlineOf, waveformOf } from '../../page/core/waveform.ts';

const waveform = suite('the waveform of a recording');

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
  assert.equal(waveformOf(wav(samples), 4), { peaks: [1, 0, 0.5, 0.5], seconds: 1 });
  assert.is(waveformOf(wav(samples, { channels: 2 }), 4)?.seconds, 0.5);
  assert.equal(waveformOf(wav([16_384]), 600), { peaks: [0.5], seconds: 1 / 8_000 });
});

waveform('of a recording that was cut off is that of what is there', () => {
  assert.equal(waveformOf(wav([0, 16_384], { size: 4_000_000 }), 2)?.peaks, [0, 0.5]);
});

waveform('is not there for other files', () => {
  for (const octets of [wav([1], { bits: 8 }), wav([1], { rate: 0 }), wav([1], { channels: 0 }), new ArrayBuffer(3)])
    assert.is(waveformOf(octets, 4), undefined);
  assert.is(waveformOf(wav([1]).slice(0, 30), 4), undefined);
  assert.equal(waveformOf(wav([]), 4), { peaks: [], seconds: 0 });
});

waveform('is drawn to both sides, and seen where it is silent', () => {
  assert.is(outlineOf([0, 0.5]), 'M0,0.990L1,0.500L1,1.500L0,1.010Z');
});

waveform.run();
