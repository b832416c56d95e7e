import { eventName } from '../../src/models/event-name.ts';
import type { StepEntry, TimelineEntry } from '../../src/models/timeline.ts';
import { mediaText } from './measures.ts';
import { chartName, stateNames } from './words.ts';

/** A call's entries as lines of the ladder: lanes, words, arguments, and which lines are folded. */

/** Who or what takes part: a phone, a channel, a bridge … */
export type Lane = { key: string; kind: LaneKind; name: string };
export type LaneKind = 'phone' | 'channel' | 'bridge' | 'media' | 'application' | 'user' | 'other';

/** An entry's place and words. `from` and `to` are keys of lanes, the same for what happens on one. */
export type Line = { from: string; to: string; text: string; detail: string; tone: string };

/** A row: one entry, or several that are folded into it. */
export type Row = {
  entry: TimelineEntry;
  line: Line;
  /** Place in the timeline. */
  index: number;
  /** How often it was sent again. */
  again: number;
  /** Further steps without a new state that are folded into it. */
  folded: readonly string[];
};

const laneKinds: Readonly<Record<string, LaneKind>> = {
  ...{ channel: 'channel', ownership: 'channel', channelAudio: 'channel', featureKeys: 'channel', leg: 'channel' },
  ...{ bridge: 'bridge', bridgeVideo: 'bridge', playback: 'media', liveRecording: 'media' },
};

const headerOf = (headers: string, name: string): string =>
  new RegExp(`^${name}\\s*:\\s*(.*)$`, 'im').exec(headers)?.[1]?.trim() ?? '';

/** The value of a header, by its long or its compact name. */
const either = (headers: string, long: string, compact: string): string =>
  headerOf(headers, long) || headerOf(headers, compact);

const callIdOf = (headers: string): string => either(headers, 'Call-ID', 'i');
/** The user of an address, or its host where it has none. */
const userOf = (value: string): string => /sips?:(?:([^@>;]+)@)?([^@>;]*)/i.exec(value)?.slice(1).find(Boolean) ?? '';

const short = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
};

/** Members that say where an event belongs, which its lane does already. */
const placed: ReadonlySet<string> = new Set([
  ...['type', 'timestamp', 'asterisk_id', 'application', 'seq', 'channel', 'bridge', 'playback', 'recording'],
]);

const pairs = (members: object): string =>
  Object.entries(members)
    .filter(([name, value]) => !placed.has(name) && value !== undefined && value !== '' && value !== null)
    .map(([name, value]) => `${name}=${short(value)}`)
    .join(' ');

/** `set COLOUR=green` rather than `name=COLOUR value=green`. */
function stepArguments(event: Readonly<Record<string, unknown>>): string {
  const { name, value, input: _whole, ...rest } = event;
  if (typeof name !== 'string') return pairs({ ...rest, value });
  return [`${name}${value === undefined ? '' : `=${short(value)}`}`, pairs(rest)].filter(Boolean).join(' ');
}

const stateText = (value: unknown): string =>
  stateNames(value)
    .map((name) => name.split('.').at(-1))
    .join(' · ');

/** `/channels/…/answer` is `answer`; a path without more than an object is that of its kind. */
function shortPath(path: string): string {
  const [, , kind = '', ...rest] = path.split('/');
  return rest.length > 1 ? (rest.at(-1) ?? kind) : kind;
}

const decoded = (query: string): string =>
  [...new URLSearchParams(query)].map(([name, value]) => `${name}=${value}`).join(' ');

/** What an event says of its object: the sound, the state, the reason. */
function eventDetail(event: Readonly<Record<string, unknown>>): string {
  const { playback, recording, channel, bridge } = event as Record<string, Record<string, unknown> | undefined>;
  return [
    short(playback?.['media_uri'] ?? recording?.['name'] ?? channel?.['name'] ?? bridge?.['id'] ?? ''),
    String(playback?.['state'] ?? recording?.['state'] ?? channel?.['state'] ?? ''),
    pairs(event),
  ]
    .filter((each) => each !== '')
    .join(' ');
}

function sipLine(entry: Extract<TimelineEntry, { kind: 'sip' }>): Pick<Line, 'text' | 'detail' | 'tone'> {
  const { first_line: first, headers } = entry;
  const status = /^SIP\/2\.0 (\d{3})/.exec(first)?.[1];
  const reason = headerOf(headers, 'Reason');
  const method = headerOf(headers, 'CSeq').split(' ')[1] ?? '';
  const parties = `${userOf(either(headers, 'From', 'f')) || '?'} → ${userOf(either(headers, 'To', 't')) || '?'}`;
  return {
    text: status === undefined ? (first.split(' ')[0] ?? first) : first.slice('SIP/2.0 '.length),
    detail: [status === undefined ? parties : `to ${method}`, reason, entry.body_length > 0 ? 'with SDP or body' : '']
      .filter(Boolean)
      .join(', '),
    tone: status !== undefined && Number(status) >= 400 && !['401', '407', '487'].includes(status) ? 'sip bad' : 'sip',
  };
}

