import { type Alarm, type AlarmKind, alarmKinds } from '../models/alarm.ts';
import type { WaitingFor } from '../models/call.ts';
import type { Registration } from '../models/registration.ts';
import type { FigureHistory } from './figure-history.ts';

/** Decides what an operator should look at now, from what the server measures anyway. */

/** A registration at a provider, with the endpoint that it is of, as `PJSIP/trunk`. */
type Line = Registration & { endpoint: string };

/** A call that failed, newest first in lists. `application`: the one that was not connected. */
export type FailedCall = { call: string; at: number; application?: string };

/** Figures and lists that alarms are decided by. */
export type AlarmSources = {
  now: number;
  lines: readonly Line[];
  stuck: readonly WaitingFor[];
  history: Pick<FigureHistory, 'grew' | 'lowest'>;
  /** Failed and refused calls, and those that missed an application; the newest of the last ten minutes. */
  failed: readonly FailedCall[];
  /** Free and whole octets of the disk with the data directory; undefined where that is unknown. */
  disk: { free: number; size: number } | undefined;
  /** Since when the state store cannot be written, in ms since the epoch, and why; undefined: it is, or there is none. */
  unwritten: { since: number; reason: string } | undefined;
  /** Certificates of the server, with their ends in ms since the epoch. */
  certificates: readonly { subject: string; until: number }[];
  /** Bounds that were met in the last five minutes. */
  limits: readonly string[];
  /** Phones and lines that are not reached any more. `since`: in ms since the epoch. */
  lost: readonly { endpoint: string; since: number; how: 'expired' | 'silent' }[];
  /** Addresses that are ignored because of wrong passwords, with the user names that they tried. */
  banned: readonly { address: string; users: readonly string[] }[];
};

/** When a figure is an alarm. */
type AlarmSettings = {
  /** Part of the disk that should be free. */
  diskFree: number;
  /** How long a certificate should still be valid, in ms. */
  certificateMs: number;
  /** Part of the calls of ten minutes that may fail. */
  failedShare: number;
  /** How long a lost phone is an alarm, in ms; 0: it is none. */
  lostMs: number;
  /** Fewer banned addresses are no alarm; 0: none are. */
  banned: number;
};

/** The same as in `deploy/prometheus/hookswitch.rules.yml`. */
const skippedInFiveMinutes = 150;
const lateMs = 100;
const timeoutsInFiveMinutes = 60;
/** Fewer failed calls are no alarm. */
const fewestFailed = 3;
const mostCalls = 20;
/** Minutes that failures are looked at. */
export const failuresMinutes = 10;
const dayMs = 86_400_000;

type Found = Omit<Alarm, 'calls' | 'count'> & Partial<Pick<Alarm, 'calls' | 'count'>>;

const plural = (count: number, one: string, many: string): string => (count === 1 ? `1 ${one}` : `${count} ${many}`);
const callsOf = (waiting: readonly { call?: string }[]): string[] => [
  ...new Set(waiting.flatMap(({ call }) => (call === undefined ? [] : [call]))),
];

const isUnheard = ({ chart, state, waits_for: waits }: WaitingFor): boolean =>
  chart === 'channel' && state === 'up' && waits.startsWith("the far side's audio");

const lineAlarms = ({ lines }: AlarmSources): Found[] =>
  lines
    .filter(({ status, reason }) => status === 'Rejected' || (status === 'Unregistered' && reason !== undefined))
    .map(({ endpoint, server, reason }) => ({
      kind: 'registration',
      severity: 'critical',
      text: `${endpoint} is not registered at ${server}${reason === undefined ? '' : `: ${reason}`}`,
      advice: 'No calls come in over it. Check its password and address, and whether the provider can be reached.',
      object: endpoint,
    }));

