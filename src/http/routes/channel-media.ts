import { Channel } from '../../models/channel.ts';
import { LiveRecording } from '../../models/live-recording.ts';
import { Playback } from '../../models/playback.ts';
import { RTPstat } from '../../models/rtp-statistics.ts';
import { newChannel, operation, pathParam, queryParam } from '../operation.ts';
import { channelId, commandErrors, controlErrors } from './channel-common.ts';
import { playbackLocation, playErrors, playParams, recordErrors, recordingLocation, recordParams } from './playing.ts';

const listening = { default: 'none', allowed: ['none', 'both', 'out', 'in'] } as const;

/** Operations for playbacks, music and silence, and listening. */
export const mediaOperations = [
  operation({
    method: 'POST',
    path: '/channels/{channelId}/moh',
    nickname: 'startMoh',
    summary: 'Play music on hold.',
    owner: 'channels',
    params: { channelId, mohClass: queryParam('string', 'Class of music.') },
    errors: commandErrors,
    handle: (channels, { channelId: id, ...params }) => channels.startMoh(id, params),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}/moh',
    nickname: 'stopMoh',
    summary: 'Stop music on hold.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.stopMoh(params.channelId),
  }),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/silence',
    nickname: 'startSilence',
    summary: 'Send silence until something else is played.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.startSilence(params.channelId),
  }),
  operation({
    method: 'DELETE',
    path: '/channels/{channelId}/silence',
    nickname: 'stopSilence',
    summary: 'Stop sending silence.',
    owner: 'channels',
    params: { channelId },
    errors: commandErrors,
    handle: (channels, params) => channels.stopSilence(params.channelId),
  }),
  ...(
    [
      ['/channels/{channelId}/play', 'play', queryParam('string', 'Id for the playback.')],
      [
        '/channels/{channelId}/play/{playbackId}',
        'playWithId',
        { ...pathParam('Id for the playback.'), creates: 'playback' },
      ],
    ] as const
  ).map(([path, nickname, playbackId]) =>
    operation({
      method: 'POST',
      path,
      nickname,
      summary: 'Play media to a channel.',
      notes: 'Items are played one after another as one playback; playbacks of a channel wait for each other.',
      owner: 'playbacks',
      params: { channelId, playbackId, ...playParams },
      returns: Playback,
      status: 201,
      location: playbackLocation,
      errors: [...commandErrors, ...playErrors],
      handle: (playbacks, { channelId: id, ...params }) => playbacks.playOnChannel(id, params),
    }),
  ),
  operation({
    method: 'POST',
    path: '/channels/{channelId}/record',
    nickname: 'record',
    summary: 'Record the audio from a channel.',
    notes: "The recording waits for the channel's playbacks. An unanswered call is answered.",
    owner: 'recordings',
    params: {
      channelId,
      ...recordParams,
      channels: queryParam('int', 'Tracks: 2 records both sides, 1 only the audio from the channel.', {
        default: 1,
        own: true,
      }),
    },
    returns: LiveRecording,
    status: 201,
    location: recordingLocation,
    errors: [...controlErrors, ...recordErrors],
    handle: (recordings, { channelId: id, ...params }) => recordings.recordOnChannel(id, params),
  }),
  ...(
    [
      [
        '/channels/{channelId}/snoop',
        'snoopChannel',
        queryParam('string', 'Id for the channel that listens.', newChannel),
      ],
      [
        '/channels/{channelId}/snoop/{snoopId}',
        'snoopChannelWithId',
        { ...pathParam('Id for the channel that listens.'), ...newChannel },
      ],
    ] as const
  ).map(([path, nickname, snoopId]) =>
    operation({
      method: 'POST',
      path,
      nickname,
      summary: 'Listen to a channel, or whisper to it, with a new channel.',
      owner: 'snoops',
      params: {
        channelId,
        snoopId,
        spy: queryParam('string', 'The side to hear: `in` is audio from the channel, `out` audio to it.', listening),
        whisper: queryParam('string', 'The side that hears audio from the new channel.', listening),
        app: queryParam('string', 'Application that gets the new channel.', { required: true, names: 'application' }),
        appArgs: queryParam('string', 'Arguments for the application, comma-separated.'),
      },
      returns: Channel,
      errors: [
        'spyDirectionInvalid',
        'whisperDirectionInvalid',
        'snoopDirectionRequired',
        'applicationRequired',
        'snoopChannelNotFound',
        'uniqueIdTooLong',
        'channelIdExists',
      ],
      handle: (snoops, { channelId: id, ...params }) => snoops.snoop(id, params),
    }),
  ),
  operation({
    method: 'GET',
    path: '/channels/{channelId}/rtp_statistics',
    nickname: 'rtpstatistics',
    summary: "Look at the figures of a channel's RTP.",
    owner: 'channels',
    params: { channelId },
    returns: RTPstat,
    errors: ['channelNotFound', 'rtpNotFound', 'channelTypeUnsupported'],
    handle: (channels, params) => channels.rtpStatistics(params.channelId),
  }),
];
