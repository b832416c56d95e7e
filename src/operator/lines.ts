import type { Application } from '../models/application.ts';
import type { Call, CallChannel, WaitingFor } from '../models/call.ts';
import type { ClusterNode } from '../models/cluster-node.ts';
import type { ContactView } from '../models/contact.ts';
import type { Endpoint } from '../models/endpoint.ts';
import { eventName } from '../models/event-name.ts';
import type { LiveApplication } from '../models/live.ts';
import type { EventTimelineEntry, StepEntry, TimelineEntry } from '../models/timeline.ts';
import type { VisibilityRow } from '../models/visibility-rows.ts';
import type { Cell, Tone } from './table.ts';

/** Terminal output: a line for each object, in columns. */

const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 23);

/** A span in the largest unit that has at least two of it. */
function span(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3_600)}h`;
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Colours of states. */
const toneOf = (state: string): Tone | undefined =>
  (
    ({
      ...{ up: 'good', online: 'good', Registered: 'good', live: 'good', member: 'good' },
      ...{ ring: 'lit', ringing: 'lit', dialing: 'lit', unknown: 'lit', Trying: 'lit', Unregistered: 'lit' },
      ...{ joining: 'lit', suspect: 'lit', away: 'bad' },
      ...{ busy: 'bad', Rejected: 'bad', offline: 'quiet', ended: 'quiet', destroyed: 'quiet' },
    }) as Record<string, Tone>
  )[state];

/**
 * The called party: the extension or resource, or for calls without a caller our dialed party or the snooped channel.
 */
function calledOf(channel: CallChannel | undefined): string {
  if (!channel) return '-';
  const { caller, endpoint, name, extension } = channel;
  if (caller.number === '' && caller.name === '') return endpoint ?? name;
  return extension.split('@')[0] || '-';
}

/** Heads of the columns of {@link callCells}, and their widths where there is one call only. */
export const callHeads = ['CALL', 'STATE', 'FOR', 'FROM', 'TO', 'APPLICATIONS', 'WAITS FOR', 'CHANNELS'] as const;
export const callWidths = [16, 9, 5, 12, 10, 12, 9] as const;

/** The most telling channel of a call: an Up one, else the first. */
function furthest(channels: readonly CallChannel[]): CallChannel | undefined {
  const left = channels.filter(({ ended }) => ended === undefined);
  return left.find(({ life }) => life === 'up') ?? left[0] ?? channels[0];
}

/** A call in columns. */
export function callCells({ id, state, duration_ms: duration, channels, applications, stuck }: Call): Cell[] {
  const [first] = channels;
  const life = state === 'ended' ? 'ended' : (furthest(channels)?.life ?? state);
  return [
    { text: id, tone: 'strong' },
    { text: life, tone: toneOf(life) },
    { text: span(duration) },
    { text: first?.caller.number || first?.caller.name || '-' },
    { text: calledOf(first) },
    { text: applications.join(' ') || '-' },
    { text: stuck.map(({ waits_for: what }) => what).join(', ') || '-', tone: stuck.length > 0 ? 'bad' : undefined },
    { text: channels.map(({ name }) => name).join(' ') },
  ];
}

export const stuckHeads = ['FOR', 'WHAT', 'STATE', 'CALL', 'WAITS FOR'] as const;

/** Columns of stuck objects. */
export const stuckCells = (
  { kind, object, chart, state, since, waits_for: what, call }: WaitingFor,
  now: number,
): Cell[] => [
  { text: span(now - since), tone: 'bad' },
  { text: `${chart ?? kind} ${object}`, tone: 'strong' },
  { text: state ?? '-' },
  { text: call ?? '-' },
  { text: what },
];

export const applicationHeads = ['APPLICATION', 'STATE', 'EVENTS', 'MISSED', 'UNREAD', 'SUBSCRIBED TO'] as const;

/** An application, with its counters if the user may see them. */
export type ListedApplication = Application & Partial<Omit<LiveApplication, 'name'>>;

/** Whether a subscription is to all of a type. */
const isAll = (name: string): boolean => /^__AST_\w+_ALL_TOPIC$/.test(name);

/** An application in columns. */
export const applicationCells = (application: ListedApplication): Cell[] => {
  const {
    name,
    channel_ids: channels,
    bridge_ids: bridges,
    endpoint_ids: endpoints,
    device_names: devices,
    connected,
    events,
    missed,
    sockets = [],
  } = application;
  const unread = connected === undefined ? undefined : sockets.reduce((sum, each) => sum + each.unread, 0);
  const counts = [
    [channels, 'channel'],
    [bridges, 'bridge'],
    [endpoints, 'endpoint'],
    [devices, 'device'],
  ] as const;
  const some = counts
    .filter(([names]) => names.length > 0)
    .map(([names, noun]) => (names.some(isAll) ? `all ${noun}s` : plural(names.length, noun)));
  return [
    { text: name, tone: 'strong' },
    connected === undefined
      ? { text: '-' }
      : { text: connected ? 'connected' : 'away', tone: connected ? 'good' : 'bad' },
    { text: String(events ?? '-') },
    { text: String(missed ?? '-'), tone: missed ? 'bad' : undefined },
    { text: String(unread ?? '-') },
    { text: some.join(', ') || 'nothing', tone: some.length > 0 ? undefined : 'quiet' },
  ];
};

export const phoneHeads = ['PHONE', 'STATE', 'CALLS', 'WHERE'] as const;

/** An endpoint in columns, with the contacts and registrations that it has. */
export const phoneCells = (
  { technology, resource, state = 'unknown', channel_ids: channels, registrations = [] }: Endpoint,
  contacts: readonly ContactView[],
): Cell[] => {
  const own = contacts.filter(({ endpoint }) => endpoint === `${technology}/${resource}`);
  const where = [
    ...own.map(({ uri, contact_status: status }) => `${status} ${uri}`),
    ...registrations.map(
      ({ server, status, reason }) => `at ${server} ${status}${reason === undefined ? '' : ` (${reason})`}`,
    ),
  ];
  return [
    { text: `${technology}/${resource}`, tone: 'strong' },
    { text: state, tone: toneOf(state) },
    { text: String(channels.length) },
    { text: where.join(', ') || '-' },
  ];
};

export const nodeHeads = ['NODE', 'STATE', 'HEARD', 'VERSION', 'CHANNELS', 'BRIDGES', 'APPLICATIONS', 'LOAD'] as const;

/** A node of the cluster in columns. */
export function nodeCells({ name, self, state, heard, figures }: ClusterNode, now: number): Cell[] {
  const { version, channels, bridges, applications, draining, load } = figures ?? {};
  const count = (value: number | undefined): Cell => ({ text: value === undefined ? '-' : String(value) });
  return [
    { text: self ? `${name} *` : name, tone: 'strong' },
    { text: draining ? `${state} (drains)` : state, tone: toneOf(state) },
    { text: heard === undefined ? '-' : span(Math.max(0, now - Date.parse(heard))) },
    { text: version ?? '-' },
    ...[channels, bridges, applications, load].map(count),
  ];
}

export const visibilityHeads = ['BRIDGE', 'MEMBER', 'SEES', 'DOES NOT SEE'] as const;

/** A bridge member's view of the others. */
type ListedVisibility = VisibilityRow & { bridge: string };

/** That in columns, with the reasons. */
export const visibilityCells = ({ bridge, member, sees, unseen }: ListedVisibility): Cell[] => [
  { text: bridge },
  { text: member, tone: 'strong' },
  { text: sees.join(', ') || '-', tone: sees.length > 0 ? 'good' : undefined },
  {
    text: unseen.map(({ why, others }) => `${others.join(', ')}${why === '' ? '' : `: ${why}`}`).join('; ') || '-',
    tone: unseen.length > 0 ? 'bad' : undefined,
  },
];

/** Longest value that is shown of an event, in characters. */
const longestValue = 120;
const shortened = (text: string): string => (text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text);

/** Members of what a chart begins with that say what it is about. */
const beginnings = ['name', 'dialplan', 'dialString', 'media', 'targetUri', 'app'];

/** A place in the dialplan, which charts and channels name differently: `extension@context:priority`. */
function placeText(place: unknown): string | undefined {
  const { context, extension, exten = extension, priority } = (place ?? {}) as Record<string, unknown>;
  return context === undefined || exten === undefined ? undefined : `${exten}@${context}:${priority ?? 1}`;
}

/** An item of a list in words: of an object, its members that are texts or numbers. */
function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  return Object.values(item)
    .filter((value) => typeof value === 'number' || (typeof value === 'string' && value !== ''))
    .join('/');
}

/** A member of an event in words; undefined for what is empty or has too many parts. */
function memberText(name: string, value: unknown): string | undefined {
  if (name === 'position' || name === 'dialplan') return placeText(value);
  if (Array.isArray(value)) return value.length > 0 ? `${name} ${shortened(value.map(itemText).join(' '))}` : undefined;
  return typeof value === 'object' || value === undefined || value === ''
    ? undefined
    : `${name} ${shortened(`${value}`)}`;
}

/** Details of an event: the dialplan step, the reason of a failure, the target of a call. */
function detailsOf({ event: { type, ...event }, facts }: StepEntry): string {
  const told = type === 'xstate.init' ? ((event['input'] ?? {}) as Record<string, unknown>) : event;
  const { app, data, ...rest } = told;
  const members: Record<string, unknown> = typeof data === 'string' ? { ...rest, step: `${app}(${data})` } : told;
  const target = type === 'dial' ? facts.find((fact) => fact['type'] === 'Dial')?.['dialstring'] : undefined;
  const texts = Object.entries({ ...members, target })
    .filter(([name]) => type !== 'xstate.init' || beginnings.includes(name))
    .map(([name, value]) => (name === 'step' ? shortened(`${value}`) : memberText(name, value)))
    .filter((text) => text !== undefined);
  return texts.length === 0 ? '' : ` (${texts.join(', ')})`;
}

const stateText = (state: unknown): string => (typeof state === 'string' ? state : JSON.stringify(state));

/** Widths of the columns of {@link entryCells}. */
export const entryWidths = [12, 7] as const;

const toneOfKind: Readonly<Record<TimelineEntry['kind'], Tone | undefined>> = {
  step: 'lit',
  event: 'good',
  request: 'strong',
  sip: undefined,
  media: 'quiet',
};

/** An entry of a timeline in columns: when (UTC), what it is, and what happened. */
export const entryCells = (entry: TimelineEntry): Cell[] => [
  { text: clock(entry.at), tone: 'quiet' },
  { text: entry.kind, tone: toneOfKind[entry.kind] },
  { text: textOf(entry), tone: isTrouble(entry) ? 'bad' : undefined },
];

const isTrouble = (entry: TimelineEntry): boolean =>
  (entry.kind === 'event' && entry.missed) || (entry.kind === 'request' && entry.status >= 400);

/** The subject of an event, behind its type. */
function aboutOf({ event }: EventTimelineEntry): string {
  const { channel, peer, playback, bridge, recording, endpoint } = event as Record<
    string,
    { id?: string; name?: string; resource?: string } | undefined
  >;
  const about = channel?.name ?? peer?.name ?? playback?.id ?? bridge?.id ?? recording?.name ?? endpoint?.resource;
  return about === undefined ? '' : ` ${about}`;
}

function textOf(entry: TimelineEntry): string {
  switch (entry.kind) {
    case 'step': {
      const from = entry.from === undefined || entry.from === entry.to ? '' : `${stateText(entry.from)} → `;
      const facts = entry.facts.map((fact) => fact['type']).join(', ');
      const effects = entry.effects.map((effect) => effect['type']).join(', ');
      return `${entry.chart} ${entry.object}: ${eventName(String(entry.event['type']))}${detailsOf(entry)}: ${from}${stateText(entry.to)}${facts && ` / ${facts}`}${effects && ` ! ${effects}`}`;
    }
    case 'request':
      return `${entry.user}: ${entry.method} ${entry.path} ${entry.status} (${entry.duration_ms.toFixed(1)} ms)`;
    case 'event':
      return `${entry.missed ? 'MISSED by' : 'to'} ${entry.application} #${entry.number}: ${entry.type}${aboutOf(entry)}`;
    case 'sip':
      return `${entry.direction === 'in' ? 'from' : 'to'} ${entry.remote}: ${entry.first_line}`;
    case 'media':
      return `${entry.object}: ${Object.entries(entry.report)
        .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
        .join(', ')}`;
  }
}
