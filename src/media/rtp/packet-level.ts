import type { Codec } from '../../telephony/media.ts';
import type { AudioCodec } from '../codec/audio-codec.ts';
import { openCodec } from '../codec/open-codec.ts';
import { meanLevel } from '../dsp/level.ts';
import { tickMs } from '../ticker.ts';

/** A packet late by no more than this keeps the previous level, in ms. */
const graceMs = 40;
/** Audio that may be ahead of the ticks, in ms. */
const mostMs = 60;
/** Longest packet that is looked at, in ms. */
const longestPacketMs = 120;

/** Level of a far side whose packets are only relayed, for watchers. */
export class PacketLevel {
  #watchers = 0;
  #codec: AudioCodec | undefined;
  #samples = new Int16Array(0);
  #level = 0;
  #leftMs = -graceMs;

  /** Adds or removes a reader. @param codec undefined if packets cannot be measured. */
  watch(on: boolean, codec: Codec | undefined): void {
    this.#watchers += on ? 1 : -1;
    // Others go on hearing what they hear.
    if (this.#watchers === (on ? 1 : 0)) this.open(codec);
  }

  /** Whether there are readers. */
  get watched(): boolean {
    return this.#watchers > 0;
  }

  /** Sets the codec of following packets. */
  open(codec: Codec | undefined): void {
    this.close();
    this.#leftMs = -graceMs;
    if (this.#watchers === 0 || !codec) return;
    this.#codec = openCodec(codec, { order: 'network' });
    this.#samples = new Int16Array((this.#codec.sampleRate * longestPacketMs) / 1000);
  }

  /** Measures the payload of a packet, if there are readers. */
  look(packet: Uint8Array, from: number, to: number): void {
    if (this.#codec) this.put(packet.subarray(from, to));
  }

  /** Takes the payload of a packet. */
  put(payload: Uint8Array): void {
    const codec = this.#codec;
    if (!codec) return;
    const count = codec.decode(payload, this.#samples);
    if (count === 0) return;
    this.#level = meanLevel(this.#samples.subarray(0, count));
    this.#leftMs = Math.min(mostMs, Math.max(this.#leftMs, 0) + (count * 1000) / codec.sampleRate);
  }

  /** Present mean amplitude, for readers that do not {@link take} tick by tick. */
  get now(): number {
    return this.#leftMs <= -graceMs ? 0 : this.#level;
  }

  /** The same; undefined where nothing has come. */
  get latest(): number | undefined {
    return this.#leftMs <= -graceMs ? undefined : this.#level;
  }

  /** Mean amplitude of the next tick. */
  take(): number {
    if (this.#leftMs <= -graceMs) return 0;
    this.#leftMs -= tickMs;
    return this.#level;
  }

  close(): void {
    this.#codec?.close();
    this.#codec = undefined;
  }
}
