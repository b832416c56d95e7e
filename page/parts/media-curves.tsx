import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import type { RTPstat } from '../../src/models/rtp-statistics.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { whyUnseenText } from '../../src/models/visibility-rows.ts';
import { curvesOf, type Measure, type MeasureCurve, measuresOf, type VideoRow, videoRowsOf } from '../core/measures.ts';
import { type LegQuality, legQualities, withQuality } from '../core/quality.ts';
import { ask, may } from '../core/session.ts';
import { clockTime, shortNames } from '../core/words.ts';
import { Panel, Pill } from './bits.tsx';
import { Curve } from './curve.tsx';

/** Loss, jitter and level of a call's audio and video over time: recorded values, and present ones. */

const tones = ['first', 'second', 'third', 'fourth'] as const;

const askEveryMs = 1_000;
/** Channels that are asked, and measures that are kept. */
const mostChannels = 4;
const mostMeasures = 600;
/** Channels whose curves are drawn: two lines each. */
const mostDrawn = 2;

const tenths = (seconds: number): number => Math.round(seconds * 10_000) / 10;

type VideoStat = NonNullable<RTPstat['video']>[number];

const figures = ({
  rxploss,
  txploss,
  rxjitter,
  txjitter,
  rxcount,
  txcount,
}: RTPstat | VideoStat): Measure['report'] => ({
  packets_heard: rxcount,
  packets_sent: txcount,
  loss_heard: rxploss,
  loss_sent: txploss,
  ...(rxjitter === undefined ? {} : { jitter_heard_ms: tenths(rxjitter) }),
  ...(txjitter === undefined ? {} : { jitter_sent_ms: tenths(txjitter) }),
});

const videoFigures = (stat: VideoStat): Measure['report'] => {
  const { stream, codec, key_frames, key_frames_asked, sent_again, asked_again, left_out, shows, awaits, unseen } =
    stat;
  return {
    ...figures(stat),
    ...{ video: stream, codec, key_frames, key_frames_asked, sent_again, asked_again, left_out, shows, awaits, unseen },
  };
};

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
            const trip = found.rtt === undefined ? {} : { rtt_ms: tenths(found.rtt) };
            const reports = [{ ...figures(found), ...trip }, ...(found.video ?? []).map(videoFigures)];
            const made = reports.map((report): Measure => ({ at: Date.now(), object, report }));
            setMeasures((before) => [...before, ...made].slice(-mostMeasures));
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
  const [chosen, setChosen] = useState<string>();
  // A channel that has ended has no figures: a refused request would stand in the call.
  const asked = useMeasures(living.map(({ id }) => id).filter((id) => chosen === undefined || id === chosen));
  const measures = useMemo(() => withQuality(measuresOf(timeline, asked)), [timeline, asked]);
  const times = useMemo(() => measures.map((each) => each.at), [measures]);
  const names = call?.channels.map(({ id, name }) => `${id} ${name}`).join('\n') ?? '';
  const nameOf = useMemo(
    () => shortNames(new Map(names.split('\n').map((line) => line.split(' ', 2) as [string, string]))),
    [names],
  );
  const audio = useMemo(() => curvesOf(measures, nameOf, 'audio', chosen), [measures, nameOf, chosen]);
  const legs = useMemo(() => legQualities(measures, at), [measures, at]);
  const video = useMemo(() => curvesOf(measures, nameOf, 'video', chosen), [measures, nameOf, chosen]);
  const rows = useMemo(() => videoRowsOf(measures, nameOf, at), [measures, nameOf, at]);
  const channels = call?.channels.filter(({ name }) => name.startsWith('PJSIP/')).map(({ id }) => id) ?? [];
  const chooser =
    channels.length > mostDrawn ? (
      <WhoseCurves channels={channels} nameOf={nameOf} chosen={chosen} onChosen={setChosen} />
    ) : null;
  return (
    <>
      {audio.length === 0 && chosen === undefined ? null : (
        <Panel title="Audio" class="audio-panel" extra={chooser}>
          {legs.length === 0 ? null : <Legs legs={legs} nameOf={nameOf} />}
          <Curves curves={audio} times={times} at={at} />
        </Panel>
      )}
      {rows.length === 0 ? null : (
        <Panel title="Video" class="audio-panel" extra={chooser}>
          <VideoTable rows={rows} nameOf={nameOf} />
          <Curves curves={video} times={times} at={at} />
        </Panel>
      )}
    </>
  );
}

type WhoseCurvesProps = {
  channels: readonly string[];
  nameOf: (object: string) => string;
  chosen: string | undefined;
  onChosen(channel: string | undefined): void;
};

