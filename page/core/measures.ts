import type { TimelineEntry } from '../../src/models/timeline.ts';

/** Loss, jitter and level of a call's audio over time, and of each stream of its video. */

/** Measurements of one channel at one time. */
export type Measure = { at: number; object: string; report: Readonly<Record<string, unknown>> };

/** A line of a curve: a value for each measure, null where it says nothing of it. */
export type MeasureLine = { label: string; values: readonly (number | null)[] };
export type MeasureCurve = { title: string; lines: readonly MeasureLine[]; range: Range };
/** The smallest range of a curve. */
export type Range = { low: number; high: number };

const drawn: readonly { title: string; members: Readonly<Record<string, string>>; range: Range }[] = [
  { title: 'MOS (estimate)', members: { mos_heard: 'heard', mos_sent: 'sent' }, range: { low: 1, high: 4.5 } },
  { title: 'Loss (packets)', members: { loss_heard: 'heard', loss_sent: 'sent' }, range: { low: 0, high: 4 } },
  { title: 'Jitter (ms)', members: { jitter_heard_ms: 'heard', jitter_sent_ms: 'sent' }, range: { low: 0, high: 4 } },
  { title: 'Delay (ms)', members: { delay_heard_ms: 'heard', delay_sent_ms: 'sent' }, range: { low: 0, high: 100 } },
  { title: 'Level (dB)', members: { level_db: 'heard', level_sent_db: 'sent' }, range: { low: -90, high: 0 } },
];

/** Lines of one curve at most. */
const mostLines = 4;

/** Measurements of a timeline, and later requested ones, in order of time. */
export function measuresOf(timeline: readonly TimelineEntry[], asked: readonly Measure[]): readonly Measure[] {
  const recorded = timeline.flatMap((entry): Measure[] => (entry.kind === 'media' ? [entry] : []));
  return recorded.length === 0 ? asked : [...recorded, ...asked].sort((one, other) => one.at - other.at);
}

const isVideo = ({ report }: Measure): boolean => report['video'] !== undefined;
/** One name for each stream. */
const streamOf = ({ object, report }: Measure): string => `${object} ${String(report['video'] ?? '')}`;

/** How a stream is called: by its channel, and by its number where the channel has several. */
const streamName = (one: Measure, all: readonly Measure[], nameOf: (object: string) => string): string => {
  const isOnly = all.every((each) => each.object !== one.object || streamOf(each) === streamOf(one));
  return isOnly ? nameOf(one.object) : `${nameOf(one.object)} ${String(one.report['video'])}`;
};

/** The first measure of each stream. */
function firstOfEach(measures: readonly Measure[]): Measure[] {
  const first = new Map<string, Measure>();
  for (const each of measures) if (!first.has(streamOf(each))) first.set(streamOf(each), each);
  return [...first.values()];
}

/**
 * Curves of audio or video, one value for each measurement.
 * @param nameOf name of a channel if there are several
 * @param chosen the only channel to draw; left out: the first ones, as many as fit
 */
export function curvesOf(
  measures: readonly Measure[],
  nameOf: (object: string) => string,
  kind: 'audio' | 'video' = 'audio',
  chosen?: string,
): MeasureCurve[] {
  const ofKind = measures.filter((each) => isVideo(each) === (kind === 'video'));
  const streams = firstOfEach(ofKind).filter(({ object }) => chosen === undefined || object === chosen);
  return drawn.flatMap(({ title, members, range }) => {
    const lines = streams.flatMap((stream) =>
      Object.entries(members).map(([member, word]) => ({
        label: streams.length === 1 ? word : `${streamName(stream, streams, nameOf)} ${word}`,
        values: measures.map((each) => {
          const value = streamOf(each) === streamOf(stream) ? each.report[member] : undefined;
          return typeof value === 'number' ? value : null;
        }),
      })),
    );
    const some = lines.filter(({ values }) => values.some((value) => value !== null)).slice(0, mostLines);
    return some.length === 0 ? [] : [{ title, lines: some, range }];
  });
}

/** A stream of video as it was measured last. */
export type VideoRow = { name: string; report: Measure['report'] };

/** Each stream of video as it was at a moment, by channels; without a moment as it is now. */
export function videoRowsOf(
  measures: readonly Measure[],
  nameOf: (object: string) => string,
  at: number | undefined,
): VideoRow[] {
  const ofThen = measures.filter((each) => isVideo(each) && (at === undefined || each.at <= at));
  const streams = firstOfEach(ofThen);
  return streams.map((stream) => ({
    name: streamName(stream, streams, nameOf),
    report: ofThen.findLast((each) => streamOf(each) === streamOf(stream))?.report ?? {},
  }));
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

/** Measurements in a few words: `3 lost, jitter 2.1 ms, -23 dB`; for video also requested key frames. */
export function mediaText(report: Measure['report']): string {
  const {
    loss_heard: lost,
    jitter_heard_ms: jitter,
    level_db: level,
    level_sent_db: sent,
    dropped_ms: dropped,
    key_frames_asked: keyFrames,
  } = report;
  return [
    ...(lost === undefined ? [] : [`${String(lost)} lost`]),
    ...(jitter === undefined ? [] : [`jitter ${String(jitter)} ms`]),
    ...(dropped === undefined || dropped === 0 ? [] : [`${String(dropped)} ms left out`]),
    ...(level === undefined ? [] : [`${String(level)} dB`]),
    ...(sent === undefined ? [] : [`sent ${String(sent)} dB`]),
    ...(keyFrames === undefined || keyFrames === 0 ? [] : [`key frames asked for: ${String(keyFrames)}`]),
  ].join(', ');
}
