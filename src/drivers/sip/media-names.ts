import type { RemotePlace } from '../../sip/sdp/media-line.ts';

/**
 * Finds an address of a host; undefined when it has none of that version of IP.
 * @param found is never called before this has returned, nor when the call is over.
 */
export type FindAddress = (host: string, version: 4 | 6, found: (address: string | undefined) => void) => void;

/** A stream as it was agreed on. */
type Placed = { readonly remote: RemotePlace; readonly send: boolean };

/** Names that are remembered for one call; a description has 32 streams at most. */
const mostNames = 64;

/**
 * The addresses of hosts that the descriptions of one call name (RFC 8866 5.7). No message waits for DNS: until an address is
 * known nothing is sent there. One question of a call is under way at a time.
 */
export class MediaNames {
  readonly #find: FindAddress;
  readonly #found: () => unknown;
  /** Addresses by name and version; undefined where there is none. */
  readonly #known = new Map<string, string | undefined>();
  /** The names that DNS is asked for: one at most. */
  readonly #asked = new Set<string>();

  /** @param found hears that an address is known now, or that there is none. */
  constructor(find: FindAddress, found: () => unknown) {
    this.#find = find;
    this.#found = found;
  }

  /** Where a stream goes: nothing is sent as long as there is no address. */
  place({ remote: { address, named, port }, send }: Placed): {
    remote: { address: string; port: number };
    send: boolean;
  } {
    const known = named ? this.#addressOf(address, named) : address;
    if (known !== undefined) return { remote: { address: known, port }, send };
    return { remote: { address: named === 6 ? '::' : '0.0.0.0', port }, send: false };
  }

  /** Streams with their addresses. */
  placed<Stream extends Placed>(streams: readonly Stream[]): Stream[] {
    return streams.map((each) => ({ ...each, ...this.place(each) }));
  }

  /** There is a new description: what had no address may have one by now. */
  retry(): void {
    for (const [key, address] of this.#known) if (address === undefined) this.#known.delete(key);
  }

  #addressOf(host: string, version: 4 | 6): string | undefined {
    const key = `${version} ${host.toLowerCase()}`;
    if (!this.#known.has(key) && this.#asked.size === 0) this.#ask(key, host, version);
    return this.#known.get(key);
  }

  #ask(key: string, host: string, version: 4 | 6): void {
    this.#asked.add(key);
    this.#find(host, version, (address) => {
      this.#asked.delete(key);
      this.#known.set(key, address);
      if (this.#known.size > mostNames) this.#known.delete(this.#known.keys().next().value!);
      this.#found();
    });
  }
}
