import { memoryWord, ownMemory, type SessionMemory } from '../session-memory.ts';
import type { DigitStep } from './digit-sender.ts';
import { headerLength, type RtpHeader, sequenceDistance, timestampDistance, writeHeader } from './header.ts';
import { eventLength, writeEvent } from './telephone-event.ts';

const { begun, ssrc, sequence, timestamp, origin, clockZero, clockRate, packets, octets } = memoryWord;

/** Power of the digits we send, −10 dBm0. */
const digitVolume = 10;
/** A forwarded packet that is farther behind belongs to a restarted stream. */
export const longestDisorder = 64;
/** A jump of the timestamps by more than this many seconds is another timeline. */
export const longestJumpS = 10;
const wholeClock = 0x1_0000_0000;

/** A forwarded stream: its last packet, that packet on our timeline, and the offset of its sequence numbers. */
type PassedStream = { ssrc: number; sequence: number; timestamp: number; at: number; sequenceOffset: number };

type RtpSenderOptions = {
  /** 32 random bits: SSRC, first sequence number and first timestamp (RFC 3550 section 5.1). */
  random32: () => number;
  /** Memory of the stream's numbers; a stream that has begun continues. */
  memory?: SessionMemory;
  /** Wall-clock time at monotonic time 0, in ms. */
  clockZero?: number;
};

/**
 * Numbers the packets of one outgoing stream: one SSRC, one sequence, one timeline that runs on while nothing is sent.
 * It returns packets; the session sends them.
 */
export class RtpSender {
  readonly #memory: SessionMemory;
  #eventTimestamp = 0;
  /** No audio went out just before: the next packet starts a talkspurt. */
  #silent = true;
  /** Offset of a forwarded stream's timestamps. */
  #offset: number | undefined;
  /** The same for its sequence numbers. */
  #sequenceOffset = 0;
  #copiedTimestamp = 0;
  #copiedSequence = 0;
  #copiedSsrc = 0;
  #firstForwarded = 0;
  /** The digit that was forwarded last: its timestamp there and here. */
  #event: { ssrc: number; theirs: number; ours: number } | undefined;

  constructor({ random32, memory = ownMemory(), clockZero: zero = 0 }: RtpSenderOptions) {
    this.#memory = memory;
    if (memory[begun] === 1) {
      memory[origin]! += ((zero - memory[clockZero]!) * memory[clockRate]!) / 1000;
    } else {
      memory[ssrc] = random32();
      // RFC 3711 3.3.1: in the lower half, so that an early wrap with losses is unambiguous.
      memory[sequence] = random32() & 0x7fff;
      memory[origin] = random32();
      memory[timestamp] = 0;
      memory[clockRate] = 8000;
      memory[packets] = 0;
      memory[octets] = 0;
      memory[begun] = 1;
    }
    memory[clockZero] = zero;
  }

  /** The stream's numbers. */
  get memory(): SessionMemory {
    return this.#memory;
  }

  get ssrc(): number {
    return this.#memory[ssrc]!;
  }

  /** Packets and octets of payload sent so far. */
  get packets(): number {
    return this.#memory[packets]!;
  }

  get octets(): number {
    return this.#memory[octets]!;
  }

  /** End of the sent audio, in monotonic ms; undefined before the first packet. */
  get sentUntil(): number | undefined {
    const memory = this.#memory;
    return memory[packets] === 0 ? undefined : ((memory[timestamp]! - memory[origin]!) * 1000) / memory[clockRate]!;
  }

  /** Units of the timestamps per second, in Hz. */
  get clockRate(): number {
    return this.#memory[clockRate]!;
  }

  /** Changes the units of the timestamps; the timeline goes on where it is. @param now monotonic ms. */
  setClockRate(rate: number, now: number): void {
    const memory = this.#memory;
    if (rate === memory[clockRate]) return;
    memory[origin] = this.#from(now) - Math.floor((now * rate) / 1000);
    memory[clockRate] = rate;
    this.pause();
  }

