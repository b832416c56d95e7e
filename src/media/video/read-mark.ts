import type { VideoCodec } from '../../telephony/video.ts';
import type { RtpHeader } from '../rtp/header.ts';
import { readAv1 } from './av1.ts';
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
