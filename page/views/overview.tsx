import { useMemo } from 'preact/hooks';
import type { Call } from '../../src/models/call.ts';
import type { Endpoint } from '../../src/models/endpoint.ts';
import type { ServerInfo } from '../../src/models/server-info.ts';
import type { Usage } from '../../src/models/usage.ts';
import { causeText } from '../../src/telephony/causes.ts';
import { useCell } from '../core/cell.ts';
import { growth, overview, rateOf } from '../core/overview.ts';
import { to } from '../core/route.ts';
import { may } from '../core/session.ts';
import { clockTime, duration, lagOf, octets, party, plural, short } from '../core/words.ts';
import { Empty, Panel, Pill, Tile, useAsked } from '../parts/bits.tsx';
import { Curve } from '../parts/curve.tsx';

/** Causes that are no failure: a hang-up, and what nobody told. */
const usual: ReadonlySet<number> = new Set([0, 16]);

/** Calls that ended for another reason than a hang-up, newest first. */
function failures(calls: Iterable<Call>): { call: Call; cause: number }[] {
  return [...calls]
    .filter(({ state }) => state === 'ended')
    .flatMap((call) => {
      const cause = call.channels.map((channel) => channel.cause).find((each) => !usual.has(each));
      return cause === undefined ? [] : [{ call, cause }];
    })
    .sort((one, other) => (other.call.ended ?? 0) - (one.call.ended ?? 0))
    .slice(0, 8);
}

/** The leaves of counts, as `media.sessions`. */
const counts = (value: object, prefix = ''): [string, number][] =>
  Object.entries(value).flatMap(([name, inner]): [string, number][] =>
    typeof inner === 'number'
      ? [[prefix + name, inner]]
      : typeof inner === 'object' && inner !== null
        ? counts(inner, `${prefix}${name}.`)
        : [],
  );

/** How a thread keeps up, where it does not. */
function Lateness({ load }: { load: ServerInfo['media_load'][number] | undefined }) {
  if (!load) return null;
  if (load.skipped > 0) return <Pill state={`${plural(load.skipped, 'tick')} left out`} tone="bad" />;
  const late = load.late === 0 ? 'in time' : `${short(load.late)} ticks late`;
  return <span class="quiet">{load.delay ? `${late}, event loop ${load.delay.p99} ms` : late}</span>;
}

/** How the audio sessions are spread over the media threads. */
function Threads({ loads, late }: { loads: readonly number[]; late: ServerInfo['media_load'] }) {
  const most = Math.max(1, ...loads);
  return (
    <ul class="threads" aria-label="Audio sessions of each media thread">
      {loads.map((load, place) => (
        <li key={place}>
          <span class="quiet">Audio thread {place + 1}</span>
          <meter min={0} max={most} value={load} />
          <b class="number">{load}</b>
          <Lateness load={late[place]} />
        </li>
      ))}
    </ul>
  );
}

export function Overview() {
  const { calls, figures, applications, stuck, history, at } = useCell(overview);
  const { value: endpoints = [] } = useAsked<Endpoint[]>('/ari/endpoints', 3_000);
  const { value: usage } = useAsked<Usage>('/hookswitch/usage', 2_000);
  const { value: server } = useAsked<ServerInfo>('/hookswitch/server', 2_000);
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
  const failed = useMemo(() => failures(calls.values()), [calls]);
  const online = endpoints.filter(({ state }) => state === 'online').length;
  const missed = applications.reduce((sum, each) => sum + each.missed, 0);
  const connected = applications.filter((each) => each.connected).length;
  return (
    <>
      <h1>Overview</h1>
      <div class="tiles">
        <Tile label="Live calls" value={figures?.live_calls ?? '–'} hint={`${figures?.kept_calls ?? 0} kept`} />
        <Tile label="New calls a second" value={short(rateOf(history, ({ began }) => began))} hint="over ten seconds" />
        <Tile label="Events a second" value={short(rateOf(history, ({ events }) => events))} hint="over ten seconds" />
        <Tile
          label="Applications"
          value={`${connected} / ${applications.length}`}
          hint={missed === 0 ? 'nothing missed' : `${short(missed)} events missed`}
          tone={missed > 0 ? 'warn' : ''}
        />
        <Tile
          label="Phones online"
          value={`${online} / ${endpoints.length}`}
          hint={`${usage?.contacts ?? 0} contacts`}
        />
        <Tile
          label="Stuck"
          value={stuck.length}
          hint={stuck.length === 0 ? 'nothing waits too long' : 'see below'}
          tone={stuck.length > 0 ? 'bad' : ''}
        />
      </div>
      <div class="columns two">
        <Panel title="Calls over time">
          <Curve title="Live calls" times={times} lines={liveLines} />
        </Panel>
        <Panel title="Work over time">
          <Curve title="A second" times={times} lines={rateLines} />
        </Panel>
      </div>
      <div class="columns two">
        <Panel title="What waits too long">
          {stuck.length === 0 ? <Empty>Nothing: every object is where it is expected to be.</Empty> : null}
          <ul class="items">
            {stuck
              .slice(0, 12)
              .map(({ kind, object, chart, state, since, expected_ms: expected, waits_for: waits, call }) => (
                <li key={`${kind} ${object} ${chart}`} class="stuck">
                  <div class="row">
                    <Pill state={state ?? kind} tone="bad" />
                    {call === undefined ? <b>{object}</b> : <a href={to('calls', call)}>{object}</a>}
                    <span class="quiet">
                      {duration(at - since)}, expected {duration(expected)}
                    </span>
                  </div>
                  <p>{waits}</p>
                </li>
              ))}
          </ul>
        </Panel>
        <Panel title="Last failures">
          {failed.length === 0 ? <Empty>No call has failed as far back as calls are kept.</Empty> : null}
          <ul class="items">
            {failed.map(({ call, cause }) => (
              <li key={call.id}>
                <div class="row">
                  <span class="time">{clockTime(call.ended ?? call.began)}</span>
                  <a href={to('calls', call.id)}>{call.channels[0] ? party(call.channels[0].caller) : call.id}</a>
                  <span class="grow" />
                  <span class="reason">
                    {causeText(cause)} <span class="quiet">({cause})</span>
                  </span>
                </div>
              </li>
            ))}
          </ul>
        </Panel>
      </div>
      <div class="columns two">
        <Panel title="Applications" extra={<a href={to('applications')}>All</a>}>
          {applications.length === 0 ? <Empty>No program has connected yet.</Empty> : null}
          <ul class="items">
            {applications.slice(0, 8).map(({ name, connected: there, events, missed: lost, sockets = [] }) => (
              <li key={name} class="row">
                <Pill state={there ? 'connected' : 'away'} />
                <a href={to('applications', name)}>{name}</a>
                <span class="grow" />
                <span class="quiet">{short(events)} events</span>
                {lagOf(sockets) > 0 ? <Pill state={`${octets(lagOf(sockets))} unread`} tone="warn" /> : null}
                {lost > 0 ? <Pill state={`${short(lost)} missed`} tone="bad" /> : null}
              </li>
            ))}
          </ul>
        </Panel>
        <Panel title="What the server holds" extra={may('server:get') ? <a href={to('server')}>More</a> : null}>
          {server && server.media_threads.length > 0 ? (
            <Threads loads={server.media_threads} late={server.media_load} />
          ) : null}
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
