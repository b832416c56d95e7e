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
  /** SRTP: what comes after the highest index of our audio (0 before the first), and the index of our last RTCP. */
  sealed: 11,
  control: 12,
  /** The same of what the far side sends, its RTCP as well, and its SSRC and one (0 = none): nothing older is taken. */
  opened: 13,
  openedControl: 14,
  openedSource: 15,
} as const;

/** The words of SRTP: what must go on as it was, in another thread or process. */
export const secretWords = ['sealed', 'control', 'opened', 'openedControl', 'openedSource'] as const;

/** What stands in them. */
export const secretNumbers = (memory: SessionMemory): Record<(typeof secretWords)[number], number> => ({
  sealed: memory[memoryWord.sealed]!,
  control: memory[memoryWord.control]!,
  opened: memory[memoryWord.opened]!,
  openedControl: memory[memoryWord.openedControl]!,
  openedSource: memory[memoryWord.openedSource]!,
});

/** Words of one session, 8 octets each. */
const memoryWords = 16;

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
