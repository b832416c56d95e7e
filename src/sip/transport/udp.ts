import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { ListeningSockets } from '../../lib/listening-sockets.ts';
import { type Listen, ListenError } from './transport.ts';

/** The largest payload of one datagram: 65,535 bytes less the UDP header and, over IPv4, the IP header. */
export const MAX_DATAGRAM_BYTES = { udp4: 65_507, udp6: 65_527 } as const;

/** Asked of the system for bursts; it gives as much as its own limit allows. */
const RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024;

type UdpSocketOptions = {
  readonly listen: Listen;
  readonly onDatagram: (bytes: Buffer, from: RemoteInfo) => void;
  /** Trouble that belongs to no send, after the socket is bound. */
  readonly onError: (error: Error) => void;
};

export type UdpSocket = {
  readonly port: number;
  /** Sends one datagram; an error is handed to `done`, never thrown. */
  send(bytes: Buffer, address: string, port: number, done: (error: Error | null) => void): void;
  close(): Promise<void>;
};

/** Opens a UDP socket; a simulation has its own. */
export type OpenUdp = (options: UdpSocketOptions) => Promise<UdpSocket>;

/** Opens UDP sockets that another process holds. */
export const openHeldUdp =
  (held: ListeningSockets): OpenUdp =>
  (options) =>
    openUdpSocket(options, held);

/**
 * Opens one UDP socket. @throws ListenError (as a rejection) if the address or port cannot be used.
 * @param held opens the descriptor.
 */
export function openUdpSocket(
  { listen, onDatagram, onError }: UdpSocketOptions,
  held?: ListeningSockets,
): Promise<UdpSocket> {
  const family = isIPv6(listen.host) ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    ipv6Only: family === 6,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    // Targets are literal addresses; Node's own look-up would put each send behind the DNS threads.
    lookup: (host, _options, callback) => callback(null, host, family),
  });
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      socket.close();
      reject(new ListenError(listen, error.code ?? 'UNKNOWN', error));
    };
    socket.once('error', refuse);
    const bound = (): void => {
      socket.off('error', refuse);
      socket.on('error', onError);
      socket.on('message', onDatagram);
      resolve(wrap(socket));
    };
    if (!held) return socket.bind({ port: listen.port, address: listen.host, exclusive: true }, bound);
    try {
      socket.bind({ fd: held.open('datagrams', { ...listen, ipv6Only: family === 6 }), exclusive: true }, bound);
    } catch (error) {
      refuse(error as NodeJS.ErrnoException);
    }
  });
}

function wrap(socket: Socket): UdpSocket {
  return {
    port: socket.address().port,
    send(bytes, address, port, done) {
      try {
        socket.send(bytes, port, address, done);
      } catch (error) {
        done(error as Error);
      }
    },
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}
