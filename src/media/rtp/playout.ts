import type { Clock } from '../../lib/clock.ts';
import type { AudioCodec } from '../codec/audio-codec.ts';
import { ComfortNoise } from '../codec/comfort-noise.ts';
import { Concealer } from '../dsp/concealer.ts';
import { emptyFrame, type Frame, frameSamples } from '../frame.ts';
import { tickMs } from '../ticker.ts';
import { sequenceDistance } from './header.ts';

/** A packet as it waits for its turn. */
type HeldPacket = {
  sequence: number;
  packet: Uint8Array;
  payloadStart: number;
  payloadEnd: number;
  at: number;
  /** It describes the noise that is to be heard until audio comes again (RFC 3389). */
  isNoise: boolean;
};

/** Packets that can wait; a power of two. */
const window = 64;
/**
 * Shortest wait of a talkspurt's first packet, in ms, so that the next may be late. Ticks come every 20 ms, so it waits
 * 20 ms on average. If that is too short the wait grows with the first missing packet.
 */
const startMs = 10;
/** More waiting packets are too many: the delay would last. */
const mostHeld = 10;
/** After so many ticks in which more packets waited than were needed, one is left out. */
const calmTicks = 50;
/** Packets that may wait at the calmest moment without being too many. */
const wantedHeld = 1;
/** Longest loss that is concealed, in ms; after it the line is silent. */
const longestConcealMs = 60;
/** Longest packet, in ms. */
const longestPacketMs = 120;

/**
 * A jitter buffer, 20 ms a tick: packets wait, are ordered, and losses are concealed. The wait adapts. It grows when
 * packets are late (missing audio is concealed). It shrinks when more wait than needed, which also compensates clock
 * drift.
 */
export class Playout {
  readonly #codec: AudioCodec;
  readonly #clock: Pick<Clock, 'monotonic'> | undefined;
  readonly #concealer: Concealer;
  readonly #frame: Frame;
  readonly #held: (HeldPacket | undefined)[] = new Array(window).fill(undefined);
  readonly #decoded: Int16Array;
  /** The first of them: the frame that is given out next. */
  readonly #next: Int16Array;
  #decodedCount = 0;
  #count = 0;
  #expected = -1;
  #playing = false;
  #startMs: number;
  #concealedMs = 0;
  #calm = 0;
  #fewest = window;
  /** Comfort noise of the far side's silence; created on its first description. */
  #noise: ComfortNoise | undefined;
  #noising = false;
  /** Packets that came after their turn, 20 ms that were made up, and packets left out to shorten the wait. */
  late = 0;
  concealed = 0;
  leftOut = 0;

  /**
   * @param codec closed by the playout. @param running the stream is running: its first packet is played without a
   * wait, because the previous ones were just heard; the wait grows if necessary. @param clock tells how late a tick
   * is.
   */
  constructor(codec: AudioCodec, running = false, clock?: Pick<Clock, 'monotonic'>) {
    this.#codec = codec;
    this.#clock = clock;
    this.#startMs = running ? 0 : startMs;
    this.#concealer = new Concealer(codec.sampleRate);
    this.#frame = emptyFrame(codec.sampleRate);
    this.#decoded = new Int16Array(((longestPacketMs + tickMs) * codec.sampleRate) / 1000);
    this.#next = this.#decoded.subarray(0, frameSamples(codec.sampleRate));
  }

