import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import type { LiveCall } from '../../src/models/live.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import type { TimelineEntry } from '../../src/models/timeline.ts';
import { pathOf } from '../core/actions.ts';
import { badgeOf, endsOf, isBad, nodeOfCall, outcomeText } from '../core/calls.ts';
import { useCell } from '../core/cell.ts';
import { readLines, titlesOf } from '../core/entries.ts';
import { amongButtons } from '../core/focus.ts';
import { joined, members, useFold } from '../core/lanes.ts';
import { useLive } from '../core/live.ts';
import { callAt } from '../core/moment.ts';
import { overview } from '../core/overview.ts';
import { allowedOn, keyOf, modelOf, type Traced, tracedAt } from '../core/replay.ts';
import { backTo, useQuery } from '../core/route.ts';
import { mayLookAt, session } from '../core/session.ts';
import { useStoredCall } from '../core/stored.ts';
import { summaryOf } from '../core/summary.ts';
import { clockTime, duration, shortNames, stateNames } from '../core/words.ts';
import { Empty, Json, LiveMark, Panel, Pill, useAsked } from '../parts/bits.tsx';
import { CallButtons, ObjectButtons } from '../parts/call-buttons.tsx';
import { ChartDrawing, NextTransitions } from '../parts/chart.tsx';
import { Ladder } from '../parts/ladder.tsx';
import { ListenButton } from '../parts/listen.tsx';
import { MediaCurves } from '../parts/media-curves.tsx';
import { Operations } from '../parts/operations.tsx';
import { RecordingPlayer } from '../parts/recording.tsx';
import { Spans } from '../parts/spans.tsx';
import { TimeBar } from '../parts/time-bar.tsx';
import { VideoVisibilityTable } from '../parts/video-visibility.tsx';

/** The charts that stand for an object of their own; others (`ownership` …) belong to one of these. */
const primary: ReadonlySet<string> = new Set([
  ...['channel', 'playback', 'bridge', 'liveRecording', 'externalConnection', 'transfer', 'dial', 'consultation'],
]);
const kindNames: Readonly<Record<string, string>> = {
  channel: 'Channel',
  playback: 'Playback',
  bridge: 'Bridge',
  liveRecording: 'Recording',
  externalConnection: 'Connection to a server',
  transfer: 'Transfer',
  dial: 'Dial',
  consultation: 'Consultation call',
};

/** An object with its charts, the main one first. */
type Shown = { object: string; charts: Traced[] };

function objectsOf(traced: ReadonlyMap<string, Traced>): Shown[] {
  const byObject = new Map<string, Traced[]>();
  for (const each of traced.values()) byObject.set(each.object, [...(byObject.get(each.object) ?? []), each]);
  return [...byObject].map(([object, charts]) => ({
    object,
    charts: charts.sort((one, other) => Number(primary.has(other.chart)) - Number(primary.has(one.chart))),
  }));
}

/** Channels first, in the order they came; what plays, records and joins them behind. */
const byKind = (one: Shown, other: Shown): number =>
  Number(other.charts[0]?.chart === 'channel') - Number(one.charts[0]?.chart === 'channel');

/** On a telephone no chart is drawn at first: they are long. */
const isNarrow = (): boolean => innerWidth <= 760;

const isOver = ({ charts: [main] }: Shown): boolean => main === undefined || main.image.status !== 'active';

/** Initially drawn charts: the first live channel, and the last object beside channels. */
function drawnAtFirst(objects: readonly Shown[]): ReadonlySet<Shown> {
  const channels = objects.filter(({ charts: [main] }) => main?.chart === 'channel');
  const others = objects.filter((each) => each.charts[0]?.chart !== 'channel' && !isOver(each));
  const first = channels.find((each) => !isOver(each)) ?? channels[0];
  const last = others.at(-1);
  return new Set([...(first ? [first] : []), ...(last ? [last] : [])]);
}

/** The chosen charts of objects, with another one for an object; undefined: its main one. */
const withTab = (tabs: ReadonlySet<string>, object: string, chart: string | undefined): string =>
  joined([
    ...[...tabs].filter((key) => !key.endsWith(`:${object}`)),
    ...(chart === undefined ? [] : [keyOf(object, chart)]),
  ]);

