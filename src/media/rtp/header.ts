/** Octets of an RTP header without contributing sources and extension. */
export const headerLength = 12;

/** The header of an RTP packet; `payloadStart` and `payloadEnd` are offsets into the packet. */
export type RtpHeader = {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payloadStart: number;
  payloadEnd: number;
};

/** A header to be filled by {@link readHeader}: one per reader, so that reading a packet allocates nothing. */
export function emptyHeader(): RtpHeader {
  return { marker: false, payloadType: 0, sequence: 0, timestamp: 0, ssrc: 0, payloadStart: 0, payloadEnd: 0 };
}

/**
 * Reads the header of an RTP packet into `header` (RFC 3550 section 5.1). Contributing sources, extension and padding
 * are skipped. False, and `header` is invalid, if it is no RTP version 2 packet or one of its lengths is wrong.
 *
 * ```text
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |V=2|P|X|  CC   |M|     PT      |       sequence number         |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |                           timestamp                           |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |           synchronization source (SSRC) identifier            |
 * +=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+
 * |      CC contributing source (CSRC) identifiers, 32 bits each  |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  when X: profile (16 bits)    | length in words (16 bits) ... |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |  payload ...                 when P: padding, its last octet  |
 * |                              counts the octets of padding     |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * ```
 */
export function readHeader(packet: Uint8Array, header: RtpHeader): boolean {
  const length = packet.length;
  if (length < headerLength) return false;
  const first = packet[0]!;
  if (first >> 6 !== 2) return false;
  let start = headerLength;
  let end = length;
  // The usual first octet is 0x80: no padding, no extension, no contributing sources.
  if (first !== 0x80) {
    start += (first & 0x0f) * 4;
    if (first & 0x10) {
      if (start + 4 > length) return false;
      start += 4 + ((packet[start + 2]! << 8) | packet[start + 3]!) * 4;
    }
    if (first & 0x20) {
      const padding = packet[length - 1]!;
      if (padding === 0) return false;
      end -= padding;
    }
    if (start > end) return false;
  }
  const second = packet[1]!;
  header.marker = second >= 0x80;
  header.payloadType = second & 0x7f;
  header.sequence = (packet[2]! << 8) | packet[3]!;
  header.timestamp = readUint32(packet, 4);
  header.ssrc = readUint32(packet, 8);
  header.payloadStart = start;
  header.payloadEnd = end;
  return true;
}

/** Writes a plain header (no padding, extension or contributing sources) to the first 12 octets of `packet`. */
export function writeHeader(
  packet: Uint8Array,
  { marker, payloadType, sequence, timestamp, ssrc }: Omit<RtpHeader, 'payloadStart' | 'payloadEnd'>,
): void {
  packet[0] = 0x80;
  packet[1] = marker ? payloadType | 0x80 : payloadType;
  packet[2] = sequence >> 8;
  packet[3] = sequence;
  writeUint32(packet, 4, timestamp);
  writeUint32(packet, 8, ssrc);
}

/** An unsigned 32-bit number, most significant octet first. */
export function readUint32(octets: Uint8Array, at: number): number {
  return ((octets[at]! << 24) | (octets[at + 1]! << 16) | (octets[at + 2]! << 8) | octets[at + 3]!) >>> 0;
}

/** Writes the low 32 bits of `value`, most significant octet first. */
export function writeUint32(octets: Uint8Array, at: number, value: number): void {
  octets[at] = value >>> 24;
  octets[at + 1] = value >>> 16;
  octets[at + 2] = value >>> 8;
  octets[at + 3] = value;
}

/** Distance from `from` to `to` on the circle of sequence numbers, −32768 to 32767. */
export function sequenceDistance(from: number, to: number): number {
  return ((to - from) << 16) >> 16;
}

/** Distance from `from` to `to` on the circle of timestamps, −2^31 to 2^31 − 1. */
export function timestampDistance(from: number, to: number): number {
  return (to - from) | 0;
}
