/**
 * Video through the media plane: packets that come in are passed on to everyone else of a bridge, each with numbers of its
 * own. Beside it, where there is a C compiler, `forwarder.c` with the same packets.
 */
import { fork } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startForwarder } from './forwarder.ts';
import { cpuMs } from './server-process.ts';
import type { VideoTask } from './video-plane.ts';

/** Bridges of so many members, and how many bridges. */
const scenarios = [
  { name: 'video pairs', group: 2, groups: 10 },
  { name: 'video sfu10', group: 10, groups: 1 },
] as const;

const payloadOctets = 1_200;
const packetsPerFrame = 4;
/** 1 Mbit/s. */
const framesPerSecond = 1_000_000 / 8 / payloadOctets / packetsPerFrame;
const framesPerKey = 30;
const warmUpMs = 1_500;

type Measured = { received: number; expected: number; cpuMs: number };

/** Far sides, one a socket: all send video, and count what comes. */
class FarSides {
  readonly #sockets: Socket[];
  /** Frames that each has sent. */
  readonly #frames: number[];
  received = 0;
  sent = 0;

  private constructor(sockets: Socket[]) {
    this.#sockets = sockets;
    this.#frames = sockets.map(() => 0);
    for (const socket of sockets) socket.on('message', () => this.received++);
  }

  static async open(count: number): Promise<FarSides> {
    const sockets = Array.from({ length: count }, () => createSocket({ type: 'udp4', recvBufferSize: 4 << 20 }));
    for (const socket of sockets) {
      socket.bind(0, '127.0.0.1');
      await once(socket, 'listening');
    }
    return new FarSides(sockets);
  }

  get ports(): number[] {
    return this.#sockets.map((socket) => socket.address().port);
  }

  /** Sends to these ports, one from each, for so many ms. */
  async send(ports: readonly number[], ms: number): Promise<void> {
    const begun = performance.now();
    const each = 1000 / framesPerSecond;
    // They send their frames at different times.
    const next = this.#sockets.map((_, index) => begun + (each * index) / this.#sockets.length);
    while (performance.now() - begun < ms) {
      for (const [index, socket] of this.#sockets.entries())
        while (next[index]! <= performance.now()) {
          next[index]! += each;
          this.#frame(socket, index, this.#frames[index]!++, ports[index]!);
        }
      await new Promise((soon) => setTimeout(soon, 2));
    }
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }

  #frame(socket: Socket, index: number, frame: number, port: number): void {
    for (let part = 0; part < packetsPerFrame; part++) {
      const packet = Buffer.alloc(12 + payloadOctets);
      packet[0] = 0x80;
      packet[1] = 96 | (part === packetsPerFrame - 1 ? 0x80 : 0);
      packet.writeUInt16BE((frame * packetsPerFrame + part) & 0xffff, 2);
      packet.writeUInt32BE(Math.round((frame * 90_000) / framesPerSecond) >>> 0, 4);
      packet.writeUInt32BE(index + 1, 8);
      // A picture id of 15 bits, and whether the frame is a key frame.
      packet.set([0x80 | (part === 0 ? 0x10 : 0), 0x80, 0x80 | ((frame >> 8) & 0x7f), frame & 0xff], 12);
      packet[16] = frame % framesPerKey === 0 ? 0 : 1;
      socket.send(packet, port, '127.0.0.1');
      this.sent++;
    }
  }
}

async function measure(
  pid: number,
  far: FarSides,
  ports: readonly number[],
  seconds: number,
  group: number,
): Promise<Measured> {
  await far.send(ports, warmUpMs);
  const [sent, received, cpu] = [far.sent, far.received, cpuMs(pid)];
  await far.send(ports, seconds * 1000);
  await new Promise((arrived) => setTimeout(arrived, 100));
  return {
    received: far.received - received,
    expected: (far.sent - sent) * (group - 1),
    cpuMs: cpuMs(pid) - cpu,
  };
}

/** CPU of one packet that goes out, in µs. */
const packetCost = ({ cpuMs: cpu, received }: Measured): number => (cpu * 1000) / received;

function print(name: string, seconds: number, measured: Measured, least?: Measured): void {
  const { received, expected, cpuMs: cpu } = measured;
  const lost = (100 * (expected - received)) / expected;
  const perCore = (received / (cpu / 1000)) | 0;
  console.log(
    [
      `media, ${name}: ${(received / seconds).toFixed(0)} packets/s out, lost ${lost.toFixed(2)} %`,
      `  CPU ${((cpu / seconds) * 0.1).toFixed(1)} % of a core, ${packetCost(measured).toFixed(1)} µs a packet, ${perCore} packets/s a core`,
      ...(least ? [`  ${(packetCost(measured) / packetCost(least)).toFixed(2)} × the C forwarder a packet`] : []),
    ].join('\n'),
  );
}

/** Measures each scenario for so many seconds: the C forwarder, then ours. */
export async function benchVideo(seconds: number, threads: number, sockets: VideoTask['sockets']): Promise<void> {
  for (const { name, group, groups } of scenarios) {
    const far = await FarSides.open(group * groups);
    const forwarder = await startForwarder(group * groups, group);
    const least = forwarder && (await measure(forwarder.pid, far, forwarder.ports, seconds, group));
    forwarder?.close();
    if (least) print(`${name}, C forwarder`, seconds, least);
    far.close();
    const ours = await FarSides.open(group * groups);
    const plane = fork(fileURLToPath(new URL('./video-plane.ts', import.meta.url)));
    const task: VideoTask = { ports: ours.ports, group, threads: Math.max(1, threads), sockets };
    plane.send(task);
    const [ports] = (await once(plane, 'message')) as [number[]];
    print(`${name}, ours`, seconds, await measure(plane.pid!, ours, ports, seconds, group), least);
    plane.disconnect();
    ours.close();
  }
}
