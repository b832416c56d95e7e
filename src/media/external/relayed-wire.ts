import type { RelayedIn, RelayedOut } from '../protocol.ts';
import { Tally, weightOf } from './tally.ts';
import type { Wire, WireListener } from './wires.ts';

/** A connection whose socket another thread holds. Its data are exchanged as messages. */
export class RelayedWire implements Wire {
  readonly #listener: WireListener;
  readonly #tell: (relay: RelayedOut) => void;
  readonly #received: Tally;
  #unsent = 0;
  #open = false;
  #paused = false;
  /** Octets that were received while it was paused. */
  #heldOctets = 0;
  #ended = false;

  /** @param tell takes what goes to the socket. @param bound octets that may be under way, each way. */
  constructor(listener: WireListener, tell: (relay: RelayedOut) => void, bound: number) {
    this.#listener = listener;
    this.#tell = tell;
    this.#received = new Tally(bound, (octets) => tell({ type: 'taken', octets }));
  }

  /** Handles a message of the socket. */
  hear(relay: RelayedIn): void {
    if (this.#ended) return;
    switch (relay.type) {
      case 'opened':
        this.#open = true;
        this.#listener.opened(relay.local, relay.again);
        return;
      case 'message':
        this.#count(weightOf(relay.message));
        if (typeof relay.message === 'string') this.#listener.told?.(relay.message);
        else this.#listener.received(relay.message);
        return;
      case 'taken':
        this.#unsent -= relay.octets;
        return;
      case 'closed':
        this.#ended = true;
        this.#listener.closed(relay.reason);
        return;
    }
  }

  send(message: Uint8Array | string): void {
    if (!this.#open || this.#ended) return;
    this.#unsent += weightOf(message);
    this.#tell({ type: 'message', message });
  }

  get unsent(): number {
    return this.#unsent;
  }

  /** The other thread stops reading when it is not told that what it sent was taken. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    const octets = this.#heldOctets;
    this.#heldOctets = 0;
    if (octets > 0) this.#received.add(octets);
  }

  /** The other thread closes the socket when the session ends. */
  end(): void {
    this.#ended = true;
  }

  #count(octets: number): void {
    if (this.#paused) this.#heldOctets += octets;
    else this.#received.add(octets);
  }
}
