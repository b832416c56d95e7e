import { readUint32, writeUint32 } from '../rtp/header.ts';

/** Feedback of a far side about one of our streams. */
export interface FeedbackListener {
  /** It needs a key frame: a picture loss indication, or a full intra request that it has not made before. */
  keyFrameAsked(): void;
  /** It misses a packet. @param sequence its number, 16 bits. */
  missed(sequence: number): void;
  /**
   * Highest bit rate that it accepts; Infinity if it names more than any stream has.
   * @param bound the request to confirm (RFC 5104 4.2.2); undefined: an estimate.
   */
  bitrateAsked(bitrate: number, bound: BitrateBound | undefined): void;
}

/** How a far side asks for a lower bit rate: TMMBR (RFC 5104 4.2.1), REMB (draft-alvestrand-rmcat-remb 2.2). */
export type BitrateWay = 'tmmbr' | 'remb';

/** A requested bit rate: its owner, and its word as received (RFC 5104 4.2.1.1). */
export type BitrateBound = { owner: number; word: number };

/** Bit/s that are as good as no bound, and how that is said: as much as a setting may be. */
export const mostBitrate = 1_000_000_000;

/** Packet types and formats of RTCP feedback (RFC 4585 6.1, RFC 5104 4.3.1). */
const messages = {
  nack: { type: 205, format: 1 },
  tmmbr: { type: 205, format: 3 },
  tmmbn: { type: 205, format: 4 },
  pli: { type: 206, format: 1 },
  fir: { type: 206, format: 4 },
  remb: { type: 206, format: 15 },
} as const;
type Message = keyof typeof messages;
const messageNames: ReadonlyMap<number, Message> = new Map(
  Object.entries(messages).map(([name, { type, format }]) => [type * 32 + format, name as Message]),
);
/** `REMB`, which identifies it among packets of format 15. */
const rembName = 0x52_45_4d_42;
/** Overhead of a packet that bit rates do not count: headers of IPv4, UDP and RTP (RFC 5104 4.2.1.1). */
const overheadOctets = 40;
const headerOctets = 12;

/** Numbers of full intra requests: a request that is repeated has the number of the one before. */
export type IntraRequests = { last: number };

/** One of our streams that a far side gives feedback about. */
type FeedbackTarget = {
  ssrc: number;
  intra: IntraRequests;
  /** Most missed packets that one packet may report, to bound the work. */
  mostMissed: number;
};

/**
 * Reads the feedback about a stream in a compound RTCP packet, or in a reduced-size one (RFC 5506). Invalid data ends
 * it without an exception.
 *
 * ```text
 * |V=2|P|  FMT    |       PT      |          length               |
 * |                  SSRC of packet sender                        |
 * |                  SSRC of media source                         |
 * :            Feedback Control Information (FCI)                 :
 * ```
 */
export function readFeedback(packet: Uint8Array, target: FeedbackTarget, listener: FeedbackListener): void {
  let left = target.mostMissed;
  let at = 0;
  while (at + headerOctets <= packet.length) {
    const first = packet[at]!;
    const length = 4 * (((packet[at + 2]! << 8) | packet[at + 3]!) + 1);
    const end = at + length;
    if (first >> 6 !== 2 || end > packet.length) return;
    const message = messageNames.get(packet[at + 1]! * 32 + (first & 0x1f));
    if (message !== undefined && length >= headerOctets)
      left = readMessage(message, packet.subarray(at, end), { ...target, mostMissed: left }, listener);
    at = end;
  }
}

/** Reads one feedback message. @returns how many missed packets may still be reported. */
function readMessage(
  message: Message,
  packet: Uint8Array,
  { ssrc, intra, mostMissed }: FeedbackTarget,
  listener: FeedbackListener,
): number {
  const isAboutIt = readUint32(packet, 8) === ssrc;
  const fci = packet.subarray(headerOctets);
  if (message === 'nack' && isAboutIt) return readMissed(fci, listener, mostMissed);
  if (message === 'pli' && isAboutIt) listener.keyFrameAsked();
  if (message === 'fir') readIntra(fci, ssrc, intra, listener);
  if (message === 'tmmbr') readRequest(fci, ssrc, readUint32(packet, 4), listener);
  if (message === 'remb') readEstimate(fci, ssrc, listener);
  return mostMissed;
}

function readMissed(fci: Uint8Array, listener: FeedbackListener, most: number): number {
  let left = most;
  for (let at = 0; at + 4 <= fci.length; at += 4) {
    const first = (fci[at]! << 8) | fci[at + 1]!;
    const following = (fci[at + 2]! << 8) | fci[at + 3]!;
    for (let step = 0; step <= 16; step++) {
      if (step > 0 && !(following & (1 << (step - 1)))) continue;
      if (left-- <= 0) return 0;
      listener.missed((first + step) & 0xffff);
    }
  }
  return left;
}

