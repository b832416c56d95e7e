import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';

/** Hears one datagram. The octets are the listener's to keep and to change. */
export type PacketListener = (packet: Uint8Array, address: string, port: number) => void;

/** A bound UDP port. */
export interface PacketSocket {
  readonly port: number;
  /** Sends at once; what cannot be sent is lost, as anything on UDP may be. The octets must not change afterwards. */
  send(packet: Uint8Array, port: number, address: string): void;
  /** Sets who hears arriving packets; undefined = they are dropped. */
  listen(listener: PacketListener | undefined): void;
  close(): void;
}

/** Where the engine gets its sockets from; tests give it simulated ones. */
export interface Sockets {
  /** Binds a UDP port; 0 = any. @throws Error with `code` EADDRINUSE when the port is taken. */
  bind(address: string, port: number): Promise<PacketSocket>;
}

/** A burst of a second of 50 packets fits many times; the kernel takes the memory only when it is used. */
const receiveBufferBytes = 256 * 1024;

/** Sockets of node:dgram. Destinations are IP addresses: nothing is ever looked up in DNS. */
export const udpSockets: Sockets = {
  bind(address, port) {
    const family = isIPv6(address) ? 6 : 4;
    const socket = createSocket({
      type: family === 6 ? 'udp6' : 'udp4',
      // Node would pass even an IP address through its resolver and the thread pool: measured, p99 2.5 instead of 0.8 ms.
      lookup: (host, _options, told) => told(null, host, family),
      recvBufferSize: receiveBufferBytes,
    });
    let listener: PacketListener | undefined;
    socket.on('message', (packet, source) => listener?.(packet, source.address, source.port));
    const bound = new Promise<PacketSocket>((resolve, reject) => {
      socket.once('error', reject);
      socket.bind({ address, port, exclusive: true }, () => {
        socket.off('error', reject);
        // An unreachable far side shows as an error of a later send: the packet is lost, nothing else.
        socket.on('error', () => {});
        let open = true;
        resolve({
          port: socket.address().port,
          send: (data, toPort, toAddress) => {
            if (open) socket.send(data, toPort, toAddress);
          },
          listen: (next) => {
            listener = next;
          },
          close: () => {
            if (!open) return;
            open = false;
            listener = undefined;
            socket.close();
          },
        });
      });
    });
    return bound.catch((error: unknown) => {
      socket.close();
      throw error;
    });
  },
};
