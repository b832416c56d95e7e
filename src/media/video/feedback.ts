import { readUint32, writeUint32 } from '../rtp/header.ts';

/** What a far side says about one of our streams. */
export interface FeedbackListener {
  /** It needs a key frame: a picture loss indication, or a full intra request that it has not made before. */
  keyFrameAsked(): void;
  /** It misses a packet. @param sequence its number, 16 bits. */
  missed(sequence: number): void;
}

/** Packet types and formats of RTCP feedback (RFC 4585 6.1, RFC 5104 4.3.1). */
const transport = { type: 205, nack: 1 } as const;
const payload = { type: 206, pli: 1, fir: 4 } as const;
const headerOctets = 12;

/** Numbers of full intra requests: a request that is repeated has the number of the one before. */
export type IntraRequests = { last: number };

/**
 * Reads the feedback of a compound RTCP packet that is about `ssrc`, or one that goes alone (RFC 5506). What makes no sense ends
 * it; nothing is thrown. Of one packet at most `most` missed packets are told, so that none is worth more work than others.
 *
 * ```text
 * |V=2|P|  FMT    |       PT      |          length               |
 * |                  SSRC of packet sender                        |
 * |                  SSRC of media source                         |
 * :            Feedback Control Information (FCI)                 :
 * ```
 */
export function readFeedback(
  packet: Uint8Array,
  ssrc: number,
  intra: IntraRequests,
  listener: FeedbackListener,
  most: number,
): void {
  let left = most;
  let at = 0;
  while (at + headerOctets <= packet.length) {
    const first = packet[at]!;
    const length = 4 * (((packet[at + 2]! << 8) | packet[at + 3]!) + 1);
    const end = at + length;
    if (first >> 6 !== 2 || end > packet.length) return;
    const format = first & 0x1f;
    const type = packet[at + 1]!;
    if (length >= headerOctets) {
      const about = readUint32(packet, at + 8);
      if (type === transport.type && format === transport.nack && about === ssrc)
        left = readMissed(packet, at + headerOctets, end, listener, left);
      else if (type === payload.type && format === payload.pli && about === ssrc) listener.keyFrameAsked();
      else if (type === payload.type && format === payload.fir)
        readIntra(packet, at + headerOctets, end, ssrc, intra, listener);
    }
    at = end;
  }
}

function readMissed(packet: Uint8Array, start: number, end: number, listener: FeedbackListener, most: number): number {
  let left = most;
  for (let at = start; at + 4 <= end; at += 4) {
    const first = (packet[at]! << 8) | packet[at + 1]!;
    const following = (packet[at + 2]! << 8) | packet[at + 3]!;
    for (let step = 0; step <= 16; step++) {
      if (step > 0 && !(following & (1 << (step - 1)))) continue;
      if (left-- <= 0) return 0;
      listener.missed((first + step) & 0xffff);
    }
  }
  return left;
}

function readIntra(
  packet: Uint8Array,
  start: number,
  end: number,
  ssrc: number,
  intra: IntraRequests,
  listener: FeedbackListener,
): void {
  for (let at = start; at + 8 <= end; at += 8) {
    if (readUint32(packet, at) !== ssrc || packet[at + 4] === intra.last) continue;
    intra.last = packet[at + 4]!;
    listener.keyFrameAsked();
  }
}

/** Asks for a key frame by a picture loss indication (RFC 4585 6.3.1). */
export function pictureLoss(ours: number, theirs: number): Uint8Array {
  return feedback(payload.pli, payload.type, ours, theirs, new Uint8Array(0));
}

/** Asks for a key frame by a full intra request (RFC 5104 4.3.1). @param number one more than the one before. */
export function intraRequest(ours: number, theirs: number, number: number): Uint8Array {
  const fci = new Uint8Array(8);
  writeUint32(fci, 0, theirs);
  fci[4] = number;
  return feedback(payload.fir, payload.type, ours, 0, fci);
}

/** Says what packets are missed (RFC 4585 6.2.1). @param sequences in their order, of 16 bits. */
export function missing(ours: number, theirs: number, sequences: readonly number[]): Uint8Array {
  const pairs: { first: number; following: number }[] = [];
  for (const sequence of sequences) {
    const last = pairs.at(-1);
    const step = last ? (sequence - last.first) & 0xffff : 0;
    if (last && step >= 1 && step <= 16) last.following |= 1 << (step - 1);
    else pairs.push({ first: sequence, following: 0 });
  }
  const fci = new Uint8Array(4 * pairs.length);
  for (const [index, { first, following }] of pairs.entries())
    fci.set([first >> 8, first & 0xff, following >> 8, following & 0xff], 4 * index);
  return feedback(transport.nack, transport.type, ours, theirs, fci);
}

function feedback(format: number, type: number, ours: number, theirs: number, fci: Uint8Array): Uint8Array {
  const packet = new Uint8Array(headerOctets + fci.length);
  packet[0] = 0x80 | format;
  packet[1] = type;
  packet[3] = packet.length / 4 - 1;
  writeUint32(packet, 4, ours);
  writeUint32(packet, 8, theirs);
  packet.set(fci, headerOctets);
  return packet;
}
