import type { FrameMark } from './frame-mark.ts';

/**
 * Reads the aggregation header of AV1 (RTP Payload Format For AV1 4.4). N marks the first packet of a coded video sequence,
 * which begins with a sequence header and a key frame; a packet that goes on with an OBU (Z) cannot be one.
 *
 * ```text
 *  0 1 2 3 4 5 6 7
 * +-+-+-+-+-+-+-+-+
 * |Z|Y| W |N|-|-|-|
 * +-+-+-+-+-+-+-+-+
 * ```
 */
export function readAv1(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  if (start + 1 >= end) return false;
  mark.key = (packet[start]! & 0x88) === 0x08;
  return true;
}