  /** The timestamp of the moment `now` (monotonic ms), for sender reports; below 2^32. */
  timestampAt(now: number): number {
    return wrapped(this.#at(now));
  }

  /** Says that no audio goes out now: the next packet is the first of a talkspurt. */
  pause(): void {
    this.#silent = true;
    this.#offset = undefined;
  }

  /**
   * Completes a packet whose audio is already in place behind the header.
   * @param units how long it lasts, in units of the timestamps. @param now nominal time of the tick.
   */
  audio(packet: Uint8Array, payloadType: number, units: number, now: number): void {
    const at = this.#silent ? this.#from(now) : this.#memory[timestamp]!;
    this.#offset = undefined;
    this.#write(packet, this.#silent, payloadType, at);
    this.#silent = false;
    this.#memory[timestamp] = at + units;
  }

  /**
   * Makes a telephone-event packet: all packets of a digit carry the timestamp of its start (RFC 4733 section 2.2).
   *
   * @param eventRate clock of its duration, in Hz.
   */
  event(step: DigitStep, payloadType: number, eventRate: number, now: number): Uint8Array {
    if (step.start) this.#eventTimestamp = this.#from(now);
    const duration = Math.min(0xffff, (step.durationMs * eventRate) / 1000);
    const packet = Buffer.allocUnsafe(headerLength + eventLength);
    writeEvent(packet, headerLength, { event: step.event, end: step.end, volume: digitVolume, duration });
    this.#write(packet, step.start, payloadType, this.#eventTimestamp);
    this.#advance(this.#eventTimestamp + (step.durationMs * this.clockRate) / 1000);
    this.pause();
    return packet;
  }

  /**
   * Turns a received packet into one of ours: our SSRC, with sequence numbers and timestamps moved by a constant. So
   * our far side sees losses, gaps and order unchanged. Undefined for a packet that is too late. It reuses the memory
   * if possible.
   *
   * @param content our far side's payload type for it, and its duration in timestamp units, 0 for an event.
   */
  forward(
    received: Uint8Array,
    header: RtpHeader,
    { payloadType, units }: { payloadType: number; units: number },
    now: number,
  ): Uint8Array | undefined {
    const memory = this.#memory;
    const ahead = sequenceDistance(this.#copiedSequence, header.sequence);
    const isNew = this.#isNew(header, ahead);
    const event = this.#event;
    if (units === 0 && isNew && event?.ssrc === header.ssrc && event.theirs === header.timestamp) {
      // A digit that began while all was forwarded goes on between packets of our own.
      const rest = withPlainHeader(received, header);
      this.#write(rest, false, payloadType, event.ours);
      return rest;
    }
    if (isNew) {
      this.#offset = this.#from(now) - header.timestamp;
      this.#sequenceOffset = memory[sequence]! - header.sequence;
      this.#copiedSsrc = header.ssrc;
      this.#copiedSequence = header.sequence - 1;
      this.#firstForwarded = header.sequence;
    } else if (ahead <= 0 && sequenceDistance(this.#firstForwarded, header.sequence) < 0) return undefined;
    const packet = withPlainHeader(received, header);
    const at = this.#moved(header.timestamp);
    const number = (header.sequence + this.#sequenceOffset) & 0xffff;
    if (units === 0) this.#event = { ssrc: header.ssrc, theirs: header.timestamp, ours: at };
    const marker = header.marker || isNew;
    writeHeader(packet, { marker, payloadType, sequence: number, timestamp: wrapped(at), ssrc: memory[ssrc]! });
    memory[packets]!++;
    memory[octets]! += header.payloadEnd - header.payloadStart;
    if (sequenceDistance(memory[sequence]!, number) >= 0) memory[sequence] = (number + 1) & 0xffff;
    if (ahead > 0 || isNew) {
      this.#copiedSequence = header.sequence;
      this.#copiedTimestamp = header.timestamp;
    }
    this.#advance(at + units);
    this.#silent = true;
    return packet;
  }

  /** Whether a packet begins another stream than the one forwarded so far. */
  #isNew({ ssrc, timestamp }: RtpHeader, ahead: number): boolean {
    return (
      this.#offset === undefined ||
      ssrc !== this.#copiedSsrc ||
      Math.abs(ahead) > longestDisorder ||
      Math.abs(timestampDistance(this.#copiedTimestamp, timestamp)) > longestJumpS * this.#memory[clockRate]!
    );
  }

  /** The stream whose packets are {@link forward}ed; undefined while none is. */
  get passing(): PassedStream | undefined {
    if (this.#offset === undefined) return undefined;
    const timestamp = this.#copiedTimestamp;
    const [ssrc, sequence, sequenceOffset] = [this.#copiedSsrc, this.#copiedSequence, this.#sequenceOffset];
    return { ssrc, sequence, timestamp, at: this.#moved(timestamp), sequenceOffset };
  }

  /**
   * Continues after in-order packets of that stream that another part has relayed; the numbers in memory are up to
   * date. @param at timestamp of the last one on our timeline.
   */
  goOn(sequence: number, timestamp: number, at: number): void {
    this.#copiedSequence = sequence;
    this.#copiedTimestamp = timestamp;
    this.#offset = at - timestamp;
    this.#silent = true;
  }

  /** A copied stream's timestamp on our timeline, which does not wrap when theirs does. */
  #moved(copied: number): number {
    let at = this.#offset! + copied;
    const next = this.#memory[timestamp]!;
    if (at < next - 0x8000_0000) {
      this.#offset! += wholeClock;
      at += wholeClock;
    } else if (at > next + 0x8000_0000 && next > 0) at -= wholeClock;
    return at;
  }

  #at(now: number): number {
    return this.#memory[origin]! + Math.floor((now * this.#memory[clockRate]!) / 1000);
  }

  /** The present on the timeline, not before sent audio. */
  #from(now: number): number {
    return Math.max(this.#memory[timestamp]!, this.#at(now));
  }

  #advance(to: number): void {
    if (to > this.#memory[timestamp]!) this.#memory[timestamp] = to;
  }

  #write(packet: Uint8Array, marker: boolean, payloadType: number, at: number): void {
    const memory = this.#memory;
    const number = memory[sequence]!;
    writeHeader(packet, { marker, payloadType, sequence: number, timestamp: wrapped(at), ssrc: memory[ssrc]! });
    memory[sequence] = (number + 1) & 0xffff;
    memory[packets]!++;
    memory[octets]! += packet.length - headerLength;
  }
}

/** Modulo 2^32, without what is behind the point: the shift does just that, also with what is negative. */
function wrapped(at: number): number {
  return at >>> 0;
}

/** The packet without contributing sources, extension and padding, in the same memory where it can be. */
function withPlainHeader(received: Uint8Array, header: RtpHeader): Uint8Array {
  if (header.payloadStart === headerLength)
    return header.payloadEnd === received.length ? received : received.subarray(0, header.payloadEnd);
  return Buffer.concat([received.subarray(0, headerLength), received.subarray(header.payloadStart, header.payloadEnd)]);
}
