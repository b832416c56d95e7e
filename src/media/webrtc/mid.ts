import type { BundledLine } from '../../lib/webrtc.ts';
import { headerLength } from '../rtp/header.ts';

/**
 * The name of a packet's line in its header extension (RFC 9143 section 15).
 *
 * ```text
 * |       0xBE    |    0xDE       |           length              |   RFC 8285 4.2: elements of an octet
 * |  ID   | L - 1 |  mid ...                                      |
 * |         0x100         |appbits|           length              |   RFC 8285 4.3: elements of two octets
 * |       ID      |       L       |  mid ...                      |
 * ```
 */

const oneOctetForm = 0xbede;
/** Without the four bits of the application. */
const twoOctetForm = 0x100;
/** Ends the elements of one octet (RFC 8285 4.2). */
const endingId = 15;
const hasExtension = 0x10;
const longestMid = 16;

/** The text of an extension in a packet, such as the name of its line; undefined when it has none. @param id its number. */
export function textIn(packet: Uint8Array, id: number): string | undefined {
  const octets = octetsIn(packet, id);
  return octets && String.fromCharCode(...octets);
}

/** The number of 16 bits that an extension in a packet says; undefined when it has none. @param id as above. */
export function numberIn(packet: Uint8Array, id: number): number | undefined {
  const octets = octetsIn(packet, id);
  return octets?.length === 2 ? (octets[0]! << 8) | octets[1]! : undefined;
}

function octetsIn(packet: Uint8Array, id: number): Uint8Array | undefined {
  const start = headerLength + 4 * (packet[0]! & 15);
  if (!(packet[0]! & hasExtension) || packet.length < start + 4) return undefined;
  const form = (packet[start]! << 8) | packet[start + 1]!;
  const end = Math.min(packet.length, start + 4 + 4 * ((packet[start + 2]! << 8) | packet[start + 3]!));
  const isLong = form >> 4 === twoOctetForm;
  if (form !== oneOctetForm && !isLong) return undefined;
  let at = start + 4;
  while (at < end) {
    const first = packet[at]!;
    if (first === 0) {
      at++;
      continue;
    }
    const number = isLong ? first : first >> 4;
    if (!isLong && number === endingId) return undefined;
    const from = at + (isLong ? 2 : 1);
    const to = from + (isLong ? (packet[at + 1] ?? 0) : (first & 15) + 1);
    if (to > end) return undefined;
    if (number === id) return packet.subarray(from, to);
    at = to;
  }
  return undefined;
}

/** Units of a time of sending in a ms: it has 6 bits of seconds and 18 below (abs-send-time). */
const sendTimeUnits = 2 ** 18 / 1000;
const sendTimeOctets = 3;

/**
 * The packet with the name of its line and the time when it is sent, as far as the line has numbers for them; unchanged when it
 * has extensions already. What needs the longer form is left out.
 * @param now monotonic ms.
 */
export function withExtensions(packet: Uint8Array, line: BundledLine, now: number): Uint8Array {
  if (packet[0]! & hasExtension) return packet;
  const { mid, midExtension = endingId, sendTimeExtension = endingId } = line;
  const isNamed = midExtension < endingId && mid.length <= longestMid;
  const isTimed = sendTimeExtension < endingId;
  if (!isNamed && !isTimed) return packet;
  const words = Math.ceil(((isNamed ? 1 + mid.length : 0) + (isTimed ? 1 + sendTimeOctets : 0)) / 4);
  const start = headerLength + 4 * (packet[0]! & 15);
  const named = Buffer.alloc(packet.length + 4 + 4 * words);
  named.set(packet.subarray(0, start));
  named[0]! |= hasExtension;
  named.writeUInt16BE(oneOctetForm, start);
  let at = named.writeUInt16BE(words, start + 2);
  if (isNamed) {
    named[at] = (midExtension << 4) | (mid.length - 1);
    at += 1 + named.write(mid, at + 1, 'latin1');
  }
  if (isTimed) {
    named[at] = (sendTimeExtension << 4) | (sendTimeOctets - 1);
    named.writeUIntBE(Math.floor(now * sendTimeUnits) % 2 ** 24, at + 1, sendTimeOctets);
  }
  named.set(packet.subarray(start), start + 4 + 4 * words);
  return named;
}
