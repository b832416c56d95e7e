import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as assert from 'uvu/assert';
import type { RtpPacket } from './rtp-peer.ts';

/** What received audio is compared with: G.711 and WAV as their standards say, sharing no code with the server. */

/** 16-bit samples of a prompt of `sounds/en`. */
export function prompt(name: string): Int16Array {
  const file = readFileSync(fileURLToPath(new URL(`../../sounds/en/${name}.wav`, import.meta.url)));
  const data = file.indexOf('data', 12, 'latin1');
  const length = file.readUInt32LE(data + 4);
  return Int16Array.from({ length: length / 2 }, (_, index) => file.readInt16LE(data + 8 + index * 2));
}

/** A µ-law octet as 16-bit sample (ITU-T G.711, table 2a, times 4). */
export function decodeUlaw(octet: number): number {
  const inverted = ~octet & 0xff;
  const exponent = (inverted >> 4) & 7;
  const magnitude = (((inverted & 15) * 2 + 33) << exponent) - 33;
  return (inverted & 0x80 ? -4 : 4) * magnitude;
}

const ulawValues = Array.from({ length: 256 }, (_, octet) => decodeUlaw(octet));

/** The µ-law octet that stands for the value nearest to a 16-bit sample. */
export function encodeUlaw(sample: number): number {
  let nearest = 0;
  for (let octet = 1; octet < 256; octet++)
    if (Math.abs(ulawValues[octet]! - sample) < Math.abs(ulawValues[nearest]! - sample)) nearest = octet;
  return nearest;
}

/** µ-law octets of a sine of `hertz`, its peak at a quarter of full scale. */
export function tone(hertz: number, ms: number): Buffer {
  const sample = (index: number) => 8000 * Math.sin((2 * Math.PI * hertz * index) / 8000);
  return Buffer.from(Array.from({ length: ms * 8 }, (_, index) => encodeUlaw(sample(index))));
}

/** The amplitude of a tone in samples: what a filter for it (Goertzel's) holds of them in the end. @param rate samples a second */
export function amplitude(samples: ArrayLike<number>, hertz: number, rate = 8000): number {
  const turn = 2 * Math.cos((2 * Math.PI * hertz) / rate);
  let [last, before] = [0, 0];
  for (let index = 0; index < samples.length; index++) {
    const next = samples[index]! + turn * last - before;
    before = last;
    last = next;
  }
  const power = last * last + before * before - turn * last * before;
  return (2 * Math.sqrt(Math.max(0, power))) / Math.max(1, samples.length);
}

/** Which of these tones sound in what was received last, in the order given: those of more than `least` amplitude. */
export function tonesIn(received: Buffer, tones: readonly number[], { ms = 400, least = 2000 } = {}): number[] {
  const samples = Int16Array.from(received.subarray(-ms * 8), (octet) => ulawValues[octet]!);
  return samples.length < ms * 8 ? [] : tones.filter((hertz) => amplitude(samples, hertz) > least);
}

/** Half a µ-law step at the magnitude of a sample: how far the nearest µ-law value may be. Beyond 32,635 it is clipped. */
function tolerance(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), 32_635) / 4 + 33;
  const halfStep = 2 ** (Math.floor(Math.log2(magnitude)) - 5) * 4;
  return halfStep + Math.max(0, Math.abs(sample) - 32_124);
}

/** The place in the received audio where what was expected begins; -1 when it is nowhere as a whole. */
function find(received: Buffer, expected: Int16Array): number {
  const heard = Int16Array.from(received, (octet) => ulawValues[octet]!);
  const matches = (start: number) =>
    expected.every((sample, index) => Math.abs(heard[start + index]! - sample) <= tolerance(sample));
  for (let start = 0; start + expected.length <= heard.length; start++) if (matches(start)) return start;
  return -1;
}

/** Whether the audio holds the samples without a gap, sample by sample as near as µ-law can be. */
export const holds = (received: Buffer, expected: Int16Array): boolean => find(received, expected) >= 0;

/** Fails unless the audio holds the samples without a gap, sample by sample as near as µ-law can be. */
export function assertHears(received: Buffer, expected: Int16Array): void {
  assert.ok(
    holds(received, expected),
    `${received.length} samples were received, but not the ${expected.length} that were expected`,
  );
}

/** Fails unless packets follow one another without loss or reordering, and only the first of a talk spurt is marked. */
export function assertContinuous(packets: readonly RtpPacket[]): void {
  const audio = packets.filter(({ payloadType }) => payloadType === 0);
  assert.ok(audio.length > 0, 'no audio was received');
  assert.is(new Set(audio.map(({ ssrc }) => ssrc)).size, 1, 'one source');
  assert.ok(audio[0]!.marker, 'the first packet of a talk spurt is marked (RFC 3551 4.1)');
  for (const [index, packet] of audio.slice(1).entries()) {
    const before = audio[index]!;
    assert.is(packet.sequence, (before.sequence + 1) & 0xffff, 'sequence numbers follow one another');
    assert.is(
      (packet.timestamp - before.timestamp) >>> 0,
      packet.marker ? (packet.timestamp - before.timestamp) >>> 0 : 160,
    );
  }
}
