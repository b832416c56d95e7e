/**
 * The far side of the media benchmark, a process of its own: sends RTP to echoing ports and checks what comes back.
 * Started by media-echo.ts; tells its own port, is told the ports to send to, and answers with its figures.
 */
import { createSocket, type Socket } from 'node:dgram';

type Start = { ports: number[]; address: string; seconds: number };

/** What came of the packets, times in ms. */
export type EchoFigures = {
  sent: number;
  received: number;
  lost: number;
  /** Packets that followed the one before them of the same call after more than 40 ms. */
  late: number;
  wrong: number;
  delayP50: number;
  delayP99: number;
  delayMaximum: number;
  /** Packets that this process itself sent more than 5 ms late: the measure of the measure. */
  sentLate: number;
};

const packetMs = 20;
const payloadOctets = 160;
const lateGapMs = 40;
/** Delays are counted in steps of 0.05 ms up to 500 ms. */
const stepsPerMs = 20;

class Sender {
  readonly #start: Start;
  readonly #socket: Socket;
  readonly #callOfPort = new Map<number, number>();
  readonly #sentAt: Float64Array;
  readonly #lastHeard: Float64Array;
  readonly #delays = new Uint32Array(500 * stepsPerMs + 1);
  readonly #packetsPerCall: number;
  #sent = 0;
  #received = 0;
  #late = 0;
  #wrong = 0;
  #sentLate = 0;
  #maximum = 0;

  constructor(socket: Socket, start: Start) {
    this.#socket = socket;
    this.#start = start;
    for (const [call, port] of start.ports.entries()) this.#callOfPort.set(port, call);
    this.#packetsPerCall = Math.round((start.seconds * 1000) / packetMs);
    this.#sentAt = new Float64Array(start.ports.length * this.#packetsPerCall);
    this.#lastHeard = new Float64Array(start.ports.length);
  }

  async run(): Promise<EchoFigures> {
    this.#socket.on('message', (packet, from) => this.#hear(packet, from.port));
    await this.#sendAll();
    await new Promise((rest) => setTimeout(rest, 500));
    this.#socket.close();
    return this.#figures();
  }

  /** Calls begin spread over 20 ms, as calls do, and then keep their own grid. */
  #sendAll(): Promise<void> {
    const calls = this.#start.ports.length;
    const total = calls * this.#packetsPerCall;
    const begin = performance.now() + 50;
    return new Promise((done) => {
      const turn = () => {
        const now = performance.now();
        for (; this.#sent < total; this.#sent++) {
          const due = begin + (this.#sent / calls) * packetMs;
          if (due > now) break;
          if (now - due > 5) this.#sentLate++;
          this.#send(this.#sent % calls, Math.floor(this.#sent / calls), now);
        }
        if (this.#sent < total) setTimeout(turn, 1);
        else done();
      };
      turn();
    });
  }

  #send(call: number, index: number, now: number): void {
    const packet = Buffer.alloc(12 + payloadOctets);
    packet[0] = 0x80;
    packet[1] = index === 0 ? 0x80 : 0;
    packet.writeUInt16BE(index & 0xffff, 2);
    packet.writeUInt32BE(index * payloadOctets, 4);
    packet.writeUInt32BE(call + 1, 8);
    packet.writeUInt32BE(call, 12);
    packet.writeUInt32BE(index, 16);
    this.#sentAt[call * this.#packetsPerCall + index] = now;
    this.#socket.send(packet, this.#start.ports[call]!, this.#start.address);
  }

  #hear(packet: Buffer, port: number): void {
    const now = performance.now();
    const call = this.#callOfPort.get(port);
    const index = packet.length === 12 + payloadOctets ? packet.readUInt32BE(16) : -1;
    const place = (call ?? 0) * this.#packetsPerCall + index;
    const sentAt = this.#sentAt[place];
    if (call === undefined || packet.readUInt32BE(12) !== call || !sentAt) {
      this.#wrong++;
      return;
    }
    this.#sentAt[place] = 0;
    this.#received++;
    const last = this.#lastHeard[call]!;
    if (last > 0 && now - last > lateGapMs) this.#late++;
    this.#lastHeard[call] = now;
    const delay = now - sentAt;
    this.#maximum = Math.max(this.#maximum, delay);
    this.#delays[Math.min(this.#delays.length - 1, Math.floor(delay * stepsPerMs))]!++;
  }

  #figures(): EchoFigures {
    return {
      sent: this.#sent,
      received: this.#received,
      lost: this.#sent - this.#received,
      late: this.#late,
      wrong: this.#wrong,
      delayP50: this.#percentile(0.5),
      delayP99: this.#percentile(0.99),
      delayMaximum: this.#maximum,
      sentLate: this.#sentLate,
    };
  }

  #percentile(share: number): number {
    let left = this.#received * share;
    const step = this.#delays.findIndex((count) => (left -= count) <= 0);
    return step / stepsPerMs;
  }
}

const socket = createSocket({ type: 'udp4', lookup: (host, _options, told) => told(null, host, 4) });
socket.bind(0, '127.0.0.1', () => {
  socket.setRecvBufferSize(4 * 1024 * 1024);
  process.send!(socket.address().port);
});
process.once('message', async (start) => {
  process.send!(await new Sender(socket, start as Start).run());
  process.disconnect();
});
