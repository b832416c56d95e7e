import type { ArrivedSocket } from '../../telephony/external.ts';
import type { RelayedIn, RelayedOut } from '../protocol.ts';
import { Tally, weightOf } from './tally.ts';

/**
 * The side of a WebSocket's session where the socket is: a socket of an HTTP server cannot move to the thread of the
 * session. What is under way to the session is bounded by reading no further; what is under way to the socket the
 * session counts.
 */
export class SocketRelay {
  readonly #socket: ArrivedSocket;
  readonly #bound: number;
  readonly #sent: Tally;
  #waiting = 0;
  #paused = false;

  /** @param tell takes what goes to the session. @param bound octets that may be under way. */
  constructor(socket: ArrivedSocket, tell: (relay: RelayedIn) => void, bound: number) {
    this.#socket = socket;
    this.#bound = bound;
    this.#sent = new Tally(bound, (octets) => tell({ type: 'taken', octets }));
    tell({ type: 'opened', local: socket.local });
    socket.listen({
      received: (message) => {
        this.#waiting += weightOf(message);
        tell({ type: 'message', message });
        if (this.#waiting <= bound || this.#paused) return;
        this.#paused = true;
        socket.pause();
      },
      closed: (reason) => tell({ type: 'closed', reason }),
    });
  }

  /** What the session tells. */
  hear(relay: RelayedOut): void {
    if (relay.type === 'message') {
      const weight = weightOf(relay.message);
      this.#socket.send(relay.message, () => this.#sent.add(weight));
      return;
    }
    this.#waiting -= relay.octets;
    if (!this.#paused || this.#waiting > this.#bound / 2) return;
    this.#paused = false;
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
  }
}
