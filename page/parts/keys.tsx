import { useEffect, useRef } from 'preact/hooks';

/** The keys of the whole page, and the dialog that lists them. */

const keys: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j, k', 'Next and previous row'],
  ['[, ]', 'One step back and forward in a call'],
  ['Enter', 'Open a row'],
  ['Escape', 'Close what is open'],
  ['?', 'This list'],
];

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input:not([type="range"]), textarea, select');

/** Moves through the list that is shown, as the arrows do. */
function move(key: 'ArrowDown' | 'ArrowUp'): void {
  const main = document.getElementById('main');
  const focused = document.activeElement?.closest('.windowed') ? document.activeElement : null;
  const row = focused ?? main?.querySelector<HTMLElement>('.windowed [tabindex="0"]');
  if (!focused) (row as HTMLElement | null)?.focus();
  else row?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
}

export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const heard = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isWriting(event.target)) {
        if (event.key === 'Escape') (event.target as HTMLElement).blur();
        return;
      }
      if (event.key === '/') {
        event.preventDefault();
        document.querySelector<HTMLElement>('#main input[type="search"]')?.focus();
      } else if (event.key === 'j') move('ArrowDown');
      else if (event.key === 'k') move('ArrowUp');
      else if (event.key === '?') dialog.current?.showModal();
    };
    addEventListener('keydown', heard);
    return () => removeEventListener('keydown', heard);
  }, []);
  return (
    <dialog ref={dialog} aria-label="Keys">
      <h2>Keys</h2>
      <dl class="pairs">
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <button type="button" class="small" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
