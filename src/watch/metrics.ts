import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { CallListener } from '../actors/call-story.ts';
import type { PlaneLoad, PlaneUsage } from '../telephony/plane-figures.ts';

/** Figures for metrics, read on demand. Times in s, sizes in bytes. */
export type Figures = {
  /** Channels by state, as clients see it, and technology. */
  channels: readonly { state: string; technology: string; count: number }[];
  /** Actors by chart and state. */
  actors: readonly { chart: string; state: string; count: number }[];
  applications: readonly {
    name: string;
    events: number;
    missed: number;
    unread: number;
    connected: boolean;
    orphans: number;
  }[];
  sip: {
    messages: Readonly<
      Record<
        'received' | 'sent',
        { requests: Readonly<Record<string, number>>; responses: Readonly<Record<string, number>> }
      >
    >;
    retransmissions: number;
    timeouts: number;
    malformed: number;
    /** Messages of strangers that were not read. */
    unread: number;
    transactions: number;
    connections: number;
    registrations: number;
    dialogs: number;
  };
  media: PlaneUsage;
  /** By thread of the media plane. */
  load: readonly PlaneLoad[];
  http: { responses: Readonly<Record<string, number>>; refusals: Readonly<Record<string, number>> };
  /** How often bounds were met, by the setting that makes them. */
  limits: Readonly<Record<string, number>>;
  /** Call detail records: made, lost, and waiting for the webhook. */
  records: { made: number; lost: number; waitingOctets: number };
  /** Lines of the audit log: written, and lost. */
  audit: { lines: number; lost: number };
  /** The state store: whether it can be written, and octets of its file. Undefined: there is none. */
  stateStore: { written: boolean; octets: number } | undefined;
  /** Answered calls whose far side did not send the audio that was expected. */
  oneWay: number;
  /** Addresses with wrong log-ins. */
  bans: number;
  process: { rss: number; heapUsed: number; external: number; cpuUser: number; cpuSystem: number; uptime: number };
  loopDelay: { mean: number; p99: number; max: number };
  /** Of a node of a cluster. */
  cluster:
    | {
        link: string;
        members: number;
        ids: number;
        forwarded: number;
        failed: number;
        timeouts: number;
        pending: number;
        eventsOut: number;
        eventsIn: number;
        eventsLost: number;
        bridgeLinks: number;
        standIns?: number;
        registrations: number;
        replica?: { lagMs: number; octets: number; copies: number };
      }
    | undefined;
};

/** The metrics of a server. */
export interface Metrics {
  /** Listens to calls. */
  readonly calls: CallListener;
  /** All of them, in the text format of Prometheus. */
  text(): Promise<string>;
  readonly contentType: string;
}

