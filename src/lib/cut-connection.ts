import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

/**
 * Closes a connection without a turn of the event loop. One over TLS ends in order first (close_notify, RFC 8446 6.1). One
 * without TLS may stay open in a process that has a copy of its descriptor.
 */
export function cutConnection(connection: Duplex): void {
  if (connection instanceof TLSSocket) connection.end();
  connection.destroy();
}
