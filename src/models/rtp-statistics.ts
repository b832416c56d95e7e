import Type, { type Static } from 'typebox';
import { double, int, model, text } from './schema.ts';

const optional = (description: string) => Type.Optional(double(description));

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
  remote_maxrxploss: optional('Largest loss the far side reported.'),
  remote_minrxploss: optional('Smallest loss the far side reported.'),
  remote_normdevrxploss: optional('Mean loss the far side reported.'),
  remote_stdevrxploss: optional('Standard deviation of the loss the far side reported.'),
  local_maxrxploss: optional('Largest loss we saw.'),
  local_minrxploss: optional('Smallest loss we saw.'),
  local_normdevrxploss: optional('Mean loss we saw.'),
  local_stdevrxploss: optional('Standard deviation of the loss we saw.'),
  rtt: optional('Last round trip.'),
  maxrtt: optional('Longest round trip.'),
  minrtt: optional('Shortest round trip.'),
  normdevrtt: optional('Mean round trip.'),
  stdevrtt: optional('Standard deviation of the round trip.'),
  local_ssrc: int('SSRC that we send with.'),
  remote_ssrc: int('SSRC that we receive.'),
  txoctetcount: int('Octets of payload sent.'),
  rxoctetcount: int('Octets of payload received.'),
  channel_uniqueid: text('Id of the channel.'),
});
export type RTPstat = Static<typeof RTPstat>;
