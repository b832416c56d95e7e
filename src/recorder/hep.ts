import type { SipEntry } from './entries.ts';
import type { Mask } from './masks.ts';
import { octets4, octets6, textOf } from './pcap.ts';

/** Identity of this server for a HEP3 collector (HOMER). */
type HepIdentity = {
  /** Capture agent id. */
  agent: number;
  /** Authentication key of the collector; '' for none. */
  key: string;
};

/** Chunks of vendor 0, by their type (HEP3, "generic chunk types"). */
const chunkType = {
  family: 1,
  protocol: 2,
  source4: 3,
  destination4: 4,
  source6: 5,
  destination6: 6,
  sourcePort: 7,
  destinationPort: 8,
  seconds: 9,
  microseconds: 10,
  payloadType: 11,
  agent: 12,
  key: 14,
  payload: 15,
  correlation: 17,
} as const;

const ipv4 = 2;
const ipv6 = 10;
const udp = 17;
const tcp = 6;
const sip = 1;

/*
 *  0                   1                   2                   3
 *  vendor (16)         | type (16)          | length (16), these six octets included | value …
 */
function chunk(type: number, value: Buffer): Buffer {
  const head = Buffer.alloc(6);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(6 + value.length, 4);
  return Buffer.concat([head, value]);
}

const octet = (value: number): Buffer => Buffer.from([value]);
const short = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value & 0xffff);
  return bytes;
};
const long = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};

/** The longest text that is sent: the packet has to fit into a datagram, and its lengths into 16 bits. */
const longestText = 60_000;

/** A SIP message as a HEP3 packet, without parts that are not recorded or masked. */
export function writeHep(entry: SipEntry, callId: string, identity: HepIdentity, mask: Mask): Buffer {
  const [from, to] = entry.direction === 'in' ? [entry.remote, entry.local] : [entry.local, entry.remote];
  const six = from.address.includes(':');
  const chunks = [
    chunk(chunkType.family, octet(six ? ipv6 : ipv4)),
    chunk(chunkType.protocol, octet(entry.protocol === 'udp' ? udp : tcp)),
    chunk(six ? chunkType.source6 : chunkType.source4, six ? octets6(from.address) : octets4(from.address)),
    chunk(six ? chunkType.destination6 : chunkType.destination4, six ? octets6(to.address) : octets4(to.address)),
    chunk(chunkType.sourcePort, short(from.port)),
    chunk(chunkType.destinationPort, short(to.port)),
    chunk(chunkType.seconds, long(Math.floor(entry.at / 1000))),
    chunk(chunkType.microseconds, long(Math.floor((entry.at % 1000) * 1000))),
    chunk(chunkType.payloadType, octet(sip)),
    chunk(chunkType.agent, long(identity.agent)),
    ...(identity.key === '' ? [] : [chunk(chunkType.key, Buffer.from(identity.key))]),
    chunk(chunkType.payload, Buffer.from(textOf(entry, mask), 'latin1').subarray(0, longestText)),
    ...(callId === '' ? [] : [chunk(chunkType.correlation, Buffer.from(callId, 'latin1').subarray(0, 1_000))]),
  ];
  const length = 6 + chunks.reduce((sum, each) => sum + each.length, 0);
  return Buffer.concat([Buffer.from('HEP3'), short(length), ...chunks]);
}
