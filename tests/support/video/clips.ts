import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export type ClipCodec = 'vp8' | 'h264';

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

async function make(codec: ClipCodec, colour: Colour): Promise<Clip> {
  const path = join(tmpdir(), `video-${process.pid}-${codec}-${colour}.${codec === 'vp8' ? 'ivf' : 'h264'}`);
  const hex = colours[colour].map((part) => part.toString(16).padStart(2, '0')).join('');
  const source = `color=c=0x${hex}:s=${size}:r=${framesPerSecond},noise=alls=24:allf=t`;
  const keys = ['-g', '1000', '-keyint_min', '1000'];
  const encoder =
    codec === 'vp8'
      ? ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0', '-lag-in-frames', '0']
      : ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-profile:v', 'baseline', '-x264-params'];
  const more = codec === 'vp8' ? [] : ['aud=1:repeat-headers=1:scenecut=0:slices=1:sliced-threads=0'];
  await run('ffmpeg', [
    ...[
      '-v',
      'error',
      '-y',
      '-f',
      'lavfi',
      '-i',
      source,
      '-t',
      String(seconds),
      '-threads',
      '1',
      '-pix_fmt',
      'yuv420p',
    ],
    ...[...encoder, ...more, '-b:v', '300k', ...keys, path],
  ]);
  const octets = await readFile(path);
  await rm(path);
  return { codec, colour, frames: codec === 'vp8' ? ivfFrames(octets) : accessUnits(octets) };
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
