/** Where the parts of a packet begin, and what its cipher starts from. */
export type Layout = {
  /** What stays readable, from the first octet on. */
  readonly header: number;
  /** The synchronization source. */
  readonly ssrc: number;
  /** The packet's number: 48 bits of audio, 31 of RTCP. */
  readonly index: number;
  /** What is proved beside the packet, 32 bits: the rollover counter, or the index of RTCP with its mark. */
  readonly trailer: number;
  /** The trailer goes with the packet. */
  readonly sendsTrailer: boolean;
};

/** Octets of a trailer. */
export const trailerOctets = 4;

/** A packet in memory that does not move: in `slab` from `used` on, which is at the address `packetAt`. */
export type PacketPlace = { readonly slab: Uint8Array; readonly used: number; readonly packetAt: number };

export const write32 = (into: Uint8Array, at: number, value: number): void => {
  into[at] = value >>> 24;
  into[at + 1] = value >>> 16;
  into[at + 2] = value >>> 8;
  into[at + 3] = value;
};

/** How packets of one kind are made secret and proved, and opened again. */
export interface Transform {
  /** The packet as it goes out. */
  seal(packet: Uint8Array, layout: Layout): Buffer;
  /** The packet without what proves it; undefined when it proves nothing. */
  open(packet: Uint8Array, layout: Layout): Buffer | undefined;
  /** Both where the packet is, without a copy. There is room for a tag behind it. Trailers do not go with such packets. */
  readonly inPlace: InPlace | undefined;
  /** Octets that a sealed packet has more, its trailer aside. */
  readonly tag: number;
  /** A trailer that goes with the packet stands behind the tag. */
  readonly trailerIsLast: boolean;
}

/** How packets of audio are made secret and opened where they are. */
export interface InPlace {
  sealAt(place: PacketPlace, length: number, layout: Layout): void;
  /** @param length with the tag. @returns whether the packet proves itself; if not, its octets are of no use any more. */
  openAt(place: PacketPlace, length: number, layout: Layout): boolean;
}
