import { Type } from 'typebox';
import { absentFormatNames, videoFormatNames } from '../lib/formats.ts';
import { group, list, number, whole } from './setting.ts';

/** Video settings of an endpoint. */
export const endpointVideo = {
  video_codecs: list(Type.Enum([...videoFormatNames], { absent: absentFormatNames }), {
    default: [],
    commaList: true,
    description: 'Video codecs to offer and accept, the preferred one first: vp8, vp9, h264, av1. Empty: no video.',
  }),
};

/** Video of calls. */
export const video = group(
  {
    renegotiate_delay: whole(0, 10_000, {
      default: 200,
      unit: 'ms',
      description: 'Time to collect further changes before a phone gets new video streams.',
    }),
    renegotiate_interval: number(0, 60, {
      default: 2,
      unit: 's',
      description: "Shortest interval between two changes of a phone's video streams.",
    }),
    key_frame_interval: number(0.1, 60, {
      default: 1,
      unit: 's',
      description:
        'Shortest interval between two INFO requests for a key frame (RFC 5168), to phones without RTCP requests.',
    }),
  },
  'Video of calls.',
);
