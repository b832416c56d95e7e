import type { StateValue } from 'xstate';
import {
  allowedOnBridge,
  allowedOnChannel,
  allowedOnPlayback,
  allowedOnRecording,
} from '../../src/actors/allowed-operations.ts';
import { replay, type SnapshotImage } from '../../src/actors/step.ts';
import { type BridgeSnapshot, bridgeMachine, bridgeModel } from '../../src/machines/bridge.ts';
import { type BridgeVideoSnapshot, bridgeVideoMachine } from '../../src/machines/bridge-video.ts';
import { type ChannelSnapshot, channelMachine, channelModel } from '../../src/machines/channel.ts';
import { liveRecordingMachine, type RecordingSnapshot, recordingModel } from '../../src/machines/live-recording.ts';
import { type OwnershipSnapshot, ownershipMachine } from '../../src/machines/ownership.ts';
import { type PlaybackSnapshot, playbackMachine, playbackModel } from '../../src/machines/playback.ts';
import type { AllowedOperations } from '../../src/models/allowed-operations.ts';
import type { StepEntry, TimelineEntry } from '../../src/models/timeline.ts';
import { stateNames } from './words.ts';

/**
 * The state at any place of a call's timeline: the server's own functions compute the snapshots of all charts from
 * their steps, then the models and allowed operations.
 */

/** One chart of one object, up to a place in the timeline. */
export type Traced = {
  object: string;
  chart: string;
  image: SnapshotImage;
  /** States it was in, in order, the last one being that it is in. */
  way: string[];
  /** Its last event, and when. */
  last: StepEntry;
  began: number;
};

export const keyOf = (object: string, chart: string): string => `${chart}:${object}`;

/** All charts after the first `count` entries, by {@link keyOf}, in the order they began. */
export function tracedAt(timeline: readonly TimelineEntry[], count: number): Map<string, Traced> {
  const found = new Map<string, Traced>();
  for (let at = 0; at < count; at++) {
    const entry = timeline[at];
    if (entry?.kind !== 'step') continue;
    const key = keyOf(entry.object, entry.chart);
    const before = found.get(key);
    const { whole, ...change } = entry.change;
    const image = replay(whole ? undefined : before?.image, change as Parameters<typeof replay>[1]);
    const names = stateNames(entry.to);
    const way = before?.way ?? [];
    const moved = before === undefined || JSON.stringify(entry.from) !== JSON.stringify(entry.to);
    if (moved) for (const name of names) if (way.at(-1) !== name) way.push(name);
    found.set(key, {
      object: entry.object,
      chart: entry.chart,
      image,
      way,
      last: entry,
      began: before?.began ?? entry.at,
    });
  }
  return found;
}

/** A snapshot that models and refusals can be asked with. */
const snapshotOf = (machine: { resolveState(config: never): unknown }, { value, context }: SnapshotImage): unknown =>
  machine.resolveState({ value: value as StateValue, context } as never);

/** Computes a value from recorded data; undefined if masks or limits removed too much. */
function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** The video chart of a bridge; undefined without video. */
function videoOf(bridge: string, all: ReadonlyMap<string, Traced>): BridgeVideoSnapshot | undefined {
  const video = all.get(keyOf(bridge, 'bridgeVideo'));
  return video && (snapshotOf(bridgeVideoMachine as never, video.image) as BridgeVideoSnapshot);
}

/** An object's model as clients saw it. */
export function modelOf({ chart, image, object }: Traced, all: ReadonlyMap<string, Traced>): object | undefined {
  return attempt((): object | undefined => {
    switch (chart) {
      case 'channel':
        return channelModel(snapshotOf(channelMachine as never, image) as ChannelSnapshot);
      case 'bridge':
        return bridgeModel(snapshotOf(bridgeMachine as never, image) as BridgeSnapshot, {
          video: videoOf(object, all),
        });
      case 'playback':
        return playbackModel(snapshotOf(playbackMachine as never, image) as PlaybackSnapshot);
      case 'liveRecording':
        return recordingModel(snapshotOf(liveRecordingMachine as never, image) as RecordingSnapshot);
      default:
        return undefined;
    }
  });
}

/** The operations that an object allowed. */
export function allowedOn(traced: Traced, all: ReadonlyMap<string, Traced>): AllowedOperations | undefined {
  const { chart, image, object } = traced;
  if (image.status !== 'active') return undefined;
  return attempt(() => {
    switch (chart) {
      case 'channel': {
        const owner = all.get(keyOf(object, 'ownership'));
        if (!owner) return undefined;
        const life = snapshotOf(channelMachine as never, image) as ChannelSnapshot;
        const ownership = snapshotOf(ownershipMachine as never, owner.image) as OwnershipSnapshot;
        return allowedOnChannel(object, { life, ownership });
      }
      case 'bridge':
        return allowedOnBridge(snapshotOf(bridgeMachine as never, image) as BridgeSnapshot, videoOf(object, all));
      case 'playback':
        return allowedOnPlayback(snapshotOf(playbackMachine as never, image) as PlaybackSnapshot);
      case 'liveRecording':
        return allowedOnRecording(snapshotOf(liveRecordingMachine as never, image) as RecordingSnapshot);
      default:
        return undefined;
    }
  });
}
