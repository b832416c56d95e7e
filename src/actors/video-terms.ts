import type { LegVideo, LegVideoStream } from '../telephony/driver.ts';
import type { VideoCodec } from '../telephony/video.ts';

/**
 * Why one is not shown to another: they have different codecs. Or why it is shown, but may not be decoded: another profile of
 * H.264, a higher level.
 */
type WhyUnseen = 'codec' | 'profile' | 'level';

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
  if (sent.profile !== taken.profile && !alsoRead[taken.profile]?.includes(sent.profile)) return 'profile';
  return sent.level > taken.level ? 'level' : undefined;
}

type Chooser = Pick<LegVideo, 'choices' | 'untried' | 'streams'>;

/**
 * The codec that most can have, or may have, as far as they were not asked yet; of several the one that most are known to have, that
 * most have already, and then the one that the first prefers.
 */
export function commonCodec(videos: readonly Chooser[]): VideoCodec | undefined {
  const count = (holds: (video: Chooser) => boolean): number => videos.filter(holds).length;
  const all = [...new Set(videos.flatMap(({ choices, untried }) => [...choices, ...untried]))].map((codec) => ({
    codec,
    may: count((video) => canBe(video, codec)),
    can: count(({ choices }) => choices.includes(codec)),
    have: count(({ streams }) => streams.some((each) => each.stream === 0 && each.codec === codec)),
  }));
  all.sort((one, other) => other.may - one.may || other.can - one.can || other.have - one.have);
  return all[0]?.codec;
}

/** Whether its own stream can have a codec, or may, as far as it was not asked for it. */
export const canBe = ({ choices, untried }: Chooser, codec: VideoCodec): boolean =>
  choices.includes(codec) || untried.includes(codec);
