import { rtxSourceOf } from '../../lib/webrtc.ts';
import { headerLength, type RtpHeader, writeUint32 } from '../rtp/header.ts';
import type { SessionMemory } from '../session-memory.ts';
import type { PacketRoom } from './packet-room.ts';
import { videoWord } from './stream-memory.ts';

/**
 * Retransmissions as a stream of their own (RFC 4588 section 4): timestamp and marker are those of the original packet.
 *
 * ```text
 * |                         RTP Header                            |
 * |            OSN                |                               |
 * |                  Original RTP Packet Payload                  |
 * ```
 */

/** Octets of OSN, the original sequence number. */
const osnOctets = 2;
/** Marks padding at the end of a packet. */
const hasPadding = 0x20;

/**
 * The packet that a retransmission repeats; undefined where it has none, as padding that probes for bandwidth.
 * @param packet is changed. @param header of the packet. @param payloadType and @param ssrc of the original stream.
 */
export function unwrapRtx(
  packet: Uint8Array,
  { marker, payloadStart, payloadEnd }: RtpHeader,
  payloadType: number,
  ssrc: number,
): Uint8Array | undefined {
  if (payloadEnd - payloadStart < osnOctets) return undefined;
  const [high, low] = [packet[payloadStart]!, packet[payloadStart + 1]!];
  // The head moves over the number: extensions stay, and the payload is where it was.
  packet.copyWithin(osnOctets, 0, payloadStart);
  const original = packet.subarray(osnOctets);
  original[1] = marker ? payloadType | 0x80 : payloadType;
  original[2] = high;
  original[3] = low;
  writeUint32(original, 8, ssrc);
  return original;
}

type RtxStreamOptions = {
  /** Memory of the stream's numbers. */
  readonly memory: SessionMemory;
  readonly random32: () => number;
  /** Memory for packets. */
  readonly room: PacketRoom;
  readonly send: (packet: Uint8Array) => void;
  /** Whether what was sent may be changed when `send` returns. */
  readonly copies: () => boolean;
};

/** Our retransmissions of one stream. Their numbers are in its memory: no thread or process uses one of another. */
export class RtxStream {
  readonly #options: RtxStreamOptions;

  constructor(options: RtxStreamOptions) {
    this.#options = options;
  }

  /** Sends a packet of ours again. @param packet without sources and extensions. */
  send(packet: Uint8Array, payloadType: number): void {
    const { memory, random32, room, send, copies } = this.#options;
    const { rtxSequence } = videoWord;
    // In the lower half, as the first number of the stream itself (RFC 3711 3.3.1), and not 0.
    memory[rtxSequence] ||= 1 + (random32() & 0x3fff);
    const sequence = memory[rtxSequence]++;
    const out = room.take(packet.length + osnOctets);
    out.set(packet.subarray(0, headerLength));
    out[0] = 0x80 | (packet[0]! & hasPadding);
    out[1] = (packet[1]! & 0x80) | payloadType;
    out[2] = sequence >> 8;
    out[3] = sequence;
    writeUint32(out, 8, rtxSourceOf(memory[videoWord.ssrc]!));
    out[headerLength] = packet[2]!;
    out[headerLength + 1] = packet[3]!;
    out.set(packet.subarray(headerLength), headerLength + osnOctets);
    send(out);
    if (copies()) room.give(out);
  }
}
