/** What one leg is counted by, until it is taken out. */
export type LegToken = { readonly endpoint: string };

/** The legs there are, counted by endpoint. */
export class Legs {
  readonly #all = new Set<LegToken>();
  readonly #counts = new Map<string, number>();

  /** Counts a leg until {@link remove}. */
  add(endpoint: string): LegToken {
    const token = { endpoint };
    this.#all.add(token);
    this.#counts.set(endpoint, this.of(endpoint) + 1);
    return token;
  }

  /** Counts a leg no more; one that was taken out already is ignored. */
  remove(token: LegToken): void {
    if (!this.#all.delete(token)) return;
    const left = this.of(token.endpoint) - 1;
    if (left > 0) this.#counts.set(token.endpoint, left);
    else this.#counts.delete(token.endpoint);
  }

  /** How many calls an endpoint has, those included that ring or are being placed. */
  of(endpoint: string): number {
    return this.#counts.get(endpoint) ?? 0;
  }

  get size(): number {
    return this.#all.size;
  }
}
