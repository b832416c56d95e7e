import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseWav, readWav, wavHeader } from '../../../src/media/file/wav.ts';
import { wavFile } from './wav-file.ts';

const samples = Int16Array.from([1, -1, 32_767, -32_768]);
const reason = (file: Uint8Array) => {
  try {
    return [...readWav(file)];
  } catch (error) {
    return (error as Error).message;
  }
};

test('the samples are found between other chunks', () => {
  assert.equal(reason(wavFile(samples)), [...samples]);
  assert.equal(reason(wavFile(samples, { extra: false })), [...samples]);
});

test('a file that was never closed ends where it ends', () => {
  const file = wavFile(samples, { extra: false });
  Buffer.from(file.buffer, file.byteOffset).writeUInt32LE(0xffff_ffff, 40);
  assert.equal(reason(file), [...samples]);
});

test('two channels are heard as one', () => {
  assert.equal(reason(wavFile(Int16Array.of(10, 20, -7, -9, 32_767, 32_767), { channels: 2 })), [15, -8, 32_767]);
});

test('other shapes are refused with their description', () => {
  const refused = (format: string) =>
    `a WAV file of ${format} cannot be played, only 16-bit PCM or G.711 of 8000 to 48000 Hz with one or two channels`;
  assert.is(reason(wavFile(samples, { rate: 96_000, channels: 2 })), refused('PCM 96000 Hz 16 bit 2 channels'));
  assert.is(reason(wavFile(samples, { rate: 7999 })), refused('PCM 7999 Hz 16 bit 1 channel'));
  assert.is(reason(wavFile(samples, { channels: 6 })), refused('PCM 8000 Hz 16 bit 6 channels'));
  assert.is(reason(wavFile(samples, { bits: 8 })), refused('PCM 8000 Hz 8 bit 1 channel'));
  assert.is(reason(wavFile(samples, { tag: 3, bits: 32 })), refused('format 3 8000 Hz 32 bit 1 channel'));
  assert.is(reason(wavFile(samples, { tag: 7 })), refused('format 7 8000 Hz 16 bit 1 channel'));
  assert.is(reason(Buffer.from('RIFFxxxxWAVEfmt ')), 'a WAV file without audio');
  assert.is(reason(new Uint8Array(3)), 'not a WAV file');
});

test('a header tells what follows it, however long, and is read back', () => {
  const file = Buffer.concat([wavHeader(16_000, 1, samples.byteLength), Buffer.from(samples.buffer)]);
  assert.equal(reason(file), [...samples]);
  assert.equal(parseWav(file), { coding: 'pcm', sampleRate: 16_000, channels: 1, start: 44, end: 52 });
  const longest = Buffer.from(wavHeader(8000, 2, 5e9));
  assert.equal([longest.readUInt32LE(4), longest.readUInt32LE(40)], [0xffff_ffff, 0xffff_ffff]);
});

test('no file makes the reader do anything but read or refuse', () => {
  const file = wavFile(samples);
  const damaged = fc.array(fc.tuple(fc.nat(file.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
    const copy = Uint8Array.from(file);
    for (const [at, octet] of changes) copy[at] = octet;
    return copy;
  });
  fc.assert(fc.property(fc.oneof(damaged, fc.uint8Array()), (octets) => void reason(octets)));
});

test.run();
