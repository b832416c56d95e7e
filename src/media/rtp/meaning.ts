import type { RtpFlow } from '../../telephony/media.ts';

/** The number of comfort noise where none was agreed on (RFC 3389 section 4). */
const usualComfortNoise = 13;

/**
 * Our payload type for a received one; undefined if it is neither the codec nor an event. The numbers in our SDP come
 * first (RFC 3264 5.1). Many phones send with their own numbers, which are accepted, too.
 */
export function meaningOf(payloadType: number, flow: RtpFlow): number | undefined {
  const { payloadType: audio, telephoneEvent: event } = flow;
  if (payloadType === (flow.receivePayloadType ?? audio)) return audio;
  if (event !== undefined && payloadType === (flow.receiveTelephoneEvent ?? event)) return event;
  return payloadType === audio || payloadType === event ? payloadType : undefined;
}

/** Whether an unknown payload type is comfort noise for a codec of that clock in Hz. */
export function isComfortNoise(payloadType: number, flow: RtpFlow, clockRate: number): boolean {
  return payloadType === (flow.comfortNoise ?? usualComfortNoise) && clockRate === 8000;
}
