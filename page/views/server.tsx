import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Ban } from '../../src/models/ban.ts';
import type { HepCollector, LoopDelay, ServerInfo } from '../../src/models/server-info.ts';
import type { Token } from '../../src/models/token.ts';
import type { WatcherView } from '../../src/models/watcher.ts';
import { useCell } from '../core/cell.ts';
import { focusWhatIsShown } from '../core/focus.ts';
import { ask, may, mayLookAt, session } from '../core/session.ts';
import { clockTime, duration, octets, plural, short } from '../core/words.ts';
import { Asks, Empty, Panel, Pill, reasonOf, Tile, useAsked, useBefore } from '../parts/bits.tsx';
import { ClusterNodes } from '../parts/nodes.tsx';

/** The server for operators: its load, its logs, and its users. */
export function Server() {
  const { value: server, error } = useAsked<ServerInfo>('/hookswitch/server', 2_000);
  const before = useBefore(server);
  const tokens = useAsked<Token[]>('/hookswitch/tokens', 5_000);
  const bans = useAsked<Ban[]>('/hookswitch/bans', 5_000);
  const { value: watchers = [] } = useAsked<WatcherView[]>('/hookswitch/watchers', 5_000);
  return (
    <>
      <h1>Server</h1>
      {error ? <Empty>{error}</Empty> : null}
      {server ? <Figures server={server} first={before === undefined} /> : null}
      {server ? (
        <div class="columns two">
          <Panel title="Load" extra={<span class="quiet">in the last two seconds</span>}>
            <KeepingUp server={server} before={before} />
          </Panel>
          <Panel title="SIP listeners" extra={<span class="quiet">{`${server.name} ${server.version}`}</span>}>
            <ul class="items">
              {server.sip.map(({ protocol, host, port }) => (
                <li class="row" key={`${protocol} ${host} ${port}`}>
                  <Pill state={protocol.toUpperCase()} />
                  <code>{host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`}</code>
                </li>
              ))}
            </ul>
          </Panel>
        </div>
      ) : null}
      <ClusterNodes isNode={server?.cluster !== undefined} />
      <div class="columns two">
        {mayLookAt('/hookswitch/tokens') ? <Tokens tokens={tokens.value ?? []} again={tokens.again} /> : null}
        {mayLookAt('/hookswitch/bans') ? <Bans bans={bans.value ?? []} again={bans.again} /> : null}
      </div>
      {mayLookAt('/hookswitch/watchers') ? <Watchers watchers={watchers} /> : null}
    </>
  );
}

type FiguresProps = {
  server: ServerInfo;
  /** Figures since the last look mean nothing the first time. */
  first: boolean;
};

function Figures({ server: { started, records, audit, hep, event_loop: loop }, first }: FiguresProps) {
  const lost = (count: number): string => (count === 0 ? 'none lost' : `${short(count)} lost`);
  return (
    <div class="tiles">
      <Tile
        label="Running for"
        value={duration(Date.now() - Date.parse(started))}
        hint={`since ${dayAndTime(started)}`}
      />
      <Tile
        label="Event loop delay"
        value={first ? '…' : `${loop.p99} ms`}
        hint="99th percentile"
        tone={first ? '' : toneOf(loop)}
      />
      <Tile
        label="Call detail records"
        value={records ? short(records.made) : 'off'}
        hint={records ? lost(records.lost) : 'cdr.file, cdr.webhook'}
        tone={records && records.lost > 0 ? 'bad' : ''}
      />
      <Tile
        label="Records waiting"
        value={records ? octets(records.waiting_octets) : '—'}
        hint="for the webhook"
        tone={records && records.waiting_octets > 65_536 ? 'warn' : ''}
      />
      <Tile
        label="Audit log"
        value={audit ? plural(audit.lines, 'line') : 'off'}
        hint={audit ? lost(audit.lost) : 'audit.file'}
        tone={audit && audit.lost > 0 ? 'bad' : ''}
      />
      {hep ? (
        <Tile label="HEP collector" value={hep.state} hint={aboutCollector(hep)} tone={toneOfCollector(hep)} />
      ) : null}
    </div>
  );
}

/** Where messages are sent, or why not. */
const aboutCollector = ({ address, port, reason, refused, left_out: left }: HepCollector): string =>
  [
    ...(left > 0 ? [`${plural(left, 'message')} skipped`] : []),
    refused === undefined ? (reason ?? `${address} port ${port}`) : `cannot connect to the new one: ${refused}`,
  ].join('; ');
const toneOfCollector = ({ state, refused, left_out: left }: HepCollector): string =>
  state === 'lost' || state === 'behind' || refused !== undefined ? 'bad' : left > 0 ? 'warn' : '';

/** An event loop that is this late keeps calls waiting, in ms. */
const lateMs = 50;
const toneOf = ({ p99 }: LoopDelay): string => (p99 > lateMs ? 'bad' : '');

/** Today the time alone. */
const dayAndTime = (timestamp: string): string => {
  const at = Date.parse(timestamp);
  const day = new Date(at).toLocaleDateString();
  return day === new Date().toLocaleDateString() ? clockTime(at) : `${day} ${clockTime(at)}`;
};

function KeepingUp({ server, before }: { server: ServerInfo; before: ServerInfo | undefined }) {
  const rows = [
    { name: 'Call control', delay: before && server.event_loop, sessions: undefined, skipped: undefined },
    ...server.media_load.map((load, place) => ({
      name: `Audio ${place + 1}`,
      delay: before && load.delay,
      sessions: server.media_threads[place] ?? 0,
      skipped: before && Math.max(0, load.skipped - (before.media_load[place]?.skipped ?? 0)),
    })),
  ];
  return (
    <table class="figures" aria-label="Load of the threads">
      <thead>
        <tr>
          <th scope="col">Thread</th>
          <th scope="col">Sessions</th>
          <th scope="col" class="least">
            Average delay
          </th>
          <th scope="col">99th percentile</th>
          <th scope="col">Maximum</th>
          <th scope="col">Ticks skipped</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, delay, sessions, skipped }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{sessions ?? '—'}</td>
            <td class="least">{delay ? `${delay.mean} ms` : '—'}</td>
            <td class={delay ? toneOf(delay) : ''}>{delay ? `${delay.p99} ms` : '—'}</td>
            <td>{delay ? `${delay.max} ms` : '—'}</td>
            <td class={skipped ? 'bad' : ''}>{skipped === undefined ? '—' : short(skipped)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type TakingProps<T> = {
  title: string;
  /** Text without entries. */
  none: string;
  items: readonly T[];
  keyOf(item: T): string;
  row(item: T): ComponentChildren;
  /** Text of the button; left out: nothing can be removed. */
  verb: ((item: T) => string) | undefined;
  /** What is lost, asked before. */
  asks(item: T): string;
  pathOf(item: T): string;
  again(): void;
};

/** A list of which each may be taken away, where that is allowed; what is refused is said. */
function TakingList<T>({ title, none, items, keyOf, row, verb, asks, pathOf, again }: TakingProps<T>) {
  const [problem, setProblem] = useState<string>();
  /** The key of the item that is asked for. */
  const [asked, setAsked] = useState<string>();
  const take = (item: T) => {
    setProblem(undefined);
    setAsked(undefined);
    ask('DELETE', pathOf(item)).then(again, (refused: unknown) => setProblem(reasonOf(refused)));
  };
  // The button that was pressed goes with what it stood by.
  useEffect(focusWhatIsShown, [items.length]);
  return (
    <Panel title={title} extra={<span class="quiet">{items.length}</span>}>
      {items.length === 0 ? <Empty>{none}</Empty> : null}
      <ul class="items">
        {items.map((item) => (
          <li class="row wraps" key={keyOf(item)}>
            {row(item)}
            {verb === undefined ? null : (
              <button
                type="button"
                class="small danger"
                aria-label={`${verb(item)} ${keyOf(item)}`}
                aria-expanded={asked === keyOf(item)}
                onClick={() => setAsked(asked === keyOf(item) ? undefined : keyOf(item))}
              >
                {verb(item)}
              </button>
            )}
            {verb !== undefined && asked === keyOf(item) ? (
              <Asks
                label={`${verb(item)} ${keyOf(item)}: are you sure?`}
                verb={verb(item)}
                onYes={() => take(item)}
                onNo={() => setAsked(undefined)}
              >
                {asks(item)}
              </Asks>
            ) : null}
          </li>
        ))}
      </ul>
      <p class="told bad" role="alert">
        {problem}
      </p>
    </Panel>
  );
}

function Tokens({ tokens, again }: { tokens: readonly Token[]; again(): void }) {
  const who = useCell(session);
  return (
    <TakingList
      title="Tokens"
      none="No tokens. All users log in with a password."
      items={tokens}
      again={again}
      verb={!who?.read_only && may('tokens:revoke') ? () => 'Revoke' : undefined}
      asks={({ name }) => `Programs that use ${name} are refused from then on. This cannot be undone.`}
      keyOf={({ name }) => name}
      pathOf={({ name }) => `/hookswitch/tokens/${encodeURIComponent(name)}`}
      row={({ name, user, made_by: maker, expires, read_only: looks, scopes }) => (
        <>
          <b>{name}</b>
          <span class="quiet">
            {user}
            {maker === user ? '' : `, made by ${maker}`}
          </span>
          {looks ? <Pill state="read-only" /> : null}
          {scopes.length > 0 ? <Pill state="limited" /> : null}
          <span class="grow" />
          <span class="quiet">until {dayAndTime(expires)}</span>
        </>
      )}
    />
  );
}

function Bans({ bans, again }: { bans: readonly Ban[]; again(): void }) {
  const who = useCell(session);
  return (
    <TakingList
      title="Wrong passwords"
      none="No recent failures."
      items={bans}
      again={again}
      verb={
        !who?.read_only && may('bans:lift')
          ? ({ ignored_until: until }) => (until === undefined ? 'Forget' : 'Lift ban')
          : undefined
      }
      asks={({ address, attempts }) =>
        `The server forgets ${plural(attempts, 'wrong password')} from ${address}. This cannot be undone.`
      }
      keyOf={({ address }) => address}
      pathOf={({ address }) => `/hookswitch/bans/${encodeURIComponent(address)}`}
      row={({ address, attempts, users, protocols, ignored_until: until }) => (
        <>
          <code>{address}</code>
          <span class="quiet">
            {plural(attempts, 'time')} by {protocols.join(' and ')} as {users.join(', ')}
          </span>
          <span class="grow" />
          {until === undefined ? null : <Pill state={`ignored until ${clockTime(Date.parse(until))}`} tone="bad" />}
        </>
      )}
    />
  );
}

function Watchers({ watchers }: { watchers: readonly WatcherView[] }) {
  return (
    <Panel title="BLF and message subscriptions" extra={<span class="quiet">{watchers.length}</span>}>
      {watchers.length === 0 ? <Empty>No phone has subscribed to BLF or to its messages.</Empty> : null}
      <ul class="items watchers">
        {watchers.map(({ endpoint, topics, state, told }) => (
          <li class="row wraps" key={`${endpoint} ${topics.join()}`}>
            <b>{endpoint}</b>
            <span class="quiet" aria-hidden="true">
              →
            </span>
            <span class="topics">{topics.join(', ')}</span>
            <span class="grow" />
            <span class="quiet">notified {plural(told, 'time')}</span>
            <Pill state={state} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
