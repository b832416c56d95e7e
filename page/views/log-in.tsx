import { useState } from 'preact/hooks';
import { useCell } from '../core/cell.ts';
import { useFocusAtFirst } from '../core/focus.ts';
import { loggedOut, logIn } from '../core/session.ts';
import { reasonOf } from '../parts/bits.tsx';

export function LogIn() {
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const reason = useCell(loggedOut);
  const first = useFocusAtFirst<HTMLInputElement>();
  const submit = (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    logIn(name, password)
      .catch((error: unknown) => setProblem(reasonOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <main class="log-in">
      <form onSubmit={submit}>
        <img src="/page/icon.svg" alt="" width="52" height="52" />
        <h1>Hookswitch</h1>
        <p class="quiet">See every call, its history, and the operations that it allows.</p>
        {reason === undefined ? null : <p class="notice">{reason}</p>}
        <label>
          Name
          <input
            name="name"
            autocomplete="username"
            required
            ref={first}
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label>
          Password
          <input
            name="password"
            type="password"
            autocomplete="current-password"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <p class="problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="primary" disabled={busy}>
          {busy ? 'Logging in …' : 'Log in'}
        </button>
        <p class="quiet small-print">
          A user of the server's configuration. The log-in is kept in a cookie until the browser is closed.
        </p>
      </form>
    </main>
  );
}
