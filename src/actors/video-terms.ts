import type { LegVideo, LegVideoStream } from '../telephony/driver.ts';
import type { VideoCodec } from '../telephony/video.ts';

/**
 * Why one is not shown to another: they have different codecs, or it sends H.264 in parts where the other takes whole units
 * alone. Or why it is shown, but may not be decoded: another profile of H.264, a higher level.
 */
export type WhyUnseen = 'codec' | 'packetization' | 'profile' | 'level';

/** Profiles of H.264 that a decoder of one reads beside it (H.264 A.2, RFC 6184 8.1). */
const alsoRead: Readonly<Record<string, readonly string[]>> = {
  baseline: ['constrained baseline'],
  main: ['constrained baseline'],
  'constrained high': ['constrained baseline'],
  high: ['constrained baseline', 'main', 'constrained high'],
};

type Terms = Pick<LegVideoStream, 'codec'> & { h264?: LegVideoStream['h264'] | undefined };

/** Why what comes in one stream is not seen in another; undefined when it is. */
export function whyUnseen(source: Terms, screen: Terms): WhyUnseen | undefined {
  if (source.codec !== screen.codec) return 'codec';
  const { h264: sent } = source;
  const { h264: taken } = screen;
  if (!sent || !taken) return undefined;
  if (sent.packetization > taken.packetization) return 'packetization';
  if (sent.profile !== taken.profile && !alsoRead[taken.profile]?.includes(sent.profile)) return 'profile';
  return sent.level > taken.level ? 'level' : undefined;
}

type Chooser = Pick<LegVideo, 'choices' | 'streams'>;

/** The codec that most can have; of several the one that most have already, and then the one that the first prefers. */
export function commonCodec(videos: readonly Chooser[]): VideoCodec | undefined {
  const has = (codec: VideoCodec) => (video: Chooser) =>
    video.streams.some((each) => each.stream === 0 && each.codec === codec);
  const all = [...new Set(videos.flatMap(({ choices }) => choices))].map((codec) => ({
    codec,
    can: videos.filter(({ choices }) => choices.includes(codec)).length,
    have: videos.filter(has(codec)).length,
  }));
  return all.sort((one, other) => other.can - one.can || other.have - one.have)[0]?.codec;
}
