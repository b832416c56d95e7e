import type { RtpFlow } from '../../telephony/media.ts';

/** The number of comfort noise where none was agreed on (RFC 3389 section 4). */
const usualComfortNoise = 13;

/**
 * The number that we would send with what came as `payloadType`; undefined when it is neither the codec nor an event. The
 * numbers that we told come first (RFC 3264 5.1); many phones send with the one they told, and so are understood, too.
 */
export function meaningOf(payloadType: number, flow: RtpFlow): number | undefined {
  const { payloadType: audio, telephoneEvent: event } = flow;
  if (payloadType === (flow.receivePayloadType ?? audio)) return audio;
  if (event !== undefined && payloadType === (flow.receiveTelephoneEvent ?? event)) return event;
  return payloadType === audio || payloadType === event ? payloadType : undefined;
}

/** Whether what came as `payloadType`, and is neither codec nor event, describes noise for a codec of that clock in Hz. */
export function isComfortNoise(payloadType: number, flow: RtpFlow, clockRate: number): boolean {
  return payloadType === (flow.comfortNoise ?? usualComfortNoise) && clockRate === 8000;
}
