import { useState } from 'preact/hooks';
import type { Ban } from '../../src/models/ban.ts';
import type { LoopDelay, ServerInfo } from '../../src/models/server-info.ts';
import type { Token } from '../../src/models/token.ts';
import type { WatcherView } from '../../src/models/watcher.ts';
import { useCell } from '../core/cell.ts';
import { ask, may, mayLookAt, session } from '../core/session.ts';
import { clockTime, duration, octets, plural, short } from '../core/words.ts';
import { Empty, Panel, Pill, reasonOf, Tile, useAsked } from '../parts/bits.tsx';

/** How the server keeps up, what it writes down, and who has a way in: what an operator looks after. */
export function Server() {
  const { value: server, error } = useAsked<ServerInfo>('/hookswitch/server', 2_000);
  const tokens = useAsked<Token[]>('/hookswitch/tokens', 5_000);
  const bans = useAsked<Ban[]>('/hookswitch/bans', 5_000);
  const { value: watchers = [] } = useAsked<WatcherView[]>('/hookswitch/watchers', 5_000);
  return (
    <>
      <h1>Server</h1>
      {error ? <Empty>{error}</Empty> : null}
      {server ? <Figures server={server} /> : null}
      {server ? (
        <div class="columns two">
          <Panel title="Keeping up" extra={<span class="quiet">since it was last looked at</span>}>
            <KeepingUp server={server} />
          </Panel>
          <Panel title="Where SIP is spoken" extra={<span class="quiet">{`${server.name} ${server.version}`}</span>}>
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
      <div class="columns two">
        {mayLookAt('/hookswitch/tokens') ? <Tokens tokens={tokens.value ?? []} again={tokens.again} /> : null}
        {mayLookAt('/hookswitch/bans') ? <Bans bans={bans.value ?? []} again={bans.again} /> : null}
      </div>
      {mayLookAt('/hookswitch/watchers') ? <Watchers watchers={watchers} /> : null}
    </>
  );
}

function Figures({ server: { started, records, audit, event_loop: loop } }: { server: ServerInfo }) {
  const lost = (count: number): string => (count === 0 ? 'none lost' : `${short(count)} lost`);
  return (
    <div class="tiles">
      <Tile
        label="Running for"
        value={duration(Date.now() - Date.parse(started))}
        hint={`since ${dayAndTime(started)}`}
      />
      <Tile label="Event loop late" value={`${loop.p99} ms`} hint="99 of 100 times no more" tone={toneOf(loop)} />
      <Tile
        label="Call detail records"
        value={records ? short(records.made) : 'off'}
        hint={records ? lost(records.lost) : 'cdr.file, cdr.webhook'}
        tone={records && records.lost > 0 ? 'bad' : ''}
      />
      <Tile
        label="Records that wait"
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
    </div>
  );
}

/** An event loop that is this late keeps calls waiting, in ms. */
const lateMs = 50;
const toneOf = ({ p99 }: LoopDelay): string => (p99 > lateMs ? 'bad' : '');

const dayAndTime = (timestamp: string): string => {
  const at = Date.parse(timestamp);
  return `${new Date(at).toLocaleDateString()} ${clockTime(at)}`;
};

function KeepingUp({ server }: { server: ServerInfo }) {
  const rows = [
    { name: 'Call control', delay: server.event_loop, sessions: undefined, load: undefined },
    ...server.media_load.map((load, place) => ({
      name: `Audio ${place + 1}`,
      delay: load.delay,
      sessions: server.media_threads[place] ?? 0,
      load,
    })),
  ];
  return (
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">Thread</th>
          <th scope="col">Sessions</th>
          <th scope="col">Late on average</th>
          <th scope="col">99 %</th>
          <th scope="col">Most</th>
          <th scope="col">Ticks left out</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, delay, sessions, load }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{sessions ?? '—'}</td>
            <td>{delay ? `${delay.mean} ms` : '—'}</td>
            <td class={delay ? toneOf(delay) : ''}>{delay ? `${delay.p99} ms` : '—'}</td>
            <td>{delay ? `${delay.max} ms` : '—'}</td>
            <td class={load && load.skipped > 0 ? 'bad' : ''}>{load ? short(load.skipped) : '—'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A list of which each may be taken away, where that is allowed; what is refused is said. */
function useTaking(again: () => void): { problem: string | undefined; take(path: string): void } {
  const [problem, setProblem] = useState<string>();
  return {
    problem,
    take(path) {
      setProblem(undefined);
      ask('DELETE', path).then(again, (refused: unknown) => setProblem(reasonOf(refused)));
    },
  };
}

function Tokens({ tokens, again }: { tokens: readonly Token[]; again(): void }) {
  const who = useCell(session);
  const { problem, take } = useTaking(again);
  const mayRevoke = !who?.read_only && may('tokens:revoke');
  return (
    <Panel title="Tokens" extra={<span class="quiet">{tokens.length}</span>}>
      {tokens.length === 0 ? <Empty>None: everybody comes with a password.</Empty> : null}
      <ul class="items">
        {tokens.map(({ name, user, made_by: maker, expires, read_only: looks, scopes }) => (
          <li class="row wraps" key={name}>
            <b>{name}</b>
            <span class="quiet">
              {user}
              {maker === user ? '' : `, made by ${maker}`}
            </span>
            {looks ? <Pill state="may look" /> : null}
            {scopes.length > 0 ? <Pill state="limited" /> : null}
            <span class="grow" />
            <span class="quiet">until {dayAndTime(expires)}</span>
            {mayRevoke ? (
              <button
                type="button"
                class="small danger"
                aria-label={`Revoke ${name}`}
                onClick={() => take(`/hookswitch/tokens/${encodeURIComponent(name)}`)}
              >
                Revoke
              </button>
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

function Bans({ bans, again }: { bans: readonly Ban[]; again(): void }) {
  const who = useCell(session);
  const { problem, take } = useTaking(again);
  const mayLift = !who?.read_only && may('bans:lift');
  return (
    <Panel title="Wrong passwords" extra={<span class="quiet">{bans.length}</span>}>
      {bans.length === 0 ? <Empty>Nobody has given one of late.</Empty> : null}
      <ul class="items">
        {bans.map(({ address, attempts, users, doors, ignored_until: until }) => (
          <li class="row wraps" key={address}>
            <code>{address}</code>
            <span class="quiet">
              {plural(attempts, 'time')} by {doors.join(' and ')} as {users.join(', ')}
            </span>
            <span class="grow" />
            {until === undefined ? null : <Pill state={`ignored until ${clockTime(Date.parse(until))}`} tone="bad" />}
            {mayLift ? (
              <button
                type="button"
                class="small"
                aria-label={`Forgive ${address}`}
                onClick={() => take(`/hookswitch/bans/${encodeURIComponent(address)}`)}
              >
                Forgive
              </button>
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

function Watchers({ watchers }: { watchers: readonly WatcherView[] }) {
  return (
    <Panel title="Who watches whom" extra={<span class="quiet">{watchers.length}</span>}>
      {watchers.length === 0 ? <Empty>No phone has subscribed to a lamp or to its messages.</Empty> : null}
      <ul class="items watchers">
        {watchers.map(({ endpoint, topics, state, told }) => (
          <li class="row wraps" key={`${endpoint} ${topics.join()}`}>
            <b>{endpoint}</b>
            <span class="quiet" aria-hidden="true">
              →
            </span>
            <span class="topics">{topics.join(', ')}</span>
            <span class="grow" />
            <span class="quiet">told {plural(told, 'time')}</span>
            <Pill state={state} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}
