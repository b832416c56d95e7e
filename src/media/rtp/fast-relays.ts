import type { SystemCalls } from '../../native/system-calls.ts';
import { memoryWord, type SessionMemory } from '../session-memory.ts';
import { headerLength, readUint32, sequenceDistance, writeUint32 } from './header.ts';
import { jitterAfter, type Reception } from './reception.ts';
import { longestDisorder, longestJumpS, type RtpSender } from './sender.ts';

/** How the packets of one far side are relayed to another. */
export type FastRelayPlan = {
  /** Counts received packets; its source is the relayed one. */
  reception: Reception;
  /** Whose stream it becomes: it has passed on the last packet that the reception has seen. */
  sender: RtpSender;
  /** The codec's payload type on both sides. */
  payloadType: number;
  ourPayloadType: number;
  /** Of the timestamps, in Hz. */
  clockRate: number;
  /** How long packets last. */
  lasting: { units: number; octetsPerUnit: number | undefined };
  /** Opens what comes and seals what goes, where either is SRTP. */
  open?: PacketOpener | undefined;
  seal?: PacketSealer | undefined;
  /**
   * Called with the number of relayed packets since the last call, at least one, and the time of the last (monotonic
   * ms).
   */
  passed: (packets: number, heardAt: number) => void;
};

/** Decrypts SRTP where it is. False = the packet proves nothing or came before, and no count has changed. */
type PacketOpener = { openAt(place: ReceivedAt, length: number): boolean; readonly overhead: number };

/** Encrypts a packet where it is. @returns its length then; 0 = it cannot be sent. */
type PacketSealer = { sealAt(place: ReceivedAt, length: number): number };

/**
 * A socket's descriptor with an address as the kernel has it: family and port, then the address of IPv4. An address of IPv6 has
 * all its words beside these.
 */
export type FastRelayEnd = { descriptor: number; first: number; second: number; words?: Int32Array | undefined };

const { sequence, timestamp, packets: sentPackets, octets: sentOctets } = memoryWord;

/** The words of a row, 32 bits each: received stream, then sent stream; two cache lines. */
const word = {
  open: 0,
  sourceFirst: 1,
  sourceSecond: 2,
  payloadType: 3,
  ssrc: 4,
  highest: 5,
  timestamp: 6,
  transit: 7,
  jitter: 8,
  packets: 9,
  octets: 10,
  wraps: 11,
  clockRate: 12,
  look: 13,
  to: 14,
  toFirst: 15,
  toSecond: 16,
  ourPayloadType: 17,
  ourSsrc: 18,
  sequenceOffset: 19,
  timestampOffset: 20,
  units: 21,
  octetsPerUnit: 22,
  /** Whether the far side has an address of IPv6. */
  isLong: 23,
  toLength: 24,
  /** Octets that SRTP adds to what comes, and whether anything is opened or sealed. */
  overhead: 25,
  isSecret: 26,
} as const;
/** 64-bit words of the row: time of the last packet (monotonic ms), and its timestamp on our timeline, unwrapped. */
const wide = { heardAt: 14, at: 15 } as const;
const rowWords = 32;
/** Octets of a socket address of IPv4 and of IPv6 (ip(7), ipv6(7)). */
const addressLength = { ipv4: 16, ipv6: 28 } as const;
/** Words of an IPv6 address behind those that a row has, and how many a row of them has: of the source and of the destination. */
const longWords = 5;
const longRowWords = 2 * longWords;

/** Memory that holds a received packet, where in it, and the address of that for system calls. */
type ReceivedAt = { readonly slab: Uint8Array; readonly used: number; readonly packetAt: number };

type RelayCalls = Pick<SystemCalls, 'sendtoAt'>;

/**
 * Relays in-order packets from the far side of one socket to another socket, with a new header. Each socket has one row of
 * numbers, so that a packet touches little memory. Hands out-of-order packets to the socket's listener. A change of any
 * precondition has to end the fast relay first; that writes its numbers back. The numbers of the outgoing stream are always in
 * its session's memory.
 */
export class FastRelays {
  readonly #calls: RelayCalls;
  /** Address memory of system calls: as words, and by number. */
  readonly #address: Int32Array;
  readonly #addressAt: number;
  #rows = new Int32Array(0);
  #wides = new Float64Array(0);
  /** What addresses of IPv6 have beyond two words. Rows of IPv4 never touch it. */
  #long = new Int32Array(0);
  /** By receiving descriptor: the plan, and the sending session's memory. */
  readonly #plans: (FastRelayPlan | undefined)[] = [];
  readonly #memories: (SessionMemory | undefined)[] = [];
  /** By sending descriptor: the receiving one. */
  readonly #towards: (number | undefined)[] = [];

  constructor(calls: RelayCalls, address: { words: Int32Array; at: number }) {
    this.#calls = calls;
    this.#address = address.words;
    this.#addressAt = address.at;
  }