function readIntra(fci: Uint8Array, ssrc: number, intra: IntraRequests, listener: FeedbackListener): void {
  for (let at = 0; at + 8 <= fci.length; at += 8) {
    if (readUint32(fci, at) !== ssrc || fci[at + 4] === intra.last) continue;
    intra.last = fci[at + 4]!;
    listener.keyFrameAsked();
  }
}

/**
 * ```text
 * |                              SSRC                             |
 * | MxTBR Exp |  MxTBR Mantissa                 |Measured Overhead|
 * ```
 */
function readRequest(fci: Uint8Array, ssrc: number, owner: number, listener: FeedbackListener): void {
  for (let at = 0; at + 8 <= fci.length; at += 8) {
    if (readUint32(fci, at) !== ssrc) continue;
    const word = readUint32(fci, at + 4);
    listener.bitrateAsked(bounded(((word >>> 9) & 0x1_ffff) * 2 ** (word >>> 26)), { owner, word });
    return;
  }
}

/**
 * ```text
 * |  Unique identifier 'R' 'E' 'M' 'B'                            |
 * |  Num SSRC     | BR Exp    |  BR Mantissa                      |
 * |   SSRC feedback                                               |
 * ```
 */
function readEstimate(fci: Uint8Array, ssrc: number, listener: FeedbackListener): void {
  if (fci.length < 8 || readUint32(fci, 0) !== rembName) return;
  const streams = Math.min(fci[4]!, (fci.length - 8) >> 2);
  for (let stream = 0; stream < streams; stream++) {
    if (readUint32(fci, 8 + 4 * stream) !== ssrc) continue;
    const word = readUint32(fci, 4);
    listener.bitrateAsked(bounded((word & 0x3_ffff) * 2 ** ((word >>> 18) & 0x3f)), undefined);
    return;
  }
}

const bounded = (bitrate: number): number => (bitrate >= mostBitrate ? Number.POSITIVE_INFINITY : bitrate);

/** A bit rate as mantissa and exponent: the largest that is not more. */
function floating(bitrate: number, mantissaBits: number): { exponent: number; mantissa: number } {
  let exponent = 0;
  let mantissa = Math.floor(bitrate);
  for (; mantissa >= 2 ** mantissaBits; exponent++) mantissa = Math.floor(mantissa / 2);
  return { exponent, mantissa };
}

/** Requests a highest bit rate (RFC 5104 4.2.1). */
export function bitrateRequest(ours: number, theirs: number, bitrate: number): Uint8Array {
  const { exponent, mantissa } = floating(bitrate, 17);
  return boundOf('tmmbr', ours, theirs, exponent * 2 ** 26 + mantissa * 2 ** 9 + overheadOctets);
}

/** Tells a far side that what it has asked for holds (RFC 5104 4.2.2). */
export function bitrateNotification(ours: number, { owner, word }: BitrateBound): Uint8Array {
  return boundOf('tmmbn', ours, owner, word);
}

function boundOf(message: 'tmmbr' | 'tmmbn', ours: number, whose: number, word: number): Uint8Array {
  const fci = new Uint8Array(8);
  writeUint32(fci, 0, whose);
  writeUint32(fci, 4, word);
  return feedback(message, ours, 0, fci);
}

/** Requests a highest bit rate, as browsers do (draft-alvestrand-rmcat-remb 2.2). */
export function estimatedBitrate(ours: number, theirs: number, bitrate: number): Uint8Array {
  const { exponent, mantissa } = floating(bitrate, 18);
  const fci = new Uint8Array(12);
  writeUint32(fci, 0, rembName);
  writeUint32(fci, 4, 2 ** 24 + exponent * 2 ** 18 + mantissa);
  writeUint32(fci, 8, theirs);
  return feedback('remb', ours, 0, fci);
}

/** Asks for a key frame by a picture loss indication (RFC 4585 6.3.1). */
export function pictureLoss(ours: number, theirs: number): Uint8Array {
  return feedback('pli', ours, theirs, new Uint8Array(0));
}

/** Requests a key frame by a full intra request (RFC 5104 4.3.1). @param number increases with each request. */
export function intraRequest(ours: number, theirs: number, number: number): Uint8Array {
  const fci = new Uint8Array(8);
  writeUint32(fci, 0, theirs);
  fci[4] = number;
  return feedback('fir', ours, 0, fci);
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
  return feedback('nack', ours, theirs, fci);
}

function feedback(message: Message, ours: number, theirs: number, fci: Uint8Array): Uint8Array {
  const { type, format } = messages[message];
  const packet = new Uint8Array(headerOctets + fci.length);
  packet[0] = 0x80 | format;
  packet[1] = type;
  packet[3] = packet.length / 4 - 1;
  writeUint32(packet, 4, ours);
  writeUint32(packet, 8, theirs);
  packet.set(fci, headerOctets);
  return packet;
}
