import { Type } from 'typebox';
import { absentFormatNames, videoFormatNames } from '../lib/formats.ts';
import { group, list, number, whole } from './setting.ts';

/** What an endpoint does about video. */
export const endpointVideo = {
  video_codecs: list(Type.Enum([...videoFormatNames], { absent: absentFormatNames }), {
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
  max_video_bandwidth: whole(0, 1_000_000, {
    default: 0,
    unit: 'kbit/s',
    description: 'What its camera is asked to send at most, in each stream (b=AS and b=TIAS). 0: it is not told.',
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
    key_frame_interval: number(0.1, 60, {
      default: 1,
      unit: 's',
      description: 'Shortest time between two INFO requests for a key frame to a phone that takes none by RTCP.',
    }),
  },
  'Video of calls.',
);
