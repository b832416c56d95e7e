import type { Socket } from 'node:net';
import { join } from 'node:path';
import { type CallStory, createCallStory } from '../actors/call-story.ts';
import { type ChannelFacts, createChannelFacts } from '../actors/channel-entry.ts';
import { createRuntime, type Inspect, type Runtime } from '../actors/spawn.ts';
import { createTableWatch } from '../actors/table-watch.ts';
import type { ClusterLink } from '../cluster/link.ts';
import { packageVersion as version } from '../config/package-files.ts';
import type { Config } from '../config/schema.ts';
import type { startHttpServer } from '../http/server.ts';
import type { CallMark } from '../lib/call-mark.ts';
import { TurnChanges } from '../lib/changes.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { type CountedIds, createIds } from '../lib/ids.ts';
import { LimitCounts } from '../lib/limit-counts.ts';
import type { ListeningSockets } from '../lib/listening-sockets.ts';
import type { Logger, RootLogger } from '../lib/log.ts';
import type { Scope } from '../lib/scope.ts';
import { createLogging, type Logging } from '../logging.ts';
import { createLifecycle } from '../machines/lifecycle.ts';
import type { TableWatch } from '../machines/table-run.ts';
import type { StartThread } from '../media/start-worker.ts';
import type { AriEventBody } from '../models/events.ts';
import type { SupervisedThread } from '../native/inherited.ts';
import { CallArchive } from '../recorder/call-archive.ts';
import { createCalls } from '../recorder/calls.ts';
import { Recorder } from '../recorder/recorder.ts';
import { recorderSettings } from '../settings.ts';
import type { OpenUdp } from '../sip/transport/udp.ts';
import { type CallFiles, openCallFiles } from '../stores/call-files.ts';
import { prepareDirectory } from '../stores/durable-file.ts';
import { keepEntityId } from '../stores/entity-id.ts';
import type { LogChannels } from '../stores/log-channels.ts';
import { openStateStore, type StateStore, type WriteOctets } from '../stores/state-store.ts';
import type { StoredRecordings } from '../stores/stored-recordings.ts';
import type { MediaPlane } from '../telephony/media.ts';
import { createCallLog } from '../watch/call-log.ts';
import { createChartLog } from '../watch/chart-log.ts';
import { createRefusedCalls, type RefusedCalls } from '../watch/refused-calls.ts';
import { createTracing, type Tracing } from '../watch/tracing.ts';
import { leaveOut } from './left-out.ts';
import { move } from './moved.ts';
import { savedIn } from './saved-state.ts';
import { type ServerData, serverDataVersion } from './server-data.ts';

/** What a server gets from the supervisor that started it. */
type Supervised = {
  /** Opens listening sockets, which the supervisor holds. */
  listening: ListeningSockets;
  /** The same for the sockets of media threads. */
  media: SupervisedThread & { inherit(descriptors: readonly number[]): void; follows: boolean };
  /** Says which call is worked on, in memory that the supervisor reads after a crash. */
  mark: CallMark;
  /** Calls that are not taken up again: each has crashed the server several times. */
  leaveOut: readonly string[];
  /** Has the next version started, which takes over. Resolves when that is prepared. @throws (rejects) Error with the reason. */
  upgrade(): Promise<void>;
  /** Tells that the calls are restored, and waits for the end of their audio in the server before. */
  restored(): Promise<{ isWhole: boolean }>;
  /**
   * Stands still until the next server is restored, or for so many ms; then `silent` ends the audio.
   * @param silent tells whether the rest of the state is written. If not, the next server reads none.
   */
  standStill(mostMs: number, silent: () => boolean): void;
};

/** The process of a node, by which the cluster knows it. */
export type NodeProcess = { epoch: string; term: number };

/** A server that goes on with the calls of a lost node. */
type StandInServer = {
  /** Resolves when there is no call. */
  idle(): Promise<void>;
  drain(): Promise<void>;
  close(): Promise<void>;
};

