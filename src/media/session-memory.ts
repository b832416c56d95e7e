/** Numbers of a session that outlive its thread; indices of its words. */
export const memoryWord = {
  /** 1 once the stream has begun: what follows is worth going on with. */
  begun: 0,
  ssrc: 1,
  /** Sequence number of the next packet. */
  sequence: 2,
  /** First RTP timestamp not covered by what was sent, never wrapped. */
  timestamp: 3,
  /** RTP timestamp at monotonic time 0 of the thread, never wrapped. */
  origin: 4,
  /** Wall-clock time at monotonic time 0 of the thread, in ms: relates it to any other clock. */
  clockZero: 5,
  /** Units of the timestamps per second. */
  clockRate: 6,
  packets: 7,
  octets: 8,
  /** The item being played (0 = none), and how far it is, in ms. */
  play: 9,
  positionMs: 10,
  /** SRTP: how often our sequence numbers have begun again, the index of our last RTCP, and the former of the far side. */
  rollovers: 11,
  control: 12,
  heardRollovers: 13,
} as const;

/** Words of one session, 8 octets each. */
export const memoryWords = 16;

/** Sessions that share one block of memory. */
export const blockSlots = 256;

/** The words of one session: shared between the threads, so that nothing is lost when the media thread hangs or dies. */
export type SessionMemory = Float64Array;

/** Memory of a session that nobody else has to see. */
export function ownMemory(): SessionMemory {
  return new Float64Array(memoryWords);
}

/** The memory of slot `slot` in a block that is shared. */
export function memoryIn(block: SharedArrayBuffer, slot: number): SessionMemory {
  return new Float64Array(block, slot * memoryWords * Float64Array.BYTES_PER_ELEMENT, memoryWords);
}

/** Memory for {@link blockSlots} sessions. */
export function newBlock(): SharedArrayBuffer {
  return new SharedArrayBuffer(blockSlots * memoryWords * Float64Array.BYTES_PER_ELEMENT);
}
