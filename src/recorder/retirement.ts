import type { KeptActor } from '../actors/turn.ts';
import { type Capture, type CaptureSegment, isStep, RecordedChart, type Row } from './capture.ts';
import type { Filer } from './filer.ts';
import { callIdOf } from './sip-text.ts';

/** Running objects, by the ids that rows contain. */
type Living = {
  /** Numbers of charts. */
  charts: Set<number>;
  /** Ids of objects, and of the calls that channels are in. */
  objects: Set<string>;
  sipCalls: Set<string>;
  /** Ids of the requests that led to them. */
  requests: Set<string>;
  /** Since when the oldest of them runs, in ms since the epoch. */
  since: number;
};

/**
 * The rows of a segment that belong to live calls, by their order: a live call is kept whole. So are the charts of which
 * something is filed. If all running charts are younger than the segment, and nothing of it is filed, there are none.
 */
export function wantedRows(
  segment: CaptureSegment,
  capture: Capture,
  filer: Filer,
  actors: Iterable<KeptActor>,
): Set<number> {
  const wanted = new Set<number>();
  const living = livingOf(actors, capture);
  if (living.since > segment.lastAt && !filer.hasCharts) return wanted;
  for (const row of segment.rows()) note(row, capture, living);
  const { requests } = living;
  for (const row of segment.rows()) if (isWanted(row, capture, filer, living)) wanted.add(row.order);
  for (const row of segment.rows())
    if ((row.kind === 'request' || row.kind === 'answer') && requests.has(row.octets.read() as string))
      wanted.add(row.order);
  return wanted;
}

function livingOf(actors: Iterable<KeptActor>, capture: Capture): Living {
  const living: Living = {
    charts: new Set(),
    objects: new Set(),
    sipCalls: new Set(),
    requests: new Set(),
    since: Number.POSITIVE_INFINITY,
  };
  for (const { note: chart } of actors) {
    if (!(chart instanceof RecordedChart) || chart.capture !== capture || chart.role === 'none') continue;
    living.charts.add(chart.number);
    living.objects.add(chart.object);
    living.since = Math.min(living.since, chart.since);
    const { linked, sipCall } = chart;
    if (!linked) continue;
    living.objects.add(linked.id);
    living.since = Math.min(living.since, linked.since);
    if (sipCall !== '') living.sipCalls.add(sipCall);
  }
  return living;
}

/** Notes ended channels of live calls, and their other ended objects. */
function note(row: Row, capture: Capture, living: Living): void {
  if (row.kind === 'chart') {
    const { chart, about } = capture.chartOf(row);
    if (living.objects.has(about)) living.objects.add(chart.object);
    if (living.objects.has(chart.object)) living.charts.add(row.number);
  } else if (row.kind === 'linked' && living.objects.has(row.octets.read() as string)) living.charts.add(row.number);
}

function isWanted(row: Row, capture: Capture, filer: Filer, living: Living): boolean {
  const { kind, number, octets } = row;
  if (isStep(row) || kind === 'linked' || kind === 'chart') {
    // A chart of which something is filed is filed to its end: its next steps follow from these.
    const wanted = living.charts.has(number) || filer.chart(number) !== undefined;
    if (wanted && isStep(row)) {
      const request = octets.read();
      if (typeof request === 'string') living.requests.add(request);
    }
    if (wanted && kind === 'chart') living.objects.add(capture.chartOf(row).chart.object);
    return wanted;
  }
  if (kind === 'sip') {
    for (let left = 5; left > 0; left--) octets.read();
    return living.sipCalls.has(callIdOf(octets.readRaw()));
  }
  return kind !== 'request' && kind !== 'answer' && living.objects.has(octets.read() as string);
}
