import { type ClipCodec, nalUnits } from './clips.ts';

/** What a far side puts into its packets beside the frame, where its codec has that. */
export type Descriptors = {
  /** Number of the frame; 15 bits, or 7 where `short`. Left out: none. */
  pictureId?: number;
  short?: boolean;
};

/** Octets of payload in a packet, at most: small, so that key frames need many. */
const mostOctets = 700;

/** Payloads of the packets of a frame, in order; the last one ends it. */
export function packetise(codec: ClipCodec, frame: Buffer, descriptors: Descriptors = {}): Buffer[] {
  return codec === 'vp8' ? packetiseVp8(frame, descriptors) : packetiseH264(frame);
}

/** RFC 7741 section 4.2: a descriptor of X and I, with the picture id, and TL0PICIDX as its low octet. */
function packetiseVp8(frame: Buffer, { pictureId, short = false }: Descriptors): Buffer[] {
  const payloads: Buffer[] = [];
  for (let at = 0; at < frame.length; at += mostOctets) {
    const begins = at === 0 ? 0x10 : 0;
    const descriptor =
      pictureId === undefined
        ? [begins]
        : [
            ...[0x80 | begins, 0xe0],
            ...(short ? [pictureId & 0x7f] : [0x80 | ((pictureId >> 8) & 0x7f), pictureId & 0xff]),
            ...[pictureId & 0xff, 0],
          ];
    payloads.push(Buffer.concat([Buffer.from(descriptor), frame.subarray(at, at + mostOctets)]));
  }
  return payloads;
}

/** RFC 6184: parameter sets together (STAP-A), small units alone, large ones in parts (FU-A). */
function packetiseH264(picture: Buffer): Buffer[] {
  const payloads: Buffer[] = [];
  const units = nalUnits(picture);
  const sets = units.filter((unit) => [7, 8].includes(unit[0]! & 0x1f));
  if (sets.length > 0)
    payloads.push(
      Buffer.concat([
        Buffer.from([0x78]),
        ...sets.flatMap((set) => [Buffer.from([set.length >> 8, set.length & 0xff]), set]),
      ]),
    );
  for (const unit of units) {
    if (sets.includes(unit)) continue;
    if (unit.length <= mostOctets) {
      payloads.push(unit);
      continue;
    }
    const head = unit[0]!;
    for (let at = 1; at < unit.length; at += mostOctets) {
      const flags = (at === 1 ? 0x80 : 0) | (at + mostOctets >= unit.length ? 0x40 : 0);
      const indicator = Buffer.from([(head & 0xe0) | 28, flags | (head & 0x1f)]);
      payloads.push(Buffer.concat([indicator, unit.subarray(at, at + mostOctets)]));
    }
  }
  return payloads;
}
