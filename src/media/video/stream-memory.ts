import { behindSources, memoryWord, type SessionMemory } from '../session-memory.ts';

/**
 * Numbers of a video stream that outlive its thread; indices of its words. The SRTP ones are at the same place as in
 * sessions, so that one decorator serves both.
 */
export const videoWord = {
  /** 1 once the numbers are drawn and can be continued. */
  begun: memoryWord.begun,
  ssrc: memoryWord.ssrc,
  /** Sequence number of the next packet, never wrapped. */
  sequence: memoryWord.sequence,
  /** Highest RTP timestamp that was sent, never wrapped, and when: wall-clock time in ms. */
  timestamp: memoryWord.timestamp,
  sentAt: memoryWord.origin,
  /** Picture id and TL0PICIDX of the next frame. */
  pictureId: memoryWord.play,
  tl0: memoryWord.positionMs,
  packets: memoryWord.packets,
  octets: memoryWord.octets,
  /** SSRC plus one of each size of the far side's picture; 0: not heard yet. */
  layers: behindSources,
  /** The same of their retransmissions; of a picture in one size the first. */
  repairs: behindSources + 3,
  /** Retransmissions of ours: sequence number of the next one, never wrapped (0: none yet), and SRTP index behind the last one. */
  rtxSequence: behindSources + 6,
  rtxSealed: behindSources + 7,
} as const;

/** Words of one stream, 8 octets each. */
const words = 48;

/** Memory for the numbers of one stream, which both threads see. */
export function newStreamMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(words * Float64Array.BYTES_PER_ELEMENT);
}

/** The numbers in it. */
export function streamNumbers(memory: SharedArrayBuffer): SessionMemory {
  return new Float64Array(memory);
}