/** Replacements of the system's own services. */
export type ServerIo = {
  /** Goes on with the calls of a lost node, whose name it has, at other addresses. */
  standIn?: NodeProcess;
  /** Starts a server beside this one. @throws (rejects) Error */
  startServer?: (config: Config, io: ServerIo) => Promise<StandInServer>;
  /** Another server goes on with the calls of this one, which has to end without a word. */
  fenced?: () => void;
  /** Has another node go on with the calls of this server ({@link RunningServer.moveCalls}), and ends its process. */
  moveCalls?: () => void;
  /** Left out: nobody starts the server again. */
  supervised?: Supervised | undefined;
  logging?: Logging;
  clock?: Clock;
  ids?: CountedIds;
  /** The media plane. */
  media?: MediaPlane;
  /** Where recordings are kept. */
  stored?: StoredRecordings;
  /** Writes to the file of the state store. */
  writeState?: WriteOctets | undefined;
  /** UDP sockets for SIP. */
  openUdp?: OpenUdp;
  /** The addresses of host names. */
  resolveHost?: (host: string) => Promise<string>;
  /** How the media thread is started, and with it the clock, sockets and chance of audio. */
  startMediaThread?: StartThread;
  /** Hears what xstate tells inspectors of all actors. */
  inspect?: Inspect;
  /** Hears every event, whether or not an application gets it. */
  hear?: (event: AriEventBody) => void;
  /** Serves the interface; by default on the address and port of the configuration. */
  serveHttp?: typeof startHttpServer;
  /** Connects this node with its cluster. */
  clusterLink?: ClusterLink;
  /** Hears of every WebSocket that this server has opened to applications. */
  hearOutbound?: (socket: Socket, applications: readonly string[]) => void;
};

/** The services that every layer gets. */
export type Base = {
  config: Config;
  clock: Clock;
  ids: CountedIds;
  log: RootLogger;
  /** The runtime of all actors: one turn for the process. */
  runtime: Runtime;
  /** Sees the charts that run as tables. */
  tables: TableWatch;
  /** The facts of all channels. */
  channelFacts: ChannelFacts;
  /** Follows calls for logs and call records. */
  story: CallStory;
  logChannels: LogChannels;
  /** Opened resources, closed in reverse order at the stop or after a failed start. */
  scope: Scope;
  /** Records what happens, as long as that is not turned off. */
  recorder: Recorder;
  /** Inbound calls that were refused before they had a channel. */
  refusedCalls: RefusedCalls;
  /** The ended calls on the disk. */
  callFiles: CallFiles;
  /** `asterisk_id` of every event. */
  entityId: string;
  /** Tracing; undefined without a collector. */
  tracing: Tracing | undefined;
  /** How often bounds were met. */
  limitCounts: LimitCounts;
  /** The server's phase. `enterPhase` (`build/server-owner.ts`) changes it. */
  lifecycle: ReturnType<typeof createLifecycle>;
  /** The configuration as it is by now: `config` is what the server began with. */
  inForce: { config: Config };
  /** Replacements of the system's own services. */
  io: ServerIo;
  /** Changes that are not written yet. */
  changes: TurnChanges;
  /** The state that survives this process; undefined when it is off. */
  stateStore: StateStore | undefined;
  /** Saved data of another process to continue from. */
  from: ServerData | undefined;
};

