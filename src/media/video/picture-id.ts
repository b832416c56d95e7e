/** Offsets of a picture's ids: common to VP8 and VP9. */
type PictureIds = {
  pictureIdBits: number;
  pictureId: number;
  pictureIdAt: number;
};

/**
 * Reads a picture id of 7 bits, or of 15 if its first bit is set (RFC 7741 4.2, RFC 9628 4.2). @returns the offset
 * behind it; −1 if it is truncated.
 */
export function readPictureId(packet: Uint8Array, at: number, end: number, ids: PictureIds): number {
  if (at >= end) return -1;
  const first = packet[at]!;
  ids.pictureIdAt = at;
  if (first < 0x80) {
    ids.pictureIdBits = 7;
    ids.pictureId = first;
    return at + 1;
  }
  if (at + 1 >= end) return -1;
  ids.pictureIdBits = 15;
  ids.pictureId = ((first & 0x7f) << 8) | packet[at + 1]!;
  return at + 2;
}
