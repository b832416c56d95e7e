import { type ClipCodec, leb128, nalUnits, obu, obusOf, obuType } from './clips.ts';

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
  switch (codec) {
    case 'vp8':
      return packetiseVp8(frame, descriptors);
    case 'vp9':
      return packetiseVp9(frame, descriptors);
    case 'h264':
      return packetiseH264(frame);
    case 'av1':
      return packetiseAv1(frame);
  }
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

/**
 * RFC 9628 section 4.2: a descriptor of I, L (one layer, TL0PICIDX as the low octet of the picture id) and P, in the
 * non-flexible mode; a key frame begins with its scalability structure.
 */
function packetiseVp9(frame: Buffer, { pictureId, short = false }: Descriptors): Buffer[] {
  const payloads: Buffer[] = [];
  // Marker, profile 0, no repetition of a frame: the bit after them is 0 for a key frame (VP9 bitstream specification 6.2).
  const isKey = (frame[0]! & 0x0c) === 0;
  for (let at = 0; at < frame.length; at += mostOctets) {
    const begins = at === 0;
    const structure = isKey && begins ? [0x18, 0, 160, 0, 120, 1, 0x04, 1] : [];
    const flags =
      (isKey ? 0 : 0x40) |
      (begins ? 0x08 : 0) |
      (at + mostOctets >= frame.length ? 0x04 : 0) |
      (structure.length > 0 ? 0x02 : 0);
    const ids =
      pictureId === undefined
        ? []
        : [
            ...(short ? [pictureId & 0x7f] : [0x80 | ((pictureId >> 8) & 0x7f), pictureId & 0xff]),
            ...[0, pictureId & 0xff],
          ];
    const first = flags | (pictureId === undefined ? 0 : 0xa0);
    payloads.push(Buffer.concat([Buffer.from([first, ...ids, ...structure]), frame.subarray(at, at + mostOctets)]));
  }
  return payloads;
}

/**
 * RTP Payload Format For AV1 section 4: OBUs without their sizes and without temporal delimiters, as many in a packet as go in,
 * parts of one at its ends; each with its length but the last one.
 */
function packetiseAv1(unit: Buffer): Buffer[] {
  const obus = obusOf(unit).filter((each) => obuType(each) !== obu.temporalDelimiter);
  const begins = obus.some((each) => obuType(each) === obu.sequenceHeader);
  const payloads: Buffer[] = [];
  let elements: Buffer[] = [];
  let octets = 0;
  let continues = false;
  const end = (isPart: boolean): void => {
    const header =
      (continues ? 0x80 : 0) |
      (isPart ? 0x40 : 0) |
      (elements.length > 3 ? 0 : elements.length << 4) |
      (begins && payloads.length === 0 ? 0x08 : 0);
    const hasLength = (index: number) => elements.length > 3 || index < elements.length - 1;
    const parts = elements.flatMap((each, index) => (hasLength(index) ? [leb128(each.length), each] : [each]));
    payloads.push(Buffer.concat([Buffer.from([header]), ...parts]));
    elements = [];
    octets = 0;
    continues = isPart;
  };
  for (const each of obus)
    for (let at = 0; at < each.length; ) {
      const part = each.subarray(at, at + mostOctets - octets);
      elements.push(part);
      octets += part.length;
      at += part.length;
      if (octets >= mostOctets) end(at < each.length);
    }
  if (elements.length > 0) end(false);
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