type ObjectCardProps = {
  shown: Shown;
  traced: ReadonlyMap<string, Traced>;
  call: Call | undefined;
  past: boolean;
  /** Whether going back to now would show what can be done; if not, nothing is offered. */
  actable: boolean;
  /** Whether it is open by default. */
  drawn: boolean;
  /** The moment that is shown, in ms since the epoch; undefined for now. */
  at: number | undefined;
  /** What it is of: a sound, a name. */
  title: string | undefined;
  /** Its lane in the ladder. */
  lane: string | undefined;
};

function ObjectCard({ shown, traced, call, past, actable, drawn, at, title, lane }: ObjectCardProps) {
  const who = useCell(session);
  const [tabText, setTabs] = useQuery('tab');
  const tabs = members(tabText);
  const over = isOver(shown);
  const { charts, object } = shown;
  // Folded or unfolded by hand, it stays so.
  const [opened, setOpened] = useFold(object);
  const main = charts[0];
  const current = charts.find(({ chart }) => tabs.has(keyOf(object, chart))) ?? main;
  if (!main || !current) return null;
  const isOpen = opened ?? drawn;
  const name = call?.channels.find(({ id }) => id === object)?.name ?? title;
  const model = modelOf(main, traced);
  const possible = isOpen && actable && !who?.read_only ? allowedOn(main, traced) : undefined;
  const states = stateNames(current.image.value);
  return (
    <section class={`object ${over ? 'over' : ''}`} data-object={object} data-chart={main.chart}>
      <header>
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpened(!isOpen)}>
          <span class="object-kind">{kindNames[main.chart] ?? main.chart}</span>{' '}
          <b class="object-name">{name ?? object}</b>
          <span class="grow" />
          {charts.slice(0, over ? 1 : 2).map(({ chart, image }) => (
            <Pill
              key={chart}
              state={stateNames(image.value)
                .map((each) => each.split('.').at(-1))
                .join(' · ')}
            />
          ))}
        </button>
      </header>
      {isOpen ? (
        <>
          {charts.length > 1 ? (
            <div class="tabs" role="tablist" aria-label="Charts of this object" onKeyDown={amongButtons}>
              {charts.map(({ chart }) => (
                <button
                  type="button"
                  role="tab"
                  key={chart}
                  aria-selected={chart === current.chart}
                  onClick={() => setTabs(withTab(tabs, object, chart === main.chart ? undefined : chart))}
                >
                  {chart}
                </button>
              ))}
            </div>
          ) : null}
          <div class="chart-and-next">
            <ChartDrawing
              name={current.chart}
              lit={{ states, way: current.way }}
              label={`${kindNames[main.chart] ?? main.chart} ${name ?? object}`}
            />
            <div class="beside">
              <h3>
                {model && 'state' in model ? (
                  <span class="model-state">State: {String(model.state)}</span>
                ) : (
                  states.join(' · ')
                )}
              </h3>
              <h4>History</h4>
              <p class="way">{current.way.map((state) => state.split('.').at(-1)).join(' → ')}</p>
              <h4>Next transitions</h4>
              <NextTransitions name={current.chart} states={states} image={current.image} at={at} />
            </div>
          </div>
          {main.chart === 'liveRecording' && over ? (
            <RecordingPlayer
              name={String((model as { name?: string } | undefined)?.name ?? object)}
              format={String((model as { format?: string } | undefined)?.format ?? '')}
            />
          ) : null}
          {main.chart === 'channel' && !past && !over ? (
            <ListenButton channel={object} name={String((model as { name?: string } | undefined)?.name ?? object)} />
          ) : null}
          {charts.some(({ chart }) => chart === 'bridgeVideo') && !past && !over ? (
            <VideoVisibilityTable
              bridge={object}
              nameOf={shortNames(new Map(call?.channels.map(({ id, name }) => [id, name])))}
            />
          ) : null}
          {possible ? <Operations possible={possible} past={past} /> : null}
          <ObjectButtons
            object={object}
            lane={lane}
            path={over ? undefined : pathOf(main.chart === 'liveRecording' ? 'recording' : main.chart, object)}
          />
          <details>
            <summary>Model{current.chart === main.chart ? '' : ` of ${main.chart}`} and context</summary>
            <div class="columns two tight">
              {model ? <Json value={model} /> : null}
              <Json value={current.image.context} />
            </div>
          </details>
        </>
      ) : null}
    </section>
  );
}

