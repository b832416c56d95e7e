import { Type } from 'typebox';
import { videoFormatNames } from '../lib/formats.ts';
import { group, list, number, whole } from './setting.ts';

/** What an endpoint does about video. */
export const endpointVideo = {
  video_codecs: list(Type.Enum([...videoFormatNames]), {
    default: [],
    commaList: true,
    description: 'Video codecs to offer and accept, the preferred one first. Empty: its calls have no video.',
  }),
  max_video_streams: whole(1, 32, {
    default: 1,
    unit: 'streams',
    description:
      'Video streams that a call may have: its own camera, and in a bridge of type video_sfu the others beside. Each takes two ports of a call with video.',
  }),
};

/** Video of calls. */
export const video = group(
  {
    renegotiate_delay: whole(0, 10_000, {
      default: 200,
      unit: 'ms',
      description: 'How long to wait for further changes before a phone is told of new video streams.',
    }),
    renegotiate_interval: number(0, 60, {
      default: 2,
      unit: 's',
      description: 'Shortest time between two times that a phone is told of new video streams.',
    }),
  },
  'Video of calls.',
);
