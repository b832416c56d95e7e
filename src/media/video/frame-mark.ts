/** Frame information of a packet, read without decoding. Offsets are into the packet. */
export type FrameMark = {
  /** The first packet that is needed to begin with a key frame. */
  key: boolean;
  /** H.264: the first packet of a picture that only needs the parameter sets. */
  idr: boolean;
  /** Bits of the picture id, 7 or 15; 0 = there is none. */
  pictureIdBits: number;
  pictureId: number;
  pictureIdAt: number;
  /** TL0PICIDX, and where it is; −1 = there is none. */
  tl0: number;
  tl0At: number;
};

/** A mark to be filled by {@link readMark}: one per reader, so that reading a packet allocates nothing. */
export function emptyMark(): FrameMark {
  return { key: false, idr: false, pictureIdBits: 0, pictureId: 0, pictureIdAt: -1, tl0: 0, tl0At: -1 };
}

/** Writes another picture id and TL0PICIDX over those of a packet that was read; `shift` = how far its payload was moved. */
export function rewriteMark(
  packet: Uint8Array,
  { pictureIdBits, pictureIdAt, tl0At }: FrameMark,
  shift: number,
  ids: { pictureId: number; tl0: number },
): void {
  if (pictureIdBits > 0) {
    const at = pictureIdAt + shift;
    if (pictureIdBits === 7) packet[at] = ids.pictureId & 0x7f;
    else {
      packet[at] = 0x80 | ((ids.pictureId >> 8) & 0x7f);
      packet[at + 1] = ids.pictureId & 0xff;
    }
  }
  if (tl0At >= 0) packet[tl0At + shift] = ids.tl0 & 0xff;
}
