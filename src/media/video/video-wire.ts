import type { LimitHit } from '../../lib/limit-counts.ts';
import type { VideoCodec } from '../../telephony/video.ts';
import type { WakeUps } from '../pipe/wake-up.ts';
import { Wire, type WirePlan } from '../pipe/wire.ts';
import type { VideoPacket } from './camera.ts';

/** Control messages between pipe sides; cameras are named by the numbers of their sessions at the mix. */
export type VideoPipeMessage =
  /** Of the session: whether its camera sends. */
  | { type: 'camera'; live: boolean }
  /** A viewer needs a key frame: of a camera there, or of the session's own; of one size of its picture, or of all. */
  | { type: 'ask'; camera?: number; layer?: number }
  /** Whether anybody waits for or is shown a camera there, or the session's own. */
  | { type: 'watch'; on: boolean; camera?: number }
  /** Bit/s that those take who are shown a camera there, or the session's own; left out = all there is. */
  | { type: 'takes'; bitrate?: number; camera?: number }
  /** From the mix: the member that a stream of the session shows. */
  | { type: 'show'; stream: number; camera?: number };

/** A packet that was carried between threads, with its metadata. */
export type CarriedPacket = Pick<
  VideoPacket,
  'layer' | 'codec' | 'octets' | 'index' | 'time' | 'generation' | 'key' | 'sets'
>;

/** Hears what the other side sent, in its order. */
export interface VideoWireListener {
  hearPacket(camera: number, packet: CarriedPacket): void;
  hearMessage(message: VideoPipeMessage): void;
}

const kinds = { packet: 1, message: 2 } as const;
const codecs: readonly VideoCodec[] = ['vp8', 'vp9', 'h264', 'av1'];
/** Camera, generation, index, time, codec, size, number of parameter sets. */
const prefixOctets = 28;
const longestRecord = 0xffff;
/** Messages that wait for room, at most; a thread that takes none for so long is about to be ended. */
const mostWaiting = 1024;

/** Transfers video packets and messages between threads, in order. Packets without space are lost. */
export class VideoWire {
  readonly #wire: Wire<VideoPipeMessage>;
  readonly #record = Buffer.alloc(longestRecord);

  readonly #hit: LimitHit;

  /** @param hit counts packets without space. */
  constructor(plan: WirePlan, wakeUps: WakeUps, hit: LimitHit) {
    this.#hit = hit;
    this.#wire = new Wire(plan, wakeUps, { messageKind: kinds.message, mostWaiting });
  }

  /** Sends a packet; false if it is lost. */
  packet(camera: number, packet: VideoPacket): boolean {
    const record = this.#record;
    const { octets, sets } = packet;
    let length = prefixOctets + sets.reduce((sum, set) => sum + 2 + set.length, 0) + octets.length;
    if (length > longestRecord) return false;
    record.writeUInt32LE(camera, 0);
    record.writeUInt32LE(packet.generation, 4);
    record.writeDoubleLE(packet.index, 8);
    record.writeDoubleLE(packet.time, 16);
    record.writeUInt8(codecs.indexOf(packet.codec), 24);
    record.writeUInt8(packet.layer, 25);
    record.writeUInt16LE(sets.length, 26);
    length = prefixOctets;
    for (const set of sets) {
      record.writeUInt16LE(set.length, length);
      record.set(set, length + 2);
      length += 2 + set.length;
    }
    record.set(octets, length);
    const isSent = this.#wire.send(kinds.packet, packet.key, record.subarray(0, length + octets.length));
    if (!isSent) this.#hit('media.video.thread_backlog');
    return isSent;
  }

  /** Sends a message, or queues it until there is space. */
  tell(message: VideoPipeMessage): void {
    this.#wire.tell(message);
  }

  /** Hands out everything that has come. */
  read(listener: VideoWireListener): void {
    const wire = this.#wire;
    for (let record = wire.read(); record; record = wire.read()) {
      const { kind, flag, octets } = record;
      if (kind === kinds.packet)
        this.#readPacket(Buffer.from(octets.buffer, octets.byteOffset, octets.length), flag, listener);
      else listener.hearMessage(wire.messageOf(record));
    }
  }

  #readPacket(record: Buffer, key: boolean, listener: VideoWireListener): void {
    const sets: Uint8Array[] = [];
    let at = prefixOctets;
    for (let left = record.readUInt16LE(26); left > 0; left--) {
      const length = record.readUInt16LE(at);
      sets.push(record.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
    listener.hearPacket(record.readUInt32LE(0), {
      codec: codecs[record.readUInt8(24)]!,
      layer: record.readUInt8(25),
      octets: record.subarray(at),
      index: record.readDoubleLE(8),
      time: record.readDoubleLE(16),
      generation: record.readUInt32LE(4),
      key,
      sets,
    });
  }
}