/** Whose curves are drawn, where there are more channels than fit into one. */
function WhoseCurves({ channels, nameOf, chosen, onChosen }: WhoseCurvesProps) {
  const first = channels.slice(0, mostDrawn).map(nameOf).join(' and ');
  return (
    <label class="whose">
      Curves of
      <select
        value={chosen ?? ''}
        onChange={({ currentTarget: { value } }) => onChosen(value === '' ? undefined : value)}
      >
        <option value="">
          {first}, of {channels.length} channels
        </option>
        {channels.map((channel) => (
          <option key={channel} value={channel}>
            {nameOf(channel)}
          </option>
        ))}
      </select>
    </label>
  );
}

type CurvesProps = { curves: readonly MeasureCurve[]; times: readonly number[]; at: number | undefined };

function Curves({ curves, times, at }: CurvesProps) {
  return (
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
  );
}

/** How a direction of a leg is, as its pill shows it. */
const legTones: Readonly<Record<LegQuality['word'], string>> = {
  good: 'good',
  fair: 'lit',
  poor: 'bad',
  silent: 'bad',
  unknown: 'plain',
};

const approximate =
  'An approximation: ITU-T G.113 has no values for this codec on the narrowband scale. Opus counts as at 11 kbit/s, others as G.711.';

/** Which leg is bad: both directions of each, with the worst moment. */
function Legs({ legs, nameOf }: { legs: readonly LegQuality[]; nameOf: (object: string) => string }) {
  const shown = (value: number | undefined, unit = ''): string => (value === undefined ? '—' : `${value}${unit}`);
  return (
    <div class="scroll">
      <table class="figures legs" aria-label="Audio of each leg">
        <thead>
          <tr>
            <th scope="col">Audio</th>
            <th scope="col" class="said">
              Codec
            </th>
            <th scope="col" class="said">
              Quality
            </th>
            <th scope="col" title="Mean opinion score, estimated by the E-model (ITU-T G.107): 1 to 4.5">
              MOS
            </th>
            <th scope="col">Lowest</th>
            <th scope="col">Loss</th>
            <th scope="col">Jitter</th>
            <th scope="col">Delay</th>
            <th scope="col">Level</th>
          </tr>
        </thead>
        <tbody>
          {legs.map(({ object, direction, word, score, worst, worstAt, ...leg }) => (
            <tr key={`${object} ${direction}`}>
              <th scope="row">{`${direction === 'heard' ? 'from' : 'to'} ${nameOf(object)}`}</th>
              <td class="said">{leg.codec || '—'}</td>
              <td class="said">
                <Pill state={word} tone={legTones[word]} />
              </td>
              <td title={leg.isPublished ? undefined : approximate}>
                {score === undefined || leg.isPublished ? '' : '≈ '}
                {shown(score)}
              </td>
              <td title={worstAt === undefined ? undefined : `at ${clockTime(worstAt)}`}>{shown(worst)}</td>
              <td>{shown(leg.lossPercent, ' %')}</td>
              <td>{shown(leg.jitterMs, ' ms')}</td>
              <td>{shown(leg.delayMs, ' ms')}</td>
              <td>{shown(leg.levelDb, ' dB')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type VideoTableProps = { rows: readonly VideoRow[]; nameOf: (object: string) => string };

/** The source of a stream, and why another is not visible yet. */
function shownText({ shows, awaits, unseen }: Measure['report'], nameOf: (object: string) => string): string {
  const shown = shows === undefined ? '—' : nameOf(String(shows));
  if (unseen === undefined) return shown;
  const awaited = awaits === undefined || awaits === shows ? '' : `${nameOf(String(awaits))}: `;
  return `${shown} (${awaited}${whyUnseenText(String(unseen))})`;
}

/** The source and figures of each video stream. */
function VideoTable({ rows, nameOf }: VideoTableProps) {
  return (
    <div class="scroll">
      <table class="figures" aria-label="Video of each stream">
        <thead>
          <tr>
            <th scope="col">To</th>
            <th scope="col" class="said">
              Shows
            </th>
            <th scope="col" class="said least">
              Codec
            </th>
            <th scope="col">Lost</th>
            <th scope="col">Key frames</th>
            <th scope="col">Requested</th>
            <th scope="col">Retransmitted</th>
            <th scope="col">Dropped</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, report }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="said">{shownText(report, nameOf)}</td>
              <td class="said least">{String(report['codec'] ?? '—')}</td>
              {['loss_heard', 'key_frames', 'key_frames_asked', 'sent_again', 'left_out'].map((figure) => (
                <td key={figure}>{String(report[figure] ?? '—')}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