function applicationAlarms({ stuck, failed }: AlarmSources): Found[] {
  const away = new Map(stuck.filter(({ kind }) => kind === 'application').map((each) => [each.object, each.since]));
  const missing = failed.flatMap(({ application }) => (application === undefined ? [] : [application]));
  return [...new Set([...missing, ...away.keys()])].map((name) => {
    const calls = failed.filter(({ application }) => application === name);
    const since = away.get(name);
    return {
      kind: 'application',
      severity: calls.length > 0 ? 'critical' : 'warning',
      text:
        calls.length > 0
          ? `The application ${name} was not connected: ${plural(calls.length, 'call', 'calls')} in ${failuresMinutes} minutes`
          : `The application ${name} is not connected`,
      advice: 'Start it, or look into its log.',
      object: name,
      ...(since !== undefined && { since }),
      ...(calls.length > 0 && { count: calls.length, calls: callsOf(calls) }),
    };
  });
}

function stuckAlarms({ stuck }: AlarmSources): Found[] {
  const unheard = stuck.filter(isUnheard);
  const others = stuck.filter((each) => each.kind !== 'application' && !isUnheard(each));
  const found: Found[] = [];
  const unheardCalls = callsOf(unheard);
  if (unheard.length > 0)
    found.push({
      kind: 'one_way_audio',
      severity: 'critical',
      text: `No audio comes from the far side of ${plural(Math.max(1, unheardCalls.length), 'answered call', 'answered calls')}`,
      advice: 'Check NAT, firewalls and sip.external_address.',
      since: Math.min(...unheard.map(({ since }) => since)),
      ...{ count: Math.max(1, unheardCalls.length), calls: unheardCalls },
    });
  const [first] = others;
  if (first)
    found.push({
      kind: 'stuck',
      severity: 'warning',
      text: `${plural(others.length, 'object is', 'objects are')} stuck: the first waits for ${first.waits_for}`,
      advice: 'Open its call: the chart shows the state, the ladder what was sent last.',
      object: first.object,
      since: first.since,
      ...{ count: others.length, calls: callsOf(others) },
    });
  return found;
}

function failureAlarms({ failed, history }: AlarmSources, { failedShare }: AlarmSettings): Found[] {
  const count = history.grew('failed_calls', failuresMinutes);
  const of = Math.max(count, history.grew('new_calls', failuresMinutes));
  if (count < fewestFailed || count / of < failedShare) return [];
  return [
    {
      kind: 'failed_calls',
      severity: count / of >= 0.5 ? 'critical' : 'warning',
      text: `${count} of ${of} calls failed or were refused in ${failuresMinutes} minutes`,
      advice: 'Open some of them: the first line of each says why.',
      ...{ count, calls: callsOf(failed) },
    },
  ];
}

const storeAlarms = ({ unwritten }: AlarmSources): Found[] =>
  unwritten
    ? [
        {
          kind: 'state_store',
          severity: 'critical',
          text: `The state store cannot be written: ${unwritten.reason}`,
          advice:
            'Calls go on, but a crash now loses what has changed since. Free the disk; it is tried again by itself.',
          since: unwritten.since,
        },
      ]
    : [];

function machineAlarms({ history, disk }: AlarmSources, { diskFree }: AlarmSettings): Found[] {
  const found: Found[] = [];
  const skipped = history.grew('skipped_ticks', 5);
  if (skipped > skippedInFiveMinutes)
    found.push({
      kind: 'media_late',
      severity: 'critical',
      text: `${skipped} ticks of audio were skipped in 5 minutes`,
      advice: 'The machine is too busy for audio: callers hear gaps. Reduce the number of calls, or add cores.',
      count: skipped,
    });
  const late = history.lowest('loop_delay_ms', 2);
  if (late > lateMs)
    found.push({
      kind: 'event_loop_late',
      severity: 'warning',
      text: `Call control has been ${Math.round(late)} ms late for 2 minutes`,
      advice: 'Requests and SIP messages wait. Look at the load of the machine.',
    });
  if (disk && disk.size > 0 && disk.free / disk.size < diskFree)
    found.push({
      kind: 'disk',
      severity: disk.free / disk.size < diskFree / 5 ? 'critical' : 'warning',
      text: `Only ${((disk.free / disk.size) * 100).toFixed(1)} % of the disk with the data directory is free`,
      advice: 'Delete files or move the data directory. On a full disk recordings, records and state are lost.',
    });
  const lost = history.grew('lost_records', 15);
  if (lost > 0)
    found.push({
      kind: 'lost_records',
      severity: 'critical',
      text: `${plural(lost, 'call record or audit line was', 'call records or audit lines were')} lost in 15 minutes`,
      advice: 'A disk accepts no data, or the spool of the webhook is full. The log says which.',
      count: lost,
    });
  const timeouts = history.grew('sip_timeouts', 5);
  if (timeouts > timeoutsInFiveMinutes)
    found.push({
      kind: 'sip_unanswered',
      severity: 'warning',
      text: `${timeouts} SIP requests were not answered in 5 minutes`,
      advice: 'A provider, a phone or the network between does not respond. Look at the failed calls.',
      count: timeouts,
    });
  return found;
}

