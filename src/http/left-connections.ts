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
  const idle = new Set(all.filter(({ bytesRead }) => bytesRead === 0));
  // Only Node knows of which connections its parser has read a part of a request. Here it closes the others.
  for (const socket of all) socket.destroy = () => idle.add(socket) && socket;
  server.closeIdleConnections();
  for (const socket of all) Reflect.deleteProperty(socket, 'destroy');
  return [...idle].flatMap((socket) => {
    const descriptor = (socket as Handled)._handle?.fd ?? -1;
    if (descriptor < 0 || socket.writableLength > 0) return [];
    socket.pause();
    return [descriptor];
  });
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