const prefix = 'hookswitch_';
const callDurations = [1, 5, 15, 30, 60, 180, 300, 600, 1800, 3600];
const setupDurations = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];
const jitters = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1];
const lossRatios = [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

/**
 * Creates the metrics.
 * @param read reads the figures that are not counted during calls
 * @param nextTurn lets other input be handled; awaited between the metrics, whose texts grow with the applications
 */
export function createMetrics(
  version: string,
  read: () => Promise<Figures>,
  nextTurn: () => Promise<void> | undefined = () => undefined,
): Metrics {
  const registry = new Registry();
  new Gauge({
    name: `${prefix}info`,
    help: 'The version that runs; always 1.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  const calls = createCallMetrics(registry);
  const show = createFigureMetrics(registry);
  return {
    calls,
    async text() {
      show(await read());
      const texts: string[] = [];
      for (const { name } of registry.getMetricsAsArray()) {
        texts.push(await registry.getSingleMetricAsString(name));
        await nextTurn();
      }
      return `${texts.join('\n\n')}\n`;
    },
    contentType: registry.contentType,
  };
}

/** Counters of calls: one update at begin, answer and end. */
function createCallMetrics(registry: Registry): CallListener {
  const registers = [registry];
  const labelNames = ['direction', 'technology'] as const;
  const begun = new Counter({
    ...{ name: `${prefix}calls_total`, help: 'Calls that came in or went out.', labelNames, registers },
  });
  const answered = new Counter({
    ...{ name: `${prefix}calls_answered_total`, help: 'Calls that were answered.', labelNames, registers },
  });
  const ended = new Counter({
    name: `${prefix}calls_ended_total`,
    help: 'Ended calls, by outcome, who ended them, and the cause (Q.850).',
    labelNames: ['direction', 'technology', 'outcome', 'by', 'cause'],
    registers,
  });
  const duration = new Histogram({
    name: `${prefix}call_duration_seconds`,
    help: 'How long answered calls lasted, from the answer on.',
    ...{ labelNames: ['direction'], buckets: callDurations, registers },
  });
  const setup = new Histogram({
    name: `${prefix}call_setup_seconds`,
    help: 'How long calls took to be answered.',
    ...{ labelNames: ['direction'], buckets: setupDurations, registers },
  });
  const refused = new Counter({
    name: `${prefix}applications_missing_total`,
    help: 'Calls that asked for an application that was not connected.',
    registers,
  });
  const packets = new Counter({
    name: `${prefix}rtp_packets_total`,
    help: 'RTP packets of calls that have ended; lost as told by RTCP for those sent, late ones came but too late.',
    ...{ labelNames: ['direction', 'fate'], registers },
  });
  const jitter = new Histogram({
    name: `${prefix}rtp_jitter_seconds`,
    help: 'Jitter of what a call received, at its end.',
    ...{ buckets: jitters, registers },
  });
  const loss = new Histogram({
    name: `${prefix}rtp_loss_ratio`,
    help: 'The part of the packets of a call that did not arrive.',
    ...{ buckets: lossRatios, registers },
  });

  return {
    hearsInternal: () => false,
    began: ({ direction, technology }) => begun.inc({ direction, technology }),
    answered(leg) {
      const { direction, technology, startedAt, answeredAt = startedAt } = leg;
      answered.inc({ direction, technology });
      setup.observe({ direction }, (answeredAt - startedAt) / 1000);
    },
    ended({ direction, technology, answeredAt }, { at, by, cause, quality, outcome }) {
      ended.inc({ direction, technology, outcome: outcome.result, by, cause });
      if (answeredAt !== undefined) duration.observe({ direction }, (at - answeredAt) / 1000);
      if (!quality) return;
      packets.inc({ direction: 'received', fate: 'arrived' }, quality.rxcount);
      packets.inc({ direction: 'received', fate: 'lost' }, quality.rxploss);
      packets.inc({ direction: 'received', fate: 'late' }, quality.late ?? 0);
      packets.inc({ direction: 'sent', fate: 'sent' }, quality.txcount);
      packets.inc({ direction: 'sent', fate: 'lost' }, quality.txploss);
      if (quality.rxcount === 0) return;
      jitter.observe(quality.rxjitter);
      loss.observe(quality.rxploss / (quality.rxploss + quality.rxcount));
    },
    refused: () => refused.inc(),
  };
}

type Value = readonly [labels: Readonly<Record<string, string>>, value: number];

const threadName = (index: number): string => `media ${index + 1}`;

type Declare = (name: string, help: string, labelNames: string[], read: (figures: Figures) => readonly Value[]) => void;
/** Declares gauges as they are read, and counters that others count. */
type Declaring = { gauge: Declare; counter: Declare };

const one = (value: number): readonly Value[] => [[{}, value]];
const each = (values: Readonly<Record<string, number>>, label: string, more = {}): Value[] =>
  Object.entries(values).map(([name, value]) => [{ [label]: name, ...more }, value]);

/** Channels, actors and applications. */
function declareCalls({ gauge, counter }: Declaring): void {
  gauge('channels', 'Channels by state and technology.', ['state', 'technology'], ({ channels }) =>
    channels.map(({ state, technology, count }) => [{ state, technology }, count]),
  );
  gauge('actors', 'Actors by chart and state.', ['chart', 'state'], ({ actors }) =>
    actors.map(({ chart, state, count }) => [{ chart, state }, count]),
  );
  gauge('applications_connected', 'Whether an application is connected.', ['application'], ({ applications }) =>
    applications.map(({ name, connected }) => [{ application: name }, Number(connected)]),
  );
  gauge(
    'application_orphans',
    'Channels of an application that is not connected.',
    ['application'],
    ({ applications }) => applications.map(({ name, orphans }) => [{ application: name }, orphans]),
  );
  counter('application_events_total', 'Events made for an application.', ['application'], ({ applications }) =>
    applications.map(({ name, events }) => [{ application: name }, events]),
  );
  gauge('application_events_missed', 'Events lost since its connection went.', ['application'], ({ applications }) =>
    applications.map(({ name, missed }) => [{ application: name }, missed]),
  );
  gauge('application_unread_bytes', 'How far an application is behind.', ['application'], ({ applications }) =>
    applications.map(({ name, unread }) => [{ application: name }, unread]),
  );
}

/** Messages, transactions and registrations. */
function declareSip({ gauge, counter }: Declaring): void {
  counter('sip_requests_total', 'SIP requests by direction and method.', ['direction', 'method'], ({ sip }) =>
    (['received', 'sent'] as const).flatMap((direction) =>
      each(sip.messages[direction].requests, 'method', { direction }),
    ),
  );
  counter('sip_responses_total', 'SIP responses by direction and status.', ['direction', 'status'], ({ sip }) =>
    (['received', 'sent'] as const).flatMap((direction) =>
      each(sip.messages[direction].responses, 'status', { direction }),
    ),
  );
  counter('sip_retransmissions_total', 'SIP messages that we sent again.', [], ({ sip }) => one(sip.retransmissions));
  counter('sip_timeouts_total', 'SIP requests without response.', [], ({ sip }) => one(sip.timeouts));
  counter('sip_malformed_total', 'SIP messages that could not be read.', [], ({ sip }) => one(sip.malformed));
  counter(
    'sip_strangers_refused_total',
    'SIP messages of strangers that were not read, for they sent too many.',
    [],
    ({ sip }) => one(sip.unread),
  );
  gauge('sip_transactions', 'SIP transactions.', [], ({ sip }) => one(sip.transactions));
  gauge('sip_connections', 'SIP connections.', [], ({ sip }) => one(sip.connections));
  gauge('sip_registrations', 'Places of phones, registered or configured.', [], ({ sip }) => one(sip.registrations));
  gauge('sip_dialogs', 'SIP dialogs of calls.', [], ({ sip }) => one(sip.dialogs));
}

/** Sessions and ticks of media threads. */
function declareMedia({ gauge, counter }: Declaring): void {
  gauge('media_sessions', 'Media sessions.', [], ({ media }) => one(media.sessions));
  gauge('media_ports', 'Pairs of ports for RTP and RTCP.', [], ({ media }) => one(media.ports));
  gauge('media_players', 'Sessions that play something.', [], ({ media }) => one(media.players));
  counter(
    'one_way_calls_total',
    'Answered calls whose far side was to send audio and sent none (stuck.no_audio).',
    [],
    ({ oneWay }) => one(oneWay),
  );
  counter('media_ticks_late_total', 'Media ticks that ran late.', ['thread'], ({ load }) =>
    load.map(({ lateTicks }, index) => [{ thread: threadName(index) }, lateTicks]),
  );
  counter('media_ticks_skipped_total', 'Media ticks that were left out.', ['thread'], ({ load }) =>
    load.map(({ skippedTicks }, index) => [{ thread: threadName(index) }, skippedTicks]),
  );
}

/** Answers, limits, records, audit lines and the state store. */
function declareInterface({ gauge, counter }: Declaring): void {
  counter('http_responses_total', 'Answers of the interface by status.', ['status'], ({ http }) =>
    each(http.responses, 'status'),
  );
  counter('http_refusals_total', 'Refusals of the interface by reason.', ['reason'], ({ http }) =>
    each(http.refusals, 'reason'),
  );
  counter('limits_hit_total', 'How often a bound was met, by the setting that makes it.', ['limit'], ({ limits }) =>
    each(limits, 'limit'),
  );
  counter('call_detail_records_total', 'Call detail records that were made.', [], ({ records }) => one(records.made));
  counter(
    'call_detail_records_lost_total',
    'Call detail records that a full spool or a failing disk did not take.',
    [],
    ({ records }) => one(records.lost),
  );
  counter('audit_lines_total', 'Lines of the audit log.', [], ({ audit }) => one(audit.lines));
  counter('audit_lines_lost_total', 'Lines of the audit log that its disk did not take.', [], ({ audit }) =>
    one(audit.lost),
  );
  gauge('call_detail_records_waiting_bytes', 'Call detail records that wait for the webhook.', [], ({ records }) =>
    one(records.waitingOctets),
  );
  gauge('state_store_written', 'Whether the state store can be written.', [], ({ stateStore }) =>
    stateStore ? one(Number(stateStore.written)) : [],
  );
  gauge('state_store_bytes', 'Size of the file of the state store.', [], ({ stateStore }) =>
    stateStore ? one(stateStore.octets) : [],
  );
  gauge('banned_addresses', 'Addresses that wrong log-ins count against.', [], ({ bans }) => one(bans));
}

/** The cluster, from the view of this node. */
function declareCluster({ gauge, counter }: Declaring): void {
  const figure =
    (read: (cluster: NonNullable<Figures['cluster']>) => number) =>
    ({ cluster }: Figures): readonly Value[] =>
      cluster ? one(read(cluster)) : [];
  gauge(
    'cluster_connected',
    'Whether NATS is connected.',
    [],
    figure(({ link }) => Number(link === 'up')),
  );
  gauge(
    'cluster_members',
    'Nodes that are heard, this one included.',
    [],
    figure(({ members }) => members),
  );
  gauge(
    'cluster_ids',
    'Objects of this node whose ids clients have chosen.',
    [],
    figure(({ ids }) => ids),
  );
  gauge(
    'cluster_requests_pending',
    'Requests under way to other nodes.',
    [],
    figure(({ pending }) => pending),
  );
  counter(
    'cluster_requests_total',
    'Requests that other nodes were asked to carry out.',
    [],
    figure(({ forwarded }) => forwarded),
  );
  counter(
    'cluster_requests_failed_total',
    'Those of them that no node has answered.',
    [],
    figure(({ failed }) => failed),
  );
  counter(
    'cluster_request_timeouts_total',
    'Those of them that were not answered in time.',
    [],
    figure(({ timeouts }) => timeouts),
  );
  counter('cluster_events_total', 'Events by direction.', ['direction'], ({ cluster }) =>
    cluster ? each({ in: cluster.eventsIn, out: cluster.eventsOut }, 'direction') : [],
  );
  counter(
    'cluster_events_lost_total',
    'Events that did not reach the node of their application.',
    [],
    figure(({ eventsLost }) => eventsLost),
  );
  gauge(
    'cluster_bridge_links',
    'Links that join members of bridges at two nodes.',
    [],
    figure(({ bridgeLinks }) => bridgeLinks),
  );
  gauge(
    'cluster_registrations',
    'Registrations at providers that this node holds.',
    [],
    figure(({ registrations }) => registrations),
  );
  declareReplica({ gauge, counter });
  gauge('cluster_stand_ins', 'Lost nodes whose calls go on here.', [], ({ cluster }) =>
    cluster?.standIns === undefined ? [] : one(cluster.standIns),
  );
}

/** The state of this node at NATS. */
function declareReplica({ gauge, counter }: Pick<Declaring, 'gauge' | 'counter'>): void {
  type Replica = NonNullable<NonNullable<Figures['cluster']>['replica']>;
  const figure =
    (read: (replica: Replica) => number) =>
    ({ cluster }: Figures): readonly Value[] =>
      cluster?.replica ? one(read(cluster.replica)) : [];
  gauge(
    'cluster_replica_lag_seconds',
    'Age of the oldest change of the state that NATS has not confirmed.',
    [],
    figure(({ lagMs }) => lagMs / 1000),
  );
  counter(
    'cluster_replica_bytes_total',
    'Size of the state and its changes that NATS was given.',
    [],
    figure(({ octets }) => octets),
  );
  counter(
    'cluster_replica_copies_total',
    'How often the whole state was written to NATS.',
    [],
    figure(({ copies }) => copies),
  );
}

/** Memory, time and delays of the process. */
function declareProcess({ gauge, counter }: Declaring): void {
  gauge(
    'event_loop_delay_seconds',
    'How late an event loop was since the last scrape.',
    ['thread', 'kind'],
    (figures) =>
      [
        ['main', figures.loopDelay] as const,
        ...figures.load.map(({ loopDelay }, index) => [threadName(index), loopDelay] as const),
      ].flatMap(([thread, delay]) =>
        delay ? each({ mean: delay.mean, p99: delay.p99, max: delay.max }, 'kind', { thread }) : [],
      ),
  );
  gauge('memory_bytes', 'Memory of the process.', ['kind'], ({ process: { rss, heapUsed, external } }) =>
    each({ resident: rss, heap: heapUsed, external }, 'kind'),
  );
  counter('cpu_seconds_total', 'Time of processors that was used.', ['mode'], ({ process: { cpuUser, cpuSystem } }) =>
    each({ user: cpuUser, system: cpuSystem }, 'mode'),
  );
  gauge('uptime_seconds', 'How long the process has run.', [], ({ process: { uptime } }) => one(uptime));
}

/** Shows what was read: gauges as they are, counters that others count. */
function createFigureMetrics(registry: Registry): (figures: Figures) => void {
  const shown: ((figures: Figures) => void)[] = [];
  const gauge: Declare = (name, help, labelNames, read) => {
    const metric = new Gauge({ name: prefix + name, help, labelNames, registers: [registry] });
    shown.push((figures) => {
      metric.reset();
      for (const [labels, value] of read(figures)) metric.set(labels, value);
    });
  };
  const counter: Declare = (name, help, labelNames, read) => {
    const metric = new Counter({ name: prefix + name, help, labelNames, registers: [registry] });
    shown.push((figures) => {
      metric.reset();
      for (const [labels, value] of read(figures)) metric.inc(labels, value);
    });
  };
  for (const declare of [declareCalls, declareSip, declareMedia, declareInterface, declareCluster, declareProcess])
    declare({ gauge, counter });
  return (figures) => {
    for (const update of shown) update(figures);
  };
}
