/**
 * Headers of the last packets of an RTP session, in memory shared by threads: written by the session's thread, readable
 * also after its end. It has no audio.
 */

/** Packets of audio and of video are kept apart, so that one does not push out the other. */
export type TracedKind = 'audio' | 'video';

/** A packet that came in or went out. */
export type TracedPacket = {
  /** ms since the Unix epoch. */
  at: number;
  direction: 'in' | 'out';
  local: { address: string; port: number };
  remote: { address: string; port: number };
  /** Octets of the whole packet. */
  length: number;
  /** Its first octets: the fixed header of RTP (RFC 3550 5.1), or of RTCP. */
  head: Uint8Array;
};

/** Octets of one packet's record, and of the head. */
const packetOctets = 56;
const headOctets = 64;
/** Octets of a packet that are kept: the fixed header, and nothing of what it carries. */
const keptOctets = 12;
/** Longest literal address, in octets of ASCII, and its place. */
const addressOctets = 45;

/*
 * before:  count u32 | room u32 | octets of address u8 | address …
 * packet:  at f64 | direction u8 | octets kept u8 | our port u16 | their port u16 | length u16 | kept 12 | who u8, 16 …
 */
const place = { at: 0, direction: 8, kept: 9, localPort: 10, remotePort: 12, length: 14, octets: 16, remote: 28 };
/** Addresses as text need more space: their octets are stored, with their number. */
const remoteOctets = 16;

/** Octets that the memory for so many packets takes. */
export const rtpTraceOctets = (packets: number): number => headOctets + packets * packetOctets;

/** Memory for the last `packets` packets. */
export function newRtpTrace(packets: number): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(rtpTraceOctets(packets));
  new DataView(memory).setUint32(4, packets);
  return memory;
}

/** Writes packets down. */
export class RtpTraceWriter {
  readonly #view: DataView;
  readonly #octets: Uint8Array;
  readonly #room: number;
  #count: number;
  #remote = '';
  #remoteOctets: readonly number[] = [];

  /** @param local address that the session has */
  constructor(memory: SharedArrayBuffer, local: string) {
    this.#view = new DataView(memory);
    this.#octets = new Uint8Array(memory);
    this.#room = this.#view.getUint32(4);
    this.#count = this.#view.getUint32(0);
    const address = Buffer.from(local, 'latin1').subarray(0, addressOctets);
    this.#octets[8] = address.length;
    this.#octets.set(address, 9);
  }

  put(packet: Uint8Array, { at, direction, localPort, address, port }: PacketAbout): void {
    if (this.#room === 0) return;
    const view = this.#view;
    const start = headOctets + (this.#count % this.#room) * packetOctets;
    const kept = Math.min(keptOctets, packet.length);
    view.setFloat64(start + place.at, at);
    view.setUint8(start + place.direction, direction === 'in' ? 0 : 1);
    view.setUint8(start + place.kept, kept);
    view.setUint16(start + place.localPort, localPort);
    view.setUint16(start + place.remotePort, port);
    view.setUint16(start + place.length, Math.min(packet.length, 0xffff));
    for (let index = 0; index < kept; index++) this.#octets[start + place.octets + index] = packet[index]!;
    if (address !== this.#remote) {
      this.#remote = address;
      this.#remoteOctets = octetsOfAddress(address);
    }
    const remote = this.#remoteOctets;
    this.#octets[start + place.remote] = remote.length;
    for (let index = 0; index < remote.length; index++) this.#octets[start + place.remote + 1 + index] = remote[index]!;
    this.#count++;
    view.setUint32(0, this.#count);
  }
}

type PacketAbout = { at: number; direction: 'in' | 'out'; localPort: number; address: string; port: number };

/** The packets that are there, oldest first. One that is written just now may be half of another. */
export function readRtpTrace(memory: SharedArrayBuffer): TracedPacket[] {
  const view = new DataView(memory);
  const octets = new Uint8Array(memory);
  const [count, room] = [view.getUint32(0), view.getUint32(4)];
  const local = String.fromCharCode(...octets.slice(9, 9 + view.getUint8(8)));
  const packets: TracedPacket[] = [];
  for (let number = Math.max(0, count - room); number < count; number++) {
    const start = headOctets + (number % room) * packetOctets;
    const kept = view.getUint8(start + place.kept);
    const size = view.getUint8(start + place.remote);
    packets.push({
      at: view.getFloat64(start + place.at),
      direction: view.getUint8(start + place.direction) === 0 ? 'in' : 'out',
      local: { address: local, port: view.getUint16(start + place.localPort) },
      remote: {
        address: addressOf(octets.slice(start + place.remote + 1, start + place.remote + 1 + size)),
        port: view.getUint16(start + place.remotePort),
      },
      length: view.getUint16(start + place.length),
      head: octets.slice(start + place.octets, start + place.octets + kept),
    });
  }
  return packets;
}

/** Four octets or sixteen. */
function octetsOfAddress(address: string): number[] {
  if (!address.includes(':')) return address.split('.').map(Number).slice(0, 4);
  const [left = '', right] = (address.split('%')[0] ?? '').split('::');
  const octetsIn = (part: string): number[] =>
    part
      .split(':')
      .filter((word) => word !== '')
      .flatMap((word) => (word.includes('.') ? octetsOfAddress(word) : [parseWord(word) >> 8, parseWord(word) & 0xff]));
  const [before, after] = [octetsIn(left), octetsIn(right ?? '')];
  const gap = Math.max(0, remoteOctets - before.length - after.length);
  return [...before, ...new Array<number>(gap).fill(0), ...after].slice(0, remoteOctets);
}

const parseWord = (word: string): number => Number.parseInt(word, 16) || 0;

function addressOf(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join('.');
  const words: string[] = [];
  for (let at = 0; at + 1 < octets.length; at += 2)
    words.push((((octets[at] ?? 0) << 8) | (octets[at + 1] ?? 0)).toString(16));
  return words.join(':');
}
