import { guarded } from '../../lib/guard.ts';
import type { Stack } from './stack.ts';

/** When each deadline that is set is due, in ms since the Unix epoch. */
export type DeadlinesData<Name extends string> = { readonly [name in Name]?: number };

type DeadlinesOptions<Name extends string> = {
  stack: Pick<Stack, 'clock' | 'log'>;
  /** Said of the owner in the log. */
  what: string;
  /** Acts on a deadline that is over; it is no longer set by then. */
  due(name: Name): void;
  /** Hears that one threw, so that the owner can be given up. */
  failed?: () => void;
};

/**
 * Named timers of one owner, at most one per name. They can be saved as times and restored by another process.
 * Exceptions are logged and only end the owner.
 */
export class Deadlines<Name extends string> {
  readonly #clock: Stack['clock'];
  readonly #options: DeadlinesOptions<Name>;
  /** Due by the monotonic clock, and as it was written last: a text with it must not change by itself. */
  readonly #set = new Map<Name, { id: unknown; due: number; written: number }>();

  constructor(options: DeadlinesOptions<Name>) {
    this.#clock = options.stack.clock;
    this.#options = options;
  }

  /** Sets a deadline `ms` from now, instead of one of the same name. */
  set(name: Name, ms: number): void {
    this.clear(name);
    const id = this.#clock.setTimeout(() => {
      this.#set.delete(name);
      this.#expire(name);
    }, ms);
    this.#set.set(name, { id, due: this.#clock.monotonic() + ms, written: Number.NaN });
  }

  clear(name: Name): void {
    const deadline = this.#set.get(name);
    if (!deadline) return;
    this.#clock.clearTimeout(deadline.id);
    this.#set.delete(name);
  }

  clearAll(): void {
    for (const { id } of this.#set.values()) this.#clock.clearTimeout(id);
    this.#set.clear();
  }

  dump(): DeadlinesData<Name> {
    const epoch = this.#clock.now() - this.#clock.monotonic();
    const all: { [name in Name]?: number } = {};
    for (const [name, deadline] of this.#set) {
      // The two clocks are not read at once, and one has whole ms.
      if (!(Math.abs(epoch + deadline.due - deadline.written) < 2)) deadline.written = epoch + deadline.due;
      all[name] = deadline.written;
    }
    return all;
  }

  /** Restores saved timers; overdue ones expire directly. */
  restore(data: DeadlinesData<Name>): void {
    const now = this.#clock.now();
    for (const [name, due] of Object.entries(data) as [Name, number][]) this.set(name, Math.max(0, due - now));
  }

  /** Guarded here: most deadlines of a call never expire. */
  #expire(name: Name): void {
    const { stack, what, due, failed } = this.#options;
    guarded(stack.log, `${what}: ${name}`, due, failed)(name);
  }
}
