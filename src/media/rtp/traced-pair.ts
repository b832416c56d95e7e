import type { Clock } from '../../lib/clock.ts';
import type { RtpTraceWriter } from '../../lib/rtp-trace.ts';
import type { PortPair } from './ports.ts';
import type { PacketSocket } from './sockets.ts';

/** The same ports, of whose packets the heads are written down, as they are on the network. */
export function tracedPair(pair: PortPair, writer: RtpTraceWriter, clock: Clock): PortPair {
  return { rtp: tracedSocket(pair.rtp, writer, clock), rtcp: tracedSocket(pair.rtcp, writer, clock) };
}

function tracedSocket(socket: PacketSocket, writer: RtpTraceWriter, clock: Clock): PacketSocket {
  const { port: localPort } = socket;
  return {
    port: localPort,
    copies: socket.copies,
    send(packet, port, address) {
      writer.put(packet, { at: clock.now(), direction: 'out', localPort, address, port });
      socket.send(packet, port, address);
    },
    listen(listener) {
      socket.listen(
        listener &&
          ((packet, address, port) => {
            writer.put(packet, { at: clock.now(), direction: 'in', localPort, address, port });
            listener(packet, address, port);
          }),
      );
    },
    retire: () => socket.retire?.(),
    close: () => socket.close(),
  };
}
