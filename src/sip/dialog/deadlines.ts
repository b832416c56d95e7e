import { guarded } from '../../lib/guard.ts';
import type { Stack } from './stack.ts';

/** When each deadline that is set is due, in ms since the Unix epoch. */
export type DeadlinesData<Name extends string> = { readonly [name in Name]?: number };

type DeadlinesOptions<Name extends string> = {
  stack: Pick<Stack, 'clock' | 'log'>;
  /** Said of the owner in the log. */
  what: string;
  /** Action of each deadline; it is no longer set by then. */
  due: { readonly [name in Name]: () => void };
  /** Hears that one threw, so that the owner can be given up. */
  failed?: () => void;
};

/**
 * Named timers of one owner, at most one per name. They can be saved as times and restored by another process.
 * Exceptions are logged and only end the owner.
 */
export class Deadlines<Name extends string> {
  readonly #clock: Stack['clock'];
  readonly #run: { readonly [name in Name]: () => void };
  readonly #set = new Map<Name, { id: unknown; due: number }>();

  constructor({ stack, what, due, failed }: DeadlinesOptions<Name>) {
    this.#clock = stack.clock;
    const run: Record<string, () => void> = {};
    for (const [name, fn] of Object.entries(due) as [Name, () => void][])
      run[name] = guarded(stack.log, `${what}: ${name}`, fn, failed);
    this.#run = run as { readonly [name in Name]: () => void };
  }

  /** Sets a deadline `ms` from now, instead of one of the same name. */
  set(name: Name, ms: number): void {
    this.clear(name);
    const id = this.#clock.setTimeout(() => {
      this.#set.delete(name);
      this.#run[name]();
    }, ms);
    this.#set.set(name, { id, due: this.#clock.monotonic() + ms });
  }

  clear(name: Name): void {
    this.#clock.clearTimeout(this.#set.get(name)?.id);
    this.#set.delete(name);
  }

  clearAll(): void {
    for (const { id } of this.#set.values()) this.#clock.clearTimeout(id);
    this.#set.clear();
  }

  dump(): DeadlinesData<Name> {
    const epoch = this.#clock.now() - this.#clock.monotonic();
    return Object.fromEntries([...this.#set].map(([name, { due }]) => [name, epoch + due])) as DeadlinesData<Name>;
  }

  /** Restores saved timers; overdue ones expire directly. */
  restore(data: DeadlinesData<Name>): void {
    const now = this.#clock.now();
    for (const [name, due] of Object.entries(data) as [Name, number][]) this.set(name, Math.max(0, due - now));
  }
}
