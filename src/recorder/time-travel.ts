import { replay, type SnapshotImage } from '../actors/step.ts';
import { type BridgeSnapshot, bridgeModel, isOpen } from '../machines/bridge.ts';
import type { BridgeVideoSnapshot } from '../machines/bridge-video.ts';
import { type ChannelSnapshot, channelModel } from '../machines/channel.ts';
import { ownVariable } from '../machines/channel-setup.ts';
import { type RecordingSnapshot, recordingModel } from '../machines/live-recording.ts';
import { type PlaybackSnapshot, playbackModel } from '../machines/playback.ts';
import type { Bridge } from '../models/bridge.ts';
import type { Channel } from '../models/channel.ts';
import type { LiveRecording } from '../models/live-recording.ts';
import type { Playback } from '../models/playback.ts';
import type { StepEntry, TimelineEntry } from '../models/timeline.ts';

/** A chart as it was: everything but what its object held outside it. */
type ObjectThen = SnapshotImage & {
  object: string;
  chart: string;
  /** Since when it was in that state, in ms since the Unix epoch. */
  since: number;
  /** The step that led there. */
  step: StepEntry;
};

/** The state at one place in the order. */
export type Moment = {
  /** Charts that ran, in the order in which they began. */
  objects: ObjectThen[];
  /** The channels as clients saw them. A bridge's `technology` only reflects its members, not its playbacks. */
  channels: Channel[];
  bridges: Bridge[];
  playbacks: Playback[];
  recordings: LiveRecording[];
};

/** Goes back and forth in the timeline of a call. */
interface TimeMachine {
  /** How things were after everything up to this place (`seq`) had happened. */
  at(seq: number): Moment;
  /** One chart then; undefined before it began and when it had ended. */
  object(chart: string, id: string, seq: number): ObjectThen | undefined;
}

/** Variables that the server shows with every channel (`general.channelvars`); functions cannot be known afterwards. */
type TimeTravelOptions = { channelvars?: readonly string[] };

/**
 * Reads a timeline without gaps after its first entry (`GET /hookswitch/calls/{id}`). It needs nothing else, so the
 * page uses it too.
 */
export function createTimeMachine(timeline: readonly TimelineEntry[], options: TimeTravelOptions = {}): TimeMachine {
  const { channelvars = [] } = options;
  const histories = new Map<string, ObjectThen[]>();
  for (const step of timeline) {
    if (step.kind !== 'step') continue;
    const key = `${step.chart}:${step.object}`;
    const history = histories.get(key) ?? [];
    histories.set(key, history);
    history.push(next(history.at(-1), step));
  }

  const at = (history: readonly ObjectThen[], seq: number): ObjectThen | undefined => {
    let low = 0;
    let high = history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((history[middle] as ObjectThen).step.seq <= seq) low = middle + 1;
      else high = middle;
    }
    const then = history[low - 1];
    return then?.status === 'active' ? then : undefined;
  };
  const shown = ({ context }: SnapshotImage): Record<string, string> | undefined => {
    const { variables, reported } = context as ChannelSnapshot['context'];
    const names = [...channelvars, ...reported];
    if (names.length === 0) return undefined;
    return Object.fromEntries(names.map((name) => [name, ownVariable(variables, name) ?? '']));
  };

  return {
    at(seq) {
      const objects = [...histories.values()].flatMap((history) => at(history, seq) ?? []);
      const of = <S>(chart: string) => objects.filter((each) => each.chart === chart) as unknown as (S & ObjectThen)[];
      const videos = new Map(of<BridgeVideoSnapshot>('bridgeVideo').map((each) => [each.object, each]));
      return {
        objects,
        channels: of<ChannelSnapshot>('channel').map((each) => channelModel(each, shown(each))),
        bridges: of<BridgeSnapshot>('bridge')
          .filter(isOpen)
          .map((each) => bridgeModel(each, { video: videos.get(each.object) })),
        playbacks: of<PlaybackSnapshot>('playback').map(playbackModel),
        recordings: of<RecordingSnapshot>('liveRecording').map(recordingModel),
      };
    },
    object(chart, id, seq) {
      const history = histories.get(`${chart}:${id}`);
      return history && at(history, seq);
    },
  };
}

function next(before: ObjectThen | undefined, step: StepEntry): ObjectThen {
  const { whole, ...change } = step.change;
  const image = replay(whole ? undefined : before, change as never);
  const stays = before !== undefined && before.value === image.value;
  return { ...image, object: step.object, chart: step.chart, since: stays ? before.since : step.at, step };
}
