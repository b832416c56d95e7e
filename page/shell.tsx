import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useCell } from './core/cell.ts';
import { focusWhatIsShown } from './core/focus.ts';
import { overview, stuckCalls, useOverview } from './core/overview.ts';
import { route, to } from './core/route.ts';
import { logOut, may, session } from './core/session.ts';
import { Badge, Empty, LiveMark } from './parts/bits.tsx';
import { Keys } from './parts/keys.tsx';
import { PhoneButton, PhonePanel } from './parts/phone.tsx';
import { Api } from './views/api.tsx';
import { Applications } from './views/applications.tsx';
import { CallView } from './views/call.tsx';
import { Calls } from './views/calls.tsx';
import { Charts } from './views/charts.tsx';
import { LogIn } from './views/log-in.tsx';
import { Overview } from './views/overview.tsx';
import { Phones } from './views/phones.tsx';
import { Server } from './views/server.tsx';

/** The page as a whole: who has logged in, where they are, and what is shown there. */

/** The places, each with the operation that it is nothing without. */
const places: readonly { path: string; name: string; icon: string; needs?: string }[] = [
  {
    path: 'overview',
    name: 'Overview',
    needs: 'live:watch',
    icon: 'M4 13h6V4H4zm10 7h6v-9h-6zM4 20h6v-4H4zm10-12h6V4h-6z',
  },
  {
    path: 'calls',
    name: 'Calls',
    needs: 'live:watch',
    icon: 'M6.5 4h3l1.5 4-2 1.5a11 11 0 0 0 5.5 5.5l1.5-2 4 1.5v3A2 2 0 0 1 18 19.5 14 14 0 0 1 4.500 6a2 2 0 0 1 2-2z',
  },
  { path: 'applications', name: 'Applications', needs: 'live:watch', icon: 'M4 6h16v12H4zM4 10h16M8 14l2 1.500L8 17' },
  {
    path: 'phones',
    name: 'Phones',
    needs: 'endpoints:list',
    icon: 'M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zm3 15h2',
  },
  {
    path: 'server',
    name: 'Server',
    needs: 'server:get',
    icon: 'M4 5h16v5H4zM4 14h16v5H4zM7.500 7.500h.01M7.500 16.500h.01',
  },
  { path: 'api', name: 'API', icon: 'M8 7l-5 5 5 5M16 7l5 5-5 5M14 5l-4 14' },
  {
    path: 'charts',
    name: 'Charts',
    needs: 'charts:list',
    icon: 'M9 4h6v5H9zM3 15h6v5H3zm12 0h6v5h-6zM12 9v3M6 15v-3h12v3',
  },
];

function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        stroke-width="1.7"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

function view([place = 'overview', id]: readonly string[]): ComponentChildren {
  switch (place) {
    case 'calls':
      return id === undefined ? <Calls /> : <CallView id={id} key={id} />;
    case 'applications':
      return <Applications name={id} />;
    case 'phones':
      return <Phones name={id} />;
    case 'server':
      return <Server />;
    case 'api':
      return <Api chosen={id} />;
    case 'charts':
      return <Charts name={id} />;
    default:
      return <Overview />;
  }
}

export function Shell() {
  const who = useCell(session);
  return who ? <LoggedIn /> : <LogIn />;
}

/** How many calls are stuck, or how much else is. A component of its own, so that only it follows every message. */
function StuckBadge({ what }: { what: 'calls' | 'others' }) {
  const { stuck } = useCell(overview);
  const count = what === 'calls' ? stuckCalls(stuck) : stuck.filter(({ call }) => call === undefined).length;
  return <Badge id={`stuck-${what}`} count={count} what="stuck" />;
}

/** Says that calls cannot be looked into. */
function NotRecording() {
  const { figures } = useCell(overview);
  if (figures?.recording !== false) return null;
  return (
    <p class="notice" role="status">
      Nothing is recorded (<code>recorder.off</code>): calls cannot be looked into, and what was recorded before is
      gone.
    </p>
  );
}

function LoggedIn() {
  const who = useCell(session);
  const at = useCell(route);
  const state = useOverview();
  const mine = places.filter(({ needs }) => needs === undefined || may(needs));
  const here = at[0] ?? mine[0]?.path ?? 'api';
  const isMine = mine.some(({ path }) => path === here);
  const refused = places.find(({ path }) => path === here);
  const shown = at.slice(1).join(' ');
  const name = mine.find(({ path }) => path === here)?.name ?? '';
  useEffect(() => {
    document.title = [shown, name, 'Hookswitch'].filter((each) => each !== '').join(' – ');
    focusWhatIsShown();
  }, [shown, name]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <nav class="main-nav" aria-label="Main">
        <a class="brand" href={to('overview')} aria-label="Hookswitch">
          <img src="/page/icon.svg" alt="" width="28" height="28" />
          <span>Hookswitch</span>
        </a>
        <ul>
          {mine.map(({ path, name, icon }) => (
            <li key={path}>
              <a
                href={to(path)}
                aria-current={path === here ? 'page' : undefined}
                aria-label={name}
                aria-describedby={path === 'calls' ? 'stuck-calls' : path === 'overview' ? 'stuck-others' : undefined}
              >
                <Icon path={icon} />
                <span>{name}</span>
                {path === 'calls' ? <StuckBadge what="calls" /> : null}
                {path === 'overview' ? <StuckBadge what="others" /> : null}
              </a>
            </li>
          ))}
        </ul>
        <div class="who">
          {may('live:watch') ? <LiveMark state={state} /> : null}
          <span class="who-name">
            <span class="cut">{who?.user}</span>
            {who?.read_only ? <span class="pill plain">read-only</span> : null}
          </span>
          <PhoneButton />
          <button type="button" class="small" onClick={logOut}>
            Log out
          </button>
        </div>
      </nav>
      <Keys />
      <PhonePanel />
      <main id="main" tabIndex={-1}>
        <NotRecording />
        {isMine ? (
          view(at.length > 0 ? at : [here])
        ) : (
          <Empty>
            {refused
              ? `Your user may not see ${refused.name} (operation ${refused.needs}). An administrator can add it to the scope of your user.`
              : 'There is no such view.'}
          </Empty>
        )}
      </main>
    </div>
  );
}
