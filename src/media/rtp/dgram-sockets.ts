import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { type PacketListener, type PacketSocket, receiveBufferBytes, type Sockets } from './sockets.ts';

/** How an IPv4 address begins where a socket of both families has it. */
const mapped = '::ffff:';

/**
 * Sockets of node:dgram: a turn of the event loop for each packet. Destinations are IP addresses: nothing is ever looked up in
 * DNS. Only for threads that are never terminated: see `relayed-sockets.ts`.
 */
export const dgramSockets: Sockets = {
  bind(address, port, recvBufferSize = receiveBufferBytes) {
    const family = isIPv6(address) ? 6 : 4;
    const socket = createSocket({
      type: family === 6 ? 'udp6' : 'udp4',
      // Node would pass even IP addresses through its resolver and the thread pool: measured, p99 2.5 instead of 0.8
      // ms.
      lookup: (host, _options, told) => told(null, host, family),
      recvBufferSize,
    });
    const bound = new Promise<PacketSocket>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ address, port, exclusive: true }, () => {
        socket.off('error', reject);
        resolve(new DgramSocket(socket));
      });
    });
    return bound.catch((error: unknown) => {
      socket.close();
      throw error;
    });
  },
};

class DgramSocket implements PacketSocket {
  readonly port: number;
  readonly #socket: Socket;
  #listener: PacketListener | undefined;
  #open = true;
  /** Bound to all addresses of both families: IPv4 addresses are mapped ones to it (RFC 4291 section 2.5.5.2). */
  readonly #isBoth: boolean;

  /** @param socket is bound. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.port = socket.address().port;
    // An unreachable far side shows as an error of a later send: the packet is lost, nothing else.
    socket.on('error', () => {});
    const isBoth = socket.address().address === '::';
    this.#isBoth = isBoth;
    socket.on('message', (packet, { address, port }) =>
      this.#listener?.(packet, isBoth && address.startsWith(mapped) ? address.slice(mapped.length) : address, port),
    );
  }

  send(packet: Uint8Array, port: number, address: string): void {
    if (this.#open) this.#socket.send(packet, port, this.#isBoth && !isIPv6(address) ? mapped + address : address);
  }

  listen(listener: PacketListener | undefined): void {
    this.#listener = listener;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#listener = undefined;
    this.#socket.close();
  }
}
