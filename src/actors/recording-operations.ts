import { isEnding, lifeOf } from '../machines/channel.ts';
import type { AllowedOperations } from '../models/allowed-operations.ts';
import { AriError } from '../models/errors.ts';
import type { LiveRecording } from '../models/live-recording.ts';
import type { Bridges } from './bridges.ts';
import type { CallPolicy } from './call-policy.ts';
import { controlledChannel } from './channel-control.ts';
import { answered, type ChannelEntry, type ChannelFacts, snapshotOf } from './channel-entry.ts';
import type { Channels } from './channels.ts';
import type { Playbacks } from './playbacks.ts';
import { type RecordingRequest, readRecordingRequest, refuseNegativeLimits } from './recording-requests.ts';
import type { Recordings, RecordTarget } from './recordings.ts';

type RecordingOperationsOptions = {
  channels: Channels;
  facts: ChannelFacts;
  bridges: Pick<Bridges, 'bridgeOf'>;
  playbacks: Pick<Playbacks, 'queueOf'>;
  recordings: Recordings;
  policy: Pick<CallPolicy, 'recordsInBridges'>;
};

/** The commands of clients for live recordings and for recording channels, by the names of the interface. */
export type RecordingOperations = ReturnType<typeof createRecordingOperations>;

/** Asterisk's messages for channels that cannot be recorded. */
const reasons = { bridged: 'Cannot record channel while in bridge', notUp: 'Failed to answer channel' } as const;

export function createRecordingOperations(options: RecordingOperationsOptions) {
  const { channels, facts, bridges, playbacks, recordings, policy } = options;

  /** A channel is answered before recording, as in Asterisk. One that cannot be answered is recorded as it is. */
  const prepare = (entry: ChannelEntry): undefined | Promise<string | undefined> => {
    if (!policy.recordsInBridges && bridges.bridgeOf(entry.id)) return Promise.resolve(reasons.bridged);
    if (lifeOf(snapshotOf(entry)) !== 'ring') return undefined;
    const prepared = answered(facts, entry).then((up) => (up ? undefined : reasons.notUp));
    channels.tell(entry, { type: 'answer' });
    return prepared;
  };

  const targetOf = (entry: ChannelEntry): RecordTarget => ({
    kind: 'channel',
    id: entry.id,
    topics: entry.topics,
    media: entry.leg.media,
    queue: playbacks.queueOf({ kind: 'channel', id: entry.id }),
    prepare: () => prepare(entry),
  });

  return {
    /**
     * Records a channel after its playbacks. An unanswered call is answered.
     * @throws AriError maxDurationNegative, maxSilenceNegative, channelNotFound, channelNotInStasis, and those of
     * reading the request and of {@link Recordings.recordOn}.
     */
    recordOnChannel(id: string, request: RecordingRequest): LiveRecording {
      refuseNegativeLimits(request);
      const entry = controlledChannel(channels, id, 'record');
      // One that has been hung up only waits for its end.
      if (isEnding(snapshotOf(entry))) throw new AriError('channelNotFound');
      return recordings.recordOn(targetOf(entry), readRecordingRequest(request, 'channel'));
    },
    get: (name: string): LiveRecording => recordings.get(name),
    /** The operations that it allows now, and reasons for the others. @throws AriError recordingNotFound. */
    possible: (name: string): AllowedOperations => recordings.possible(name),
    stop: (name: string): void => recordings.command(name, { type: 'stop' }),
    cancel: (name: string): void => recordings.command(name, { type: 'cancel' }),
    pause: (name: string): void => recordings.command(name, { type: 'pause' }),
    unpause: (name: string): void => recordings.command(name, { type: 'unpause' }),
    mute: (name: string): void => recordings.command(name, { type: 'mute' }),
    unmute: (name: string): void => recordings.command(name, { type: 'unmute' }),
  };
}
