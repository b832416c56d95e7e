/**
 * The far side of the media benchmark, a process of its own: sends RTP to echoing ports and checks what comes back.
 * Started by media-echo.ts; tells its own port, is told the ports to send to, and answers with its figures.
 */
import { createSocket, type Socket } from 'node:dgram';
import { EchoAudio, type EchoFigures } from './echo-audio.ts';

type Start = { ports: number[]; address: string; seconds: number };

/** Sends to all ports for the time given, and waits for what is still on its way back. */
async function run(socket: Socket, { ports, address, seconds }: Start): Promise<EchoFigures> {
  const audio = new EchoAudio(ports.length, seconds);
  const callOfPort = new Map(ports.map((port, call) => [port, call]));
  socket.on('message', (packet, from) => audio.hear(callOfPort.get(from.port), packet));
  await audio.sendAll(50, (call, packet) => socket.send(packet, ports[call]!, address));
  await new Promise((rest) => setTimeout(rest, 500));
  socket.close();
  return audio.figures();
}

const socket = createSocket({ type: 'udp4', lookup: (host, _options, told) => told(null, host, 4) });
socket.bind(0, '127.0.0.1', () => {
  socket.setRecvBufferSize(4 * 1024 * 1024);
  process.send!(socket.address().port);
});
process.once('message', async (start) => {
  process.send!(await run(socket, start as Start));
  process.disconnect();
});
