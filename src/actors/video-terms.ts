import type { LegVideo, LegVideoStream } from '../telephony/driver.ts';
import type { VideoCodec } from '../telephony/video.ts';

/**
 * Why a source is not visible: the codecs differ. Or why it may not be decodable: another H.264 profile, or a higher
 * level.
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

/** Why one stream cannot show another; undefined if it can. */
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
 * The codec that most members support or may support. A tie goes to the codec that most are known to support. The next
 * criteria are use and the first member's preference.
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

/** Whether its stream can have a codec, or may because it was never offered. */
export const canBe = ({ choices, untried }: Chooser, codec: VideoCodec): boolean =>
  choices.includes(codec) || untried.includes(codec);
