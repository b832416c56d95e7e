/**
 * Ogg pages (RFC 3533): packets of one stream, in pages with a checksum.
 *
 * ```text
 * 0      4   5   6         14      18        22     26  27
 * OggS   0   flg granule   serial  sequence  crc    n   n lacing values, then the packets
 * ```
 */

const headOctets = 27;
const mostSegments = 255;
const continued = 1;
const first = 2;
const last = 4;

/** CRC-32 of Ogg: polynomial 0x04c11db7, no reflection, nothing added (RFC 3533 section 6). */
const crcTable = Uint32Array.from({ length: 256 }, (_, octet) => {
  let value = octet << 24;
  for (let bit = 0; bit < 8; bit++) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0);
  return value >>> 0;
});

/** The checksum of a page, its own field taken as zero. */
function checksum(page: Uint8Array): number {
  let crc = 0;
  for (let index = 0; index < page.length; index++) {
    const octet = index >= 22 && index < 26 ? 0 : page[index]!;
    crc = (crc << 8) ^ crcTable[((crc >>> 24) ^ octet) & 0xff]!;
  }
  return crc >>> 0;
}

/** Makes pages of packets, each packet within one page. */
export class OggWriter {
  readonly #serial: number;
  #sequence = 0;
  #packets: Uint8Array[] = [];
  #segments = 0;
  #granule = 0;

  /** @param serial number of the stream, 32 bits. */
  constructor(serial: number) {
    this.#serial = serial >>> 0;
  }

  /** Adds a packet of at most 65,024 octets; `granule` is the position behind it. @returns a page that became full before. */
  add(packet: Uint8Array, granule: number): Uint8Array | undefined {
    const segments = Math.floor(packet.length / 255) + 1;
    const full = this.#segments + segments > mostSegments ? this.page() : undefined;
    this.#packets.push(packet);
    this.#segments += segments;
    this.#granule = granule;
    return full;
  }

  /** The packets added since the last page as a page; the last of the stream when `end`. Undefined when it has none. */
  page(end = false): Uint8Array | undefined {
    if (this.#packets.length === 0 && !end) return undefined;
    const octets = this.#packets.reduce((sum, packet) => sum + packet.length, 0);
    const page = new Uint8Array(headOctets + this.#segments + octets);
    const view = new DataView(page.buffer);
    page.set([0x4f, 0x67, 0x67, 0x53, 0, (this.#sequence === 0 ? first : 0) | (end ? last : 0)]);
    view.setBigUint64(6, BigInt(this.#granule), true);
    view.setUint32(14, this.#serial, true);
    view.setUint32(18, this.#sequence++, true);
    page[26] = this.#segments;
    let lacing = headOctets;
    let at = headOctets + this.#segments;
    for (const packet of this.#packets) {
      for (let rest = packet.length; rest >= 255; rest -= 255) page[lacing++] = 255;
      page[lacing++] = packet.length % 255;
      page.set(packet, at);
      at += packet.length;
    }
    view.setUint32(22, checksum(page), true);
    this.#packets = [];
    this.#segments = 0;
    return page;
  }
}

/** A packet and where its page says that the stream is. */
export type OggPacket = {
  octets: Uint8Array;
  /** Position behind the last packet that ends on this packet's page. */
  granule: number;
  /** It is the first of its stream. */
  first: boolean;
  /** Its page is the last of its stream. */
  last: boolean;
};

/**
 * The packets of a file, in order. Damaged pages and other data are skipped; a truncated file ends there. Of
 * multiplexed streams only the first is read; chained streams are all read.
 */
export function* oggPackets(file: Uint8Array): Generator<OggPacket> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let serial: number | undefined;
  let partial: Uint8Array[] = [];
  for (let at = 0; at + headOctets <= file.length; ) {
    const end = pageEnd(file, view, at);
    if (end === undefined) {
      at++;
      continue;
    }
    const flags = file[at + 5]!;
    const stream = view.getUint32(at + 14, true);
    if (serial === undefined) serial = stream;
    if (stream === serial) {
      if (!(flags & continued)) partial = [];
      const granule = Number(view.getBigInt64(at + 6, true));
      let isFirst = (flags & first) !== 0;
      const segments = file[at + 26]!;
      let from = at + headOctets + segments;
      let to = from;
      for (let index = 0; index < segments; index++) {
        const lacing = file[at + headOctets + index]!;
        to += lacing;
        if (lacing === 255) continue;
        partial.push(file.subarray(from, to));
        yield { octets: joined(partial), granule, first: isFirst, last: (flags & last) !== 0 };
        isFirst = false;
        partial = [];
        from = to;
      }
      if (to > from) partial.push(file.subarray(from, to));
      if (flags & last) serial = undefined;
    }
    at = end;
  }
}

/** The end of the page at `at`; undefined without a valid page. */
function pageEnd(file: Uint8Array, view: DataView, at: number): number | undefined {
  if (view.getUint32(at) !== 0x4f67_6753 || file[at + 4] !== 0) return undefined;
  const segments = file[at + 26]!;
  let end = at + headOctets + segments;
  if (end > file.length) return undefined;
  for (let index = 0; index < segments; index++) end += file[at + headOctets + index]!;
  if (end > file.length) return undefined;
  return checksum(file.subarray(at, end)) === view.getUint32(at + 22, true) ? end : undefined;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Uint8Array.from(Buffer.concat(parts));
}
