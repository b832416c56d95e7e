import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import type { RTPstat } from '../../src/models/rtp-statistics.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { curvesOf, type Measure, measuresOf } from '../core/measures.ts';
import { ask, may } from '../core/session.ts';
import { Panel } from './bits.tsx';
import { Curve } from './curve.tsx';

/** Loss, jitter and level of a call's audio over time: what was recorded, and what is measured while somebody looks. */

const tones = ['first', 'second', 'third', 'fourth'] as const;

const askEveryMs = 1_000;
/** Channels that are asked, and measures that are kept. */
const mostChannels = 4;
const mostMeasures = 600;

const tenths = (seconds: number): number => Math.round(seconds * 10_000) / 10;

const figures = ({ rxploss, txploss, rxjitter, txjitter }: RTPstat): Measure['report'] => ({
  loss_heard: rxploss,
  loss_sent: txploss,
  ...(rxjitter === undefined ? {} : { jitter_heard_ms: tenths(rxjitter) }),
  ...(txjitter === undefined ? {} : { jitter_sent_ms: tenths(txjitter) }),
});

/** Asks for the figures of channels again and again. */
function useMeasures(channels: readonly string[]): readonly Measure[] {
  const [measures, setMeasures] = useState<readonly Measure[]>([]);
  const wanted = channels.slice(0, mostChannels).join(' ');
  useEffect(() => {
    if (wanted === '' || !may('channels:rtpstatistics')) return undefined;
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

type MediaCurvesProps = {
  timeline: readonly TimelineEntry[];
  /** The moment that is shown; undefined for now. */
  at: number | undefined;
  call: Call | undefined;
};

export function MediaCurves({ timeline, at, call }: MediaCurvesProps) {
  const living = call?.channels.filter(({ name, ended }) => ended === undefined && name.startsWith('PJSIP/')) ?? [];
  const asked = useMeasures(living.map(({ id }) => id));
  const measures = useMemo(() => measuresOf(timeline, asked), [timeline, asked]);
  const times = useMemo(() => measures.map((each) => each.at), [measures]);
  const names = call?.channels.map(({ id, name }) => `${id} ${name}`).join('\n') ?? '';
  const curves = useMemo(() => {
    const known = new Map(names.split('\n').map((line) => line.split(' ', 2) as [string, string]));
    const whole = (object: string): string => (known.get(object) ?? object).replace(/^PJSIP\//, '');
    // Without the number behind it, which tells nobody anything unless there are two of that name.
    const brief = (object: string): string => whole(object).replace(/-\w+$/, '');
    const isOne = (object: string): boolean =>
      [...known.keys()].filter((other) => brief(other) === brief(object)).length < 2;
    return curvesOf(measures, (object) => (isOne(object) ? brief(object) : whole(object)));
  }, [measures, names]);
  if (curves.length === 0) return null;
  return (
    <Panel title="Audio" class="audio-panel">
      <div class="columns three">
        {curves.map(({ title, lines, range }) => (
          <Curve
            key={title}
            title={title}
            times={times}
            lines={lines.map((line, index) => ({ ...line, tone: tones[index] ?? tones[0] }))}
            at={at}
            height={110}
            span={20}
            range={range}
          />
        ))}
      </div>
    </Panel>
  );
}
