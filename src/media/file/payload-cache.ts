/** A file's payload, and its version to detect changes. */
type CachedPayload = { payload: Uint8Array; version: string };

/** Keeps the payloads used last, up to a number of octets. */
export class PayloadCache {
  readonly #bound: number;
  readonly #entries = new Map<string, CachedPayload>();
  #octets = 0;

  constructor(boundOctets: number) {
    this.#bound = boundOctets;
  }

  /** Octets kept. */
  get octets(): number {
    return this.#octets;
  }

  get(key: string, version: string): Uint8Array | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.version !== version) {
      this.#octets -= entry.payload.length;
      return undefined;
    }
    // A Map keeps the order of setting: set again, it is the one used last.
    this.#entries.set(key, entry);
    return entry.payload;
  }

  set(key: string, version: string, payload: Uint8Array): void {
    const before = this.#entries.get(key);
    if (before) this.#octets -= before.payload.length;
    this.#entries.delete(key);
    if (payload.length > this.#bound) return;
    this.#entries.set(key, { payload, version });
    this.#octets += payload.length;
    for (const [oldest, entry] of this.#entries) {
      if (this.#octets <= this.#bound) return;
      this.#entries.delete(oldest);
      this.#octets -= entry.payload.length;
    }
  }
}
