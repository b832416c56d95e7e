import type { TimelineEntry } from '../../src/models/timeline.ts';
import type { Reading } from './entries.ts';
import { stateNames } from './words.ts';

/** What each object of a call did, as long as it lasted. */

type Span = { state: string; from: number; to: number };
/** `lane`: that of the object in the ladder. */
type SpanRow = { key: string; chart: string; name: string; lane: string | undefined; spans: Span[] };

/** A part of the time of a call, in ms since it began. */
type Range = { from: number; to: number };

/** A part as the address has it: `1250-3400`. */
export const rangeText = ({ from, to }: Range): string => `${Math.floor(from)}-${Math.ceil(to)}`;

/** The part that the address has, within a call of this length in ms; the whole where it has none that can be shown. */
export function rangeOf(text: string, total: number): Range {
  const [, from = 0, to = 0] = (/^(\d+)-(\d+)$/.exec(text) ?? []).map(Number);
  return from < to && from < total ? { from, to: Math.min(to, total) } : { from: 0, to: total };
}

/** Charts with a row of their own. */
const drawn: ReadonlySet<string> = new Set([
  ...['channel', 'bridge', 'playback', 'liveRecording', 'dial', 'transfer', 'consultation', 'externalConnection'],
]);

/** What decides the word of a channel: its life, its leg, its audio, and the bridge that it is in. */
type Doing = { life: string; isHeld: boolean; holds: boolean; bridges: Set<string> };

const wordOf = ({ life, isHeld, holds, bridges }: Doing): string => {
  if (life !== 'up') return life;
  return isHeld || holds ? 'on hold' : bridges.size > 0 ? 'talking' : life;
};

const ends = (value: unknown): string[] => stateNames(value).map((name) => name.split('.').at(-1) ?? name);

type Step = Extract<TimelineEntry, { kind: 'step' }>;

/** Follows what channels do. @returns those that a step is about. */
function followChannels() {
  const doing = new Map<string, Doing>();
  const of = (channel: string): Doing => {
    const known = doing.get(channel) ?? { life: '', isHeld: false, holds: false, bridges: new Set() };
    doing.set(channel, known);
    return known;
  };
  const readBridge = ({ object, change }: Step): string[] => {
    const members = change.status === undefined ? (change.set as { members?: { channelId: string }[] })?.members : [];
    if (!members) return [];
    const inside = new Set(members.map(({ channelId }) => channelId));
    for (const channel of inside) of(channel).bridges.add(object);
    for (const [channel, { bridges }] of doing) if (!inside.has(channel)) bridges.delete(object);
    return [...doing.keys()];
  };
  const read = (entry: Step): string[] => {
    const { chart, object, to } = entry;
    if (chart === 'bridge') return readBridge(entry);
    if (chart === 'channel') of(object).life = ends(to).join(' · ');
    else if (chart === 'leg') of(object).isHeld = ends(to).includes('held');
    else if (chart === 'channelAudio') of(object).holds = ends(to).includes('onHold');
    else return [];
    return [object];
  };
  return { read, wordOf: (channel: string) => wordOf(of(channel)) };
}

/** The rows of a timeline. The last state lasts until its end, unless it is the final one. */
export function spansOf(timeline: readonly TimelineEntry[], { lanes }: Reading): SpanRow[] {
  const byObject = new Map(lanes.map((lane) => [lane.key.slice(lane.key.indexOf(':') + 1), lane]));
  const rows = new Map<string, SpanRow & { isOver: boolean }>();
  const channels = followChannels();
  const put = (key: string, state: string, at: number, isOver: boolean): void => {
    const row = rows.get(key);
    const last = row?.spans.at(-1);
    if (!row || row.isOver || (last?.state === state && !isOver)) return;
    if (last) last.to = at;
    row.isOver = isOver;
    if (!isOver) row.spans.push({ state, from: at, to: Number.POSITIVE_INFINITY });
  };
  for (const entry of timeline) {
    if (entry.kind !== 'step') continue;
    const key = `${entry.chart}:${entry.object}`;
    if (drawn.has(entry.chart) && !rows.has(key)) {
      const { key: lane, name = entry.object } = byObject.get(entry.object) ?? {};
      rows.set(key, { key, chart: entry.chart, name, lane, spans: [], isOver: false });
    }
    for (const channel of channels.read(entry)) {
      const isOver = entry.chart === 'channel' && entry.change.status !== undefined;
      put(`channel:${channel}`, channels.wordOf(channel), entry.at, isOver);
    }
    if (entry.chart !== 'channel') put(key, ends(entry.to).join(' · '), entry.at, entry.change.status !== undefined);
  }
  const end = timeline.at(-1)?.at ?? 0;
  return [...rows.values()].map(({ isOver: _isOver, ...row }) => ({
    ...row,
    spans: row.spans.map((span) => ({ ...span, to: Math.min(span.to, end) })),
  }));
}