/** Names of channels by their ids, by what their charts said when they began, and their ids by SIP Call-IDs. */
function namesOf(timeline: readonly TimelineEntry[]) {
  const names = new Map<string, string>();
  const calls = new Map<string, string>();
  for (const entry of timeline) {
    if (entry.kind !== 'step' || entry.chart !== 'channel' || !entry.change.whole) continue;
    const { name, protocolId } = (entry.change.set ?? {}) as { name?: string; protocolId?: string };
    if (typeof name === 'string') names.set(entry.object, name);
    if (protocolId) calls.set(protocolId, entry.object);
  }
  return { names, calls };
}

/** What an object is of, by its id: the sound of a playback, the target of a Dial or transfer, else its name. */
export function titlesOf(timeline: readonly TimelineEntry[]): Map<string, string> {
  const titles = new Map<string, string>();
  for (const entry of timeline) {
    if (entry.kind !== 'step' || entry.chart === 'channel' || !entry.change.whole) continue;
    const { media, targets, extension, name } = (entry.change.set ?? {}) as Record<string, unknown>;
    const what = [media, targets, extension, name].map(firstText).find((each) => each !== undefined && each !== '');
    if (what !== undefined) titles.set(entry.object, what);
  }
  return titles;
}

const firstText = (value: unknown): string | undefined => {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' ? first : undefined;
};

/** `sound:welcome` of a playback, `dial PJSIP/bob`; an object without a title by the beginning of its id. */
const objectName = ({ chart, object }: StepEntry, title: string | undefined): string =>
  chart === 'playback' && title !== undefined ? title : `${chartName(chart)} ${title ?? object.slice(0, 8)}`;

