import type { Applications } from './actors/applications.ts';
import { hangupAll, whenIdle } from './actors/channels.ts';
import type { LiveActor } from './actors/spawn.ts';
import { buildAudit } from './build/audit.ts';
import { type Base, buildBase, type ServerIo } from './build/base.ts';
import { buildCallControl } from './build/call-control.ts';
import { buildCallDetailRecords } from './build/call-detail-records.ts';
import { buildInterface } from './build/interface.ts';
import { leavingOf } from './build/leaving.ts';
import { buildNetwork } from './build/network.ts';
import { createReload, type ReloadReport, withFile } from './build/reload.ts';
import { readServerData, type ServerData } from './build/server-data.ts';
import { enterPhase } from './build/server-owner.ts';
import { RestoreError, snapshotServer } from './build/snapshot.ts';
import { buildState } from './build/state.ts';
import { keepState } from './build/state-keeper.ts';
import { buildTechnologies } from './build/technologies.ts';
import { buildUsage } from './build/usage.ts';
import { buildMonitoring, buildOneWayAudio } from './build/watch.ts';
import type { Config } from './config/schema.ts';
import { AnswerCounts } from './http/answer-counts.ts';
import { atMost } from './lib/at-most.ts';
import { compactHeap } from './lib/heap.ts';
import { Scope } from './lib/scope.ts';
import { logLevelsOf } from './logging.ts';
import type { Usage } from './models/usage.ts';
import type { Protocol } from './sip/transport/kind.ts';
import type { Listener } from './sip/transport/transport.ts';
import { Cause } from './telephony/causes.ts';

/** A server that runs. */
export type RunningServer = {
  addresses: {
    /** Base URL of the interface, ending in `/ari`. */
    http: string;
    /** `address:port` of all listeners, by protocol. */
    sip: Partial<Record<Protocol, readonly string[]>>;
  };
  /** The password made up for this run, when the configuration left one out. */
  password?: string;
  /** Counts of present objects: for tests, metrics and leak checks. */
  usage(): Promise<Usage>;
  /** Takes no new calls, lets live ones go on for `general.drain_timeout`, then hangs them up; resolves when none is left. */
  drain(): Promise<void>;
  /** Resolves when there is no channel. */
  idle(): Promise<void>;
  /** How many channels there are now. */
  channels(): number;
  /** The actors that run now, of every chart. */
  actors(): Iterable<LiveActor>;
  /** Returns memory that is not used to the system; all threads stop for tens of ms. For times without calls. */
  compact(): void;
  /** Hangs up every call, so that a drain comes to its end. */
  hangupAll(): void;
  /** Opens files again that another program has renamed: call detail records, audit log, log files. */
  reopenFiles(): void;
  /**
   * Applies a reloaded configuration without disturbing calls. Reports settings in force, failed ones, and those that
   * need a restart.
   */
  reload(next: Config): ReloadReport;
  /** All of it as it is now, as plain JSON that {@link startServer} goes on from. Changes nothing. */
  dump(): ServerData;
  /** Registers applications of this process, as a WebSocket of theirs would. @throws AriError as {@link Applications.connect}. */
  connect: Applications['connect'];
  /**
   * Answers the requests under way, for so many ms at most, and writes everything that the next process goes on from. End the
   * process directly then. @param lingers the audio goes on until the next process is restored, if it can.
   * @throws (rejects) Error without a state store.
   */
  leave(graceMs: number, lingers?: boolean): Promise<void>;
  /**
   * Answers the requests under way, for so many ms at most, and has another node go on with all calls. Their audio goes on
   * until the process ends: stand still for a moment, and end it directly then.
   * @throws (rejects) Error without a cluster or state store; LinkError if NATS does not take the state.
   */
  moveCalls(graceMs: number): Promise<void>;
  /** Ends everything and releases every port, timer and thread. */
  close(): Promise<void>;
};

/**
 * Assembles and starts a server. With `from` it continues another server's snapshot (as JSON, see {@link
 * RunningServer.dump}), whose sockets must be closed.
 * @throws Error with `code`, `address`, `port` if an address cannot be used; Error that names the wrong value in
 * `from`. Then everything is closed.
 */
