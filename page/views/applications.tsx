import { useState } from 'preact/hooks';
import type { Application } from '../../src/models/application.ts';
import type { LiveApplicationEvents } from '../../src/models/live.ts';
import type { EventTimelineEntry } from '../../src/models/timeline.ts';
import { useCell } from '../core/cell.ts';
import { useLive } from '../core/live.ts';
import { overview, rateOf } from '../core/overview.ts';
import { to } from '../core/route.ts';
import { clockTime, lagOf, octets, plural, short } from '../core/words.ts';
import { Empty, Json, LiveMark, Panel, Pill, Tile, useAsked } from '../parts/bits.tsx';
import { LiveChart } from '../parts/chart.tsx';
import { Windowed } from '../parts/windowed.tsx';

/** Events of an application that are kept in the page. */
const mostEvents = 2_000;

export function Applications({ name }: { name: string | undefined }) {
  const { applications } = useCell(overview);
  const { value: described = [] } = useAsked<Application[]>('/ari/applications', 3_000);
  if (name !== undefined)
    return <OneApplication name={name} key={name} described={described.find((each) => each.name === name)} />;
  return (
    <>
      <h1>Applications</h1>
      {applications.length === 0 ? (
        <Empty>
          No application has connected yet. An application connects with a WebSocket to /ari/events?app=name.
        </Empty>
      ) : null}
      <ul class="cards">
        {applications.map((application) => {
          const listens = described.find((each) => each.name === application.name);
          return (
            <li class="panel" key={application.name}>
              <a class="card" href={to('applications', application.name)}>
                <span class="row">
                  <b>{application.name}</b>
                  <span class="grow" />
                  <Pill state={application.connected ? 'connected' : 'away'} />
                </span>
                <span class="row quiet">
                  <span>
                    {short(application.events)} {application.events === 1 ? 'event' : 'events'}
                  </span>
                  <span>{short(application.missed)} missed</span>
                  <span>{plural(application.sockets?.length ?? 0, 'socket')}</span>
                  {lagOf(application.sockets ?? []) > 0 ? (
                    <span>{octets(lagOf(application.sockets ?? []))} unread</span>
                  ) : null}
                  <span>{listens ? listeningText(listens) : ''}</span>
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** An application's subscriptions by kind. */
const subscriptions = (application: Application): [string, readonly string[]][] => [
  ['Channels', application.channel_ids],
  ['Bridges', application.bridge_ids],
  ['Endpoints', application.endpoint_ids],
  ['Devices', application.device_names],
];

/** Whether it is subscribed to all of a kind: then there is a name like `__AST_CHANNEL_ALL_TOPIC` among them. */
const isAll = (list: readonly string[]): boolean => list.some((name) => /^__AST_\w+_ALL_TOPIC$/.test(name));

/** `1 channel, all bridges`: what an application listens to of calls. */
const listeningText = ({ channel_ids: channels, bridge_ids: bridges }: Application): string =>
  [
    isAll(channels) ? 'all channels' : plural(channels.length, 'channel'),
    isAll(bridges) ? 'all bridges' : plural(bridges.length, 'bridge'),
  ].join(', ');

const hintOf = (list: readonly string[]): string => {
  const named = list.filter((name) => !isAll([name]));
  const some = named.slice(0, 2).join(', ') + (named.length > 2 ? ' …' : '');
  return some === '' ? (isAll(list) ? 'all objects' : 'not subscribed to any') : some;
};

/** The subject of an event, in a word. */
function aboutOf({ event }: EventTimelineEntry): string {
  const { channel, peer, playback, bridge, recording, endpoint } = event as Record<
    string,
    { id?: string; name?: string; resource?: string } | undefined
  >;
  return channel?.name ?? peer?.name ?? playback?.id ?? bridge?.id ?? recording?.name ?? endpoint?.resource ?? '';
}

function OneApplication({ name, described }: { name: string; described: Application | undefined }) {
  const [events, setEvents] = useState<readonly EventTimelineEntry[]>([]);
  const [last, setLast] = useState<LiveApplicationEvents>();
  const [skipped, setSkipped] = useState(0);
  const [paused, setPaused] = useState(false);
  const [chosen, setChosen] = useState<EventTimelineEntry>();
  const { applications, history } = useCell(overview);
  // No more events are shown than can be read.
  const rate = rateOf(history, ({ made }) => made.get(name) ?? 0);
  const known = applications.find((each) => each.name === name);
  const live = useLive<LiveApplicationEvents>(
    `/hookswitch/live?app=${encodeURIComponent(name)}`,
    (message) => {
      setLast(message);
      setSkipped((before) => before + message.skipped);
      if (!paused) setEvents((before) => [...before, ...message.events].slice(-mostEvents));
    },
    known !== undefined,
  );
  const figures = last?.application ?? known;
  if (live === 'gone' && !figures)
    return (
      <>
        <div class="call-head">
          <a class="back" href={to('applications')} aria-label="All applications">
            ‹
          </a>
          <h1>{name}</h1>
        </div>
        <Empty>No application of this name has connected since the server started, or your user may not see it.</Empty>
      </>
    );
  const filters = described
    ? [
        ...described.events_allowed.map(({ type }) => `only ${String(type)}`),
        ...described.events_disallowed.map(({ type }) => `not ${String(type)}`),
      ]
    : [];
  return (
    <div class="fill">
      <div class="call-head">
        <a class="back" href={to('applications')} aria-label="All applications">
          ‹
        </a>
        <h1>{name}</h1>
        {figures ? <Pill state={figures.connected ? 'connected' : 'away'} /> : null}
        <span class="grow" />
        <LiveMark state={live} />
      </div>
      <div class="tiles">
        <Tile label="Events" value={short(figures?.events ?? 0)} />
        <Tile label="Events a second" value={short(rate)} hint="over ten seconds" />
        <Tile label="Missed" value={short(figures?.missed ?? 0)} tone={(figures?.missed ?? 0) > 0 ? 'bad' : ''} />
        <Tile
          label="Lag"
          value={octets(lagOf(figures?.sockets ?? []))}
          hint={plural(figures?.sockets?.length ?? 0, 'socket')}
          tone={lagOf(figures?.sockets ?? []) > 65_536 ? 'bad' : ''}
        />
        <Tile label="Filter" value={filters.length === 0 ? 'all' : filters.length} hint={filters.join(', ')} />
      </div>
      {described ? (
        <section class="tiles" aria-label="Subscriptions">
          {subscriptions(described).map(([kind, list]) => (
            <Tile key={kind} label={kind} value={isAll(list) ? 'all' : list.length} hint={hintOf(list)} />
          ))}
        </section>
      ) : null}
      {figures?.sockets ? (
        <ul class="sockets" aria-label="WebSockets">
          {figures.sockets.map(({ client, unread, resumed }) => (
            <li key={client} class="row wraps">
              <code>{client}</code>
              <span class="quiet">{unread === 0 ? 'has read everything' : `${octets(unread)} unread`}</span>
              {resumed ? <Pill state="resumed" /> : null}
            </li>
          ))}
        </ul>
      ) : null}
      {figures && figures.state !== 'gone' ? (
        <details class="panel application-chart">
          <summary>Chart: {figures.state}</summary>
          <LiveChart
            name="application"
            label={`Application ${name}`}
            states={[figures.state]}
            image={{ status: 'active', value: figures.state, context: {} }}
          />
        </details>
      ) : null}
      <Panel
        class="grow-panel"
        title="Events"
        extra={
          <span class="row">
            {skipped > 0 ? <span class="sample">Sample: {skipped} events left out, too many at once</span> : null}
            <button type="button" class="small" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Resume' : 'Pause'}
            </button>
          </span>
        }
      >
        {events.length === 0 ? <Empty>No event yet.</Empty> : null}
        <Windowed
          label="Events"
          class="events"
          rows={events}
          rowHeight={32}
          follow={paused ? undefined : events.length - 1}
          row={(entry) => (
            <button type="button" class="event-row" key={entry.seq} onClick={() => setChosen(entry)}>
              <span class="time">{clockTime(entry.at)}</span>
              <span class="number quiet">{entry.number}</span>
              <b>{entry.type}</b>
              <span class="quiet about">{aboutOf(entry)}</span>
              {entry.missed ? <Pill state="missed" /> : null}
            </button>
          )}
        />
        {chosen ? (
          <section aria-label="The chosen event">
            <Json value={chosen.event} />
          </section>
        ) : null}
      </Panel>
    </div>
  );
}
