import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';

const optional = (description: string) => Type.Optional(double(description));

/** Figures of one stream of video, named as those of audio are; more than Asterisk has. */
const VideoStat = Type.Object(
  {
    stream: int("Its number among the channel's video lines."),
    codec: text('The codec: vp8, vp9, h264 or av1.'),
    txcount: int('Packets sent.'),
    rxcount: int('Packets received.'),
    txjitter: optional('Jitter of what we send, as the far side reports it.'),
    rxjitter: optional('Jitter of what we receive.'),
    txploss: int('Packets lost of those we sent, as the far side reports it.'),
    rxploss: int('Packets lost of those sent to us.'),
    rtt: optional('Last round trip.'),
    local_ssrc: int('SSRC that we send with.'),
    remote_ssrc: int('SSRC that we receive.'),
    txoctetcount: int('Octets of payload sent.'),
    rxoctetcount: int('Octets of payload received.'),
    key_frames: int('Key frames that began to arrive.'),
    key_frames_asked: int('How often we asked for one.'),
    bitrate_asked: Type.Optional(
      int('Highest bit rate that its camera was asked to send, because a viewer accepts no more, in bit/s.'),
    ),
    bitrate_taken: Type.Optional(int('Bit/s that the far side takes, by its description and by RTCP.')),
    bitrate_sent: int('Bit/s that the far side is sent in it at present.'),
    size: Type.Optional(
      int('Of a camera that comes in several sizes (simulcast): the size that is shown, from 1 for the smallest.'),
    ),
    sizes: Type.Optional(int('How many sizes of that camera come.')),
    sent_again: int('Packets sent again because the far side missed them.'),
    asked_again: int('Packets that we asked for again.'),
    shows: Type.Optional(text('Id of the channel whose picture is shown in it.')),
    awaits: Type.Optional(text('Id of the channel whose picture is to be shown in it and is not (yet).')),
    unseen: Type.Optional(
      text(
        'Why it is not: inactive (no video wanted now), codec, packetization, bandwidth, silent (no packets come) or key_frame (none has come yet).',
      ),
    ),
    switches: int('How often another source began to be shown.'),
    left_out: int('Packets not shown to the far side: of another codec, or more than it takes.'),
  },
  { additionalProperties: true },
);

/** Figures of a channel's RTP stream. Times in seconds; `remote_` figures are what the far side reported by RTCP. */
export const RTPstat = model('RTPstat', "Figures of a channel's RTP stream; times in seconds.", {
  txcount: int('Packets sent.'),
  rxcount: int('Packets received.'),
  txjitter: optional('Jitter of what we send, as the far side reports it.'),
  rxjitter: optional('Jitter of what we receive.'),
  remote_maxjitter: optional('Largest jitter the far side reported.'),
  remote_minjitter: optional('Smallest jitter the far side reported.'),
  remote_normdevjitter: optional('Mean jitter the far side reported.'),
  remote_stdevjitter: optional('Standard deviation of the jitter the far side reported.'),
  local_maxjitter: optional('Largest jitter we saw.'),
  local_minjitter: optional('Smallest jitter we saw.'),
  local_normdevjitter: optional('Mean jitter we saw.'),
  local_stdevjitter: optional('Standard deviation of the jitter we saw.'),
  txploss: int('Packets lost of those we sent, as the far side reports it.'),
  rxploss: int('Packets lost of those sent to us.'),
  remote_maxrxploss: optional('Most packets lost between two reports of the far side.'),
  remote_minrxploss: optional('Fewest packets lost between two reports of the far side.'),
  remote_normdevrxploss: optional('Packets lost between two reports of the far side, on average.'),
  remote_stdevrxploss: optional('Standard deviation of these.'),
  local_maxrxploss: optional('Most packets lost between two reports of ours.'),
  local_minrxploss: optional('Fewest packets lost between two reports of ours.'),
  local_normdevrxploss: optional('Packets lost between two reports of ours, on average.'),
  local_stdevrxploss: optional('Standard deviation of these.'),
  rtt: optional('Last round trip.'),
  maxrtt: optional('Longest round trip.'),
  minrtt: optional('Shortest round trip.'),
  normdevrtt: optional('Mean round trip.'),
  stdevrtt: optional('Standard deviation of the round trip.'),
  local_ssrc: int('SSRC that we send with.'),
  remote_ssrc: int('SSRC that we receive.'),
  txoctetcount: int('Octets of payload sent.'),
  rxoctetcount: int('Octets of payload received.'),
  forwarded: int(
    'Received packets that were forwarded unchanged: it grows while a bridge forwards, and stays while it mixes.',
  ),
  channel_uniqueid: text('Id of the channel.'),
  video: Type.Optional(Type.Array(VideoStat, { description: 'Its streams of video, where it has any.' })),
});
export type RTPstat = Static<typeof RTPstat>;
