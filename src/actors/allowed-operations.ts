import { type Verdict, verdicts } from '../machines/allowed.ts';
import {
  type BridgeSnapshot,
  bridgeIgnores,
  bridgeMachine,
  bridgeOperations,
  firstVideoMode,
  refuseBridgeOperation,
} from '../machines/bridge.ts';
import {
  type BridgeVideoSnapshot,
  bridgeVideoIgnores,
  bridgeVideoMachine,
  untouchedVideo,
} from '../machines/bridge-video.ts';
import {
  type ChannelSnapshot,
  channelIgnores,
  channelMachine,
  channelOperations,
  refuseChannelOperation,
} from '../machines/channel.ts';
import {
  liveRecordingIgnores,
  liveRecordingMachine,
  type RecordingSnapshot,
  recordingCommands,
  refuseRecordingCommand,
} from '../machines/live-recording.ts';
import {
  type OwnershipSnapshot,
  ownershipIgnores,
  ownershipMachine,
  ownershipOperations,
  refuseOwnershipOperation,
} from '../machines/ownership.ts';
import {
  type PlaybackSnapshot,
  playbackCommands,
  playbackIgnores,
  playbackMachine,
  refusePlaybackCommand,
} from '../machines/playback.ts';
import {
  whyBridgeRefuses,
  whyChannelRefuses,
  whyPlaybackRefuses,
  whyRecordingRefuses,
  whyUncontrolled,
} from '../machines/refusal-reasons.ts';
import type { AllowedOperation, AllowedOperations } from '../models/allowed-operations.ts';
import { type AriErrorCode, refusalWords } from '../models/errors.ts';

/**
 * The operations that an object allows in its present state. For each refused one: the reason and the states that would
 * allow it. The `refuse…` functions beside the charts decide.
 */

/** An operation as the interface shows it. @param why the reason of its refusal. */
function describe<E extends AriErrorCode>(
  operation: string,
  chart: string,
  verdict: Verdict<E>,
  why: (error: E) => string,
): AllowedOperation {
  if (verdict.allowed) {
    const { withoutEffect } = verdict;
    return { operation, allowed: true, ...(withoutEffect === undefined ? {} : { without_effect: withoutEffect }) };
  }
  const { status, message } = refusalWords(verdict.error, { operation });
  const { error, allowedIn } = verdict;
  return { operation, allowed: false, error, status, message, reason: why(error), chart, allowed_in: allowedIn };
}

/** Operations such as hang-up that every live object accepts, so no chart refuses them. */
const always = (operation: string): AllowedOperation => ({ operation, allowed: true });

const lifeDecides: ReadonlySet<string> = new Set(channelOperations);

/** The operations of a channel: ownership decides first (409), then the channel chart (412). */
export function allowedOnChannel(
  id: string,
  { life, ownership }: { life: ChannelSnapshot; ownership: OwnershipSnapshot },
): AllowedOperations {
  const ofLife = verdicts(channelMachine, life, { refuse: refuseChannelOperation, ignores: channelIgnores });
  const ofOwner = verdicts(ownershipMachine, ownership, {
    refuse: refuseOwnershipOperation,
    ignores: ownershipIgnores,
  });
  const operations = ownershipOperations.map((operation) => {
    const owned = ofOwner(operation);
    if (!owned.allowed || !lifeDecides.has(operation))
      return describe(operation, 'ownership', owned, () => whyUncontrolled(ownership));
    const verdict = ofLife(operation as (typeof channelOperations)[number]);
    return describe(operation, 'channel', verdict, (error) => whyChannelRefuses(error, life));
  });
  const states = { channel: life.value, ownership: ownership.value };
  return { kind: 'channel', id, states, operations: [always('hangup'), ...operations] };
}

const videoDecides: ReadonlySet<string> = new Set(['setVideoSource', 'clearVideoSource']);

/**
 * The operations of a bridge. The bridge refuses; its video chart adds the commands without effect. Left out: an actor
 * that only begins.
 */
export function allowedOnBridge(
  snapshot: BridgeSnapshot,
  video: BridgeVideoSnapshot = untouchedVideo(snapshot.context.id, firstVideoMode(snapshot.context)),
): AllowedOperations {
  const verdict = verdicts(bridgeMachine, snapshot, { refuse: refuseBridgeOperation, ignores: bridgeIgnores });
  const neverRefused = (): AriErrorCode | undefined => undefined;
  const ofVideo = verdicts(bridgeVideoMachine, video, { refuse: neverRefused, ignores: bridgeVideoIgnores });
  const operations = bridgeOperations.map((operation) => {
    const ofBridge = verdict(operation);
    if (!ofBridge.allowed || !videoDecides.has(operation))
      return describe(operation, 'bridge', ofBridge, (error) => whyBridgeRefuses(error, snapshot));
    return describe(operation, 'bridgeVideo', ofVideo(operation), String);
  });
  const { id } = snapshot.context;
  return { kind: 'bridge', id, states: { bridge: snapshot.value, bridgeVideo: video.value }, operations };
}

export function allowedOnPlayback(snapshot: PlaybackSnapshot): AllowedOperations {
  const verdict = verdicts(playbackMachine, snapshot, { refuse: refusePlaybackCommand, ignores: playbackIgnores });
  return {
    kind: 'playback',
    id: snapshot.context.id,
    states: { playback: snapshot.value },
    operations: playbackCommands.map((type) =>
      describe(type, 'playback', verdict({ type }), () => whyPlaybackRefuses(snapshot)),
    ),
  };
}

export function allowedOnRecording(snapshot: RecordingSnapshot): AllowedOperations {
  const verdict = verdicts(liveRecordingMachine, snapshot, {
    refuse: refuseRecordingCommand,
    ignores: liveRecordingIgnores,
  });
  return {
    kind: 'recording',
    id: snapshot.context.name,
    states: { liveRecording: snapshot.value },
    operations: recordingCommands.map((type) =>
      describe(type, 'liveRecording', verdict({ type }), () => whyRecordingRefuses(snapshot)),
    ),
  };
}
