/**
 * The far side of the media benchmark, a process of its own: sends RTP to echoing ports and checks what comes back.
 * Started by media-echo.ts; tells its own port, is told the ports to send to, and answers with its figures.
 */
import { createSocket, type Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { SrtpKeys } from '../src/lib/srtp.ts';
import { isBindingRequest } from '../src/lib/stun.ts';
import { Opener } from '../src/media/srtp/opener.ts';
import { loadPacketCrypto } from '../src/media/srtp/packet-crypto.ts';
import { Sealer } from '../src/media/srtp/sealer.ts';
import { writeCheckAnswer } from '../src/media/webrtc/checks.ts';
import { checkPassword, EchoAudio, type EchoFigures } from './echo-audio.ts';

/** Packets that the kernel dropped at the ports of either side. */
export type Drops = { droppedHere: number; droppedThere: number };

type Start = { ports: number[]; address: string; seconds: number; keys: SrtpKeys | undefined; pairs: boolean };

/** Packets that the kernel dropped because nobody read them in time, by the port that they were for. */
function droppedAt(family: 4 | 6): Map<number, number> {
  const [, ...lines] = readFileSync(family === 6 ? '/proc/net/udp6' : '/proc/net/udp', 'utf8')
    .trim()
    .split('\n');
  return new Map(
    lines.map((line) => {
      const fields = line.trim().split(/\s+/);
      return [Number.parseInt(fields[1]!.split(':')[1]!, 16), Number(fields.at(-1))];
    }),
  );
}

/** Sends to all ports for the time given, and waits for what is still on its way back. */
async function run(socket: Socket, { ports, address, seconds, keys, pairs }: Start): Promise<EchoFigures & Drops> {
  const audio = new EchoAudio(ports.length, seconds);
  // Each call has numbers of its own.
  const sealers = keys && ports.map(() => new Sealer(keys.remote, { audio: 0, control: 0 }));
  const openers = keys && ports.map(() => new Opener(keys.local));
  const callOfPort = new Map(ports.map((port, call) => [port, call]));
  socket.on('message', (packet, from) => {
    if (isBindingRequest(packet)) {
      socket.send(writeCheckAnswer(packet, from, checkPassword)!, from.port, from.address);
      return;
    }
    const call = callOfPort.get(from.port);
    const opened = openers && call !== undefined ? openers[call]!.audio(packet) : packet;
    // Of two in a bridge each hears the other.
    if (opened) audio.hear(call !== undefined && pairs ? call ^ 1 : call, opened as Buffer);
  });
  await audio.sendAll(50, (call, packet) =>
    socket.send(sealers ? sealers[call]!.audio(packet)! : packet, ports[call]!, address),
  );
  await new Promise((rest) => setTimeout(rest, 500));
  const dropped = droppedAt(isIPv6(address) ? 6 : 4);
  const of = (port: number): number => dropped.get(port) ?? 0;
  const droppedThere = ports.reduce((sum, port) => sum + of(port), 0);
  const droppedHere = of(socket.address().port);
  socket.close();
  return { ...audio.figures(), droppedHere, droppedThere };
}

// The local address decides the family.
const own = process.argv[2] ?? '127.0.0.1';
const family = isIPv6(own) ? 6 : 4;
await loadPacketCrypto().catch(() => {});
const socket = createSocket({ type: `udp${family}`, lookup: (host, _options, told) => told(null, host, family) });
socket.bind(0, own, () => {
  socket.setRecvBufferSize(4 * 1024 * 1024);
  process.send!(socket.address().port);
});
process.once('message', async (start) => {
  process.send!(await run(socket, start as Start));
  process.disconnect();
});
