import type { TimelineEntry } from '../../src/models/timeline.ts';

/** Loss, jitter and level of a call's audio over time. */

/** What was measured of one channel at one moment. */
export type Measure = { at: number; object: string; report: Readonly<Record<string, unknown>> };

/** A line of a curve: a value for each measure, null where it says nothing of it. */
export type MeasureLine = { label: string; values: readonly (number | null)[] };
export type MeasureCurve = { title: string; lines: readonly MeasureLine[]; range: Range };
/** What a curve shows at least: from `low` to `high`. */
export type Range = { low: number; high: number };

const drawn: readonly { title: string; members: Readonly<Record<string, string>>; range: Range }[] = [
  { title: 'Loss (packets)', members: { loss_heard: 'heard', loss_sent: 'sent' }, range: { low: 0, high: 4 } },
  { title: 'Jitter (ms)', members: { jitter_heard_ms: 'heard', jitter_sent_ms: 'sent' }, range: { low: 0, high: 4 } },
  { title: 'Level (dB)', members: { level_db: 'heard', level_sent_db: 'sent' }, range: { low: -90, high: 0 } },
];

/** Lines of one curve at most. */
const mostLines = 4;

/** The measures of a timeline, and those that were asked for since its last, in the order of time. */
export function measuresOf(timeline: readonly TimelineEntry[], asked: readonly Measure[]): readonly Measure[] {
  const recorded = timeline.flatMap((entry): Measure[] => (entry.kind === 'media' ? [entry] : []));
  return recorded.length === 0 ? asked : [...recorded, ...asked].sort((one, other) => one.at - other.at);
}

/** What is to be drawn. @param nameOf how a channel is called where there are several */
export function curvesOf(measures: readonly Measure[], nameOf: (object: string) => string): MeasureCurve[] {
  const objects = [...new Set(measures.map(({ object }) => object))];
  return drawn.flatMap(({ title, members, range }) => {
    const lines = objects.flatMap((object) =>
      Object.entries(members).map(([member, word]) => ({
        label: objects.length === 1 ? word : `${nameOf(object)} ${word}`,
        values: measures.map(({ object: other, report }) => {
          const value = other === object ? report[member] : undefined;
          return typeof value === 'number' ? value : null;
        }),
      })),
    );
    const some = lines.filter(({ values }) => values.some((value) => value !== null)).slice(0, mostLines);
    return some.length === 0 ? [] : [{ title, lines: some, range }];
  });
}

/** The last value up to a moment; undefined when there was none yet. Without a moment the last of all. */
export function valueAt(
  times: readonly number[],
  values: readonly (number | null)[],
  at: number | undefined,
): number | undefined {
  const found = values.findLast((value, index) => value !== null && (at === undefined || (times[index] ?? 0) <= at));
  return found ?? undefined;
}

/** What was measured, in a few words: `3 lost, jitter 2.1 ms, -23 dB`. */
export function audioText(report: Measure['report']): string {
  const {
    loss_heard: lost,
    jitter_heard_ms: jitter,
    level_db: level,
    level_sent_db: sent,
    dropped_ms: dropped,
  } = report;
  return [
    ...(lost === undefined ? [] : [`${String(lost)} lost`]),
    ...(jitter === undefined ? [] : [`jitter ${String(jitter)} ms`]),
    ...(dropped === undefined || dropped === 0 ? [] : [`${String(dropped)} ms left out`]),
    ...(level === undefined ? [] : [`${String(level)} dB`]),
    ...(sent === undefined ? [] : [`sent ${String(sent)} dB`]),
  ].join(', ');
}