/** The ground floor: time, ids, log, and who we are. @throws StorageError when the data directory cannot be used. */
export function buildBase(config: Config, io: ServerIo, scope: Scope, from?: ServerData): Base {
  const { general } = config;
  const clock = io.clock ?? systemClock;
  const { log, logChannels } =
    io.logging ?? createLogging(config, { write: (line) => process.stderr.write(line) }, clock);
  scope.defer(() => logChannels.close());
  const ids =
    io.ids ?? createIds(clock, general.system_name, config.cluster.nats.length > 0 ? config.cluster.name : '');
  prepareDirectory(general.data_directory);
  const entityId = general.entity_id || keepEntityId(general.data_directory, ids, log);
  const runtime = createRuntime(clock, log, io.inspect);
  runtime.turn.mark = io.supervised?.mark;
  log.onLevels(createChartLog(runtime.turn, log.child({ part: 'charts' })));
  const channelFacts = createChannelFacts(log);
  const story = createCallStory(runtime, channelFacts);
  story.listen(createCallLog(log.child({ part: 'calls' })));
  const tracing = createTracing(version, () => runtime.turn.request);
  if (tracing) runtime.turn.effects = tracing.effects;
  const recorder = new Recorder({
    ...runtime,
    log: log.child({ part: 'recorder' }),
    settings: recorderSettings(config),
  });
  const inForce = { config };
  const callFiles = openStoredCalls(recorder, inForce, log, scope);
  const stateStore = config.state_store.on
    ? openState(config, { clock, log: log.child({ part: 'state' }), write: io.writeState })
    : undefined;
  return {
    config,
    clock,
    ids,
    log,
    ...{ runtime, tables: createTableWatch(runtime) },
    channelFacts,
    story,
    recorder,
    refusedCalls: createRefusedCalls({
      ...{ clock, most: () => inForce.config.recorder.refused_calls, perMinute: config.cdr.refused_calls },
    }),
    callFiles,
    tracing,
    limitCounts: new LimitCounts(),
    lifecycle: createLifecycle(),
    inForce,
    logChannels,
    scope,
    entityId,
    io,
    changes: new TurnChanges(clock),
    stateStore,
    from: from ?? (stateStore && leftIn(stateStore, { config, clock, log }, io)),
  };
}

/** What the process before left, without calls that have crashed it. */
const leftIn = (
  store: StateStore,
  { config, clock, log }: { config: Config; clock: Clock; log: Logger },
  { standIn, supervised }: ServerIo,
): ServerData | undefined => {
  const saved = savedIn(store, clock.now(), config.state_store.interval * 1000, log);
  return leaveOut(saved && standIn ? move(saved) : saved, supervised?.leaveOut ?? [], {
    ...{ clock, log },
    directory: join(config.general.data_directory, 'crashes'),
  });
};

/** Opens the state in the data directory. @throws StorageError */
export const openState = (
  { general, state_store: { compact_above, events, events_memory, events_minutes, longest_write, retry } }: Config,
  { clock, log, write }: { clock: Clock; log: Logger; write?: WriteOctets | undefined },
): StateStore =>
  openStateStore({
    directory: general.data_directory,
    write,
    longestWriteMs: longest_write * 1000,
    version: serverDataVersion,
    compactAbove: compact_above * 1024 * 1024,
    mostEvents: events,
    mostEventCharacters: events_memory * 1024 * 1024,
    keepEventsMs: events_minutes * 60_000,
    wallClock: () => clock.now(),
    retryMs: retry * 1000,
    now: () => clock.monotonic(),
    log,
  });

/** Stores ended calls until the recorder closes. */
function openStoredCalls(recorder: Recorder, inForce: { config: Config }, log: Logger, scope: Scope): CallFiles {
  const { clock } = recorder;
  const kept = { clock, log: log.child({ part: 'recorder' }) };
  const directory = join(inForce.config.general.data_directory, 'calls');
  const files = openCallFiles({ ...kept, directory, settings: () => inForce.config.recorder.disk });
  const { detail } = createCalls(recorder, { of: () => [], all: () => [] }, { versions: {} });
  const most = () => {
    const { days, most_per_second: most } = inForce.config.recorder.disk;
    return days === 0 ? 0 : most;
  };
  const archive = new CallArchive({ ...kept, recorder, disk: files, detail, most });
  scope.defer(async () => {
    await archive.close();
    await files.close();
    recorder.close();
  });
  return files;
}
