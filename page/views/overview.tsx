import { useMemo } from 'preact/hooks';
import type { Alarm, History } from '../../src/models/alarm.ts';
import type { Call } from '../../src/models/call.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import type { Usage } from '../../src/models/usage.ts';
import { endsOf } from '../core/calls.ts';
import { useCell } from '../core/cell.ts';
import { failures, growth, overview, rateOf } from '../core/overview.ts';
import { to } from '../core/route.ts';
import { may, session } from '../core/session.ts';
import { clockTime, duration, lagOf, octets, plural, short } from '../core/words.ts';
import { Alarms } from '../parts/alarms.tsx';
import { Empty, Panel, Pill, Tile, useAsked, useBefore } from '../parts/bits.tsx';
import { Curve } from '../parts/curve.tsx';
import { HistoryPanel } from '../parts/history.tsx';
import { ClusterNodes } from '../parts/nodes.tsx';

/** The parties of a call, in a few words. */
const endsText = (call: Call): string => {
  const { from, to: other } = endsOf(call);
  return `${from} → ${other}`;
};

/** A channel by who is in its call; what else waits by its own name. */
const nameOf = (object: string, call: Call | undefined): string =>
  call?.channels.some(({ id }) => id === object) ? endsText(call) : object;

/** The leaves of counts, as `media.sessions`. */
const counts = (value: object, prefix = ''): [string, number][] =>
  Object.entries(value).flatMap(([name, inner]): [string, number][] =>
    typeof inner === 'number'
      ? [[prefix + name, inner]]
      : typeof inner === 'object' && inner !== null
        ? counts(inner, `${prefix}${name}.`)
        : [],
  );

type Load = ServerInfo['media_load'][number];

/** How a thread has kept up since it was looked at before. */
function Lateness({ load, before }: { load: Load | undefined; before: Load | undefined }) {
  if (!load || !before) return null;
  const [late, skipped] = [load.late - before.late, load.skipped - before.skipped];
  if (skipped > 0) return <Pill state={`${plural(skipped, 'tick')} skipped`} tone="bad" />;
  const words = late <= 0 ? 'in time' : `${plural(late, 'tick')} late`;
  return <span class="quiet">{load.delay ? `${words}, event loop ${load.delay.p99} ms` : words}</span>;
}

/** How the audio sessions are spread over the media threads. */
function Threads({ server }: { server: ServerInfo }) {
  const { media_threads: loads, media_load: now } = server;
  const before = useBefore(server)?.media_load;
  const most = Math.max(1, ...loads);
  return (
    <ul class="threads" aria-label="Audio sessions of each media thread">
      {loads.map((load, place) => (
        <li key={place}>
          <span class="quiet">Audio thread {place + 1}</span>
          <meter min={0} max={most} value={load} aria-label={`Sessions of audio thread ${place + 1}`} />
          <b class="number">{load}</b>
          <Lateness load={now[place]} before={before?.[place]} />
        </li>
      ))}
    </ul>
  );
}

/** Stuck objects in the list; of the others their number is said. */
const shownStuck = 12;

function MoreStuck({ count }: { count: number }) {
  if (count <= 0) return null;
  return (
    <p class="quiet">
      {count} more. <a href={`${to('calls')}?state=stuck`}>Stuck calls</a>
    </p>
  );
}

