/** Something to let go of; may be asynchronous. */
type Release = () => void | Promise<void>;

/** Collects what was opened and releases it in reverse order, once, also when one release fails. */
export class Scope {
  readonly #releases: Release[] = [];
  #closed = false;

  /** Registers a release; on a scope already closed it runs at once. */
  defer(release: Release): void {
    if (this.#closed) void release();
    else this.#releases.push(release);
  }

  /** Releases everything, last opened first. @throws AggregateError with whatever the releases threw. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const errors: unknown[] = [];
    for (let release = this.#releases.pop(); release; release = this.#releases.pop()) {
      try {
        await release();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, 'some resources could not be released');
  }
}
