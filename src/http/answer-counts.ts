/** Counts answers by status, and refusals by their reason. */
export class AnswerCounts {
  readonly #statuses = new Uint32Array(600);
  readonly #reasons = new Map<string, number>();

  answered(status: number): void {
    if (status < 600) this.#statuses[status]!++;
  }

  /** @param reason the code of an AriError. */
  refused(reason: string, status: number): void {
    this.answered(status);
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
  }

  /** Counts so far; what never happened is left out. */
  figures(): { responses: Readonly<Record<string, number>>; refusals: Readonly<Record<string, number>> } {
    return {
      responses: Object.fromEntries([...this.#statuses.entries()].filter(([, count]) => count > 0)),
      refusals: Object.fromEntries(this.#reasons),
    };
  }
}
