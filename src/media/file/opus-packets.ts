import { type OggPacket, type OggWriter, oggPackets } from './ogg.ts';

/** Opus always counts at 48 kHz (RFC 7845 section 4). */
export const opusClock = 48_000;

/** Duration of a packet's frames by its configuration, in samples of 48 kHz (RFC 6716 section 3.1, table 2). */
function frameSamples(configuration: number): number {
  if (configuration < 12) return [480, 960, 1920, 2880][configuration & 3]!;
  if (configuration < 16) return [480, 960][configuration & 1]!;
  return [120, 240, 480, 960][configuration & 3]!;
}

/** How long a packet sounds, in samples of 48 kHz; 0 when it is none. */
function packetSamples(packet: Uint8Array): number {
  const [head, count] = packet;
  if (head === undefined) return 0;
  const code = head & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (count ?? 0) & 63;
  const samples = frames * frameSamples(head >> 3);
  return samples > 5760 ? 0 : samples;
}

const vendor = 'hookswitch';

/** The header pages of an Opus file (RFC 7845 section 5): identification and, on a second page, comments. */
export function opusHeader(ogg: OggWriter, preSkip: number, inputRate: number): Uint8Array {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 'latin1');
  head[8] = 1;
  head[9] = 1;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(inputRate, 12);
  const tags = Buffer.alloc(16 + vendor.length);
  tags.write('OpusTags', 'latin1');
  tags.writeUInt32LE(vendor.length, 8);
  tags.write(vendor, 12, 'latin1');
  ogg.add(head, 0);
  const first = ogg.page()!;
  ogg.add(tags, 0);
  return Buffer.concat([first, ogg.page()!]);
}

/** The audio of a file of Opus, packet by packet. */
type OpusFile = {
  packets: Uint8Array[];
  /** Start of each packet, in samples of 48 kHz; negative ones are silent. */
  starts: number[];
  /** End of the audio. */
  length: number;
};

/**
 * Reads an Ogg file of Opus (RFC 7845), mono or stereo; files one behind the other are one.
 * @throws Error in words for the log when it is none.
 */
export function readOpusFile(file: Uint8Array): OpusFile {
  const result: OpusFile = { packets: [], starts: [], length: 0 };
  let stream: OggPacket[] = [];
  for (const packet of oggPackets(file)) {
    if (packet.first && stream.length > 0) {
      append(result, stream);
      stream = [];
    }
    stream.push(packet);
  }
  append(result, stream);
  return result;
}

function append(file: OpusFile, [head, , ...audio]: readonly OggPacket[]): void {
  if (!head || Buffer.from(head.octets.subarray(0, 8)).toString('latin1') !== 'OpusHead' || head.octets.length < 19)
    throw new Error('not an Ogg file of Opus');
  const view = new DataView(head.octets.buffer, head.octets.byteOffset, head.octets.byteLength);
  if (head.octets[8]! >> 4 !== 0 || head.octets[18] !== 0) throw new Error('an Opus file of a kind that is not known');
  const preSkip = view.getUint16(10, true);
  let at = file.length - preSkip;
  for (const { octets } of audio) {
    const samples = packetSamples(octets);
    if (samples === 0) continue;
    file.packets.push(octets);
    file.starts.push(at);
    at += samples;
  }
  // The last page says where the audio really ends, within its last packet (RFC 7845 section 4.4).
  const final = audio.at(-1);
  const told = final?.last ? file.length + final.granule - preSkip : at;
  file.length = Math.max(file.length, Math.min(at, told));
}
