import { timestampDistance } from './header.ts';

/** Octets of one telephone-event payload. */
export const eventLength = 4;

/** Digits by event code (RFC 4733 section 3.2). */
export const digitOfEvent = '0123456789*#ABCD';
/** The longest duration one event packet can tell, in timestamp units. */
const longestSegment = 0xffff;

/** How a far side tells a digit: by packets of its own (RFC 4733), by tones in its audio, or by signalling. */
export type DigitWay = 'events' | 'audio' | 'signalling';

/** The event code of a digit (`0-9*#A-D`), -1 for anything else. */
export function eventOfDigit(digit: string): number {
  return digit.length === 1 ? digitOfEvent.indexOf(digit.toUpperCase()) : -1;
}

/** The fields of a telephone-event payload. */
type TelephoneEvent = { event: number; end: boolean; volume: number; duration: number };

/**
 * Writes a telephone-event payload (RFC 4733 section 2.3).
 *
 * ```text
 *  0                   1                   2                   3
 *  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * |     event     |E|R| volume    |          duration             |
 * +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 * ```
 *
 * @param event.volume power in dBm0 without the sign, 0 to 63.
 * @param event.duration in timestamp units, 0 to 65535.
 */
export function writeEvent(payload: Uint8Array, at: number, event: TelephoneEvent): void {
  payload[at] = event.event;
  payload[at + 1] = (event.end ? 0x80 : 0) | (event.volume & 0x3f);
  payload[at + 2] = event.duration >> 8;
  payload[at + 3] = event.duration;
}

/** Reads a telephone-event payload from `at`; undefined when it is too short. */
export function readEvent(packet: Uint8Array, at: number, end: number): TelephoneEvent | undefined {
  if (end - at < eventLength) return undefined;
  const flags = packet[at + 1]!;
  return {
    event: packet[at]!,
    end: flags >= 0x80,
    volume: flags & 0x3f,
    duration: (packet[at + 2]! << 8) | packet[at + 3]!,
  };
}

type Digit = {
  event: number;
  /** Timestamp of the segment now being reported. */
  timestamp: number;
  duration: number;
  /** Units of earlier segments of the same event (RFC 4733 section 2.5.1.3). */
  before: number;
  /** When its last packet came, in ms. */
  heard: number;
};

/** Silence after which a digit whose end packets were all lost has ended, in ms. */
const lostEndMs = 120;

/**
 * Assembles digits from telephone-event packets. Each is reported once, at its end, also if packets repeat or all end
 * packets are lost.
 */
export class DigitReceiver {
  readonly #told: (digit: string, durationMs: number) => void;
  /** Units of the timestamps per ms: 8, or 48 beside Opus. */
  unitsPerMs = 8;
  #current: Digit | undefined;
  /** Timestamp of the last event that ended: its repetitions are dropped. */
  #ended: number | undefined;
  #stoodStill = false;

  constructor(told: (digit: string, durationMs: number) => void) {
    this.#told = told;
  }

  /** No digit is under way. */
  get idle(): boolean {
    return this.#current === undefined;
  }

  /** Takes one event packet. @param now monotonic ms. */
  receive(timestamp: number, { event, end, duration }: TelephoneEvent, now: number): void {
    if (this.#ended !== undefined && timestampDistance(this.#ended, timestamp) <= 0) return;
    if (this.#current) {
      const ahead = timestampDistance(this.#current.timestamp, timestamp);
      if (ahead < 0) return;
      if (ahead > 0) this.#follow(this.#current, timestamp, event);
    }
    const current = (this.#current ??= { event, timestamp, duration: 0, before: 0, heard: now });
    current.heard = now;
    current.duration = Math.max(current.duration, duration);
    if (end) this.#finish(current);
  }

  /** The thread was blocked: packets that arrived meanwhile come before a timeout. */
  stoodStill(): void {
    this.#stoodStill = true;
  }

  /** Ends a digit without recent packets; call it every tick unless idle. */
  expire(now: number): void {
    if (this.#stoodStill && this.#current) this.#current.heard = now;
    this.#stoodStill = false;
    if (this.#current && now - this.#current.heard >= lostEndMs) this.#finish(this.#current);
  }

  /** Forgets what was heard: the far side, and with it the timeline, changed. */
  reset(): void {
    if (this.#current) this.#finish(this.#current);
    this.#ended = undefined;
  }

  /** A later timestamp: the next segment of an event too long for one, or another digit. */
  #follow(current: Digit, timestamp: number, event: number): void {
    const nextSegment = timestampDistance(current.timestamp, timestamp) === longestSegment && event === current.event;
    if (!nextSegment) {
      this.#finish(current);
      return;
    }
    current.before += longestSegment;
    current.timestamp = timestamp;
    current.duration = 0;
  }

  #finish(digit: Digit): void {
    this.#current = undefined;
    this.#ended = digit.timestamp;
    const name = digitOfEvent[digit.event];
    if (name) this.#told(name, Math.round((digit.before + digit.duration) / this.unitsPerMs));
  }
}