  /** Takes a packet; its octets are kept until its turn. @param at monotonic ms. */
  put(held: HeldPacket): void {
    if (this.#expected < 0) this.#expected = held.sequence;
    let ahead = sequenceDistance(this.#expected, held.sequence);
    if (ahead < 0 && ahead > -window) {
      // Before anything was played the first to come need not be the first that was sent.
      if (this.#playing || this.#count - ahead > mostHeld) {
        this.late++;
        return;
      }
      this.#expected = held.sequence;
      ahead = 0;
    }
    if (ahead < 0 || ahead >= window) {
      this.#restart(held.sequence);
    }
    const slot = held.sequence % window;
    if (this.#held[slot]) return;
    this.#held[slot] = held;
    this.#count++;
  }

  /** The next 20 ms; undefined while the far side says nothing, and has not told what to hear then. */
  pull(now: number): Frame | undefined {
    const needed = frameSamples(this.#codec.sampleRate);
    if (this.#playing || this.#begins(now)) {
      this.#shorten(now);
      while (this.#decodedCount < needed && this.#count > 0 && this.#playing) this.#decodeNext();
    }
    if (this.#decodedCount < needed && !this.#fillUp(needed)) return undefined;
    return this.#give(needed);
  }

  #give(needed: number): Frame {
    this.#frame.samples.set(this.#next);
    if (this.#decodedCount > needed) this.#decoded.copyWithin(0, needed, this.#decodedCount);
    this.#decodedCount -= needed;
    return this.#frame;
  }

  /** The next 20 ms that are there in full, without waiting for their tick; nothing is made up. */
  ready(): Frame | undefined {
    const needed = frameSamples(this.#codec.sampleRate);
    while (this.#decodedCount < needed && this.#count > 0 && this.#held[this.#expected % window]) this.#decodeNext();
    if (this.#decodedCount < needed) return undefined;
    this.#playing = true;
    this.#concealedMs = 0;
    return this.#give(needed);
  }

  /** A packet that is no audio has this number: nothing is missing. */
  pass(sequence: number): void {
    if (sequence === this.#expected) this.#skip();
  }

  /** Returns and clears waiting packets, in order: another part continues with them. */
  flush(): HeldPacket[] {
    const held: HeldPacket[] = [];
    for (let slot = 0; slot < window && held.length < this.#count; slot++) {
      const each = this.#held[(this.#expected + slot) % window];
      if (each) held.push(each);
    }
    this.#restart(-1);
    return held;
  }

  close(): void {
    this.#restart(-1);
    this.#codec.close();
  }

  #restart(expected: number): void {
    this.#held.fill(undefined);
    this.#count = 0;
    this.#decodedCount = 0;
    this.#expected = expected;
    this.#playing = false;
    this.#noising = false;
    this.#calm = 0;
    this.#fewest = window;
  }

  #begins(now: number): boolean {
    if (this.#count === 0) return false;
    // Packets given up before the pause are not awaited.
    while (!this.#held[this.#expected % window]) this.#skip();
    if (this.#count < 2 && now - this.#held[this.#expected % window]!.at < this.#startMs) return false;
    this.#playing = true;
    this.#startMs = startMs;
    this.#concealedMs = 0;
    return true;
  }

  #skip(): void {
    this.#expected = (this.#expected + 1) & 0xffff;
  }

  /** Takes the next packet, or conceals it when those behind it are there already. */
  #decodeNext(): void {
    const slot = this.#expected % window;
    const next = this.#held[slot];
    this.#skip();
    const free = this.#decodedCount === 0 ? this.#decoded : this.#decoded.subarray(this.#decodedCount);
    if (!next) {
      const behind = this.#held[this.#expected % window];
      const copy = behind?.packet.subarray(behind.payloadStart, behind.payloadEnd);
      this.#make(free.subarray(0, frameSamples(this.#codec.sampleRate)), copy);
      return;
    }
    this.#held[slot] = undefined;
    this.#count--;
    if (next.isNoise) {
      this.#hearNoise(next.packet.subarray(next.payloadStart, next.payloadEnd));
      return;
    }
    this.#noising = false;
    const count = this.#codec.decode(next.packet.subarray(next.payloadStart, next.payloadEnd), free);
    if (count === 0) return;
    const isWholeFrame = this.#decodedCount === 0 && count === this.#next.length;
    this.#concealer.heard(isWholeFrame ? this.#next : free.subarray(0, count));
    this.#decodedCount += count;
    this.#concealedMs = 0;
  }

  /** The far side is silent from here on, and told what that sounds like. */
  #hearNoise(described: Uint8Array): void {
    this.#noise ??= new ComfortNoise(this.#expected);
    this.#noise.update(described);
    // Faded in, as after a loss: what was said may have ended anywhere.
    if (!this.#noising) this.#concealer.interrupted();
    this.#noising = true;
    this.#playing = false;
  }

  /** Nothing is left: the rest is noise, or made up, until that would be made up for too long. */
  #fillUp(needed: number): boolean {
    if (this.#noising) {
      const rest = this.#decoded.subarray(this.#decodedCount, needed);
      this.#noise?.fill(rest, 0, rest.length);
      this.#concealer.heard(rest);
      this.#decodedCount = needed;
      return true;
    }
    if (!this.#playing) return false;
    if (this.#concealedMs >= longestConcealMs) {
      this.#playing = false;
      this.#decodedCount = 0;
      return false;
    }
    this.#make(this.#decoded.subarray(this.#decodedCount, needed), undefined);
    return true;
  }

  /** Makes up what `target` holds. @param copy packet behind the lost one, which may carry a copy of it. */
  #make(target: Int16Array, copy: Uint8Array | undefined): void {
    const count = this.#codec.conceal?.(target, copy) ?? 0;
    if (count > 0) this.#concealer.heard(target.subarray(0, count));
    if (count < target.length) this.#concealer.conceal(target.subarray(count));
    this.#decodedCount += target.length;
    this.#concealedMs += (target.length * 1000) / this.#codec.sampleRate;
    this.concealed++;
  }

  /** Drops a packet when more wait than needed for a while, or many more now. */
  #shorten(now: number): void {
    if (this.#count < this.#fewest) this.#fewest = this.#count;
    if (this.#count > mostHeld) {
      // Packets for late ticks wait for these, which follow directly.
      const owed = this.#clock ? Math.ceil((this.#clock.monotonic() - now) / tickMs) : 0;
      if (this.#count - owed > mostHeld) while (this.#count - owed > wantedHeld + 1) this.#leaveOut();
    }
    if (++this.#calm < calmTicks) return;
    if (this.#fewest > wantedHeld + 1) this.#leaveOut();
    this.#calm = 0;
    this.#fewest = window;
  }

  #leaveOut(): void {
    const before = this.#decodedCount;
    // Decoded all the same, or the codec would lose its thread.
    this.#decodeNext();
    this.#decodedCount = before;
    this.leftOut++;
  }
}