const certificateAlarms = ({ certificates, now }: AlarmSources, { certificateMs }: AlarmSettings): Found[] =>
  certificates
    .filter(({ until }) => until - now < certificateMs)
    .map(({ subject, until }) => {
      const days = Math.floor((until - now) / dayMs);
      return {
        kind: 'certificate',
        severity: until < now ? 'critical' : 'warning',
        text:
          until < now
            ? `The certificate ${subject} has expired`
            : `The certificate ${subject} expires ${days === 0 ? 'today' : `in ${plural(days, 'day', 'days')}`}`,
        advice: 'Replace its file: it is read again without a restart.',
        object: subject,
      };
    });

const limitAlarms = ({ limits }: AlarmSources): Found[] =>
  limits.map((limit) => ({
    kind: 'limit',
    severity: 'warning',
    text: `The bound ${limit} was reached`,
    advice: 'Requests were refused or data was dropped. Raise the bound if this load is usual.',
    object: limit,
  }));

/** The first names of a list, and how many more there are. */
const some = (names: readonly string[]): string =>
  names.length <= 3 ? names.join(', ') : `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`;

function phoneAlarms({ lost, now }: AlarmSources, { lostMs }: AlarmSettings): Found[] {
  const recent = lost.filter(({ since }) => now - since < lostMs);
  const [first] = recent;
  if (!first) return [];
  const why = first.how === 'silent' ? 'it does not answer' : 'its registration expired';
  const names = some(recent.map(({ endpoint }) => endpoint));
  return [
    {
      kind: 'phones',
      severity: 'warning',
      text:
        recent.length === 1
          ? `${first.endpoint} cannot be reached: ${why}`
          : `${recent.length} phones or lines cannot be reached: ${names}`,
      advice: 'Check power and network of the phone. If many were lost at once, check the switch or the link.',
      since: Math.min(...recent.map(({ since }) => since)),
      count: recent.length,
      ...(recent.length === 1 && { object: first.endpoint }),
    },
  ];
}

function attackAlarms({ banned }: AlarmSources, { banned: fewest }: AlarmSettings): Found[] {
  if (fewest === 0 || banned.length < fewest) return [];
  const users = [...new Set(banned.flatMap(({ users: tried }) => tried))];
  return [
    {
      kind: 'attack',
      severity: 'warning',
      text: `${plural(banned.length, 'address is', 'addresses are')} ignored after wrong passwords. Tried users: ${some(users)}`,
      advice: 'Somebody may be guessing passwords. Block the addresses in a firewall. If one is yours, lift its ban.',
      count: banned.length,
    },
  ];
}

const rank: ReadonlyMap<AlarmKind, number> = new Map(alarmKinds.map((kind, place) => [kind as AlarmKind, place]));

/** All alarms: critical ones first, then by kind. */
export function alarmsOf(sources: AlarmSources, settings: AlarmSettings): Alarm[] {
  const found = [
    ...lineAlarms(sources),
    ...applicationAlarms(sources),
    ...stuckAlarms(sources),
    ...failureAlarms(sources, settings),
    ...machineAlarms(sources, settings),
    ...storeAlarms(sources),
    ...certificateAlarms(sources, settings),
    ...phoneAlarms(sources, settings),
    ...attackAlarms(sources, settings),
    ...limitAlarms(sources),
  ].map(({ calls = [], count = 1, ...alarm }): Alarm => ({ ...alarm, count, calls: calls.slice(0, mostCalls) }));
  const place = ({ kind, severity }: Alarm): number =>
    (severity === 'critical' ? 0 : alarmKinds.length) + (rank.get(kind as AlarmKind) ?? 0);
  return found.sort((one, other) => place(one) - place(other));
}