/** `alice` of `PJSIP/alice-1b2c`. */
const brief = (name: string): string => name.replace(/^PJSIP\//, '').replace(/-\w+$/, '');

/** What reads the lines of one call, with its lanes in the order in which they appear. */
export type Reading = { lanes: Lane[]; lines: Line[] };

/** Reads a whole timeline. */
export function readLines(timeline: readonly TimelineEntry[]): Reading {
  const { names, calls } = namesOf(timeline);
  const titles = titlesOf(timeline);
  const lanes = new Map<string, Lane>();
  const lane = (kind: LaneKind, id: string, name: string): string => {
    const key = `${kind}:${id}`;
    if (!lanes.has(key)) lanes.set(key, { key, kind, name });
    return key;
  };
  const channelOrFirst = (id: string | undefined): string => {
    if (id !== undefined) return lane('channel', id, names.get(id) ?? id);
    return [...lanes.values()].find(({ kind }) => kind === 'channel')?.key ?? lane('other', 'server', 'Server');
  };
  const objectOfPath = (path: string): string | undefined => {
    const id = decodeURIComponent(path.split('/')[3] ?? '');
    return names.has(id) ? id : undefined;
  };
  const lineOf = (entry: TimelineEntry): Line => {
    switch (entry.kind) {
      case 'sip': {
        const channel = calls.get(callIdOf(entry.headers));
        const who = channel === undefined ? entry.remote : `${brief(names.get(channel) ?? '')} ${entry.remote}`;
        const phone = lane('phone', entry.remote, who);
        const own = channelOrFirst(channel);
        const [from, to] = entry.direction === 'in' ? [phone, own] : [own, phone];
        return { from, to, ...sipLine(entry) };
      }
      case 'step': {
        // Legs and media queues of a channel are charts of their own, on its lane.
        const kind = names.has(entry.object) ? 'channel' : (laneKinds[entry.chart] ?? 'other');
        const name =
          names.get(entry.object) ?? (kind === 'channel' ? entry.object : objectName(entry, titles.get(entry.object)));
        const at = lane(kind, entry.object, name);
        const [before, after] = [entry.from === undefined ? '' : stateText(entry.from), stateText(entry.to)];
        const isMoved = before !== after;
        const moved = before === '' ? after : `${before} → ${after}`;
        const isBad = /\b(failed|lingering|lost)\b/.test(after) && isMoved;
        return {
          ...{ from: at, to: at, text: eventName(String(entry.event.type)) },
          detail: [stepArguments(entry.event), isMoved ? `${entry.chart}: ${moved}` : entry.chart]
            .filter(Boolean)
            .join('  '),
          tone: `step${isMoved ? ' moved' : ''}${isBad ? ' bad' : ''}`,
        };
      }
      case 'request': {
        const from = lane('user', entry.user, entry.user);
        return {
          ...{ from, to: channelOrFirst(objectOfPath(entry.path)), text: `${entry.method} ${shortPath(entry.path)}` },
          detail: [entry.status === 0 ? 'no answer yet' : String(entry.status), decoded(entry.query)]
            .filter(Boolean)
            .join(' '),
          tone: entry.status >= 400 ? 'request bad' : 'request',
        };
      }
      case 'event': {
        const { id } = ((entry.event as { channel?: { id?: string } }).channel ?? {}) as { id?: string };
        const { digit } = entry.event as { digit?: unknown };
        const failed = (entry.event as { playback?: { state?: string } }).playback?.state === 'failed';
        return {
          from: channelOrFirst(id !== undefined && names.has(id) ? id : undefined),
          to: lane('application', entry.application, entry.application),
          text: `${entry.type}${typeof digit === 'string' ? ` ${digit}` : ''}`,
          detail: `${entry.missed ? 'missed: the application was not connected  ' : ''}${eventDetail(entry.event)}`,
          tone: entry.missed || failed ? 'event bad' : 'event',
        };
      }
      case 'media': {
        const { codec = '', video } = entry.report;
        const at = channelOrFirst(names.has(entry.object) ? entry.object : undefined);
        const text = `${video === undefined ? 'audio' : `video ${String(video)}`} ${String(codec)}`.trim();
        return { from: at, to: at, text, detail: mediaText(entry.report), tone: 'media' };
      }
    }
  };
  const lines = timeline.map(lineOf);
  return { lanes: [...lanes.values()], lines };
}

/** One message of SIP, however often it was sent. */
const messageKey = (entry: Extract<TimelineEntry, { kind: 'sip' }>): string =>
  [
    ...[entry.direction, entry.remote, entry.first_line, callIdOf(entry.headers), headerOf(entry.headers, 'CSeq')],
    either(entry.headers, 'Via', 'v'),
  ].join('\n');

const texts = new WeakMap<TimelineEntry, string>();

/** Everything that an entry says, for the search. */
function searchText(entry: TimelineEntry, { text, detail }: Line): string {
  const known = texts.get(entry);
  if (known !== undefined) return known;
  const made = `${text} ${detail} ${JSON.stringify(entry)}`.toLowerCase();
  texts.set(entry, made);
  return made;
}

export type RowFilter = {
  kinds: ReadonlySet<TimelineEntry['kind']>;
  /** Keys of the lanes to show; empty: all. */
  lanes: ReadonlySet<string>;
  /** Words that all have to be in the entry. */
  words: string;
  /** Whether retransmissions and steps without a new state are rows of their own. */
  unfolded: boolean;
};

/** The rows that a filter lets through. A search unfolds: what it looks for may be in what is folded. */
export function rowsOf(
  timeline: readonly TimelineEntry[],
  { lines }: Reading,
  count: number,
  filter: RowFilter,
): Row[] {
  const wanted = filter.words.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const isFolding = !filter.unfolded && wanted.length === 0;
  const rows: Row[] = [];
  const sent = new Map<string, Row>();
  let quiet: { row: Row; folded: string[] } | undefined;
  for (let index = 0; index < count; index++) {
    const [entry, line] = [timeline[index], lines[index]];
    if (!entry || !line || !filter.kinds.has(entry.kind)) continue;
    if (filter.lanes.size > 0 && !filter.lanes.has(line.from) && !filter.lanes.has(line.to)) continue;
    if (wanted.length > 0) {
      const text = searchText(entry, line);
      if (!wanted.every((word) => text.includes(word))) continue;
    }
    if (isFolding && entry.kind === 'sip') {
      const before = sent.get(messageKey(entry));
      if (before) {
        before.again++;
        continue;
      }
    }
    const isQuiet = isFolding && line.tone === 'step';
    if (isQuiet && quiet) {
      quiet.folded.push(`${line.text} ${line.detail}`);
      continue;
    }
    const folded: string[] = [];
    const row: Row = { entry, line, index, again: 0, folded };
    rows.push(row);
    quiet = isQuiet ? { row, folded } : undefined;
    if (entry.kind === 'sip') sent.set(messageKey(entry), row);
  }
  return rows;
}
