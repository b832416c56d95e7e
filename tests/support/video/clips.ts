import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type ClipCodec = 'vp8' | 'vp9' | 'h264' | 'av1';

/** What a camera shows: a colour of its own, as red, green and blue. */
export const colours = {
  red: [200, 30, 30],
  green: [30, 160, 30],
  blue: [30, 30, 200],
  yellow: [200, 200, 30],
  white: [230, 230, 230],
} as const;

export type Colour = keyof typeof colours;

/** Frames of a clip as an encoder made them; the first is a key frame, and no other. */
export type Clip = { codec: ClipCodec; colour: Colour; frames: readonly Buffer[] };

export const framesPerSecond = 30;
const seconds = 2;
const size = '160x120';
const run = promisify(execFile);
const made = new Map<string, Promise<Clip>>();

/** A clip of a colour with noise, so that its frames need several packets, made by ffmpeg once per run. */
export function clipOf(codec: ClipCodec, colour: Colour): Promise<Clip> {
  const name = `${codec}-${colour}`;
  const clip = made.get(name) ?? make(codec, colour);
  made.set(name, clip);
  return clip;
}

/** How ffmpeg is told to encode: each picture at once, with no key frame but the first. */
const encoders: Readonly<Record<ClipCodec, { extension: string; options: readonly string[] }>> = {
  vp8: {
    extension: 'ivf',
    options: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0', '-lag-in-frames', '0'],
  },
  vp9: {
    extension: 'ivf',
    options: [
      ...['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0'],
      ...['-lag-in-frames', '0'],
    ],
  },
  h264: {
    extension: 'h264',
    options: [
      ...['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-profile:v', 'baseline'],
      ...['-x264-params', 'aud=1:repeat-headers=1:scenecut=0:slices=1:sliced-threads=0'],
    ],
  },
  av1: {
    extension: 'ivf',
    options: ['-c:v', 'libaom-av1', '-usage', 'realtime', '-cpu-used', '8', '-lag-in-frames', '0'],
  },
};

async function make(codec: ClipCodec, colour: Colour): Promise<Clip> {
  const { extension, options } = encoders[codec];
  const path = join(tmpdir(), `video-${process.pid}-${codec}-${colour}.${extension}`);
  const hex = colours[colour].map((part) => part.toString(16).padStart(2, '0')).join('');
  const source = `color=c=0x${hex}:s=${size}:r=${framesPerSecond},noise=alls=24:allf=t`;
  await run('ffmpeg', [
    ...['-v', 'error', '-y', '-f', 'lavfi', '-i', source, '-t', String(seconds), '-threads', '1'],
    ...['-pix_fmt', 'yuv420p', ...options, '-b:v', '300k', '-g', '1000', '-keyint_min', '1000', path],
  ]);
  const octets = await readFile(path);
  await rm(path);
  return { codec, colour, frames: extension === 'ivf' ? ivfFrames(octets) : accessUnits(octets) };
}

/** Frames of an IVF file: 32 octets of header, then each with its length and time before it. */
function ivfFrames(file: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = 32; at + 12 <= file.length; ) {
    const length = file.readUInt32LE(at);
    frames.push(file.subarray(at + 12, at + 12 + length));
    at += 12 + length;
  }
  return frames;
}

/** NAL units of a byte stream (H.264 Annex B), without their start codes. */
export function nalUnits(stream: Buffer): Buffer[] {
  const starts: { code: number; unit: number }[] = [];
  for (let at = 0; (at = stream.indexOf('000001', at, 'hex')) >= 0; at += 3)
    starts.push({ code: stream[at - 1] === 0 ? at - 1 : at, unit: at + 3 });
  return starts.map(({ unit }, index) => stream.subarray(unit, starts[index + 1]?.code ?? stream.length));
}

/** Pictures of a byte stream in which an access unit delimiter (type 9) stands before each; it is left out. */
function accessUnits(stream: Buffer): Buffer[] {
  const pictures: Buffer[][] = [];
  for (const unit of nalUnits(stream)) {
    if ((unit[0]! & 0x1f) === 9) pictures.push([]);
    else pictures.at(-1)?.push(unit);
  }
  return pictures.map((units) => Buffer.concat(units.flatMap((unit) => [startCode, unit])));
}

export const startCode = Buffer.from([0, 0, 0, 1]);

/** Types of OBUs (AV1 bitstream specification 6.2.2) that packets treat apart. */
export const obu = { sequenceHeader: 1, temporalDelimiter: 2 } as const;

/** OBUs of a temporal unit, without their sizes, as packets carry them; `has_size_field` is 0. */
export function obusOf(unit: Buffer): Buffer[] {
  const obus: Buffer[] = [];
  for (let at = 0; at < unit.length; ) {
    const header = unit[at]! & 0x04 ? 2 : 1;
    const { value, length } = readLeb128(unit, at + header);
    const head = Buffer.from(unit.subarray(at, at + header));
    head[0]! &= ~0x02;
    at += header + length;
    obus.push(Buffer.concat([head, unit.subarray(at, at + value)]));
    at += value;
  }
  return obus;
}

export const obuType = (unit: Buffer): number => (unit[0]! >> 3) & 0xf;

/** A number of as many octets as it needs, the low bits first (AV1 bitstream specification 4.10.5). */
export function leb128(value: number): Buffer {
  const octets: number[] = [];
  for (let left = value; ; left >>= 7) {
    if (left < 0x80) return Buffer.from([...octets, left]);
    octets.push(0x80 | (left & 0x7f));
  }
}

export function readLeb128(octets: Buffer, at: number): { value: number; length: number } {
  let value = 0;
  for (let length = 1; ; length++) {
    const octet = octets[at + length - 1]!;
    value |= (octet & 0x7f) << (7 * (length - 1));
    if (octet < 0x80) return { value, length };
  }
}
