import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.ts';

/** Collects what is written to sockets within one turn of the event loop. */
export interface Corker {
  /** Holds back the socket's writes until the turn is over; then they leave as one. */
  cork(socket: Socket): void;
}

/** Many events of one turn become one system call per socket. */
export function createCorker(clock: Pick<Clock, 'soon'>): Corker {
  const corked = new Set<Socket>();
  const uncork = () => {
    for (const socket of corked) socket.uncork();
    corked.clear();
  };
  return {
    cork: (socket) => {
      if (corked.has(socket)) return;
      // Two turns: what a request puts off until its answer is on the way (dialing) still goes out with the rest.
      if (corked.size === 0) clock.soon(() => clock.soon(uncork));
      corked.add(socket);
      socket.cork();
    },
  };
}
