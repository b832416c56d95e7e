import type { TracedPacket } from '../lib/rtp-trace.ts';
import type { Entry, SipEntry } from './entries.ts';
import type { Mask } from './masks.ts';

/** Packets that begin with an IP header (LINKTYPE_RAW). */
const linkType = 101;
const protocolUdp = 17;
/** Largest payload of an IPv4 datagram, less its headers. */
const longestPayload = 65_000;

/*
 *  0                   1                   2                   3
 *  magic a1b2c3d4 | version 2.4 | zone 0 | accuracy 0 | snap length | link type
 */
function fileHeader(): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65_535, 16);
  header.writeUInt32LE(linkType, 20);
  return header;
}

/**
 * SIP messages as a capture file (libpcap 2.4) for Wireshark, tshark and sngrep. Every message is one datagram, also
 * those over TCP. A message without kept body has a header that says so, and length 0. Credentials are removed. Of RTP
 * packets it only has the fixed header.
 */
export function writePcap(entries: readonly Entry[], mask: Mask, rtp: readonly TracedPacket[] = []): Buffer {
  const messages = entries.filter((entry): entry is SipEntry => entry.kind === 'sip');
  const packets = [
    ...messages.map((message) => ({ at: message.at, write: () => writeMessage(message, mask) })),
    ...rtp.map((packet) => ({ at: packet.at, write: () => writeHead(packet) })),
  ].sort((one, other) => one.at - other.at);
  return Buffer.concat([fileHeader(), ...packets.flatMap(({ write }) => write())]);
}

function writeMessage(message: SipEntry, mask: Mask): Buffer[] {
  const payload = Buffer.from(textOf(message, mask), 'latin1').subarray(0, longestPayload);
  return writePacket(message, payload, payload.length);
}

/** A packet of audio of which the head is known, as if it had been cut when it was captured. */
const writeHead = (packet: TracedPacket): Buffer[] => writePacket(packet, Buffer.from(packet.head), packet.length);

/** @param length octets that the whole payload had */
function writePacket(
  about: Pick<SipEntry, 'at' | 'direction' | 'local' | 'remote'>,
  payload: Buffer,
  length: number,
): Buffer[] {
  const { at, direction, local, remote } = about;
  const [from, to] = direction === 'in' ? [remote, local] : [local, remote];
  const ipLength = length + 8;
  const headers = from.address.includes(':')
    ? ipv6Header(from.address, to.address, ipLength)
    : ipv4Header(from.address, to.address, ipLength);
  const udp = Buffer.alloc(8);
  udp.writeUInt16BE(from.port & 0xffff, 0);
  udp.writeUInt16BE(to.port & 0xffff, 2);
  udp.writeUInt16BE(ipLength, 4);
  const record = Buffer.alloc(16);
  record.writeUInt32LE(Math.floor(at / 1000), 0);
  record.writeUInt32LE(Math.floor((at % 1000) * 1000), 4);
  record.writeUInt32LE(headers.length + udp.length + payload.length, 8);
  record.writeUInt32LE(headers.length + ipLength, 12);
  return [record, headers, udp, payload];
}

/** The message as it is written: octets as latin1. */
export function textOf({ head, body, bodyLength }: SipEntry, mask: Mask): string {
  if (body !== undefined && !(mask.digits && head.startsWith('INFO'))) return head + body;
  if (bodyLength === 0) return head;
  const [first = '', ...headers] = head.split('\r\n');
  const kept = headers.filter((line) => !/^(?:content-length|l|content-type|c)[ \t]*:/i.test(line));
  const said = [`X-Body-Not-Recorded: ${bodyLength}`, 'Content-Length: 0'];
  return [first, ...said, ...kept].join('\r\n');
}

/** RFC 791 3.1. */
function ipv4Header(from: string, to: string, length: number): Buffer {
  const header = Buffer.alloc(20);
  header[0] = 0x45;
  header.writeUInt16BE(20 + length, 2);
  header[8] = 64;
  header[9] = protocolUdp;
  octets4(from).copy(header, 12);
  octets4(to).copy(header, 16);
  let sum = 0;
  for (let at = 0; at < 20; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  header.writeUInt16BE(~sum & 0xffff, 10);
  return header;
}

/** RFC 8200 section 3. */
function ipv6Header(from: string, to: string, length: number): Buffer {
  const header = Buffer.alloc(40);
  header[0] = 0x60;
  header.writeUInt16BE(length, 4);
  header[6] = protocolUdp;
  header[7] = 64;
  octets6(from).copy(header, 8);
  octets6(to).copy(header, 24);
  return header;
}

/** Four octets; zeros for what is no literal address. */
export const octets4 = (address: string): Buffer => {
  const parts = address.split('.').map(Number);
  return Buffer.from(parts.length === 4 && parts.every((each) => each >= 0 && each < 256) ? parts : [0, 0, 0, 0]);
};

/** Sixteen octets; a zone is left out. */
export function octets6(address: string): Buffer {
  const [bare = ''] = address.split('%');
  if (!bare.includes(':')) return Buffer.concat([Buffer.alloc(10), Buffer.from([0xff, 0xff]), octets4(bare)]);
  const last = bare.slice(bare.lastIndexOf(':') + 1);
  const tail = last.includes('.') ? octets4(last) : Buffer.alloc(0);
  const words = last.includes('.') ? bare.slice(0, bare.length - last.length).replace(/([^:]):$/, '$1') : bare;
  const [left = '', right] = words.split('::');
  const octetsOf = (part: string): number[] =>
    part
      .split(':')
      .filter((word) => word !== '')
      .flatMap((word) => {
        const value = Number.parseInt(word, 16) || 0;
        return [(value >> 8) & 0xff, value & 0xff];
      });
  const before = Buffer.from(octetsOf(left));
  const after = Buffer.concat([Buffer.from(octetsOf(right ?? '')), tail]);
  const gap = Math.max(0, 16 - before.length - after.length);
  return Buffer.concat([before, Buffer.alloc(gap), after]).subarray(0, 16);
}
