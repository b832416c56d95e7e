import type { FormatName } from '../../lib/formats.ts';
import type { AudioFormat } from '../../telephony/media.ts';

/** Samples and clock ticks a second, in Hz. */
type Rates = Omit<AudioFormat, 'codec'>;

const linear = (rate: number): Rates => ({ sampleRate: rate, clockRate: rate });

/** The rates of every format there is. */
export const formatRates: Readonly<Record<FormatName, Rates>> = {
  ulaw: linear(8000),
  alaw: linear(8000),
  // 16,000 samples a second, but the clock counts 8,000: a mistake of the first profile that stays (RFC 3551 4.5.2).
  g722: { sampleRate: 16_000, clockRate: 8000 },
  // The clock is always 48 kHz (RFC 7587 section 4.1).
  opus: linear(48_000),
  slin: linear(8000),
  slin12: linear(12_000),
  slin16: linear(16_000),
  slin24: linear(24_000),
  slin32: linear(32_000),
  slin44: linear(44_100),
  slin48: linear(48_000),
};

/**
 * One audio stream of a codec, in both directions, with its state. Callers supply the buffers; packets allocate
 * nothing. Network input never throws: an unreadable payload decodes to no samples.
 */
export interface AudioCodec extends Readonly<AudioFormat> {
  /** Whether equal samples always encode to equal payloads. */
  readonly stateless?: boolean | undefined;
  /**
   * Encodes a packet's samples (16 bit, mono, at `sampleRate`) to the beginning of `target`, which holds {@link
   * maximumPayload} octets.
   * @returns octets written; 0 if there is nothing to send (Opus in silence, with DTX).
   */
  encode(samples: Int16Array, target: Uint8Array): number;
  /**
   * Decodes a payload to the beginning of `target`; what does not fit is left out.
   * @returns samples written.
   */
  decode(payload: Uint8Array, target: Int16Array): number;
  /**
   * Fills `target` with the likely content of a lost packet, if the codec can do better than repeating a pitch. It uses
   * the next packet's copy (Opus with in-band FEC), else the previous audio.
   * @returns samples written; 0 if the codec cannot.
   */
  conceal?(target: Int16Array, next?: Uint8Array): number;
  /** Goes on encoding behind octets that were encoded before, where packets build on each other. */
  follow?(payload: Uint8Array): void;
  /** Frees memory outside JavaScript. Idempotent; afterwards nothing is encoded or decoded. */
  close(): void;
}

/** Octets that hold `samples` encoded in any codec of the plane. */
export function maximumPayload(samples: number): number {
  return Math.max(1500, samples * 2);
}