export function Overview() {
  const { calls, figures, applications, stuck, stuckLeftOut, refused, history, at } = useCell(overview);
  const isLimited = useCell(session)?.limited === true;
  const { value: endpoints = [] } = useAsked<Endpoint[]>('/ari/endpoints', 3_000);
  const { value: usage } = useAsked<Usage>('/hookswitch/usage', 2_000);
  const { value: server } = useAsked<ServerInfo>('/hookswitch/server', 2_000);
  const { value: alarms, error: alarmsUnknown } = useAsked<Alarm[]>('/hookswitch/alarms', 3_000);
  const { value: past } = useAsked<History>('/hookswitch/history', 20_000);
  const times = useMemo(() => history.map((moment) => moment.at), [history]);
  const liveLines = useMemo(
    () => [{ label: 'live', values: history.map(({ live }) => live), tone: 'first' as const }],
    [history],
  );
  const rateLines = useMemo(
    () => [
      { label: 'events', values: growth(history, ({ events }) => events), tone: 'second' as const },
      { label: 'recorded', values: growth(history, ({ recorded }) => recorded), tone: 'third' as const },
    ],
    [history],
  );
  const failed = useMemo(() => failures(calls.values(), refused), [calls, refused]);
  // Without recording the figures are unknown.
  const isUnknown = figures?.recording === false;
  const unknown = 'The recorder is off, so this is unknown.';
  const online = endpoints.filter(({ state }) => state === 'online').length;
  const missed = applications.reduce((sum, each) => sum + each.missed, 0);
  const connected = applications.filter((each) => each.connected).length;
  return (
    <>
      <h1>Overview</h1>
      {server?.cluster ? (
        <>
          <ClusterNodes isNode={may('nodes:list')} />
          <p class="quiet">The figures below are those of node {server.cluster}. Calls and Phones show all nodes.</p>
        </>
      ) : null}
      {may('server:listAlarms') ? (
        <Alarms alarms={alarms} problem={alarmsUnknown} calls={calls} now={at} />
      ) : (
        <p class="notice">Your user may not see alarms (operation server:listAlarms).</p>
      )}
      <div class="tiles">
        <Tile
          label="Live calls"
          value={isUnknown ? '–' : (figures?.live_calls ?? '–')}
          hint={`${figures?.kept_calls ?? 0} kept${isLimited ? ' that you may see' : ''}`}
          href={`${to('calls')}?state=live`}
        />
        <Tile
          label="New calls a second"
          value={isUnknown ? '–' : short(rateOf(history, ({ begun }) => begun))}
          hint={isLimited ? 'that you may see' : 'over ten seconds'}
          href={to('calls')}
        />
        <Tile
          label="Events a second"
          value={short(rateOf(history, ({ events }) => events))}
          hint="over ten seconds"
          href={to('applications')}
        />
        <Tile
          label="Applications"
          value={`${connected} / ${applications.length}`}
          hint={missed === 0 ? 'nothing missed' : `${short(missed)} events missed`}
          tone={missed > 0 ? 'warn' : ''}
          href={to('applications')}
        />
        <Tile
          label="Phones online"
          value={may('endpoints:list') ? `${online} / ${endpoints.length}` : '–'}
          hint={may('endpoints:list') ? plural(usage?.contacts ?? 0, 'contact') : 'not for your user'}
          href={may('endpoints:list') ? to('phones') : undefined}
        />
        <Tile
          label="Stuck"
          value={isUnknown && stuck.length === 0 ? '–' : stuck.length + stuckLeftOut}
          hint={stuck.length > 0 ? 'see below' : isUnknown ? 'nothing is recorded' : 'nothing is stuck'}
          tone={stuck.length > 0 ? 'bad' : ''}
          href={`${to('calls')}?state=stuck`}
        />
      </div>
      <div class="columns two">
        {may('server:getHistory') ? <HistoryPanel history={past} now={at} /> : null}
        <Panel title="Now">
          <Curve title="Live calls" times={times} lines={liveLines} />
          <Curve title="A second" times={times} lines={rateLines} />
        </Panel>
      </div>
      <div class="columns two">
        <Panel title="Stuck calls and objects">
          {stuck.length === 0 ? <Empty>{isUnknown ? unknown : 'Nothing is stuck.'}</Empty> : null}
          <ul class="items">
            {stuck
              .slice(0, shownStuck)
              .map(({ kind, object, chart, state, since, expected_ms: expected, waits_for: waits, call }) => (
                <li key={`${kind} ${object} ${chart}`} class="stuck">
                  <div class="row">
                    <Pill state={state ?? kind} tone="bad" />
                    {call === undefined ? (
                      <b>{object}</b>
                    ) : (
                      <a href={to('calls', call)}>{nameOf(object, calls.get(call))}</a>
                    )}
                    <span class="quiet">
                      {duration(at - since)}
                      {expected > 0 ? `, expected ${duration(expected)}` : ''}
                    </span>
                  </div>
                  <p>waits for {waits}</p>
                </li>
              ))}
          </ul>
          <MoreStuck count={stuck.length + stuckLeftOut - shownStuck} />
        </Panel>
        <Panel title="Last failures">
          {failed.length === 0 ? <Empty>{isUnknown ? unknown : 'No recorded call has failed.'}</Empty> : null}
          <ul class="items">
            {failed.map(({ at: failedAt, reason, ...failure }) => (
              <li key={'call' in failure ? failure.call.id : failure.refused.protocol_id}>
                <div class="row">
                  <span class="time">{clockTime(failedAt)}</span>
                  {'call' in failure ? (
                    <a href={to('calls', failure.call.id)}>{endsText(failure.call)}</a>
                  ) : (
                    <span title={`${failure.refused.endpoint}, from ${failure.refused.source}`}>
                      {failure.refused.from || failure.refused.endpoint} → {failure.refused.to}
                    </span>
                  )}
                  <span class="grow" />
                  <span class="reason">{reason}</span>
                </div>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <div class="columns two">
        <Panel title="Applications" extra={<a href={to('applications')}>All</a>}>
          {applications.length === 0 ? <Empty>No application has connected yet.</Empty> : null}
          <ul class="items">
            {applications.slice(0, 8).map(({ name, connected: there, events, missed: lost, sockets = [] }) => (
              <li key={name} class="row">
                <Pill state={there ? 'connected' : 'away'} />
                <a href={to('applications', name)}>{name}</a>
                <span class="grow" />
                <span class="quiet">
                  {short(events)} {events === 1 ? 'event' : 'events'}
                </span>
                {lagOf(sockets) > 0 ? <Pill state={`${octets(lagOf(sockets))} unread`} tone="warn" /> : null}
                {lost > 0 ? <Pill state={`${short(lost)} missed`} tone="bad" /> : null}
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="Objects in memory" extra={may('server:get') ? <a href={to('server')}>More</a> : null}>
          {may('usage:get') ? null : <Empty>Your user may not see this (operation usage:get).</Empty>}
          {server && server.media_threads.length > 0 ? <Threads server={server} /> : null}
          {usage ? (
            <dl class="counts">
              {counts(usage)
                .filter(([, count]) => count > 0)
                .map(([name, count]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{short(count)}</dd>
                  </div>
                ))}
            </dl>
          ) : null}
        </Panel>
      </div>
    </>
  );
}
