import { snapshotOf } from '../actors/channel-entry.ts';
import { packageVersion as version } from '../config/package-files.ts';
import type { AnswerCounts } from '../http/answer-counts.ts';
import type { Monitoring } from '../http/env.ts';
import { watchLoopDelay } from '../lib/loop-delay.ts';
import { channelState } from '../machines/channel.ts';
import { takesCalls } from '../machines/lifecycle.ts';
import { hasApplication } from '../machines/ownership.ts';
import { createHealth } from '../watch/health.ts';
import { createMetrics, type Figures } from '../watch/metrics.ts';
import { createOneWayAudio, type OneWayAudio } from '../watch/one-way-audio.ts';
import type { AuditLog } from './audit.ts';
import type { Base } from './base.ts';
import type { CallControl } from './call-control.ts';
import type { RecordFigures } from './call-detail-records.ts';
import type { Network } from './network.ts';
import type { State } from './state.ts';
import type { Technologies } from './technologies.ts';

/** Looks for one-way audio, from before calls are restored that another process saved. */
export function buildOneWayAudio(
  { inForce, clock, log, story, scope }: Base,
  { channels }: Pick<CallControl, 'channels'>,
): OneWayAudio {
  const oneWay = createOneWayAudio({
    clock,
    log: log.child({ part: 'calls' }),
    afterMs: () => inForce.config.stuck.no_audio * 1000,
    figuresOf: async (channel) => channels.find(channel)?.leg.media.statistics(),
  });
  story.listen(oneWay.calls);
  scope.defer(() => oneWay.close());
  return oneWay;
}

/** Sources of metrics. */
type Floors = {
  network: Network;
  state: State;
  calls: CallControl;
  technologies: Technologies;
  records(): RecordFigures | undefined;
  audit: AuditLog;
  oneWay: OneWayAudio;
};

/** Metrics and health: read on demand, except counters of calls. */
export function buildMonitoring(
  { config, clock, story, scope, lifecycle, runtime, recorder, limitCounts, stateStore }: Base,
  { network, state, calls, technologies, records, audit, oneWay }: Floors,
  answers: AnswerCounts,
): Monitoring {
  const loop = watchLoopDelay();
  scope.defer(() => loop.close());
  const { media } = network;
  const read = async (): Promise<Figures> => ({
    channels: countChannels(calls),
    actors: tally(
      [...runtime.actors].map((actor) => [actor.chart, stateText(actor.getSnapshot().value)] as const),
      (chart, name, count) => ({ chart, state: name, count }),
    ),
    applications: applicationFigures(state, calls),
    sip: sipFigures(network, technologies),
    media: await media.usage(),
    load: (await media.load?.()) ?? [],
    http: answers.figures(),
    limits: { ...limitCounts.figures(), ...(recorder.evicted && { 'recorder.memory': recorder.evicted }) },
    oneWay: oneWay.total,
    bans: state.bans.size,
    records: records() ?? { made: 0, lost: 0, waitingOctets: 0 },
    audit: audit.figures() ?? { lines: 0, lost: 0 },
    stateStore: stateStore && { written: stateStore.failure === undefined, octets: stateStore.size },
    process: processFigures(),
    loopDelay: loop.read(),
    cluster: state.cluster && { ...state.cluster.figures(), bridgeLinks: calls.meeting.bridgeLinks?.size ?? 0 },
  });
  const metrics = createMetrics(version, read, () => new Promise((resolve) => clock.soon(resolve)));
  story.listen(metrics.calls);
  const health = createHealth({
    clock,
    isDraining: () => !takesCalls(lifecycle.state),
    askMedia: () => media.usage(),
    answerMs: config.general.ready_timeout * 1000,
  });
  return { metrics, health, loopDelay: loop.read, networks: { allowed: config.metrics.allowed } };
}

function applicationFigures({ applications }: State, { channels }: CallControl): Figures['applications'] {
  const held = new Map<string, number>();
  for (const { ownership } of channels.all()) {
    const owner = ownership.getSnapshot();
    const name = hasApplication(owner) ? owner.context.app : undefined;
    if (name !== undefined) held.set(name, (held.get(name) ?? 0) + 1);
  }
  return applications.names().map((name) => {
    const connected = applications.isConnected(name);
    return { name, ...applications.figures(name), connected, orphans: connected ? 0 : (held.get(name) ?? 0) };
  });
}

function countChannels({ channels }: CallControl): Figures['channels'] {
  const pairs = channels.all().map((entry) => {
    const snapshot = snapshotOf(entry);
    return [channelState(snapshot), snapshot.context.technology] as const;
  });
  return tally(pairs, (state, technology, count) => ({ state, technology, count }));
}

function sipFigures(
  { transports, transactions, rateLimiter, messages }: Network,
  { sip }: Technologies,
): Figures['sip'] {
  const { clients, servers, retransmissions, timeouts } = transactions.counts();
  const { malformed, connections } = transports.counts();
  const { bindings, dialogs } = sip.counts();
  return {
    messages: messages.figures(),
    ...{ retransmissions, timeouts, malformed, connections, dialogs },
    unread: rateLimiter.refused,
    transactions: clients + servers,
    registrations: bindings,
  };
}

function processFigures(): Figures['process'] {
  const { rss, heapUsed, external } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { rss, heapUsed, external, cpuUser: user / 1e6, cpuSystem: system / 1e6, uptime: process.uptime() };
}

/** States of parallel regions are shown as JSON. */
const stateText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** How often each pair stands there, in the order of the first of each. */
function tally<T>(
  pairs: readonly (readonly [string, string])[],
  made: (first: string, second: string, count: number) => T,
): T[] {
  const counts = new Map<string, { pair: readonly [string, string]; count: number }>();
  for (const pair of pairs) {
    const key = pair.join('\0');
    const known = counts.get(key);
    if (known) known.count++;
    else counts.set(key, { pair, count: 1 });
  }
  return [...counts.values()].map(({ pair: [first, second], count }) => made(first, second, count));
}
