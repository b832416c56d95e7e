import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type ClipCodec, type Colour, colours, leb128, readLeb128, startCode } from './clips.ts';

/** A packet of video that was received. */
export type VideoPacketHeard = {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: Buffer;
};

/** Frames that packets make, in their order; those of which a packet lacks are left out. */
export function framesOf(codec: ClipCodec, packets: readonly VideoPacketHeard[]): Buffer[] {
  const frames: Buffer[] = [];
  let current: VideoPacketHeard[] = [];
  for (const packet of inOrder(packets)) {
    if (current.length > 0 && current[0]!.timestamp !== packet.timestamp) current = [];
    const last = current.at(-1);
    if (last && ((last.sequence + 1) & 0xffff) !== packet.sequence) current = [];
    if (packet.payload.length > 0) current.push(packet);
    if (!packet.marker || current.length === 0) continue;
    const frame = makers[codec](current);
    if (frame) frames.push(frame);
    current = [];
  }
  return frames;
}

/** Packets by their numbers, each once. */
export function inOrder<Packet extends { sequence: number }>(packets: readonly Packet[]): Packet[] {
  const first = packets[0];
  if (!first) return [];
  let highest = first.sequence;
  const numbered = new Map<number, Packet>();
  for (const packet of packets) {
    const number = highest + (((packet.sequence - (highest & 0xffff)) << 16) >> 16);
    highest = Math.max(highest, number);
    if (!numbered.has(number)) numbered.set(number, packet);
  }
  return [...numbered].sort(([one], [other]) => one - other).map(([, packet]) => packet);
}

/** How many numbers between the first packet and the last nobody sent, or were lost. */
export function gapsIn(packets: readonly { sequence: number }[]): number {
  const ordered = inOrder(packets);
  let gaps = 0;
  for (let index = 1; index < ordered.length; index++)
    gaps += ((ordered[index]!.sequence - ordered[index - 1]!.sequence) & 0xffff) - 1;
  return gaps;
}

function vp8Frame(packets: readonly VideoPacketHeard[]): Buffer | undefined {
  if ((packets[0]!.payload[0]! & 0x17) !== 0x10) return undefined;
  return Buffer.concat(packets.map(({ payload }) => payload.subarray(descriptorLength(payload))));
}

/** RFC 7741 section 4.2. */
function descriptorLength(payload: Buffer): number {
  if (!(payload[0]! & 0x80)) return 1;
  const has = payload[1]!;
  let length = 2;
  if (has & 0x80) length += payload[2]! & 0x80 ? 2 : 1;
  if (has & 0x40) length++;
  if (has & 0x30) length++;
  return length;
}

/** The picture id of a packet of VP8 or VP9; undefined where it has none. */
export function pictureIdOf(payload: Buffer, codec: ClipCodec = 'vp8'): number | undefined {
  const at = codec === 'vp9' ? 1 : 2;
  if (!(payload[0]! & 0x80) || (codec === 'vp8' && !(payload[1]! & 0x80))) return undefined;
  return payload[at]! & 0x80 ? ((payload[at]! & 0x7f) << 8) | payload[at + 1]! : payload[at]!;
}

/** RFC 9628 section 4.2: a frame of one layer, from the packet with B to the one with E. */
function vp9Frame(packets: readonly VideoPacketHeard[]): Buffer | undefined {
  if (!(packets[0]!.payload[0]! & 0x08) || !(packets.at(-1)!.payload[0]! & 0x04)) return undefined;
  return Buffer.concat(packets.map(({ payload }) => payload.subarray(vp9DescriptorLength(payload))));
}

function vp9DescriptorLength(payload: Buffer): number {
  const first = payload[0]!;
  let length = 1;
  if (first & 0x80) length += payload[length]! & 0x80 ? 2 : 1;
  if (first & 0x20) length += first & 0x10 ? 1 : 2;
  if ((first & 0x50) === 0x50) while (payload[length++]! & 1);
  if (first & 0x02) {
    const structure = payload[length++]!;
    if (structure & 0x10) length += 4 * ((structure >> 5) + 1);
    if (structure & 0x08)
      for (let pictures = payload[length++]!; pictures > 0; pictures--) length += 1 + ((payload[length]! >> 2) & 3);
  }
  return length;
}

