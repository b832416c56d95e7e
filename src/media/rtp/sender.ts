import { samplesPerMs } from '../codec/codecs.ts';
import type { DigitStep } from './digit-sender.ts';
import { headerLength, type RtpHeader, timestampDistance, writeHeader } from './header.ts';
import { eventLength, writeEvent } from './telephone-event.ts';

/** Power of the digits we send, −10 dBm0. */
const digitVolume = 10;

/**
 * Numbers the packets of one outgoing stream: one SSRC, one sequence, one timeline of timestamps that runs on while
 * nothing is sent, whatever the audio comes from. It hands packets back; sending them is the session's business.
 */
export class RtpSender {
  readonly ssrc: number;
  packets = 0;
  octets = 0;
  #sequence: number;
  /** Timestamp at monotonic time 0. */
  readonly #origin: number;
  /** The first timestamp not covered by what was sent; kept unwrapped. */
  #next = 0;
  #eventTimestamp = 0;
  /** No audio went out just before: the next packet starts a talkspurt. */
  #silent = true;
  #echoOffset: number | undefined;
  #echoedTimestamp = 0;

  /** @param random32 gives 32 random bits: SSRC, first sequence number and first timestamp (RFC 3550 section 5.1). */
  constructor(random32: () => number) {
    this.ssrc = random32();
    this.#sequence = random32() & 0xffff;
    this.#origin = random32();
  }

  /** The timestamp of the moment `now` (monotonic ms), for sender reports; below 2^32. */
  timestampAt(now: number): number {
    return (this.#origin + Math.floor(now * samplesPerMs)) % 0x1_0000_0000;
  }

  /** Says that no audio goes out now: the next packet is the first of a talkspurt. */
  pause(): void {
    this.#silent = true;
    this.#echoOffset = undefined;
  }

  /** Completes a packet whose audio is already in place behind the header. @param now nominal time of the tick. */
  audio(packet: Uint8Array, payloadType: number, now: number): void {
    const samples = packet.length - headerLength;
    const timestamp = this.#silent ? this.#from(now) : this.#next;
    this.#echoOffset = undefined;
    this.#write(packet, this.#silent, payloadType, timestamp, samples);
    this.#silent = false;
    this.#next = timestamp + samples;
  }

  /** Makes a telephone-event packet: all packets of a digit carry the timestamp of its start (RFC 4733 section 2.2). */
  event(step: DigitStep, payloadType: number, now: number): Uint8Array {
    if (step.start) this.#eventTimestamp = this.#from(now);
    const packet = Buffer.allocUnsafe(headerLength + eventLength);
    writeEvent(packet, headerLength, {
      event: step.event,
      end: step.end,
      volume: digitVolume,
      duration: step.duration,
    });
    this.#write(packet, step.start, payloadType, this.#eventTimestamp, eventLength);
    this.#next = Math.max(this.#next, this.#eventTimestamp + step.duration);
    this.pause();
    return packet;
  }

  /**
   * Makes a received packet into one of ours: our SSRC and sequence, its timestamps moved onto our timeline with
   * their distances kept. Uses the same memory where it can.
   */
  echo(received: Uint8Array, header: RtpHeader, now: number): Uint8Array {
    const length = header.payloadEnd - header.payloadStart;
    const packet =
      header.payloadStart === headerLength
        ? received.subarray(0, headerLength + length)
        : Buffer.concat([
            received.subarray(0, headerLength),
            received.subarray(header.payloadStart, header.payloadEnd),
          ]);
    let starts = header.marker;
    if (this.#echoOffset === undefined || timestampDistance(this.#echoedTimestamp, header.timestamp) < 0) {
      this.#echoOffset = this.#from(now) - header.timestamp;
      starts = true;
    }
    this.#echoedTimestamp = header.timestamp;
    let timestamp = this.#echoOffset + header.timestamp;
    // The far side's timestamps wrapped: ours, kept unwrapped, do not.
    if (timestamp < this.#next - 0x8000_0000) {
      this.#echoOffset += 0x1_0000_0000;
      timestamp += 0x1_0000_0000;
    }
    this.#write(packet, starts, header.payloadType, timestamp, length);
    this.#next = Math.max(this.#next, timestamp + length);
    this.#silent = true;
    return packet;
  }

  /** The timeline's present, but never before what was already sent. */
  #from(now: number): number {
    return Math.max(this.#next, this.#origin + Math.floor(now * samplesPerMs));
  }

  #write(packet: Uint8Array, marker: boolean, payloadType: number, timestamp: number, octets: number): void {
    writeHeader(packet, marker, payloadType, this.#sequence, timestamp % 0x1_0000_0000, this.ssrc);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.packets++;
    this.octets += octets;
  }
}
