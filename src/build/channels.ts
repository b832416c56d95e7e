import { createBroadcasts } from '../actors/broadcasts.ts';
import { CalledChannels } from '../actors/calls.ts';
import { createChannelAudio } from '../actors/channel-audio.ts';
import { createChannelDialplans } from '../actors/channel-effects.ts';
import { createChannelOperations } from '../actors/channel-operations.ts';
import { createChannelViews } from '../actors/channel-views.ts';
import { createChannels } from '../actors/channels.ts';
import type { Bring } from '../actors/late-item.ts';
import { createOutboundConnections } from '../actors/outbound-connections.ts';
import { createPlaybacks } from '../actors/playbacks.ts';
import { createRecordings } from '../actors/recordings.ts';
import { createSnoops } from '../actors/snoops.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { fetchRecording } from '../cluster/stored-elsewhere.ts';
import { policiesOf } from '../compatibility.ts';
import { createDialplan } from '../dialplan/dialplan.ts';
import { createSnoopDriver } from '../drivers/snoop/snoop.ts';
import { videoFormatNames } from '../lib/formats.ts';
import { outboundConnections } from '../settings.ts';
import { createRecordingCopies } from '../stores/recording-copies.ts';
import { createStoredRecordings, type StoredRecordings } from '../stores/stored-recordings.ts';
import type { AudioMeeting } from '../telephony/media.ts';
import type { Base } from './base.ts';
import type { State } from './state.ts';

/** What a single channel needs: its views, its sound, the dialplan, and what clients can ask of it. */
export type ChannelFloor = ReturnType<typeof buildChannels>;

/** Creates playbacks, recordings, the dialplan, and channels with their operations. */
export function buildChannels(base: Base, state: State, media: AudioMeeting) {
  const { config, clock, ids, log, runtime, channelFacts: facts, tracing, limitCounts } = base;
  const { general, limits, sounds } = config;
  const { bus, applications, endpoints, dialplanSystem } = state;
  const stored = base.io.stored ?? createStoredRecordings({ directory: config.recordings.directory, log });
  const playbacks = createPlaybacks({
    ...{ bus, runtime, ids, log, queueLimit: limits.playbacks, tables: base.tables },
    bring: state.cluster && bringRecordings(base, state.cluster, stored),
  });
  const dialplan = createDialplan({
    ...{ contexts: config.dialplan, clock, log: log.child({ part: 'dialplan' }) },
    ...{ subroutineDepth: limits.subroutines, hit: limitCounts.hit },
  });
  dialplanSystem.add({ dialplan });
  const outbound = createOutboundConnections({
    ...{ applications, bus, runtime, tables: base.tables, hit: limitCounts.hit },
    connections: outboundConnections(config),
    log: log.child({ part: 'outbound' }),
    headersOf: tracing && ((channel) => tracing.headersOf(channel)),
    queueLimit: Math.floor(config.http.limits.websocket_queue / 2),
  });
  const snoopDriver = createSnoopDriver({ media, ids, tables: base.tables });
  const recordings = buildRecordings(base, state, { stored, heardOf: (id) => snoopDriver.targetOf(id) ?? id });
  const views = createChannelViews({
    ...{ facts, playbacks, system: dialplanSystem, now: () => clock.now() },
    changed: (id) => runtime.turn.changed?.({ chart: 'leg', id }),
    ...{ channelvars: general.channelvars, variablesLimit: limits.channel_variables, hit: limitCounts.hit },
  });
  const audio = createChannelAudio(runtime);
  const calls = new CalledChannels(facts);
  const channels = createChannels({
    ...{ bus, runtime, ids, facts, views, audio, calls, playbacks, recordings, endpoints },
    applications: { ...applications, admit: outbound.admit },
    defaultLanguage: sounds.default_language,
    policy: policiesOf(config.general).calls,
    limit: limits.channels > 0 ? channelLimit(limits.channels, base, state) : undefined,
  });
  dialplanSystem.add({ channels });
  const operations = createChannelOperations({
    ...{ channels, facts, views, audio, calls, playbacks, applications, dialplan, clock, log },
    formats: new Set([...config.media.codecs, ...videoFormatNames]),
    variablesLimit: limits.channel_variables,
  });
  return {
    ...{ facts, views, audio, channels, operations, playbacks, dialplan, outbound, stored, recordings, snoopDriver },
    dialplans: createChannelDialplans({ dialplan, views }),
    broadcasts: createBroadcasts({ bus, clock, ids, applications, model: views.model, tables: base.tables }),
    snoops: createSnoops({ channels, facts, views, driver: snoopDriver }),
  };
}

/** Live channels that this node and the others that answer may have together. */
const channelLimit = (most: number, { limitCounts }: Base, { cluster }: State) => ({
  isReached(here: number): boolean {
    const others = cluster?.nodes().filter(({ self, state }) => !self && state !== 'away') ?? [];
    return others.reduce((sum, { figures }) => sum + (figures?.channels ?? 0), here) >= most;
  },
  hit: () => limitCounts.hit('limits.channels'),
});

/** Brings recordings of other nodes, to be played here. */
function bringRecordings({ config, log, limitCounts }: Base, cluster: Cluster, stored: StoredRecordings): Bring {
  const copies = createRecordingCopies({
    ...{ directory: config.recordings.directory, mostOctets: config.cluster.recording_copies * 1024 * 1024 },
    ...{ log, hit: limitCounts.hit, fetch: (name, copy) => fetchRecording(cluster, name, copy) },
  });
  const scheme = 'recording:';
  return (uri) => {
    const name = uri.startsWith(scheme) ? uri.slice(scheme.length) : '';
    if (name === '' || stored.has(name)) return undefined;
    return copies.bring(name).then(({ name: here, release }) => ({ uri: `${scheme}${here}`, release }));
  };
}

/** @param heardOf the channel that a channel listens to, else itself */
function buildRecordings(
  { config, log, runtime, story, channelFacts }: Base,
  { bus }: State,
  { stored, heardOf }: { stored: StoredRecordings; heardOf: (channelId: string) => string },
) {
  const recordings = createRecordings({
    ...{ bus, runtime, log, stored, most: config.recordings.live },
    onStarted: ({ kind, id }, name) => story.recorded(kind, kind === 'channel' ? heardOf(id) : id, name),
  });
  channelFacts.on('bridge.entered', ({ id }, { bridgeId }) => story.bridged(id, recordings.names('bridge', bridgeId)));
  return recordings;
}
