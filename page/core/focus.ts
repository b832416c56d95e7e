import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Keyboard focus. */

/** Focuses the element when it appears, before a key can go elsewhere. (`autofocus` works only once per page.) */
export function useFocusAtFirst<E extends HTMLElement>(): RefObject<E | null> {
  const element = useRef<E>(null);
  useLayoutEffect(() => element.current?.focus(), []);
  return element;
}

const ways: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Arrows, Home and End move between the buttons of a group: `onKeyDown` of the group. */
export function amongButtons(event: KeyboardEvent): void {
  const group = event.currentTarget as HTMLElement;
  const buttons = [...group.querySelectorAll<HTMLElement>('button')];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  if (at < 0) return;
  const way = ways[event.key];
  const next = event.key === 'Home' ? 0 : event.key === 'End' ? buttons.length - 1 : way === undefined ? -1 : at + way;
  if (next < 0 && way === undefined) return;
  event.preventDefault();
  buttons[(next + buttons.length) % buttons.length]?.focus();
}

/** Gives the focus to what is shown, where what had it is gone. To be called when that has happened. */
export function focusWhatIsShown(): void {
  if (document.activeElement === null || document.activeElement === document.body)
    document.getElementById('main')?.focus({ preventScroll: true });
}