/** The call in one sentence, and what went wrong. */
function Summary({ said, wrong, isWrong }: { said: string; wrong: readonly string[]; isWrong: boolean }) {
  return (
    <section class={`summary ${isWrong ? 'bad' : ''}`} aria-label="Summary">
      <p>{said}</p>
      {wrong.length > 0 ? (
        <ul>
          {wrong.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}

/** Shows what a call waits for. The overview reports it: the call itself only reports changes. */
function StuckBanners({ call }: { call: string }) {
  return useCell(overview)
    .stuck.filter((waits) => waits.call === call)
    .map(({ object, chart, state, waits_for: waits }) => (
      <p class="banner bad" key={`${object} ${chart}`}>
        <b>Stuck in {state}</b>: waits for {waits}
      </p>
    ));
}

/** Whether a call is watched at this node, or read from another one of the cluster. */
function useNodeOf(id: string): 'unknown' | 'here' | 'elsewhere' {
  const node = nodeOfCall(id);
  const asks = node !== undefined && mayLookAt('/hookswitch/server');
  const { value: server, error } = useAsked<ServerInfo>(asks ? '/hookswitch/server' : undefined);
  if (!asks || error !== undefined) return 'here';
  if (!server) return 'unknown';
  return server.cluster === undefined || server.cluster === node ? 'here' : 'elsewhere';
}

export function CallView({ id }: { id: string }) {
  const [call, setCall] = useState<Call>();
  const [timeline, setTimeline] = useState<readonly TimelineEntry[]>([]);
  const [momentText, setMomentText] = useQuery('at');
  const moment = /^[1-9]\d*$/.test(momentText) ? Number(momentText) : undefined;
  const setMoment = (wanted: number | undefined) => setMomentText(wanted === undefined ? '' : String(wanted));
  const [linked] = useQuery('object');
  const [objectsText, setObjects] = useQuery('objects');
  const all = objectsText === 'all';
  const [letGo, setLetGo] = useState<number>();
  const [wasWatched, setWatched] = useState(false);
  const where = useNodeOf(id);
  const path = where === 'here' ? `/hookswitch/live?call=${encodeURIComponent(id)}` : undefined;
  const live = useLive<LiveCall>(path, (message) => {
    setWatched(true);
    setCall(message.call);
    setLetGo(message.let_go);
    // After a connection that was lost everything comes again.
    setTimeline((before) => (message.whole ? message.entries : [...before, ...message.entries]));
  });
  // One that is no longer in memory may be on the disk.
  const stored = useStoredCall(id, where === 'elsewhere' || (live === 'gone' && !wasWatched));
  useEffect(() => {
    if (!stored.call) return;
    setCall(stored.call);
    setTimeline(stored.call.timeline);
  }, [stored.call]);
  const isThere = timeline.length > 0;
  // An object that the link names is in view.
  useEffect(() => {
    if (isThere && linked !== '') document.querySelector(`[data-object="${CSS.escape(linked)}"]`)?.scrollIntoView();
  }, [isThere, linked]);
  // A call without further updates is in the past, and so is one over a lost connection.
  const isLost = where === 'elsewhere' ? stored.isMissing : live === 'lost' || live === 'gone';
  const isOld = letGo !== undefined || (isLost && call?.state === 'live');
  const count = Math.min(moment ?? timeline.length, timeline.length);
  const reading = useMemo(() => readLines(timeline), [timeline]);
  const titles = useMemo(() => titlesOf(timeline), [timeline]);
  const traced = useMemo(() => tracedAt(timeline, count), [timeline, count]);
  const objects = useMemo(
    () =>
      objectsOf(traced)
        .filter(({ charts: [main] }) => main && primary.has(main.chart))
        .sort(byKind),
    [traced],
  );
  const [folds] = useState(isNarrow);
  const drawn = useMemo(() => (folds ? new Set<Shown>() : drawnAtFirst(objects)), [objects, folds]);
  const began = timeline[0]?.at ?? call?.began ?? 0;
  const at = moment === undefined ? undefined : timeline[count - 1]?.at;
  const isPast = moment !== undefined && count < timeline.length;
  /** The call as it was at the moment: title, duration and summary are of then. */
  const then = useMemo(
    () => (call && isPast ? callAt(call, timeline, count, traced) : call),
    [call, isPast, timeline, count, traced],
  );
  const ending = then && outcomeText(then);
  // Before its first channel came.
  const ends =
    then && endsOf(then.channels.length > 0 || !call ? then : { ...then, channels: call.channels.slice(0, 1) });
  const summary = useMemo(
    () => (then && count > 0 ? summaryOf(then, timeline.slice(0, count)) : undefined),
    [then, timeline, count],
  );
  const lasted = then?.state === 'live' && !isPast ? (timeline.at(-1)?.at ?? began) - began : 0;
  return (
    <div class="call">
      <div class="call-head">
        <a class="back" href={backTo('calls')} aria-label="All calls">
          ‹
        </a>
        <h1>{ends ? `${ends.from} → ${ends.to}` : id}</h1>
        {then && then.channels.length > 0 ? <Pill state={badgeOf(then).text} tone={badgeOf(then).tone} /> : null}
        {moment === undefined && !isOld ? null : <Pill state="earlier moment" tone="past" />}
        {call?.masked ? (
          <Pill state={`hidden: ${[...(call.masked.digits ? ['digits'] : []), ...call.masked.variables].join(', ')}`} />
        ) : null}
        <span class="grow" />
        <span class="quiet facts">
          {then ? `${clockTime(then.began)} · ${duration(Math.max(lasted, then.duration_ms))}` : ''}
          {then?.state === 'ended' && ending ? ` · ${ending}` : ''}
        </span>
        {call?.state === 'ended' || letGo !== undefined ? null : where === 'elsewhere' ? (
          <span class={`live-mark ${isLost ? 'lost' : 'live'}`} role="status">
            on node {nodeOfCall(id)}, {isLost ? 'which does not answer' : 'updated every 2 s'}
          </span>
        ) : (
          <LiveMark state={live} />
        )}
      </div>
      {letGo === undefined ? null : (
        <p class="banner" role="status">
          Recording stopped at {clockTime(letGo)}. The page shows the call as it was then.
        </p>
      )}
      {call && letGo === undefined && !isPast ? <StuckBanners call={call.id} /> : null}
      {call && call.gone > 0 ? <p class="banner">The first {call.gone} entries are no longer stored.</p> : null}
      {timeline.length === 0 ? (
        <Empty>{stored.isMissing ? 'This call does not exist, or is no longer stored.' : 'Loading …'}</Empty>
      ) : (
        <>
          {summary ? <Summary {...summary} isWrong={then !== undefined && isBad(then)} /> : null}
          {call ? <CallButtons id={call.id} /> : null}
          <TimeBar
            timeline={timeline}
            lines={reading.lines}
            moment={moment}
            began={began}
            isOld={isOld}
            onMoment={setMoment}
          />
          <Spans
            timeline={timeline}
            reading={reading}
            began={began}
            at={timeline[count - 1]?.at ?? began}
            onMoment={(wanted) => setMoment(wanted >= timeline.length ? undefined : wanted)}
          />
          <div class="call-columns">
            <div class="objects">
              {objects.length > drawn.size ? (
                <button
                  type="button"
                  class="small draw-all"
                  aria-pressed={all}
                  onClick={() => setObjects(all ? '' : 'all')}
                >
                  {all
                    ? 'Show fewer objects'
                    : objects.length === 1
                      ? 'Show the object'
                      : `Show all ${objects.length} objects`}
                </button>
              ) : null}
              {objects.length === 0 ? <Empty>There was no channel at this moment.</Empty> : null}
              {objects.map((shown) => (
                <ObjectCard
                  key={keyOf(shown.object, shown.charts[0]?.chart ?? '')}
                  shown={shown}
                  traced={traced}
                  call={call}
                  past={moment !== undefined || isOld}
                  actable={!isOld}
                  drawn={all || drawn.has(shown) || shown.object === linked}
                  at={at}
                  title={titles.get(shown.object)}
                  lane={reading.lanes.find(({ key }) => key.endsWith(`:${shown.object}`))?.key}
                />
              ))}
              <MediaCurves timeline={timeline} at={at} call={call} />
            </div>
            <Panel
              title="Ladder"
              class="ladder-panel"
              extra={
                <span class="quiet">
                  entry {count} of {timeline.length}
                </span>
              }
            >
              <Ladder
                timeline={timeline}
                reading={reading}
                count={count}
                began={began}
                onMoment={(wanted) => setMoment(wanted >= timeline.length ? undefined : wanted)}
              />
            </Panel>
          </div>
        </>
      )}
    </div>
  );
}
