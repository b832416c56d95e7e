import { type VideoFormatName, videoFormatNames } from '../../lib/formats.ts';
import { answerH264, h264Offers, h264Rank, isSameH264, readH264, readParameters } from './h264-parameters.ts';

/** One way of a codec as we offer it. Its clock is 90,000 Hz, as of all video. */
export type OfferedVideo = { codec: VideoFormatName; payloadType: number; parameters?: string };

export const VIDEO_CLOCK = 90_000;

const names: Readonly<Record<VideoFormatName, string>> = { vp8: 'VP8', vp9: 'VP9', h264: 'H264', av1: 'AV1' };

/** The ways of each codec that we offer, with numbers that no other of ours has. */
const offers: Readonly<Record<VideoFormatName, readonly OfferedVideo[]>> = {
  vp8: [{ codec: 'vp8', payloadType: 96 }],
  vp9: [{ codec: 'vp9', payloadType: 97, parameters: 'profile-id=0' }],
  h264: h264Offers.map((parameters, index) => ({ codec: 'h264', payloadType: 98 + index, parameters })),
  av1: [{ codec: 'av1', payloadType: 100 }],
};

/** How a codec is written in `rtpmap`. */
export const videoNameOf = (codec: VideoFormatName): string => names[codec];

/** All ways of these codecs, in this order. */
export const videoOffers = (codecs: readonly VideoFormatName[]): OfferedVideo[] =>
  codecs.flatMap((codec) => offers[codec]);

/** The codec of a name; names are compared without case (RFC 8866 6.6). */
export const videoNamed = (name: string, rate: number): VideoFormatName | undefined =>
  rate === VIDEO_CLOCK ? videoFormatNames.find((codec) => names[codec] === name.toUpperCase()) : undefined;

/**
 * Whether one way of a codec can be forwarded to others: of VP9 and AV1 profile 0, which every decoder has (RFC 9628 6,
 * and the AV1 payload format 7.2.1), of H.264 what `readH264` knows.
 */
export function isForwardable(codec: VideoFormatName, parameters = ''): boolean {
  if (codec === 'h264') return readH264(parameters) !== undefined;
  const profile = codec === 'vp9' ? 'profile-id' : codec === 'av1' ? 'profile' : undefined;
  return profile === undefined || (readParameters(parameters).get(profile) ?? '0') === '0';
}

/** Less is preferred, among several ways of one codec. */
export function videoRank({ codec, parameters }: { codec: VideoFormatName; parameters?: string }): number {
  const format = codec === 'h264' ? readH264(parameters) : undefined;
  return format ? h264Rank(format) : 0;
}

/** What we say in `fmtp` of one way that was offered to us. */
export function answeredParameters(codec: VideoFormatName, parameters: string | undefined): string | undefined {
  const format = codec === 'h264' ? readH264(parameters) : undefined;
  if (format) return answerH264(format);
  return codec === 'vp9' ? 'profile-id=0' : undefined;
}

/** The offer of ours that one way in an answer belongs to; undefined when it was not offered. */
export function offerAnswered(
  codecs: readonly VideoFormatName[],
  { codec, parameters }: { codec: VideoFormatName; parameters?: string },
): OfferedVideo | undefined {
  const answered = codec === 'h264' ? readH264(parameters) : undefined;
  return videoOffers(codecs).find((each) => {
    if (each.codec !== codec) return false;
    const ours = codec === 'h264' ? readH264(each.parameters) : undefined;
    return !ours || (answered !== undefined && isSameH264(ours, answered));
  });
}
