import type { Server } from 'node:http';
import { Socket } from 'node:net';

/** Node names the descriptor of a socket nowhere else. */
type Handled = { _handle?: { fd?: number } | null };

/**
 * The connections that wait for their next request, by their descriptors. They are read no longer: a request that comes
 * now waits in the kernel for another process that has the descriptor.
 * @param all connections of the server that are no WebSockets
 */
export function idleConnections(server: Pick<Server, 'closeIdleConnections'>, all: readonly Socket[]): number[] {
  return restingOf(server, all).flatMap((socket) => {
    const descriptor = (socket as Handled)._handle?.fd ?? -1;
    if (descriptor < 0 || socket.writableLength > 0) return [];
    socket.pause();
    return [descriptor];
  });
}

/**
 * Ends the connections that wait for their next request, in order (close_notify: RFC 8446 6.1). They are read no longer, so
 * that a request that comes now is not carried out: its client learns that, and may send it again (RFC 9110 9.2.2).
 */
export function endIdle(server: Pick<Server, 'closeIdleConnections'>, all: readonly Socket[]): void {
  for (const socket of restingOf(server, all)) socket.pause().end();
}

function restingOf(server: Pick<Server, 'closeIdleConnections'>, all: readonly Socket[]): Socket[] {
  const idle = new Set(all.filter(({ bytesRead }) => bytesRead === 0));
  // Only Node knows of which connections its parser has read a part of a request. Here it closes the others.
  for (const socket of all) socket.destroy = () => idle.add(socket) && socket;
  server.closeIdleConnections();
  for (const socket of all) Reflect.deleteProperty(socket, 'destroy');
  return [...idle];
}

/** Has a server go on with a connection of another process. One that cannot be used is passed over. */
export function takeConnection(server: Server, descriptor: number): void {
  let socket: Socket;
  try {
    socket = new Socket({ fd: descriptor, allowHalfOpen: true });
  } catch {
    // Not a connection of any kind: there is nobody to tell.
    return;
  }
  server.emit('connection', socket.setNoDelay(true));
}
