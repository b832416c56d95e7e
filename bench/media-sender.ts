/**
 * The far side of the media benchmark, a process of its own: sends RTP to echoing ports and checks what comes back.
 * Started by media-echo.ts; tells its own ports, which take turns for the calls, is told the ports to send to, and answers with its figures.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type { SrtpKeys } from '../src/lib/srtp.ts';
import { isBindingRequest } from '../src/lib/stun.ts';
import { Opener } from '../src/media/srtp/opener.ts';
import { loadPacketCrypto } from '../src/media/srtp/packet-crypto.ts';
import { Sealer } from '../src/media/srtp/sealer.ts';
import { writeCheckAnswer } from '../src/media/webrtc/checks.ts';
import { checkPassword, EchoAudio, type EchoFigures } from './echo-audio.ts';

/** What the kernel keeps of one socket would be all that is not lost while this process waits for the CPU. */
const callsOfSocket = 10;

/** Packets that the kernel dropped at the ports of either side. */
export type Drops = { droppedHere: number; droppedThere: number };

type Start = { ports: number[]; address: string; seconds: number; keys: SrtpKeys | undefined; pairs: boolean };

/** Octets that wait in the kernel for their reader, and packets that it dropped because nobody read them in time, of these ports. */
function kernelSays(family: 4 | 6, ports: readonly number[]): { waiting: number; dropped: number } {
  const known = new Set(ports);
  const sum = { waiting: 0, dropped: 0 };
  const text = readFileSync(family === 6 ? '/proc/net/udp6' : '/proc/net/udp', 'utf8');
  for (const line of text.trim().split('\n').slice(1)) {
    const [, own = '', , , queues = '', ...rest] = line.trim().split(/\s+/);
    if (!known.has(Number.parseInt(own.split(':')[1]!, 16))) continue;
    sum.waiting += Number.parseInt(queues.split(':')[1]!, 16);
    sum.dropped += Number(rest.at(-1));
  }
  return sum;
}

/** How long this process reads on, after the end, what waits for it and for the server, in ms. */
const longestRestMs = 20_000;

/** Sends to all ports for the time given, and waits for what is still on its way back. */
async function run(
  sockets: readonly Socket[],
  { ports, address, seconds, keys, pairs }: Start,
): Promise<EchoFigures & Drops> {
  const audio = new EchoAudio(ports.length, seconds);
  // Each call has numbers of its own.
  const sealers = keys && ports.map(() => new Sealer(keys.remote, { audio: 0, control: 0 }));
  const openers = keys && ports.map(() => new Opener(keys.local));
  const callOfPort = new Map(ports.map((port, call) => [port, call]));
  const hear = (socket: Socket, packet: Buffer, from: RemoteInfo): void => {
    if (isBindingRequest(packet)) {
      socket.send(writeCheckAnswer(packet, from, checkPassword)!, from.port, from.address);
      return;
    }
    const call = callOfPort.get(from.port);
    const opened = openers && call !== undefined ? openers[call]!.audio(packet) : packet;
    // Of two in a bridge each hears the other.
    if (opened) audio.hear(call !== undefined && pairs ? call ^ 1 : call, opened as Buffer);
  };
  for (const socket of sockets) socket.on('message', (packet, from) => hear(socket, packet, from));
  await audio.sendAll(50, (call, packet) =>
    sockets[call % sockets.length]!.send(sealers ? sealers[call]!.audio(packet)! : packet, ports[call]!, address),
  );
  await new Promise((rest) => setTimeout(rest, 500));
  const ours = sockets.map((socket) => socket.address().port);
  const version = isIPv6(address) ? 6 : 4;
  const until = performance.now() + longestRestMs;
  while (kernelSays(version, [...ours, ...ports]).waiting > 0 && performance.now() < until)
    await new Promise((rest) => setTimeout(rest, 100));
  const droppedThere = kernelSays(version, ports).dropped;
  const droppedHere = kernelSays(version, ours).dropped;
  for (const socket of sockets) socket.close();
  return { ...audio.figures(), droppedHere, droppedThere };
}

// The local address decides the family.
const own = process.argv[2] ?? '127.0.0.1';
const family = isIPv6(own) ? 6 : 4;
await loadPacketCrypto().catch(() => {});
const sockets = Array.from({ length: Math.ceil(Number(process.argv[3] ?? 1) / callsOfSocket) }, () =>
  createSocket({ type: `udp${family}`, lookup: (host, _options, told) => told(null, host, family) }),
);
for (const socket of sockets) {
  await new Promise<void>((bound) => socket.bind(0, own, bound));
  socket.setRecvBufferSize(4 * 1024 * 1024);
}
process.send!(sockets.map((socket) => socket.address().port));
process.once('message', async (start) => {
  process.send!(await run(sockets, start as Start));
  process.disconnect();
});
