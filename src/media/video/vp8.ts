import type { FrameMark } from './frame-mark.ts';
import { readPictureId } from './picture-id.ts';

/**
 * Reads the payload descriptor of VP8 (RFC 7741 4.2) and the first bit of the payload header (4.3), which says whether
 * the frame is a key frame.
 *
 * ```text 0 1 2 3 4 5 6 7 +-+-+-+-+-+-+-+-+ |X|R|N|S|R| PID |  S and PID 0: a frame begins +-+-+-+-+-+-+-+-+ |I|L|T|K|
 * RSV   |  when X +-+-+-+-+-+-+-+-+ |M| PictureID   |  when I; 15 bits when M +-+-+-+-+-+-+-+-+ |   TL0PICIDX   |
 * when L +-+-+-+-+-+-+-+-+ |TID|Y| KEYIDX  |  when T or K +-+-+-+-+-+-+-+-+ |Size0|H| VER |P|  P: not a key frame
 * +-+-+-+-+-+-+-+-+ ```
 */
export function readVp8(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  if (start >= end) return false;
  const first = packet[start]!;
  let at = start + 1;
  if (first & 0x80) {
    if (at >= end) return false;
    const has = packet[at++]!;
    if (has & 0x80) {
      at = readPictureId(packet, at, end, mark);
      if (at < 0) return false;
    }
    if (has & 0x40) {
      if (at >= end) return false;
      mark.tl0 = packet[at]!;
      mark.tl0At = at++;
    }
    if (has & 0x30) at++;
  }
  if (at >= end) return false;
  mark.key = (first & 0x17) === 0x10 && (packet[at]! & 1) === 0;
  return true;
}
