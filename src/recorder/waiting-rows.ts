/** Writes a row that waited. */
type Write<T, Of> = (row: T, of: Of) => void;

/** Rows that are written together. More keep more objects alive; of fewer, code and memory are colder. */
const rowsTogether = 256;
/** Characters of texts that wait at most. */
const mostCharacters = 256 * 1024;

/**
 * Rows that wait by reference until they are written together. Code and memory are cold for a row that is written
 * between other work: 256 in a row take a third of the time.
 */
export class WaitingRows {
  /** Of each row how it is written, the row, and of what it is. */
  #rows: unknown[] = [];
  #characters = 0;
  #isWriting = false;
  readonly #onFailed: (error: unknown) => void;

  /** @param onFailed gets what writing a row threw; the others are written. */
  constructor(onFailed: (error: unknown) => void) {
    this.#onFailed = onFailed;
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /**
   * Adds a row, which nobody changes any more.
   * @param characters of a text that can be long
   */
  add<T, Of>(write: Write<T, Of>, row: T, of: Of, characters = 0): void {
    this.#rows.push(write, row, of);
    this.#characters += characters;
    if (this.#rows.length >= 3 * rowsTogether || this.#characters > mostCharacters) this.write();
  }

  /** Writes all of them, and what comes meanwhile behind them. */
  write(): void {
    if (this.#isWriting) return;
    const rows = this.#rows;
    this.#isWriting = true;
    for (let at = 0; at < rows.length; at += 3) {
      try {
        (rows[at] as Write<unknown, unknown>)(rows[at + 1], rows[at + 2]);
      } catch (error) {
        this.#onFailed(error);
      }
    }
    this.clear();
    this.#isWriting = false;
  }

  clear(): void {
    this.#rows.length = 0;
    this.#characters = 0;
  }
}
