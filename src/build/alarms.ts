import type { CallListener } from '../actors/call-story.ts';
import type { Deps } from '../http/deps.ts';
import type { Monitoring } from '../http/env.ts';
import type { Stuck } from '../recorder/stuck.ts';
import { spaceOf } from '../stores/durable-file.ts';
import { alarmsOf, type FailedCall, failuresMinutes } from '../watch/alarms.ts';
import { createFigureHistory, type PresentFigures } from '../watch/figure-history.ts';
import type { OneWayAudio } from '../watch/one-way-audio.ts';
import type { RefusedCalls } from '../watch/refused-calls.ts';
import type { AuditLog } from './audit.ts';
import type { Base } from './base.ts';
import type { RecordFigures } from './call-detail-records.ts';
import type { Network } from './network.ts';
import type { State } from './state.ts';

export type AlarmParts = {
  network: Network;
  state: State;
  stuck: Stuck;
  oneWay: OneWayAudio;
  records(): RecordFigures | undefined;
  audit: AuditLog;
  monitoring: Pick<Monitoring, 'loopDelay'>;
};

/** Failed calls that are remembered for alarms. */
const mostFailed = 200;
/** How long a bound that was met is an alarm, in ms. */
const limitMs = 300_000;
/** Bounds that strangers meet, or that only let old records go: no trouble. */
const isUsual = (limit: string): boolean =>
  limit === 'recorder.memory' ||
  limit === 'media.webrtc.udp_port' ||
  limit === 'media.webrtc.tcp.unproved' ||
  /^sip\.limits\.(source|stranger_rate|first_message|partial_message|handshake)/.test(limit);

/** Counts calls for the history, by the outcome of each call's first leg. */
function countCalls(now: () => number) {
  const counts = { began: 0, answered: 0, failed: 0, missing: 0 };
  const failed: FailedCall[] = [];
  const remember = (each: FailedCall): void => {
    failed.unshift(each);
    failed.length = Math.min(failed.length, mostFailed);
  };
  const isFirst = ({ channel, call }: { channel: string; call: string }): boolean => channel === call;
  const calls: CallListener = {
    hearsInternal: () => false,
    began: (leg) => void (isFirst(leg) && counts.began++),
    answered: (leg) => void (isFirst(leg) && counts.answered++),
    ended(leg, { at, outcome: { result } }) {
      if (!isFirst(leg) || (result !== 'failed' && result !== 'refused')) return;
      counts.failed++;
      if (!failed.some(({ call }) => call === leg.call)) remember({ call: leg.call, at });
    },
    refused({ call }, application) {
      counts.missing++;
      remember({ call, at: now(), application });
    },
  };
  return {
    ...{ counts, calls },
    failed: () => failed.filter(({ at }) => at > now() - failuresMinutes * 60_000),
  };
}

/** Remembers when each bound was met last. */
function followLimits(figures: () => Readonly<Record<string, number>>, now: () => number) {
  const known = new Map<string, { count: number; at: number }>();
  return (): string[] => {
    for (const [limit, count] of Object.entries(figures()))
      if (known.get(limit)?.count !== count) known.set(limit, { count, at: now() });
    return [...known].filter(([limit, { at }]) => at > now() - limitMs && !isUsual(limit)).map(([limit]) => limit);
  };
}

/** How many calls there are, and how many were refused before they had a channel. */
const callsNow = ({ story, refusedCalls }: { story: Base['story']; refusedCalls: RefusedCalls }) => ({
  live: new Set(story.dump().map(({ call }) => call)).size,
  refused: refusedCalls.total,
});

/** Makes alarms and the history of figures. */
export function buildAlarms(
  base: Base,
  { network, state, stuck, oneWay, records, audit, monitoring }: AlarmParts,
): NonNullable<Deps['alarms']> {
  const { inForce, clock, log, story, scope, limitCounts, config, stateStore } = base;
  const now = (): number => clock.now();
  const { counts, calls, failed } = countCalls(now);
  story.listen(calls);
  const metLimits = followLimits(() => limitCounts.figures(), now);

  const read = async (isMinute: boolean): Promise<PresentFigures> => {
    const load = (await network.media.load?.('history')) ?? [];
    const { live, refused } = callsNow(base);
    metLimits();
    return {
      live_calls: live,
      new_calls: counts.began + refused,
      answered_calls: counts.answered,
      failed_calls: counts.failed + refused,
      one_way_calls: oneWay.total,
      missing_applications: counts.missing,
      skipped_ticks: load.reduce((sum, { skippedTicks }) => sum + skippedTicks, 0),
      sip_timeouts: network.transactions.counts().timeouts,
      lost_records: (records()?.lost ?? 0) + (audit.figures()?.lost ?? 0),
      loop_delay_ms: isMinute ? Math.round(monitoring.loopDelay('history').p99 * 10_000) / 10 : 0,
      memory_mb: Math.round(process.memoryUsage.rss() / 1e6),
    };
  };
  const history = createFigureHistory({
    ...{ clock, hours: config.alarms.history, read },
    kept: { directory: config.general.data_directory, log },
  });
  scope.defer(() => history.close());

  const lines = () =>
    [...state.endpoints.list()].flatMap(({ technology, resource, registrations = [] }) =>
      registrations.map((each) => ({ ...each, endpoint: `${technology}/${resource}` })),
    );

  return {
    history: history.all,
    async list() {
      const [space] = await Promise.all([spaceOf(config.general.data_directory), history.look()]);
      const {
        disk_free: free,
        certificate_days: days,
        failed_calls: share,
        lost_phones: hours,
      } = inForce.config.alarms;
      const { banned_addresses: banned } = inForce.config.alarms;
      const sources = {
        ...{ now: now(), lines: lines(), stuck: stuck.all(), history, failed: failed() },
        ...{ disk: space, unwritten: stateStore?.failure },
        ...{ certificates: network.certificates.ends(), limits: metLimits() },
        ...{ lost: state.contacts.lost(), banned: state.bans.list().filter(({ ignored_until: until }) => until) },
      };
      return alarmsOf(sources, {
        ...{ diskFree: free / 100, certificateMs: days * 86_400_000, failedShare: share / 100 },
        ...{ lostMs: hours * 3_600_000, banned },
      });
    },
  };
}
