/** AudioSocket frames: an octet for the type, two for the length (big endian), and the payload. */

/** Kinds of frames. Audio is 0x10 and above, by its rate. */
export const audioSocketKind = { hangup: 0x00, id: 0x01, digit: 0x03, audio: 0x10, error: 0xff } as const;

/** The kind that linear audio of a rate in Hz is sent as; any other format goes as the first one. */
const linearKinds: Readonly<Record<number, number>> = {
  8000: 0x10,
  12000: 0x11,
  16000: 0x12,
  24000: 0x13,
  32000: 0x14,
  44100: 0x15,
  48000: 0x16,
};
const lastAudioKind = 0x1f;
const headerLength = 3;

/** The kind of audio of a format. */
export function audioKind(codec: string, sampleRate: number): number {
  return (codec.startsWith('slin') && linearKinds[sampleRate]) || audioSocketKind.audio;
}

/** Whether it is a kind of audio. Its rate is not looked at: many servers send all of theirs as 0x10. */
export function isAudioKind(kind: number): boolean {
  return kind >= audioSocketKind.audio && kind <= lastAudioKind;
}

/** One frame, ready to be sent. @param payload at most 65,535 octets. */
export function audioSocketFrame(kind: number, payload: Uint8Array): Uint8Array {
  const frame = new Uint8Array(headerLength + payload.length);
  frame[0] = kind;
  frame[1] = payload.length >> 8;
  frame[2] = payload.length & 0xff;
  frame.set(payload, headerLength);
  return frame;
}

/** The octets of a UUID; undefined when it is none (RFC 9562 section 4). */
export function uuidOctets(uuid: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(uuid)) return undefined;
  return Uint8Array.from(Buffer.from(uuid.replaceAll('-', ''), 'hex'));
}

/**
 * Cuts a stream into frames, one at a time: frames that must wait are octets until then. It keeps less than one frame
 * (65,537 octets) beside what was added since the last call of `next`.
 */
export class AudioSocketReader {
  readonly #frame: (kind: number, payload: Uint8Array) => void;
  #held: Uint8Array = new Uint8Array(0);
  #at = 0;

  /** @param frame hears each whole frame; its payload holds until it returns. */
  constructor(frame: (kind: number, payload: Uint8Array) => void) {
    this.#frame = frame;
  }

  /** Adds octets behind those that wait. */
  add(octets: Uint8Array): void {
    this.#held = this.#at === this.#held.length ? octets : Buffer.concat([this.#held.subarray(this.#at), octets]);
    this.#at = 0;
  }

  /** Gives the next frame to its hearer. @returns false if the rest is not a whole frame. */
  next(): boolean {
    const [held, at] = [this.#held, this.#at];
    const begin = at + headerLength;
    const end = begin <= held.length ? begin + ((held[at + 1]! << 8) | held[at + 2]!) : Number.POSITIVE_INFINITY;
    if (end > held.length) {
      // A copy: what was read may be a part of a much larger piece of memory.
      this.#held = new Uint8Array(held.subarray(at));
      this.#at = 0;
      return false;
    }
    this.#at = end;
    this.#frame(held[at]!, held.subarray(begin, end));
    return true;
  }
}
