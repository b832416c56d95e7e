import type { Clock } from './clock.ts';

/** Objects by kind and id, e.g. `channel` and its id. */
export type Marks = ReadonlyMap<string, ReadonlySet<string>>;

/**
 * Collects changes for two turns of the event loop. Then `write` gets them, and the outputs of these turns leave: a peer
 * never knows of something that is not written. What several requests and messages change is written at once, and a
 * request's deferred work with it. Without `write` nothing is collected and nothing waits.
 */
export class TurnChanges {
  readonly #soon: Clock['soon'];
  #write: ((marks: Marks) => void) | undefined;
  #marks = new Map<string, Set<string>>();
  #outputs: (() => void)[] = [];

  constructor({ soon }: Pick<Clock, 'soon'>) {
    this.#soon = soon;
  }

  /** Whether changes are written at all. */
  get isOn(): boolean {
    return this.#write !== undefined;
  }

  /** From now on changes are written. `write` must not throw. Undefined ends that: what waits leaves. */
  writeWith(write: ((marks: Marks) => void) | undefined): void {
    this.#write = write;
    if (!write) this.commit();
  }

  /** An object has begun, changed or ended. */
  readonly mark = (kind: string, id: string): void => {
    if (!this.#write) return;
    if (this.#marks.size === 0) this.#soon(() => this.#soon(() => this.commit()));
    const ids = this.#marks.get(kind);
    if (ids) ids.add(id);
    else this.#marks.set(kind, new Set([id]));
  };

  /** Performs an output behind the next commit; directly if nothing has changed. It must not throw. */
  readonly leave = (output: () => void): void => {
    if (this.isWaiting) this.#outputs.push(output);
    else output();
  };

  /** Whether something is not written yet: an output would wait. */
  get isWaiting(): boolean {
    return this.#marks.size > 0 || this.#outputs.length > 0;
  }

  /** Writes what has changed and lets outputs leave. Not from within an actor's step. */
  commit(): void {
    // Changes by an output are written before the next output leaves.
    while (this.isWaiting) {
      const marks = this.#marks;
      if (marks.size > 0) {
        this.#marks = new Map();
        this.#write?.(marks);
        continue;
      }
      this.#outputs.shift()?.();
    }
  }
}
