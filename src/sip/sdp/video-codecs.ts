import { type VideoFormatName, videoFormatNames } from '../../lib/formats.ts';
import type { BundledLine } from '../../lib/webrtc.ts';
import { answerH264, h264Offers, h264Rank, isSameH264, readH264, readParameters } from './h264-parameters.ts';

/** One way of a codec as we offer it, and the payload type of its retransmissions. Its clock is 90,000 Hz, as of all video. */
export type OfferedVideo = { codec: VideoFormatName; payloadType: number; parameters?: string; rtx?: number };

export const VIDEO_CLOCK = 90_000;

const names: Readonly<Record<VideoFormatName, string>> = { vp8: 'VP8', vp9: 'VP9', h264: 'H264', av1: 'AV1' };

/** The ways of each codec that we offer, with numbers that no other of ours has, those of audio included. */
const offers: Readonly<Record<VideoFormatName, readonly (OfferedVideo & { rtx: number })[]>> = {
  vp8: [{ codec: 'vp8', payloadType: 96, rtx: 102 }],
  vp9: [{ codec: 'vp9', payloadType: 97, parameters: 'profile-id=0', rtx: 103 }],
  h264: h264Offers.map((parameters, index) => ({
    ...{ codec: 'h264', payloadType: 98 + index, parameters },
    rtx: 104 + index,
  })),
  av1: [{ codec: 'av1', payloadType: 100, rtx: 106 }],
};

/** How a codec is written in `rtpmap`. */
export const videoNameOf = (codec: VideoFormatName): string => names[codec];

/** All ways of these codecs, in this order. */
export const videoOffers = (codecs: readonly VideoFormatName[]): (OfferedVideo & { rtx: number })[] =>
  codecs.flatMap((codec) => offers[codec]);

/** The codec of a name; names are compared without case (RFC 8866 6.6). */
export const videoNamed = (name: string, rate: number): VideoFormatName | undefined =>
  rate === VIDEO_CLOCK ? videoFormatNames.find((codec) => names[codec] === name.toUpperCase()) : undefined;

/**
 * Whether a format can be forwarded: VP9 and AV1 with profile 0, which every decoder has (RFC 9628 6, and the AV1
 * payload format 7.2.1), and H.264 as `readH264` supports it.
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

/** Our `fmtp` for an offered format. */
export function answeredParameters(codec: VideoFormatName, parameters: string | undefined): string | undefined {
  const format = codec === 'h264' ? readH264(parameters) : undefined;
  if (format) return answerH264(format);
  return codec === 'vp9' ? 'profile-id=0' : undefined;
}

/** Whether two formats are the same: for H.264 profile and packetization must agree, the level may differ. */
function isSameWay(one: { codec: VideoFormatName; parameters?: string }, other: typeof one): boolean {
  if (one.codec !== other.codec) return false;
  const [a, b] = one.codec === 'h264' ? [readH264(one.parameters), readH264(other.parameters)] : [];
  return one.codec !== 'h264' || (a !== undefined && b !== undefined && isSameH264(a, b));
}

/** The offer of ours that one way in an answer belongs to; undefined when it was not offered. */
export const offerAnswered = (
  offers: readonly OfferedVideo[],
  answered: { codec: VideoFormatName; parameters?: string },
): OfferedVideo | undefined => offers.find((each) => isSameWay(each, answered));

/** What the other side has used in a stream: payload types of known formats, all numbers, and names of sizes of its picture. */
export type VideoNumbers = {
  readonly known: readonly OfferedVideo[];
  readonly used: readonly number[];
  readonly rids?: readonly string[];
};

/** Remembers those of one more description. */
export function withNumbers(
  before: VideoNumbers | undefined,
  { formats, bundled }: { formats: readonly OfferedVideo[]; bundled?: BundledLine },
  all: readonly string[],
): VideoNumbers {
  const { known, used } = before ?? { known: [], used: [] };
  const isNew = ({ payloadType }: OfferedVideo): boolean => !used.includes(payloadType);
  const numbers = all.map(Number).filter((each) => Number.isInteger(each) && each >= 0 && each <= 127);
  const added = formats.filter(isNew).map(({ codec, payloadType, parameters, rtx }) => ({
    ...{ codec, payloadType },
    ...(parameters !== undefined && { parameters }),
    ...(rtx !== undefined && { rtx }),
  }));
  const { rids } = bundled?.simulcast ?? {};
  return { known: [...known, ...added], used: [...new Set([...used, ...numbers])], ...(rids && { rids }) };
}

/** Numbers of payload types that are free for anything. */
const freeNumbers = Array.from({ length: 32 }, (_, index) => 127 - index);

/** Our offers with the numbers that they have in this session: what one stands for never changes (RFC 3264 8.3.2). */
export function numbered(
  offers: readonly (OfferedVideo & { rtx: number })[],
  numbers: VideoNumbers | undefined,
): OfferedVideo[] {
  if (!numbers) return [...offers];
  const taken = new Set(numbers.used);
  for (const { payloadType, rtx } of offers) taken.add(payloadType).add(rtx);
  const numberOf = (known: number | undefined, ours: number): number => {
    const isOthers = numbers.used.includes(ours);
    const number = known ?? (isOthers ? freeNumbers.find((each) => !taken.has(each)) : undefined) ?? ours;
    taken.add(number);
    return number;
  };
  return offers.map((offer) => {
    const same = numbers.known.find((each) => isSameWay(each, offer));
    const payloadType = numberOf(same?.payloadType, offer.payloadType);
    return { ...offer, payloadType, rtx: numberOf(same?.rtx, offer.rtx) };
  });
}
