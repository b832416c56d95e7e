import type { FormatName } from '../../lib/formats.ts';

/** Audio codecs this stack can name in a description: any format; linear audio is L16 there. */
export type AudioCodec = FormatName;

/** How a codec is written in a description. */
export type CodecName = {
  /** Our payload type: the static one (RFC 3551 6), or a free dynamic one. */
  payloadType: number;
  name: string;
  /** Hz in `rtpmap`: 8000 for G.722, although it samples at 16,000 (RFC 3551 4.5.2). */
  rate: number;
  /** Only Opus names channels: always two (RFC 7587 7). */
  channels?: number;
  /** Our `fmtp` parameters. */
  parameters?: string;
};

const linear = (payloadType: number, rate: number): CodecName => ({ payloadType, name: 'L16', rate });

/** Every codec there is. */
export const codecNames: Readonly<Record<AudioCodec, CodecName>> = {
  ulaw: { payloadType: 0, name: 'PCMU', rate: 8000 },
  alaw: { payloadType: 8, name: 'PCMA', rate: 8000 },
  g722: { payloadType: 9, name: 'G722', rate: 8000 },
  opus: { payloadType: 107, name: 'opus', rate: 48_000, channels: 2 },
  slin: linear(112, 8000),
  slin12: linear(113, 12_000),
  slin16: linear(114, 16_000),
  slin24: linear(115, 24_000),
  slin32: linear(116, 32_000),
  slin44: linear(117, 44_100),
  slin48: linear(118, 48_000),
};

export const audioCodecs = Object.keys(codecNames) as readonly AudioCodec[];

/** The codec of a name, rate and number of channels; names are compared without case (RFC 8866 6.6). */
export function codecNamed(name: string, rate: number, channels = 1): AudioCodec | undefined {
  const wanted = name.toUpperCase();
  return audioCodecs.find((codec) => {
    const each = codecNames[codec];
    return each.name.toUpperCase() === wanted && each.rate === rate && (each.channels ?? 1) === channels;
  });
}

/** The codec of a payload type that needs no `rtpmap` (RFC 3551 6). */
export function codecOfStatic(payloadType: number): AudioCodec | undefined {
  if (payloadType === 0) return 'ulaw';
  if (payloadType === 8) return 'alaw';
  return payloadType === 9 ? 'g722' : undefined;
}

/** The clock of telephone events beside a codec, in Hz: its own (RFC 4733 2.1), of linear audio any. */
export function eventRateOf(codec: AudioCodec): 8000 | 48_000 {
  return codecNames[codec].rate === 48_000 ? 48_000 : 8000;
}

/** The number of comfort noise at 8000 Hz (RFC 3389 section 4). */
export const comfortNoiseType = 13;

/** Whether a name is that of a codec. */
export const isAudioCodec = (name: string): name is AudioCodec => (audioCodecs as readonly string[]).includes(name);