  /** Starts a relay, and ends earlier ones of both sockets; false: the next packet does not follow the last one. */
  begin(from: FastRelayEnd, to: FastRelayEnd, plan: FastRelayPlan): boolean {
    this.endFrom(from.descriptor);
    this.#endTowards(to.descriptor);
    const { reception, sender, lasting } = plan;
    const source = reception.running;
    const stream = sender.passing;
    if (!source || !stream || stream.ssrc !== source.ssrc || stream.sequence !== source.highest) return false;
    this.#makeRoom(from.descriptor);
    const [rows, row] = [this.#rows, from.descriptor * rowWords];
    rows[row + word.sourceFirst] = from.first;
    rows[row + word.sourceSecond] = from.second;
    rows[row + word.payloadType] = plan.payloadType;
    rows[row + word.ssrc] = source.ssrc;
    rows[row + word.highest] = source.highest;
    rows[row + word.timestamp] = stream.timestamp;
    rows[row + word.transit] = source.transit;
    rows[row + word.jitter] = source.jitter;
    rows.fill(0, row + word.packets, row + word.wraps + 1);
    rows[row + word.clockRate] = plan.clockRate;
    rows[row + word.to] = to.descriptor;
    rows[row + word.toFirst] = to.first;
    rows[row + word.toSecond] = to.second;
    rows[row + word.ourPayloadType] = plan.ourPayloadType;
    rows[row + word.ourSsrc] = sender.ssrc;
    rows[row + word.sequenceOffset] = stream.sequenceOffset;
    rows[row + word.timestampOffset] = stream.at - stream.timestamp;
    rows[row + word.units] = lasting.units;
    rows[row + word.octetsPerUnit] = lasting.octetsPerUnit ?? 0;
    rows[row + word.isLong] = from.words ? 1 : 0;
    rows[row + word.toLength] = to.words ? addressLength.ipv6 : addressLength.ipv4;
    this.#long.set(from.words?.subarray(2) ?? [], from.descriptor * longRowWords);
    this.#long.set(to.words?.subarray(2) ?? [], from.descriptor * longRowWords + longWords);
    rows[row + word.overhead] = plan.open?.overhead ?? 0;
    rows[row + word.isSecret] = plan.open || plan.seal ? 1 : 0;
    this.#wides[row / 2 + wide.at] = stream.at;
    this.#plans[from.descriptor] = plan;
    this.#memories[from.descriptor] = sender.memory;
    this.#towards[to.descriptor] = from.descriptor;
    rows[row + word.open] = 1;
    return true;
  }

  /** Whether one begins at that socket. */
  opens(descriptor: number): boolean {
    return this.#rows[descriptor * rowWords + word.open] === 1;
  }

  /** Notes a packet of a relaying socket. @returns whether it had one in the previous pass, too. */
  heard(descriptor: number, look: number): boolean {
    const at = descriptor * rowWords + word.look;
    const before = this.#rows[at]!;
    this.#rows[at] = look;
    return ((look - before) | 0) <= 1;
  }

  /**
   * Relays a packet, if its relay is open. False: it needs inspection, and nothing was changed.
   * @param room where the packet of `length` octets was received. @param now monotonic ms.
   */
  pass(descriptor: number, place: ReceivedAt, length: number, now: number): boolean {
    const { slab: memory, used: start } = place;
    const rows = this.#rows;
    const address = this.#address;
    const row = descriptor * rowWords;
    if (!this.#isFromSource(descriptor, row)) return false;
    const size = length - headerLength - rows[row + word.overhead]!;
    const units = this.#unitsIn(row, memory, start, size);
    if (units < 0) return false;
    const marked = memory[start + 1]!;
    const number = (memory[start + 2]! << 8) | memory[start + 3]!;
    const highest = rows[row + word.highest]!;
    const theirs = readUint32(memory, start + 4) | 0;
    const later = (theirs - rows[row + word.timestamp]!) | 0;
    const clockRate = rows[row + word.clockRate]!;
    const plan = rows[row + word.isSecret] === 1 ? this.#plans[descriptor] : undefined;
    // It proves nothing, which its listener would find as well.
    if (plan?.open && !plan.open.openAt(place, length)) return true;

    if (number < highest) rows[row + word.wraps]!++;
    rows[row + word.highest] = number;
    rows[row + word.timestamp] = theirs;
    rows[row + word.packets]!++;
    rows[row + word.octets]! += size;
    const transit = (Math.floor((now * clockRate) / 1000) - theirs) | 0;
    rows[row + word.jitter] = jitterAfter(rows[row + word.jitter]!, transit, rows[row + word.transit]!);
    rows[row + word.transit] = transit;
    const wides = this.#wides;
    wides[row / 2 + wide.heardAt] = now;
    const time = wides[row / 2 + wide.at]! + later;
    wides[row / 2 + wide.at] = time;

    const ours = (number + rows[row + word.sequenceOffset]!) & 0xffff;
    memory[start + 1] = rows[row + word.ourPayloadType]! | (marked & 0x80);
    memory[start + 2] = ours >> 8;
    memory[start + 3] = ours;
    writeUint32(memory, start + 4, theirs + rows[row + word.timestampOffset]!);
    writeUint32(memory, start + 8, rows[row + word.ourSsrc]!);
    const stream = this.#memories[descriptor]!;
    stream[sequence] = (ours + 1) & 0xffff;
    if (time + units > stream[timestamp]!) stream[timestamp] = time + units;
    stream[sentPackets]!++;
    stream[sentOctets]! += size;
    address[0] = rows[row + word.toFirst]!;
    address[1] = rows[row + word.toSecond]!;
    const toLength = rows[row + word.toLength]!;
    if (toLength === addressLength.ipv4) {
      address[2] = 0;
      address[3] = 0;
    } else this.#writeLong(descriptor);
    const bare = headerLength + size;
    const sent = plan?.seal ? plan.seal.sealAt(place, bare) : bare;
    if (sent > 0) this.#calls.sendtoAt(rows[row + word.to]!, place.packetAt, sent, 0, this.#addressAt, toLength);
    return true;
  }

  /** Whether the packet came from the far side. */
  #isFromSource(descriptor: number, row: number): boolean {
    const rows = this.#rows;
    const address = this.#address;
    if (address[0] !== rows[row + word.sourceFirst]) return false;
    return rows[row + word.isLong] === 1 ? this.#isSource(descriptor) : address[1] === rows[row + word.sourceSecond];
  }

  /** Duration of the next packet of the stream, in units of its clock; -1 for another packet, which needs inspection. */
  #unitsIn(row: number, memory: Uint8Array, start: number, size: number): number {
    const rows = this.#rows;
    if (size < 0 || memory[start] !== 0x80 || (memory[start + 1]! & 0x7f) !== rows[row + word.payloadType]) return -1;
    if ((readUint32(memory, start + 8) | 0) !== rows[row + word.ssrc]) return -1;
    const ahead = sequenceDistance(rows[row + word.highest]!, (memory[start + 2]! << 8) | memory[start + 3]!);
    if (ahead <= 0 || ahead > longestDisorder) return -1;
    const later = ((readUint32(memory, start + 4) | 0) - rows[row + word.timestamp]!) | 0;
    if (later < 0 || later > longestJumpS * rows[row + word.clockRate]!) return -1;
    const perUnit = rows[row + word.octetsPerUnit]!;
    if (perUnit > 1 && size % perUnit !== 0) return -1;
    return perUnit === 0 ? rows[row + word.units]! : size / perUnit;
  }

