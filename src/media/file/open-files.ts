import type { FileHandle } from 'node:fs/promises';

/** Open files of an engine: without a thread of its own nothing else would close them. */
export class OpenFiles {
  readonly #handles = new Set<FileHandle>();
  #isOver = false;
  /** A simulated disk without room: every write fails, as the system would say it. For tests of applications. */
  diskIsFull = false;

  /** They are closed for good: their engine is gone, and another one may go on with them. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** @throws Error with the code ENOSPC while the simulated disk has no room. */
  requireRoom(): void {
    if (this.diskIsFull) throw Object.assign(new Error('no space left on the simulated disk'), { code: 'ENOSPC' });
  }

  add(handle: FileHandle): void {
    this.#handles.add(handle);
    if (this.#isOver) void this.closeAll();
  }

  remove(handle: FileHandle): void {
    this.#handles.delete(handle);
  }

  /** Closes all of them, and what is opened later: writing to them fails. Resolves when they are closed, and never rejects. */
  async closeAll(): Promise<void> {
    this.#isOver = true;
    const handles = [...this.#handles];
    this.#handles.clear();
    await Promise.allSettled(handles.map((handle) => handle.close()));
  }
}
