import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { isControl } from '../rtp-peer.ts';
import { boundPair } from '../socket-pair.ts';
import { untilHolds } from '../waiting.ts';
import { type Clip, framesPerSecond } from './clips.ts';
import { packetise } from './packetise.ts';
import type { VideoPacketHeard } from './pictures.ts';

/** Feedback that came by RTCP. */
export type FeedbackHeard = {
  type: 'pli' | 'fir' | 'nack' | 'tmmbr' | 'tmmbn' | 'remb' | 'report' | 'bye';
  at: number;
  missed: number[];
  /** Bit/s that are asked for, or were. */
  bitrate?: number;
};

export type VideoPeerOptions = {
  payloadType?: number;
  ssrc?: number;
  /** Picture ids of VP8: of 15 bits, of 7, or none. */
  pictureIds?: 'long' | 'short' | 'none';
  /** Packets that are left out, by how many were sent before, as if they were lost. */
  loses?: (count: number) => boolean;
};

/**
 * A far side with a camera and a screen, written against the RFCs alone and sharing no code with the server: sends a clip at
 * the pace of a camera, begins it anew when a key frame is asked for, keeps what it receives.
 */
export class VideoPeer {
  readonly packets: VideoPacketHeard[] = [];
  readonly feedback: FeedbackHeard[] = [];
  /** Packets that it sent, by their numbers, those that it lost on purpose included. */
  readonly sent = new Map<number, Buffer>();
  readonly #options: Required<VideoPeerOptions>;
  readonly #rtp: Socket;
  readonly #rtcp: Socket;
  readonly #waiting = new Set<() => void>();
  #remote: { address: string; port: number } | undefined;
  #clip: Clip | undefined;
  #showing: Promise<void> | undefined;
  #frame = 0;
  #sequence = 60_000;
  #timestamp = 0xffff_0000;
  #pictureId = 100;
  #count = 0;
  /** Key frames that it sent. */
  keyFrames = 0;

