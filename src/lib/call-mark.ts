/** Octets of the mark: the length of its text, and the text. */
export const callMarkOctets = 256;
const mostText = callMarkOctets - 1;

/**
 * Names what is being worked on, in memory that outlives the process: after a crash it tells which call was worked on.
 * Only what began first is named, until it is over.
 */
export class CallMark {
  readonly #memory: Buffer;
  #depth = 0;

  /** @param memory {@link callMarkOctets} octets. */
  constructor(memory: Uint8Array) {
    this.#memory = Buffer.from(memory.buffer, memory.byteOffset, callMarkOctets);
    this.#memory[0] = 0;
  }

  begin(kind: string, id: string): void {
    if (this.#depth++ > 0) return;
    const length = this.#memory.write(`${kind} ${id}`, 1, mostText, 'latin1');
    this.#memory[0] = length;
  }

  end(): void {
    if (--this.#depth === 0) this.#memory[0] = 0;
  }
}

/** What was being worked on when the process ended; undefined: nothing. */
export function readCallMark(memory: Uint8Array): string | undefined {
  const length = memory[0]!;
  return length === 0 ? undefined : Buffer.from(memory.subarray(1, 1 + length)).toString('latin1');
}
