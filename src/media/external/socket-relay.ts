import type { ArrivedSocket } from '../../telephony/external.ts';
import type { RelayedIn, RelayedOut } from '../protocol.ts';
import { Tally, weightOf } from './tally.ts';

/**
 * The socket's side of a WebSocket session, because a socket of an HTTP server cannot move to another thread. Data to
 * the session is bounded by pausing the socket. Data to the socket is counted by the session.
 */
export class SocketRelay {
  readonly #socket: ArrivedSocket;
  readonly #bound: number;
  readonly #tell: (relay: RelayedIn) => void;
  /** Octets of the present session that the system has accepted. */
  #sent: Tally;
  #waiting = 0;
  #paused = false;
  /** Why it is closed; undefined while it is open. */
  #closed: string | undefined;

  /** @param tell takes what goes to the session. @param bound octets that may be under way. */
  constructor(socket: ArrivedSocket, tell: (relay: RelayedIn) => void, bound: number) {
    this.#socket = socket;
    this.#bound = bound;
    this.#tell = tell;
    this.#sent = this.#newTally();
    tell({ type: 'opened', local: socket.local });
    socket.listen({
      received: (message) => {
        this.#waiting += weightOf(message);
        tell({ type: 'message', message });
        if (this.#waiting <= bound || this.#paused) return;
        this.#paused = true;
        socket.pause();
      },
      closed: (reason) => {
        this.#closed = reason;
        tell({ type: 'closed', reason });
      },
    });
  }

  /** A new session replaces a lost one: its data in transit is lost. */
  again(): void {
    this.#sent = this.#newTally();
    this.#waiting = 0;
    if (this.#closed !== undefined) {
      this.#tell({ type: 'closed', reason: this.#closed });
      return;
    }
    this.#tell({ type: 'opened', local: this.#socket.local, again: true });
    this.#goOn();
  }

  /** Handles a message of the session. */
  hear(relay: RelayedOut): void {
    if (relay.type === 'message') {
      const weight = weightOf(relay.message);
      const sent = this.#sent;
      this.#socket.send(relay.message, () => sent.add(weight));
      return;
    }
    this.#waiting -= relay.octets;
    if (this.#waiting <= this.#bound / 2) this.#goOn();
  }

  end(): void {
    this.#socket.end();
  }

  #goOn(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  /** A tally of an earlier session reports nothing. */
  #newTally(): Tally {
    const tally: Tally = new Tally(this.#bound, (octets) => {
      if (this.#sent === tally) this.#tell({ type: 'taken', octets });
    });
    return tally;
  }
}
