import type { VideoCodec } from '../../telephony/video.ts';
import type { RtpHeader } from '../rtp/header.ts';
import type { FrameMark } from './frame-mark.ts';
import { readH264 } from './h264.ts';
import { readVp8 } from './vp8.ts';
import { readVp9 } from './vp9.ts';

/**
 * Reads frame information of a payload into `mark`. False, and `mark` is invalid, for a truncated or invalid payload,
 * which cannot be decoded.
 */
export function readMark(
  codec: VideoCodec,
  packet: Uint8Array,
  { payloadStart: start, payloadEnd: end }: Pick<RtpHeader, 'payloadStart' | 'payloadEnd'>,
  mark: FrameMark,
): boolean {
  mark.key = false;
  mark.idr = false;
  mark.pictureIdBits = 0;
  mark.pictureIdAt = -1;
  mark.tl0At = -1;
  switch (codec) {
    case 'vp8':
      return readVp8(packet, start, end, mark);
    case 'vp9':
      return readVp9(packet, start, end, mark);
    case 'h264':
      return readH264(packet, start, end, mark);
    case 'av1':
      return readAv1(packet, start, end, mark);
  }
}

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
function readAv1(packet: Uint8Array, start: number, end: number, mark: FrameMark): boolean {
  if (start + 1 >= end) return false;
  mark.key = (packet[start]! & 0x88) === 0x08;
  return true;
}
