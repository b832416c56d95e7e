import type { RtpFlow } from '../../telephony/media.ts';

/** The number of comfort noise where none was agreed on (RFC 3389 section 4). */
const usualComfortNoise = 13;

/** The meaning of a packet of the far side, by its payload type. */
export type Content = 'audio' | 'event' | 'noise' | 'other';

/**
 * What a payload type means. The numbers in our SDP come first (RFC 3264 5.1). Many phones send with their own numbers,
 * which are accepted, too. Other numbers may be comfort noise, which goes with codecs of 8000 Hz.
 * @param clockRate of the codec, in Hz.
 */
export function contentOf(payloadType: number, flow: RtpFlow, clockRate: number): Content {
  const { payloadType: audio, telephoneEvent: event } = flow;
  if (payloadType === (flow.receivePayloadType ?? audio)) return 'audio';
  if (event !== undefined && payloadType === (flow.receiveTelephoneEvent ?? event)) return 'event';
  if (payloadType === audio) return 'audio';
  if (payloadType === event) return 'event';
  return payloadType === (flow.comfortNoise ?? usualComfortNoise) && clockRate === 8000 ? 'noise' : 'other';
}
