import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';

async function bound(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4');
  socket.bind(port, '127.0.0.1');
  try {
    await once(socket, 'listening');
    return socket;
  } catch {
    socket.close();
    return undefined;
  }
}

/**
 * The sockets of a far side on 127.0.0.1: for audio or video, and for its control one port above, where the RTCP of a call
 * goes, which otherwise would come to whoever has that port. The second one is closed with the first.
 */
export async function boundPair(): Promise<{ rtp: Socket; rtcp: Socket }> {
  for (;;) {
    const rtp = await bound(0);
    if (!rtp) throw new Error('no port of 127.0.0.1 is free');
    const { port } = rtp.address();
    const rtcp = port < 65_535 ? await bound(port + 1) : undefined;
    if (rtcp) {
      rtp.once('close', () => rtcp.close());
      return { rtp, rtcp };
    }
    rtp.close();
  }
}
