import type { FrameMark } from './frame-mark.ts';
import { readPictureId } from './picture-id.ts';

/**
 * Reads the payload descriptor of VP9 (RFC 9628 4.2). A key frame begins with a packet that begins a frame of the lowest
 * spatial layer which no other picture predicts.
 *
 * ```text
 *  0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+
 * |I|P|L|F|B|E|V|Z|  P: predicted from other pictures; B: a frame begins
 * +-+-+-+-+-+-+-+-+
 * |M| PictureID   |  when I; 15 bits when M
 * +-+-+-+-+-+-+-+-+
 * | TID |U| SID |D|  when L: temporal and spatial layer
 * +-+-+-+-+-+-+-+-+
 * |   TL0PICIDX   |  when L, unless F
 * +-+-+-+-+-+-+-+-+
 * |   P_DIFF    |N|  when P and F, up to three while N
 * +-+-+-+-+-+-+-+-+
 * ```
 */
export function readVp9(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  if (start >= end) return false;
  const first = packet[start]!;
  let at = start + 1;
  let layer = 0;
  if (first & 0x80) {
    at = readPictureId(packet, at, end, mark);
    if (at < 0) return false;
  }
  if (first & 0x20) {
    if (at >= end) return false;
    layer = (packet[at++]! >> 1) & 7;
    if (!(first & 0x10)) {
      if (at >= end) return false;
      mark.tl0 = packet[at]!;
      mark.tl0At = at++;
    }
  }
  if ((first & 0x50) === 0x50) {
    let more = true;
    for (let count = 0; more && count < 3; count++) {
      if (at >= end) return false;
      more = (packet[at++]! & 1) === 1;
    }
  }
  if (at >= end) return false;
  mark.key = (first & 0x48) === 0x08 && layer === 0;
  return true;
}
