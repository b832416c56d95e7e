import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { tone, tonesIn } from './rtp-audio.ts';
import { boundPair } from './socket-pair.ts';
import { untilHolds } from './waiting.ts';

/** An RTP packet that was received. */
export type RtpPacket = {
  marker: boolean;
  payloadType: number;
  sequence: number;
  timestamp: number;
  ssrc: number;
  payload: Buffer;
};

const packetMs = 20;
const samplesPerMs = 8;
const samplesPerPacket = packetMs * samplesPerMs;
const ulaw = 0;
const telephoneEvent = 101;
const digits = '0123456789*#ABCD';

/**
 * Whether a datagram is RTCP (RFC 5761 section 4). The RTCP of a call goes to the port above that of its audio. After the
 * end of a call, the operating system may give that port to the audio of another phone.
 */
export const isControl = (datagram: Uint8Array): boolean => datagram[1]! >= 192 && datagram[1]! <= 223;

/**
 * The audio of a phone, written against RFC 3550 and RFC 4733 alone and sharing no code with the server: keeps what it
 * receives, sends G.711 and digits at the pace of a phone.
 */
export class RtpPeer {
  readonly packets: RtpPacket[] = [];
  /** Of the packets that it hums, one of so many is lost on the way; 0: none. */
  losesOneOf = 0;
  /** Of the packets that it hums, one of so many comes just before the next one; 0: none. */
  delaysOneOf = 0;
  readonly #socket: Socket;
  readonly #waiting = new Set<() => void>();
  #ssrc = 0x1234abcd;
  #remote: { address: string; port: number } | undefined;
  #humming: Promise<void> | undefined;
  /** What it hums, and as what. */
  #hummed: { payloadType: number; packets: readonly Buffer[]; ticks: number } | undefined;
  #sequence = 1000;
  #timestamp = 50_000;
  /** What it has heard, with room for more, how far that reaches, and the timestamp that it begins with. */
  #heard: Buffer = Buffer.alloc(0);
  #heardEnd = 0;
  #heardFrom: number | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (data, from) => this.#hear(data, from));
  }

  /** Opens a pair of ports on 127.0.0.1. */
  static async open(): Promise<RtpPeer> {
    return new RtpPeer((await boundPair()).rtp);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** Where to send; without it, to where packets came from. */
  sendTo(port: number): void {
    this.#remote = { address: '127.0.0.1', port };
  }

  /** Resolves once a condition on what was received holds. @throws Error when it does not come to hold. */
  until(holds: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, holds, () => `${what} did not come; ${this.packets.length} packets did`);
  }

  /** The µ-law octets received, each at the place its timestamp says, silence (0xff) where nothing came. */
  audio(): Buffer {
    return this.#heard.subarray(0, this.#heardEnd);
  }

  /**
   * The µ-law octets received, packet behind packet: as `audio`, without the gaps in which a busy server sent nothing. A
   * later timestamp tells of such a gap.
   */
  words(): Buffer {
    return Buffer.concat(this.packets.flatMap(({ payloadType, payload }) => (payloadType === ulaw ? [payload] : [])));
  }

  /** Sends µ-law octets, one packet of 20 ms every 20 ms; what is left of the last packet is silence. */
  async speak(octets: Buffer): Promise<void> {
    const begun = performance.now();
    for (let at = 0; at < octets.length; at += samplesPerPacket) {
      const payload = Buffer.alloc(samplesPerPacket, 0xff);
      octets.copy(payload, 0, at, at + samplesPerPacket);
      this.#send(ulaw, at === 0, this.#timestamp, payload);
      this.#timestamp += samplesPerPacket;
      await due(begun + packetMs * (at / samplesPerPacket + 1));
    }
  }

  /** Sends a sine of `hertz`, a whole number, until `hush`. */
  hum(hertz: number): void {
    this.repeat(ulaw, tone(hertz, 1000));
  }

  /** Sends these octets over and over until `hush`, 160 a packet, as audio of that payload type. */
  repeat(payloadType: number, octets: Buffer): void {
    const packets = Array.from({ length: Math.ceil(octets.length / samplesPerPacket) }, (_, index) =>
      octets.subarray(index * samplesPerPacket, (index + 1) * samplesPerPacket),
    );
    this.cycle(payloadType, packets, samplesPerPacket);
  }

  /** Sends these payloads over and over until `hush`, one every 20 ms. @param ticks of the codec's clock in 20 ms. */
  cycle(payloadType: number, packets: readonly Buffer[], ticks: number): void {
    this.#hummed = { payloadType, packets, ticks };
    this.#humming ??= this.#hum();
  }

  /** Goes on as a program does that begins anew: another source, sequence and timestamps that have nothing to do with those before. */
  startOver(): void {
    this.#ssrc ^= 0x5f5f5f5f;
    this.#sequence = (this.#sequence + 30_000) & 0xffff;
    this.#timestamp = (this.#timestamp + 0x70000000) >>> 0;
  }

  /** Sends nothing more. */
  hush(): void {
    this.#hummed = undefined;
  }

  /** Resolves once it hears these of the tones for `ms`, and none of the others. @throws Error when that does not come. */
  hears(tones: readonly number[], among: readonly number[], ms = 400): Promise<void> {
    const wanted = tones.join();
    return this.until(
      () => tonesIn(this.audio(), among, { ms }).join() === wanted,
      `${wanted} Hz of ${among.join()} Hz`,
    );
  }

  /**
   * Presses a digit for a multiple of 20 ms: one event, its end told three times (RFC 4733 2.5.1.4). Its packets come at
   * once, as from a network that held them back: on a busy machine there would be longer between two of them than a
   * receiver waits for an end.
   */
  async press(digit: string, durationMs: number): Promise<void> {
    const event = digits.indexOf(digit);
    const begin = this.#timestamp;
    for (let ms = packetMs; ms < durationMs; ms += packetMs)
      this.#send(telephoneEvent, ms === packetMs, begin, eventPayload(event, false, ms));
    for (let time = 0; time < 3; time++)
      this.#send(telephoneEvent, false, begin, eventPayload(event, true, durationMs));
    this.#timestamp = begin + durationMs * samplesPerMs;
    await packetTime();
  }

  async close(): Promise<void> {
    this.hush();
    await this.#humming;
    this.#socket.close();
    await once(this.#socket, 'close');
  }

  async #hum(): Promise<void> {
    const begun = performance.now();
    for (let packet = 0; this.#hummed; packet++) {
      const { payloadType, packets, ticks } = this.#hummed;
      const isOneOf = (count: number): boolean => count > 0 && packet % count === count - 1;
      if (isOneOf(this.delaysOneOf)) await due(begun + packetMs * (packet + 0.9));
      if (isOneOf(this.losesOneOf)) this.#sequence++;
      else this.#send(payloadType, packet === 0, this.#timestamp, packets[packet % packets.length]!);
      this.#timestamp += ticks;
      await due(begun + packetMs * (packet + 1));
    }
    this.#humming = undefined;
  }

  #send(payloadType: number, marker: boolean, timestamp: number, payload: Buffer): void {
    const header = Buffer.alloc(12);
    header[0] = 0x80;
    header[1] = (marker ? 0x80 : 0) | payloadType;
    header.writeUInt16BE(this.#sequence++ & 0xffff, 2);
    header.writeUInt32BE(timestamp >>> 0, 4);
    header.writeUInt32BE(this.#ssrc, 8);
    if (!this.#remote) throw new Error('no RTP has come yet: nowhere to send');
    this.#socket.send(Buffer.concat([header, payload]), this.#remote.port, this.#remote.address);
  }

  #hear(data: Buffer, from: { address: string; port: number }): void {
    if (isControl(data)) return;
    this.#remote ??= { address: from.address, port: from.port };
    const packet = {
      marker: data[1]! >> 7 === 1,
      payloadType: data[1]! & 0x7f,
      sequence: data.readUInt16BE(2),
      timestamp: data.readUInt32BE(4),
      ssrc: data.readUInt32BE(8),
      payload: Buffer.from(data.subarray(12)),
    };
    this.packets.push(packet);
    if (packet.payloadType === ulaw) this.#place(packet);
    for (const look of [...this.#waiting]) look();
  }

  /** Puts the octets of a packet where they belong: who waits looks at all of them with each packet. */
  #place({ timestamp, payload }: RtpPacket): void {
    this.#heardFrom ??= timestamp;
    const at = (timestamp - this.#heardFrom) | 0;
    const end = at + payload.length;
    if (at < 0) return;
    if (end > this.#heard.length) {
      const wider = Buffer.alloc(2 * end, 0xff);
      this.#heard.copy(wider);
      this.#heard = wider;
    }
    payload.copy(this.#heard, at);
    this.#heardEnd = Math.max(this.#heardEnd, end);
  }
}

/** A phone sends at its own pace: the next packet is due 20 ms later. */
const packetTime = (): Promise<void> => new Promise((due) => setTimeout(due, packetMs));

/** It keeps its pace however late a packet was. */
const due = (at: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, at - performance.now()));

function eventPayload(event: number, end: boolean, durationMs: number): Buffer {
  const payload = Buffer.from([event, (end ? 0x80 : 0) | 10, 0, 0]);
  payload.writeUInt16BE(durationMs * samplesPerMs, 2);
  return payload;
}