export async function startServer(config: Config, io: ServerIo = {}, from?: unknown): Promise<RunningServer> {
  const data = from === undefined ? undefined : readServerData(from);
  const scope = new Scope();
  let base: Base | undefined;
  try {
    base = buildBase(config, { startServer, ...io }, scope, data);
    return await build(base);
  } catch (error) {
    await scope.close();
    if (!(error instanceof RestoreError) || !base?.stateStore || io.standIn) throw error;
    // Calls that cannot go on must not keep the server from starting.
    base.log.error({ reason: error.message }, 'cannot restore the saved state; calls of the last run are lost');
    base.stateStore.setAside();
    return startServer(config, io);
  }
}

async function build(base: Base): Promise<RunningServer> {
  const { config, clock, scope } = base;
  const network = await buildNetwork(base);
  const records = buildCallDetailRecords(base, network);
  const audit = buildAudit(base);
  // After listeners that need the trace context of an ended call.
  if (base.tracing) base.story.listen(base.tracing.calls);
  const state = buildState(base);
  const calls = buildCallControl(base, state, network);
  const oneWay = buildOneWayAudio(base, calls);
  const technologies = await buildTechnologies(base, network, state, calls);
  const usage = buildUsage(network, state, calls, technologies);
  const answers = new AnswerCounts();
  const monitoring = buildMonitoring(
    base,
    { network, state, calls, technologies, records: records.figures, audit, oneWay },
    answers,
  );
  const { http, reloads } = await buildInterface(
    { base, network, state, calls, technologies },
    { usage, answers, audit, monitoring, records: records.figures, oneWay },
  );
  const { channels } = calls;
  const { sip, listeners } = technologies;
  // Last: at the end it is the first that stops.
  const keeping = base.stateStore && keepState({ base, network, state, calls }, sip, base.stateStore);
  let drainTimeoutMs = config.general.drain_timeout * 1000;
  const reload = createReload(base.inForce, [
    ...network.reloads,
    ...audit.reloads,
    ...state.reloads,
    ...calls.reloads,
    ...technologies.reloads,
    ...reloads,
    // Applied by the log above, and read from the configuration in force.
    { settings: ['general.log_level', 'general.log_levels', 'stuck', 'alarms'], apply: () => {} },
    {
      settings: ['general.drain_timeout'],
      apply(next) {
        drainTimeoutMs = next.general.drain_timeout * 1000;
      },
    },
  ]);

  return {
    addresses: {
      http: `${config.http.tls ? 'https' : 'http'}://${hostAndPort(http.address.address, http.address.port)}/ari`,
      sip: byProtocol(listeners),
    },
    ...(config.generated_password === undefined ? {} : { password: config.generated_password }),
    usage,
    async drain() {
      enterPhase(base, { channels, sip }, 'drain');
      const standIns = state.cluster?.endStandIns();
      await atMost(clock, drainTimeoutMs, whenIdle(channels, base.channelFacts));
      hangupAll(channels, Cause.normalClearing);
      await atMost(
        clock,
        hangupGraceMs,
        whenIdle(channels, base.channelFacts).then(() => sip.departed()),
      );
      await standIns;
    },
    async idle() {
      do {
        await whenIdle(channels, base.channelFacts);
        await sip.departed();
      } while (channels.size > 0);
    },
    channels: () => channels.size,
    actors: () => base.runtime.actors,
    compact() {
      compactHeap();
      network.media.compact?.();
    },
    hangupAll: () => hangupAll(channels, Cause.normalClearing),
    reopenFiles() {
      for (const files of [base.logChannels, records, audit]) files.reopen();
    },
    reload(next) {
      network.certificates.readAgain();
      // Levels changed by clients are reset to the configuration.
      base.log.setLevels(logLevelsOf(next));
      return withFile(reload(next), 'media.webrtc.certificate', () => network.isOtherCertificate(next));
    },
    dump: () => snapshotServer({ base, network, state, calls }, sip),
    connect: state.applications.connect,
    ...leavingOf(base, { network, state, http, keeping }),
    close: () => scope.close(),
  };
}

/** How long calls that were hung up may take to say goodbye at the end of a drain: an INVITE may be undecided. */
const hangupGraceMs = 5_000;

const hostAndPort = (host: string, port: number): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;

/** SIP listeners by protocol, in the order of the configuration. */
function byProtocol(listeners: readonly Listener[]): RunningServer['addresses']['sip'] {
  const found: Partial<Record<Protocol, string[]>> = {};
  for (const { protocol, host, port } of listeners) (found[protocol] ??= []).push(hostAndPort(host, port));
  return found;
}
