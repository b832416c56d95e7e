import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wavHeader } from '../../src/media/file/wav.ts';
import { amplitude } from './rtp-audio.ts';

/** What a phone that is told to has written of the audio that it heard: a file for each time its audio began anew. */
function heardBy(directory: string): { samples: Int16Array; rate: number }[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('-dec.wav'));
  return files.sort().map((file) => {
    const wav = readFileSync(join(directory, file));
    const data = wav.indexOf('data', 12, 'latin1') + 8;
    const channels = wav.readUInt16LE(22);
    const length = Math.max(0, Math.floor((wav.length - data) / (2 * channels)));
    const samples = Int16Array.from({ length }, (_, at) => wav.readInt16LE(data + 2 * channels * at));
    return { samples, rate: wav.readUInt32LE(24) };
  });
}

/** How long a phone has something to say, in s: it hangs up at the end of its file. */
const spokenS = 120;

/** A file with a tone, a whole number of Hz, as the phone wants to have it for its codec. */
function writeTone(file: string, hertz: number, { rate, channels }: { rate: number; channels: number }): void {
  const second = Buffer.alloc(rate * channels * 2);
  for (let at = 0; at < rate * channels; at++) {
    const sample = 8000 * Math.sin((2 * Math.PI * hertz * Math.floor(at / channels)) / rate);
    second.writeInt16LE(Math.round(sample), at * 2);
  }
  const spoken = Array.from({ length: spokenS }, () => second);
  writeFileSync(file, Buffer.concat([wavHeader(rate, channels, spokenS * second.length), ...spoken]));
}

/** What a phone has heard until now, in pieces of 200 ms: which of the tones, or something else, or nothing. */
export function piecesOf(directory: string, tones: readonly number[]): string[] {
  return heardBy(directory).flatMap((file) => pieces(file, tones));
}

function pieces({ samples, rate }: { samples: Int16Array; rate: number }, tones: readonly number[]): string[] {
  const size = rate / 5;
  return Array.from({ length: Math.floor(samples.length / size) }, (_, index) => {
    const piece = samples.subarray(index * size, (index + 1) * size);
    const heard = tones.filter((hertz) => amplitude(piece, hertz, rate) > 1500);
    if (heard.length > 0) return heard.join('+');
    return Math.sqrt(piece.reduce((sum, sample) => sum + sample ** 2, 0) / size) > 100 ? 'other' : 'nothing';
  });
}

/**
 * Settings of a phone that says a tone, a whole number of Hz, and writes down what it hears.
 * @param shape what its codec takes: samples a second, and channels
 */
export function toneSettings(
  directory: string,
  hertz: number,
  shape: { rate: number; channels: number } = { rate: 8000, channels: 1 },
): string[] {
  const file = join(directory, 'tone.wav');
  writeTone(file, hertz, shape);
  return [`audio_source aufile,${file}`, 'module sndfile.so', `snd_path ${directory}`];
}