  private constructor(rtp: Socket, rtcp: Socket, options: VideoPeerOptions) {
    this.#rtp = rtp;
    this.#rtcp = rtcp;
    const defaults = { payloadType: 96, ssrc: 0x5eed_0000 + rtp.address().port, pictureIds: 'long' } as const;
    this.#options = { ...defaults, loses: () => false, ...options };
    rtp.on('message', (data) => this.#hear(data));
    rtcp.on('message', (data) => this.#hearControl(data));
  }

  /** Opens a pair of ports on 127.0.0.1. */
  static async open(options: VideoPeerOptions = {}): Promise<VideoPeer> {
    const { rtp, rtcp } = await boundPair();
    return new VideoPeer(rtp, rtcp, options);
  }

  get port(): number {
    return this.#rtp.address().port;
  }

  get ssrc(): number {
    return this.#options.ssrc;
  }

  /** Where to send. */
  sendTo(port: number, address = '127.0.0.1'): void {
    this.#remote = { address, port };
  }

  /** Sends a clip again and again, or nothing any more. */
  show(clip: Clip | undefined): void {
    this.#clip = clip;
    this.#frame = 0;
    if (clip) this.#showing ??= this.#show();
  }

  /** Asks for a key frame of what it hears. */
  askKeyFrame(): void {
    this.#control(feedbackPacket(206, 1, this.ssrc, this.#heardSsrc()));
  }

  /** Asks for one by a full intra request. */
  askIntra(number: number): void {
    const fci = Buffer.alloc(8);
    fci.writeUInt32BE(this.#heardSsrc(), 0);
    fci[4] = number;
    this.#control(feedbackPacket(206, 4, this.ssrc, 0, fci));
  }

  /** Says that it takes so many bit/s, written as `mantissa × 2^exponent` (RFC 5104 4.2.1.1). */
  bound(mantissa: number, exponent: number, ssrc = this.#heardSsrc()): void {
    const fci = Buffer.alloc(8);
    fci.writeUInt32BE(ssrc, 0);
    fci.writeUInt32BE(exponent * 2 ** 26 + mantissa * 2 ** 9 + 40, 4);
    this.#control(feedbackPacket(205, 3, this.ssrc, 0, fci));
  }

  /** Says so as browsers do, of one stream or several. */
  estimate(mantissa: number, exponent: number, ssrcs: readonly number[] = [this.#heardSsrc()]): void {
    const fci = Buffer.alloc(8 + 4 * ssrcs.length);
    fci.write('REMB', 'latin1');
    fci.writeUInt32BE(ssrcs.length * 2 ** 24 + exponent * 2 ** 18 + mantissa, 4);
    for (const [index, ssrc] of ssrcs.entries()) fci.writeUInt32BE(ssrc, 8 + 4 * index);
    this.#control(feedbackPacket(206, 15, this.ssrc, 0, fci));
  }

  /** Says that it misses a packet. */
  miss(sequence: number): void {
    const fci = Buffer.from([sequence >> 8, sequence & 0xff, 0, 0]);
    this.#control(feedbackPacket(205, 1, this.ssrc, this.#heardSsrc(), fci));
  }

  /** Sends octets as they are. */
  sendRaw(octets: Buffer): void {
    const { address, port } = this.#remote!;
    this.#rtp.send(octets, port, address);
  }

  /** Resolves once a condition on what was received holds. @throws Error when it does not come to hold. */
  until(holds: () => boolean, what: string): Promise<void> {
    return untilHolds(this.#waiting, holds, () => `${what} did not come; ${this.packets.length} packets did`);
  }

  /** Waits for as many whole frames after what was heard so far. */
  async sees(frames: number): Promise<void> {
    const from = this.packets.length;
    const ended = () => this.packets.slice(from).filter(({ marker }) => marker).length;
    await this.until(() => ended() >= frames, `${frames} frames`);
  }

  async close(): Promise<void> {
    this.show(undefined);
    await this.#showing;
    this.#rtp.close();
    await once(this.#rtcp, 'close');
  }

  async #show(): Promise<void> {
    const begun = performance.now();
    for (let count = 1; this.#clip; count++) {
      this.#sendFrame(this.#clip);
      this.#timestamp = (this.#timestamp + 90_000 / framesPerSecond) % 0x1_0000_0000;
      await new Promise<void>((due) => setTimeout(due, begun + (1000 * count) / framesPerSecond - performance.now()));
    }
    this.#showing = undefined;
  }

  #sendFrame({ codec, frames }: Clip): void {
    if (this.#frame === 0) this.keyFrames++;
    const frame = frames[this.#frame]!;
    this.#frame = (this.#frame + 1) % frames.length;
    const { pictureIds } = this.#options;
    const ids = pictureIds === 'none' ? {} : { pictureId: this.#pictureId++, short: pictureIds === 'short' };
    const payloads = packetise(codec, frame, ids);
    for (const [index, payload] of payloads.entries()) this.#send(payload, index === payloads.length - 1);
  }

  #send(payload: Buffer, marker: boolean): void {
    const header = Buffer.alloc(12);
    header[0] = 0x80;
    header[1] = (marker ? 0x80 : 0) | this.#options.payloadType;
    const sequence = this.#sequence++ & 0xffff;
    header.writeUInt16BE(sequence, 2);
    header.writeUInt32BE(this.#timestamp, 4);
    header.writeUInt32BE(this.ssrc, 8);
    const packet = Buffer.concat([header, payload]);
    this.sent.set(sequence, packet);
    if (this.#remote && !this.#options.loses(this.#count++)) this.sendRaw(packet);
  }

  #hear(data: Buffer): void {
    // The RTCP of a neighbour's audio may come here.
    if (data.length < 12 || data[0]! >> 6 !== 2 || isControl(data)) return;
    const padding = data[0]! & 0x20 ? data[data.length - 1]! : 0;
    this.packets.push({
      marker: data[1]! >> 7 === 1,
      payloadType: data[1]! & 0x7f,
      sequence: data.readUInt16BE(2),
      timestamp: data.readUInt32BE(4),
      ssrc: data.readUInt32BE(8),
      payload: Buffer.from(data.subarray(12, data.length - padding)),
    });
    this.#look();
  }

  #hearControl(data: Buffer): void {
    for (let at = 0; at + 4 <= data.length; ) {
      const length = 4 * (data.readUInt16BE(at + 2) + 1);
      this.#hearFeedback(data.subarray(at, at + length));
      at += length;
    }
    this.#look();
  }

  #hearFeedback(packet: Buffer): void {
    const kind = `${packet[1]} ${packet[0]! & 0x1f}`;
    const at = performance.now();
    if (packet[1] === 200) this.feedback.push({ type: 'report', at, missed: [] });
    if (packet[1] === 203) this.feedback.push({ type: 'bye', at, missed: [] });
    const isIntra = kind === '206 4' && packet.readUInt32BE(12) === this.ssrc;
    const isOurs = packet.length >= 12 && packet.readUInt32BE(8) === this.ssrc;
    if (isIntra || (kind === '206 1' && isOurs)) {
      this.feedback.push({ type: isIntra ? 'fir' : 'pli', at, missed: [] });
      this.#frame = 0;
    }
    if ((kind === '205 3' || kind === '205 4') && packet.readUInt32BE(12) === this.ssrc) {
      const word = packet.readUInt32BE(16);
      const bitrate = ((word >>> 9) & 0x1_ffff) * 2 ** (word >>> 26);
      this.feedback.push({ type: kind === '205 3' ? 'tmmbr' : 'tmmbn', at, missed: [], bitrate });
    }
    if (kind === '206 15' && packet.toString('latin1', 12, 16) === 'REMB' && packet.readUInt32BE(20) === this.ssrc) {
      const word = packet.readUInt32BE(16);
      this.feedback.push({ type: 'remb', at, missed: [], bitrate: (word & 0x3_ffff) * 2 ** ((word >>> 18) & 0x3f) });
    }
    if (kind !== '205 1' || !isOurs) return;
    const missed: number[] = [];
    for (let each = 12; each + 4 <= packet.length; each += 4) {
      const [first, following] = [packet.readUInt16BE(each), packet.readUInt16BE(each + 2)];
      missed.push(first);
      for (let bit = 0; bit < 16; bit++) if (following & (1 << bit)) missed.push((first + bit + 1) & 0xffff);
    }
    this.feedback.push({ type: 'nack', at, missed });
    for (const sequence of missed) {
      const packetAgain = this.sent.get(sequence);
      if (packetAgain) this.sendRaw(packetAgain);
    }
  }

  #control(feedback: Buffer): void {
    // An empty report first (RFC 3550 section 6.1).
    const report = Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 0]);
    report.writeUInt32BE(this.ssrc, 4);
    const { address, port } = this.#remote!;
    this.#rtcp.send(Buffer.concat([report, feedback]), port + 1, address);
  }

  #heardSsrc(): number {
    return this.packets.at(-1)?.ssrc ?? 0;
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }
}

function feedbackPacket(type: number, format: number, ours: number, theirs: number, fci = Buffer.alloc(0)): Buffer {
  const packet = Buffer.alloc(12 + fci.length);
  packet[0] = 0x80 | format;
  packet[1] = type;
  packet.writeUInt16BE(packet.length / 4 - 1, 2);
  packet.writeUInt32BE(ours, 4);
  packet.writeUInt32BE(theirs, 8);
  fci.copy(packet, 12);
  return packet;
}
