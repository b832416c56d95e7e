import type { Clock } from '../../lib/clock.ts';
import type { RtpTraceWriter } from '../../lib/rtp-trace.ts';
import type { PortPair } from './ports.ts';
import type { PacketSocket } from './sockets.ts';

/** Writes down the head of a packet. */
export type Trace = (packet: Uint8Array, direction: 'in' | 'out', address: string, port: number) => void;

export const traceOf =
  (writer: RtpTraceWriter, clock: Clock, localPort: number): Trace =>
  (packet, direction, address, port) =>
    writer.put(packet, { at: clock.now(), direction, localPort, address, port });

/**
 * The same ports, of whose packets the heads are written down, as they are on the network.
 * @param isOthers whether a packet is written down elsewhere.
 */
export function tracedPair(
  pair: PortPair,
  writer: RtpTraceWriter,
  clock: Clock,
  isOthers: (packet: Uint8Array) => boolean = () => false,
): PortPair {
  const traced = (socket: PacketSocket): PacketSocket => {
    const trace = traceOf(writer, clock, socket.port);
    return tracedSocket(socket, (packet, ...how) => {
      if (!isOthers(packet)) trace(packet, ...how);
    });
  };
  return { rtp: traced(pair.rtp), rtcp: traced(pair.rtcp) };
}

function tracedSocket(socket: PacketSocket, trace: Trace): PacketSocket {
  return {
    port: socket.port,
    copies: socket.copies,
    send(packet, port, address) {
      trace(packet, 'out', address, port);
      socket.send(packet, port, address);
    },
    listen(listener) {
      socket.listen(
        listener &&
          ((packet, address, port) => {
            trace(packet, 'in', address, port);
            listener(packet, address, port);
          }),
      );
    },
    identify: (ice, found) => socket.identify?.(ice, found),
    retire: () => socket.retire?.(),
    close: () => socket.close(),
  };
}
