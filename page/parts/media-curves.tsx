import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import type { RTPstat } from '../../src/models/rtp-statistics.ts';
import type { MediaTimelineEntry, TimelineEntry } from '../../src/models/timeline.ts';
import { ask } from '../core/session.ts';
import { Panel } from './bits.tsx';
import { Curve } from './curve.tsx';

/** Loss, jitter and level of a call's audio over time: what was recorded, or what is measured while somebody looks. */

/** What is drawn, and how a measure is found among what is told. */
const measured: readonly { name: RegExp; title: string }[] = [
  { name: /loss|lost/i, title: 'Loss (packets)' },
  { name: /jitter/i, title: 'Jitter (ms)' },
  { name: /level|volume/i, title: 'Level (dB)' },
];
const tones = ['first', 'second', 'third'] as const;

const askEveryMs = 1_000;
/** Channels that are asked, and measures that are kept. */
const mostChannels = 4;
const mostMeasures = 600;

/** One measure of one channel. */
type Measure = { at: number; object: string; report: Readonly<Record<string, unknown>> };

const figures = ({ rxploss, txploss, rxjitter, txjitter }: RTPstat): Measure['report'] => ({
  'loss heard': rxploss,
  'loss sent': txploss,
  ...(rxjitter === undefined ? {} : { 'jitter heard': Math.round(rxjitter * 10_000) / 10 }),
  ...(txjitter === undefined ? {} : { 'jitter sent': Math.round(txjitter * 10_000) / 10 }),
});

/** Asks for the figures of channels again and again. */
function useMeasures(channels: readonly string[]): readonly Measure[] {
  const [measures, setMeasures] = useState<readonly Measure[]>([]);
  const wanted = channels.slice(0, mostChannels).join(' ');
  useEffect(() => {
    if (wanted === '') return undefined;
    /** Those without RTP of their own. */
    const without = new Set<string>();
    const askAll = () => {
      if (document.hidden) return;
      for (const object of wanted.split(' ').filter((each) => !without.has(each))) {
        ask<RTPstat>('GET', `/ari/channels/${encodeURIComponent(object)}/rtp_statistics`).then(
          (found) => {
            const measure = { at: Date.now(), object, report: figures(found) };
            setMeasures((before) => [...before, measure].slice(-mostMeasures));
          },
          () => without.add(object),
        );
      }
    };
    const timer = setInterval(askAll, askEveryMs);
    return () => clearInterval(timer);
  }, [wanted]);
  return measures;
}

const isMeasure = ({ report }: MediaTimelineEntry): boolean =>
  Object.keys(report).some((member) => measured.some(({ name }) => name.test(member)));

type MediaCurvesProps = {
  timeline: readonly TimelineEntry[];
  /** The moment that is shown; undefined for now. */
  at: number | undefined;
  call: Call | undefined;
};

export function MediaCurves({ timeline, at, call }: MediaCurvesProps) {
  const living = call?.channels.filter(({ name, ended }) => ended === undefined && name.startsWith('PJSIP/')) ?? [];
  const asked = useMeasures(living.map(({ id }) => id));
  const recorded = useMemo(
    () => timeline.filter((entry): entry is MediaTimelineEntry => entry.kind === 'media' && isMeasure(entry)),
    [timeline],
  );
  const reports: readonly Measure[] = recorded.length > 0 ? recorded : asked;
  const times = useMemo(() => reports.map((each) => each.at), [reports]);
  const drawn = useMemo(() => {
    const objects = [...new Set(reports.map(({ object }) => object))];
    const members = [...new Set(reports.flatMap(({ report }) => Object.keys(report)))];
    return measured.flatMap(({ name, title }) => {
      const lines = objects.flatMap((object) =>
        members
          .filter((member) => name.test(member))
          .map((member) => ({
            label: objects.length === 1 ? member : `${object} ${member}`,
            values: reports.map((each) => {
              const value = each.object === object ? each.report[member] : undefined;
              return typeof value === 'number' ? value : null;
            }),
          })),
      );
      const some = lines.filter(({ values }) => values.some((value) => value !== null)).slice(0, tones.length);
      if (some.length === 0) return [];
      return [{ title, lines: some.map((line, index) => ({ ...line, tone: tones[index] ?? tones[0] })) }];
    });
  }, [reports]);
  if (drawn.length === 0) return null;
  return (
    <Panel title="Audio">
      <div class="columns three">
        {drawn.map(({ title, lines }) => (
          <Curve key={title} title={title} times={times} lines={lines} at={at} height={110} span={20} />
        ))}
      </div>
    </Panel>
  );
}