/** RTP Payload Format For AV1 section 4.4: a temporal unit, with its delimiter and sizes again. */
function temporalUnit(packets: readonly VideoPacketHeard[]): Buffer | undefined {
  const obus: Buffer[][] = [];
  let goesOn = false;
  for (const { payload } of packets) {
    const header = payload[0]!;
    if (goesOn !== (header & 0x80) > 0) return undefined;
    const count = (header >> 4) & 3;
    for (let at = 1, element = 1; at < payload.length; element++) {
      let length = payload.length - at;
      if (element !== count) {
        const read = readLeb128(payload, at);
        at += read.length;
        length = read.value;
      }
      const part = payload.subarray(at, at + length);
      if (goesOn) obus.at(-1)!.push(part);
      else obus.push([part]);
      goesOn = false;
      at += length;
    }
    goesOn = (header & 0x40) > 0;
  }
  if (goesOn) return undefined;
  const units = obus.map((parts) => sized(Buffer.concat(parts)));
  return Buffer.concat([Buffer.from([0x12, 0]), ...units]);
}

/** An OBU with its size. */
function sized(unit: Buffer): Buffer {
  const header = Buffer.from(unit.subarray(0, unit[0]! & 0x04 ? 2 : 1));
  header[0]! |= 0x02;
  const rest = unit.subarray(header.length);
  return Buffer.concat([header, leb128(rest.length), rest]);
}

const makers: Readonly<Record<ClipCodec, (packets: readonly VideoPacketHeard[]) => Buffer | undefined>> = {
  vp8: vp8Frame,
  vp9: vp9Frame,
  h264: picture,
  av1: temporalUnit,
};

const fourCharacters = { vp8: 'VP80', vp9: 'VP90', av1: 'AV01' } as const;

function picture(packets: readonly VideoPacketHeard[]): Buffer | undefined {
  const parts: Buffer[] = [];
  for (const { payload } of packets) {
    const type = payload[0]! & 0x1f;
    if (type === 24) {
      for (let at = 1; at + 2 <= payload.length; ) {
        const length = payload.readUInt16BE(at);
        parts.push(startCode, payload.subarray(at + 2, at + 2 + length));
        at += 2 + length;
      }
    } else if (type === 28) {
      if (payload[1]! & 0x80) parts.push(startCode, Buffer.from([(payload[0]! & 0xe0) | (payload[1]! & 0x1f)]));
      else if (parts.length === 0) return undefined;
      parts.push(payload.subarray(2));
    } else parts.push(startCode, payload);
  }
  return Buffer.concat(parts);
}

/** What a decoder makes of frames: the colour of each picture, and what it complained of. */
export type Decoded = { pictures: Colour[]; complaints: string };

/** Decodes frames by ffmpeg. */
export async function decode(codec: ClipCodec, frames: readonly Buffer[]): Promise<Decoded> {
  if (frames.length === 0) return { pictures: [], complaints: '' };
  const input = codec === 'h264' ? Buffer.concat(frames) : ivf(fourCharacters[codec], frames);
  const decoder = spawn('ffmpeg', [
    ...['-v', 'error', '-threads', '1', '-f', codec === 'h264' ? 'h264' : 'ivf', '-i', 'pipe:0'],
    ...['-vf', 'scale=1:1:flags=area', '-fps_mode', 'passthrough', '-f', 'rawvideo', '-pix_fmt', 'rgb24', 'pipe:1'],
  ]);
  const output: Buffer[] = [];
  const complaints: Buffer[] = [];
  decoder.stdout.on('data', (data: Buffer) => output.push(data));
  decoder.stderr.on('data', (data: Buffer) => complaints.push(data));
  // A decoder that ends early says why.
  decoder.stdin.on('error', () => {});
  decoder.stdin.end(input);
  await once(decoder, 'close');
  const octets = Buffer.concat(output);
  const pictures: Colour[] = [];
  for (let at = 0; at + 3 <= octets.length; at += 3) pictures.push(nearest([...octets.subarray(at, at + 3)]));
  return { pictures, complaints: Buffer.concat(complaints).toString() };
}

/** What is shown in turn: each colour once, however many pictures it had. */
export const inTurn = (pictures: readonly Colour[]): Colour[] =>
  pictures.filter((colour, index) => colour !== pictures[index - 1]);

function nearest(mean: readonly number[]): Colour {
  const distance = (colour: Colour) =>
    colours[colour].reduce((sum, part, index) => sum + (part - mean[index]!) ** 2, 0);
  const names = Object.keys(colours) as Colour[];
  return names.reduce((best, name) => (distance(name) < distance(best) ? name : best));
}

function ivf(name: string, frames: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(32);
  header.write('DKIF', 0);
  header.writeUInt16LE(32, 6);
  header.write(name, 8);
  header.writeUInt16LE(160, 12);
  header.writeUInt16LE(120, 14);
  header.writeUInt32LE(15, 16);
  header.writeUInt32LE(1, 20);
  header.writeUInt32LE(frames.length, 24);
  const parts = frames.flatMap((frame, index) => {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(frame.length, 0);
    head.writeUInt32LE(index, 4);
    return [head, frame];
  });
  return Buffer.concat([header, ...parts]);
}
