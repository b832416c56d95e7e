/** A release; may be asynchronous. */
type Release = () => void | Promise<void>;

/** Collects what was opened and releases it in reverse order, once, also when one release fails. */
export class Scope {
  readonly #releases: Release[] = [];
  #closed = false;

  /** Registers a release; in a closed scope it runs directly. */
  defer(release: Release): void {
    if (this.#closed) void release();
    else this.#releases.push(release);
  }

  /** Releases everything, last opened first. @throws AggregateError with the exceptions of releases. */
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
