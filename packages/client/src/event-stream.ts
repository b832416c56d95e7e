import type { Events } from './generated.ts';

/** An event of any type. */
export type AnyEvent = { [T in keyof Events]: Events[T] }[keyof Events];

/** Events kept for a reader that is behind; the oldest go first. */
const mostKept = 10_000;

/** Hears events. What it throws or rejects with goes to the `error` listeners of the client. */
export type Listener<E> = (event: E) => unknown;

type Entry = { type: string; listener: Listener<AnyEvent> };

/** Passes events on to listeners and iterators. */
export class EventStream {
  readonly #entries = new Set<Entry>();
  readonly #ends = new Set<() => void>();
  readonly #failed: (error: unknown) => void;
  #ended = false;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Listens to one type, or to all (`*`). @returns the function that stops it. */
  on(type: string, listener: Listener<AnyEvent>): () => void {
    const entry = { type, listener };
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  publish(event: AnyEvent): void {
    for (const { type, listener } of [...this.#entries]) {
      if (type !== '*' && type !== event.type) continue;
      try {
        const result = listener(event);
        if (result instanceof Promise) result.catch(this.#failed);
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** Ends all iterators, those to come included. */
  end(): void {
    this.#ended = true;
    for (const end of [...this.#ends]) end();
  }

  /** The events from now on. Ends with the stream, after an event that `isLast`, or with a signal. */
  collect(isLast: (event: AnyEvent) => boolean, signal?: AbortSignal): AsyncGenerator<AnyEvent, void> {
    const waiting: AnyEvent[] = [];
    let isOver = this.#ended || signal?.aborted === true;
    let wake = () => {};
    const end = () => {
      isOver = true;
      stop();
      this.#ends.delete(end);
      signal?.removeEventListener('abort', end);
      wake();
    };
    const stop = this.on('*', (event) => {
      waiting.push(event);
      if (waiting.length > mostKept) waiting.shift();
      if (isLast(event)) end();
      wake();
    });
    this.#ends.add(end);
    signal?.addEventListener('abort', end);
    if (isOver) end();
    return (async function* () {
      try {
        for (;;) {
          const event = waiting.shift();
          if (event) yield event;
          else if (isOver) return;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
      } finally {
        end();
      }
    })();
  }

  /** The next event of a type that a test accepts. @throws Error when the stream ends, or `isLast` comes, before it. */
  next<E extends AnyEvent>(
    type: E['type'],
    accepts: (event: E) => boolean,
    { isLast = () => false, signal, what = `'${type}'` }: NextOptions = {},
  ): Promise<E> {
    return new Promise((resolve, reject) => {
      const over = () => {
        stop();
        this.#ends.delete(late);
        signal?.removeEventListener('abort', late);
      };
      const late = () => {
        over();
        reject(signal?.reason ?? new Error(`no ${what} will come any more`));
      };
      const stop = this.on('*', (event) => {
        if (event.type === type && accepts(event as E)) {
          over();
          resolve(event as E);
        } else if (isLast(event)) late();
      });
      this.#ends.add(late);
      signal?.addEventListener('abort', late);
      if (this.#ended || signal?.aborted) late();
    });
  }
}

type NextOptions = { isLast?: (event: AnyEvent) => boolean; signal?: AbortSignal | undefined; what?: string };
