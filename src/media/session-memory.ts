/** Numbers of a session that outlive its thread; indices of its words. */
export const memoryWord = {
  /** 1 once the stream has begun and can be continued. */
  begun: 0,
  ssrc: 1,
  /** Sequence number of the next packet. */
  sequence: 2,
  /** First RTP timestamp after the sent audio, unwrapped. */
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
  /** SRTP: index after our last audio packet (0 before the first), and our last RTCP index. */
  sealed: 11,
  control: 12,
  /** The same for the far side, with its RTCP, and its SSRC plus one (0: none): older packets are refused. */
  opened: 13,
  openedControl: 14,
  openedSource: 15,
} as const;

/** Words of each source of a far side: `opened`, `openedControl` and `openedSource`. */
export const sourceWords = 3;
/** Sources of a far side that longer memory has room for: three sizes of a picture, as many retransmissions, and two more. */
const mostSources = 8;

/** Where the words of sources are: one in the memory of a session, more in that of a video stream. */
export const sourcesIn = (memory: SessionMemory): number[] =>
  Array.from(
    { length: Math.min(mostSources, Math.floor((memory.length - memoryWord.opened) / sourceWords)) },
    (_, source) => memoryWord.opened + sourceWords * source,
  );

/** The first word behind those of all sources. */
export const behindSources = memoryWord.opened + sourceWords * mostSources;

/** The words of SRTP: what must go on as it was, in another thread or process. */
export const secretWords = ['sealed', 'control', 'opened', 'openedControl', 'openedSource'] as const;

/** The values of these words. */
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

/** The words of one session, shared between threads, so that they survive a dead media thread. */
export type SessionMemory = Float64Array;

/** Session memory that is not shared. */
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
