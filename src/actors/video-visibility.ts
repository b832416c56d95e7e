import type { VideoMode } from '../models/bridge.ts';
import type { VideoVisibility } from '../models/video-visibility.ts';
import type { LegVideoStream } from '../telephony/driver.ts';
import type { VideoStatistics } from '../telephony/video.ts';
import type { BridgeViews, Present } from './bridge-views.ts';
import { whyUnseen } from './video-terms.ts';

/** The view of a bridge that visibility needs. */
type Viewing = {
  mode: VideoMode;
  views: Pick<BridgeViews, 'shownTo'>;
  present: readonly Present[];
  /** Figures of each member's streams, by its id; of one that has none nothing. */
  figures: ReadonlyMap<string, readonly VideoStatistics[]>;
};

type Other = VideoVisibility['others'][number];

const own = ({ channel }: Present): LegVideoStream | undefined =>
  channel.leg.video?.streams.find(({ stream }) => stream === 0);

/** Which member sees which, and reasons; members in joining order. Members without video are left out as sources. */
export function videoVisibilityOf(viewing: Viewing): VideoVisibility[] {
  return viewing.present.map((viewer) => ({
    channel: viewer.channel.id,
    others: viewing.present.flatMap((source): Other[] => {
      const sent = source === viewer ? undefined : own(source);
      return sent ? [{ channel: source.channel.id, ...visibilityOf(viewing, viewer, source.channel.id, sent) }] : [];
    }),
  }));
}

function visibilityOf(viewing: Viewing, viewer: Present, source: string, sent: LegVideoStream): Omit<Other, 'channel'> {
  const first = own(viewer);
  const { id, leg } = viewer.channel;
  const place = viewing.mode === 'sfu' ? viewing.views.shownTo(id)?.indexOf(source) : 0;
  const screen = place === undefined ? undefined : leg.video?.streams.find(({ stream }) => stream === place);
  const terms = whyUnseen(sent, screen ?? first ?? sent);
  const figures = viewing.figures.get(id) ?? [];
  const shown = figures.find(({ shows, unseen }) => shows === source && unseen === undefined);
  if (shown) {
    const { codec, bitrate_sent: bitrate, size, sizes } = shown;
    const which = size !== undefined && { size, ...(sizes !== undefined && { sizes }) };
    return { seen: true, ...(terms && { why: terms }), codec, bitrate, ...which };
  }
  const why = (): string => {
    if (!first) return 'no_video';
    if (!(screen ?? first).send) return 'inactive';
    if (!sent.receive) return 'source_inactive';
    if (place === -1) return 'streams';
    if (!screen) return 'negotiating';
    if (terms === 'codec') return terms;
    const awaits = figures.find((each) => each.awaits === source);
    return awaits?.unseen ?? (viewing.mode === 'sfu' ? 'negotiating' : 'another');
  };
  return { seen: false, why: why() };
}
