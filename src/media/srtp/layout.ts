/** Where the parts of a packet begin, and what its cipher starts from. */
export type Layout = {
  /** What stays readable, from the first octet on. */
  readonly header: number;
  /** The synchronization source. */
  readonly ssrc: number;
  /** The packet's number: 48 bits of audio, 31 of RTCP. */
  readonly index: number;
  /** What is proved beside the packet: the rollover counter, or the index of RTCP with its mark. */
  readonly trailer: Uint8Array;
  /** The trailer goes with the packet. */
  readonly sendsTrailer: boolean;
};

/** How packets of one kind are made secret and proved, and opened again. */
export interface Transform {
  /** The packet as it goes out. */
  seal(packet: Uint8Array, layout: Layout): Buffer;
  /** The packet without what proves it; undefined when it proves nothing. */
  open(packet: Uint8Array, layout: Layout): Buffer | undefined;
  /** Octets that a sealed packet has more, its trailer aside. */
  readonly tag: number;
  /** A trailer that goes with the packet stands behind the tag. */
  readonly trailerIsLast: boolean;
}
