import type { KeptActor } from '../actors/turn.ts';
import { callOf } from '../machines/channel-vocabulary.ts';
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
 * The rows of a segment that belong to live calls, in order: a live call is kept whole. So are the charts of which
 * something is filed. If all running charts are younger than the segment, and nothing of it is filed, there are none.
 */
export function wantedRows(
  segment: CaptureSegment,
  capture: Capture,
  filer: Filer,
  actors: Iterable<KeptActor>,
): readonly Row[] {
  const living = livingOf(actors, capture);
  if (living.since > segment.lastAt && !filer.hasCharts) return [];
  for (const place of segment.places()) note(segment, place, living);
  const wanted: Row[] = [];
  for (const place of segment.places()) if (isWanted(segment, place, filer, living)) wanted.push(segment.rowAt(place));
  const { requests } = living;
  if (requests.size === 0) return wanted;
  for (const place of segment.places()) {
    const kind = segment.kindAt(place);
    if ((kind === 'request' || kind === 'answer') && requests.has(textAt(segment, place)))
      wanted.push(segment.rowAt(place));
  }
  return wanted.sort((one, other) => one.order - other.order);
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
    living.objects.add(callOf(linked));
    living.since = Math.min(living.since, linked.since);
    if (sipCall !== '') living.sipCalls.add(sipCall);
  }
  return living;
}

/** The first text of a row. */
const textAt = (segment: CaptureSegment, place: number): string => segment.rowAt(place).octets.read() as string;

/** Notes ended channels of live calls, and their other ended objects. */
function note(segment: CaptureSegment, place: number, { objects, charts }: Living): void {
  const kind = segment.kindAt(place);
  if (kind === 'chart') {
    const { octets } = segment.rowAt(place);
    const object = octets.read() as string;
    octets.read();
    if (objects.has(octets.read() as string)) objects.add(object);
    if (objects.has(object)) charts.add(segment.numberAt(place));
  } else if (kind === 'linked' && objects.has(textAt(segment, place))) charts.add(segment.numberAt(place));
}

function isWanted(segment: CaptureSegment, place: number, filer: Filer, living: Living): boolean {
  const kind = segment.kindAt(place);
  const step = isStep({ kind });
  if (step || kind === 'linked' || kind === 'chart') {
    const number = segment.numberAt(place);
    // A chart of which something is filed is filed to its end: its next steps follow from these.
    if (!living.charts.has(number) && filer.chart(number) === undefined) return false;
    const first = segment.rowAt(place).octets.read();
    if (step && typeof first === 'string') living.requests.add(first);
    if (kind === 'chart') living.objects.add(first as string);
    return true;
  }
  if (kind === 'sip') {
    const { octets } = segment.rowAt(place);
    for (let left = 5; left > 0; left--) octets.read();
    return living.sipCalls.has(callIdOf(octets.readRaw()));
  }
  return kind !== 'request' && kind !== 'answer' && living.objects.has(textAt(segment, place));
}
