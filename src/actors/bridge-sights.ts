import type { VideoMode } from '../models/bridge.ts';
import type { BridgeSight } from '../models/bridge-sight.ts';
import type { LegVideoStream } from '../telephony/driver.ts';
import type { VideoStatistics } from '../telephony/video.ts';
import type { BridgeViews, Present } from './bridge-views.ts';
import { whyUnseen } from './video-terms.ts';

/** What is to be known of a bridge for that. */
export type Sightseeing = {
  mode: VideoMode;
  views: Pick<BridgeViews, 'shownTo'>;
  present: readonly Present[];
  /** Figures of each member's streams, by its id; of one that has none nothing. */
  figures: ReadonlyMap<string, readonly VideoStatistics[]>;
};

type Other = BridgeSight['others'][number];

const own = ({ channel }: Present): LegVideoStream | undefined =>
  channel.leg.video?.streams.find(({ stream }) => stream === 0);

/** Who sees whom in a bridge, and why not: members in the order they came. Members without video are nobody's to see. */
export function sightsOf(room: Sightseeing): BridgeSight[] {
  return room.present.map((viewer) => ({
    channel: viewer.channel.id,
    others: room.present.flatMap((source): Other[] => {
      const sent = source === viewer ? undefined : own(source);
      return sent ? [{ channel: source.channel.id, ...sightOf(room, viewer, source.channel.id, sent) }] : [];
    }),
  }));
}

function sightOf(room: Sightseeing, viewer: Present, source: string, sent: LegVideoStream): Omit<Other, 'channel'> {
  const first = own(viewer);
  const { id, leg } = viewer.channel;
  const place = room.mode === 'sfu' ? room.views.shownTo(id)?.indexOf(source) : 0;
  const screen = place === undefined ? undefined : leg.video?.streams.find(({ stream }) => stream === place);
  const terms = whyUnseen(sent, screen ?? first ?? sent);
  const figures = room.figures.get(id) ?? [];
  if (figures.some(({ shows, unseen }) => shows === source && unseen === undefined))
    return { seen: true, ...(terms && { why: terms }) };
  const why = (): string => {
    if (!first) return 'no_video';
    if (!(screen ?? first).send) return 'inactive';
    if (!sent.receive) return 'source_inactive';
    if (place === -1) return 'streams';
    if (!screen) return 'negotiating';
    if (terms === 'codec') return terms;
    const awaits = figures.find((each) => each.awaits === source);
    return awaits?.unseen ?? (room.mode === 'sfu' ? 'negotiating' : 'another');
  };
  return { seen: false, why: why() };
}