  /** Whether the rest of an IPv6 address is that of the far side. */
  #isSource(descriptor: number): boolean {
    const at = descriptor * longRowWords;
    for (let each = 0; each < longWords; each++) if (this.#address[2 + each] !== this.#long[at + each]) return false;
    return true;
  }

  #writeLong(descriptor: number): void {
    const at = descriptor * longRowWords + longWords;
    for (let each = 0; each < longWords; each++) this.#address[2 + each] = this.#long[at + each]!;
  }

  /** Returns the packet counts of a socket to its end. */
  settle(from: number): void {
    const plan = this.#plans[from];
    if (!plan) return;
    const [rows, row] = [this.#rows, from * rowWords];
    const packets = rows[row + word.packets]!;
    if (packets === 0) return;
    const [highest, theirs] = [rows[row + word.highest]!, rows[row + word.timestamp]!];
    plan.reception.goOn({
      highest,
      wraps: rows[row + word.wraps]!,
      packets,
      octets: rows[row + word.octets]!,
      transit: rows[row + word.transit]!,
      jitter: rows[row + word.jitter]!,
    });
    plan.sender.goOn(highest, theirs >>> 0, this.#wides[row / 2 + wide.at]!);
    rows.fill(0, row + word.packets, row + word.wraps + 1);
    plan.passed(packets, this.#wides[row / 2 + wide.heardAt]!);
  }

  /** Ends the relay from a socket. */
  endFrom(from: number): void {
    if (!this.#plans[from]) return;
    this.settle(from);
    const row = from * rowWords;
    this.#rows[row + word.open] = 0;
    this.#plans[from] = undefined;
    this.#memories[from] = undefined;
    this.#towards[this.#rows[row + word.to]!] = undefined;
  }

  /** Ends relays from and to a socket. */
  end(descriptor: number): void {
    this.endFrom(descriptor);
    this.#endTowards(descriptor);
  }

  #endTowards(to: number): void {
    const from = this.#towards[to];
    if (from !== undefined) this.endFrom(from);
  }

  #makeRoom(descriptor: number): void {
    const needed = (descriptor + 1) * rowWords;
    if (needed <= this.#rows.length) return;
    const rows = new Int32Array(Math.max(needed, 2 * this.#rows.length));
    rows.set(this.#rows);
    this.#rows = rows;
    this.#wides = new Float64Array(rows.buffer);
    const long = new Int32Array((rows.length / rowWords) * longRowWords);
    long.set(this.#long);
    this.#long = long;
  }
}
