import { writeUint32 } from '../rtp/header.ts';

/** Packets whose arrival is remembered, to be reported; more in one step are another stream of numbers. */
const remembered = 1024;
/** Packets that one message reports at most: in the worst case it has 2 octets of time and 2 bits of status for each. */
const mostReported = 400;
/** Interval of messages, in ms (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 4: 50 to 250 ms). */
const everyMs = 100;
/** Units of arrival times in a ms, and of the reference time in these. */
const unitsPerMs = 4;
const unitsPerReference = 256;

/** How a packet is reported: not at all, or with a time of one or two octets. */
const status = { missing: 0, small: 1, large: 2 } as const;
type Status = (typeof status)[keyof typeof status];

/** Packet type and format (same draft, section 3.1). */
const [transportType, format] = [205, 15];
const headerOctets = 20;
/** Statuses in a chunk that lists them, and at most in one that says how often one status comes. */
const [listed, longestRun] = [7, 0x1fff];

/**
 * Reports when each packet of a transport has arrived, by the numbers that its sender gave to all of them, so that the sender can
 * estimate what the way to us carries (draft-holmer-rmcat-transport-wide-cc-extensions-01).
 *
 * ```text
 * |V=2|P|  FMT=15 |    PT=205     |           length              |
 * |                     SSRC of packet sender                     |
 * |                      SSRC of media source                     |
 * |      base sequence number     |      packet status count      |
 * |                 reference time                | fb pkt. count |
 * |          packet chunk         |  ...   recv delta ...  padding |
 * ```
 */
export class TransportFeedback {
  /** Arrival of packets in units of 250 µs, by their number; NaN: it has not come. */
  readonly #arrivals = new Float64Array(remembered).fill(Number.NaN);
  /** Numbers that never wrap: the first one to be reported, and the highest that has come; -1 before the first. */
  #base = -1;
  #highest = -1;
  /** The source of the last packet: senders want to hear of one that is theirs. */
  #ssrc = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #count = 0;

  /** A packet has come. @param sequence its number in the transport, 16 bits. @param now monotonic ms. */
  arrived(sequence: number, ssrc: number, now: number): void {
    this.#ssrc = ssrc;
    let number = this.#numberOf(sequence);
    if (this.#highest < 0 || Math.abs(number - this.#highest) >= remembered) {
      // The first of all, or far from the others: it begins anew.
      this.#arrivals.fill(Number.NaN);
      number = sequence + 0x1_0000;
      this.#base = this.#highest = number;
    }
    for (let skipped = this.#highest + 1; skipped < number; skipped++)
      this.#arrivals[skipped % remembered] = Number.NaN;
    this.#arrivals[number % remembered] = Math.floor(now * unitsPerMs);
    this.#highest = Math.max(this.#highest, number);
    // One that is late is reported again, with those behind it.
    this.#base = Math.max(Math.min(this.#base, number), this.#highest - remembered + 1);
  }

  /** The messages that are due now. @param ours our SSRC. @param now monotonic ms. */
  due(ours: number, now: number): Uint8Array[] {
    if (this.#base < 0 || this.#base > this.#highest || now - this.#sentAt < everyMs) return [];
    this.#sentAt = now;
    const messages: Uint8Array[] = [];
    while (this.#base <= this.#highest) {
      const message = this.#next(ours);
      if (message) messages.push(message);
    }
    return messages;
  }

  #numberOf(sequence: number): number {
    const ahead = (sequence - this.#highest) & 0xffff;
    return this.#highest + (ahead < 0x8000 ? ahead : ahead - 0x1_0000);
  }

  /** The message about the next packets; undefined when none of them has come. */
  #next(ours: number): Uint8Array | undefined {
    const base = this.#base;
    const statuses: Status[] = [];
    const times: number[] = [];
    let reference = 0;
    let before = Number.NaN;
    while (this.#base <= this.#highest && statuses.length < mostReported) {
      const arrival = this.#arrivals[this.#base % remembered]!;
      const has = !Number.isNaN(arrival);
      if (has && Number.isNaN(before)) {
        reference = Math.floor(arrival / unitsPerReference);
        before = reference * unitsPerReference;
      }
      const time = arrival - before;
      // Times too far apart belong into two messages.
      if (has && (time < -0x8000 || time > 0x7fff)) break;
      statuses.push(!has ? status.missing : time >= 0 && time <= 0xff ? status.small : status.large);
      if (has) {
        times.push(time);
        before = arrival;
      }
      this.#base++;
    }
    return times.length > 0 ? this.#write({ ours, base, reference, statuses, times }) : undefined;
  }

  #write({ ours, base, reference, statuses, times }: Told): Uint8Array {
    const chunks = chunksOf(statuses);
    const received = statuses.filter((each) => each !== status.missing);
    const octets = received.reduce<number>((sum, each) => sum + each, headerOctets + 2 * chunks.length);
    const packet = Buffer.alloc(4 * Math.ceil(octets / 4));
    packet[0] = 0x80 | format;
    packet[1] = transportType;
    packet.writeUInt16BE(packet.length / 4 - 1, 2);
    writeUint32(packet, 4, ours);
    writeUint32(packet, 8, this.#ssrc);
    packet.writeUInt16BE(base & 0xffff, 12);
    packet.writeUInt16BE(statuses.length, 14);
    packet.writeUIntBE(reference & 0xff_ffff, 16, 3);
    packet[19] = this.#count++ & 0xff;
    let at = headerOctets;
    for (const chunk of chunks) at = packet.writeUInt16BE(chunk, at);
    for (const [index, time] of times.entries())
      at = received[index] === status.small ? packet.writeUInt8(time, at) : packet.writeInt16BE(time, at);
    return packet;
  }
}

/** What a message says. */
type Told = {
  ours: number;
  base: number;
  reference: number;
  statuses: readonly Status[];
  /** Of each packet that has come, from the one before. */
  times: readonly number[];
};

/** Statuses as runs of one, or in lists of seven (same draft, sections 3.1.3 and 3.1.4). */
function chunksOf(statuses: readonly Status[]): number[] {
  const chunks: number[] = [];
  let at = 0;
  while (at < statuses.length) {
    const first = statuses[at]!;
    let run = 1;
    while (run < longestRun && statuses[at + run] === first) run++;
    if (run >= listed || at + run === statuses.length) {
      chunks.push((first << 13) | run);
      at += run;
      continue;
    }
    let list = 0xc000;
    for (let index = 0; index < listed; index++) list |= (statuses[at + index] ?? 0) << (12 - 2 * index);
    chunks.push(list);
    at += listed;
  }
  return chunks;
}
