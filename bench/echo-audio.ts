/** G.711 to echoing far sides, and the check of returned packets: shared by the callers of the media benchmarks. */

/** What proves checks of ICE (`webrtc-full`). */
export const checkPassword = 'a+password+that+nobody+uses';

/** Results of the packets, times in ms. */
export type EchoFigures = {
  sent: number;
  received: number;
  /** Packets of nothing but silence within a call: what was made up, or came too late. Before and after it there may be any. */
  silent: number;
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
const headerOctets = 12;
const lateGapMs = 40;
/** Delays are counted in steps of 0.05 ms up to 500 ms. */
const stepsPerMs = 20;

/** Numbers are sent as hexadecimal digits, each a sample so quiet that mixes do not change it. */
const digitsOfNumber = 8;
const quietOctet = 0xe0;
const silenceOctet = 0xff;

/** Whether a packet is silent: in a mix others are heard before and after it. */
function isSilent(packet: Buffer): boolean {
  for (let at = headerOctets; at < packet.length; at++) if (packet[at] !== silenceOctet) return false;
  return true;
}

function writeNumber(packet: Buffer, at: number, number: number): void {
  for (let digit = 0; digit < digitsOfNumber; digit++)
    packet[at + digit] = quietOctet | ((number >>> (4 * digit)) & 15);
}

function readNumber(packet: Buffer, at: number): number {
  let number = 0;
  for (let digit = 0; digit < digitsOfNumber; digit++) {
    const value = packet[at + digit]! - quietOctet;
    if (value < 0 || value > 15) return -1;
    number += value * 16 ** digit;
  }
  return number;
}

/** Every packet has its call and number, to recognise returned ones. */
export class EchoAudio {
  readonly #calls: number;
  readonly #packetsPerCall: number;
  readonly #sentAt: Float64Array;
  readonly #lastHeard: Float64Array;
  /** Sequence number that a mixed stream is to go on with; −1 before it begins. */
  readonly #expected: Int32Array;
  /** Silent packets since a call was heard last, which count when it is heard again. */
  readonly #pause: Uint32Array;
  readonly #delays = new Uint32Array(500 * stepsPerMs + 1);
  #sent = 0;
  #received = 0;
  #late = 0;
  #wrong = 0;
  #sentLate = 0;
  #maximum = 0;
  #mixed = 0;
  #mixedLost = 0;
  #silent = 0;

  constructor(calls: number, seconds: number) {
    this.#calls = calls;
    this.#packetsPerCall = Math.round((seconds * 1000) / packetMs);
    this.#sentAt = new Float64Array(calls * this.#packetsPerCall);
    this.#lastHeard = new Float64Array(calls);
    this.#expected = new Int32Array(calls).fill(-1);
    this.#pause = new Uint32Array(calls);
  }

  /** Calls begin spread over 20 ms, as calls do, `inMs` from now, and then keep their own grid. */
  sendAll(inMs: number, send: (call: number, packet: Buffer) => void): Promise<void> {
    const total = this.#calls * this.#packetsPerCall;
    const begin = performance.now() + inMs;
    return new Promise((done) => {
      const turn = () => {
        const now = performance.now();
        for (; this.#sent < total; this.#sent++) {
          const due = begin + (this.#sent / this.#calls) * packetMs;
          if (due > now) break;
          if (now - due > 5) this.#sentLate++;
          const call = this.#sent % this.#calls;
          const index = Math.floor(this.#sent / this.#calls);
          this.#sentAt[call * this.#packetsPerCall + index] = now;
          send(call, this.#packet(call, index));
        }
        if (this.#sent < total) setTimeout(turn, 1);
        else done();
      };
      turn();
    });
  }

  /** A packet of a mix, without recognisable numbers: missing ones are lost, and only gaps count. */
  hearMixed(call: number, packet: Buffer): void {
    const now = performance.now();
    const sequence = packet.readUInt16BE(2);
    const expected = this.#expected[call]!;
    if (expected >= 0) this.#mixedLost += (sequence - expected) & 0xffff;
    this.#expected[call] = (sequence + 1) & 0xffff;
    this.#mixed++;
    const last = this.#lastHeard[call]!;
    if (last > 0 && now - last > lateGapMs) this.#late++;
    this.#lastHeard[call] = now;
  }

  /**
   * A packet for a call, or from an address without call (undefined).
   * @param call the expected call. @param by the receiving call.
   */
  hear(call: number | undefined, packet: Buffer, by = call): void {
    const now = performance.now();
    if (by !== undefined && isSilent(packet)) {
      if (this.#lastHeard[by]! > 0) this.#pause[by]!++;
      return;
    }
    const right =
      call !== undefined && packet.length === headerOctets + payloadOctets && readNumber(packet, 12) === call;
    const place = right ? call * this.#packetsPerCall + readNumber(packet, 12 + digitsOfNumber) : -1;
    const sentAt = this.#sentAt[place];
    if (!right || !sentAt) {
      this.#wrong++;
      return;
    }
    this.#sentAt[place] = 0;
    this.#received++;
    this.#silent += this.#pause[by!]!;
    this.#pause[by!] = 0;
    const last = this.#lastHeard[by!]!;
    if (last > 0 && now - last > lateGapMs) this.#late++;
    this.#lastHeard[by!] = now;
    const delay = now - sentAt;
    this.#maximum = Math.max(this.#maximum, delay);
    this.#delays[Math.min(this.#delays.length - 1, Math.floor(delay * stepsPerMs))]!++;
  }

  figures(): EchoFigures {
    return {
      sent: this.#sent,
      received: this.#received + this.#mixed,
      lost: this.#mixed > 0 ? this.#mixedLost : this.#sent - this.#received,
      late: this.#late,
      silent: this.#silent,
      wrong: this.#wrong,
      delayP50: this.#percentile(0.5),
      delayP99: this.#percentile(0.99),
      delayMaximum: this.#maximum,
      sentLate: this.#sentLate,
    };
  }

  #packet(call: number, index: number): Buffer {
    const packet = Buffer.alloc(headerOctets + payloadOctets, silenceOctet);
    packet[0] = 0x80;
    packet[1] = index === 0 ? 0x80 : 0;
    packet.writeUInt16BE(index & 0xffff, 2);
    packet.writeUInt32BE(index * payloadOctets, 4);
    packet.writeUInt32BE(call + 1, 8);
    writeNumber(packet, 12, call);
    writeNumber(packet, 12 + digitsOfNumber, index);
    return packet;
  }

  #percentile(share: number): number {
    let left = this.#received * share;
    const step = this.#delays.findIndex((count) => (left -= count) <= 0);
    return step / stepsPerMs;
  }
}
