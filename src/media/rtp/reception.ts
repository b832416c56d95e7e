import { type RtpHeader, sequenceDistance } from './header.ts';

const maximumDropout = 3000;
const maximumMisorder = 100;

/** Fields of RFC 3550 reception reports about one source. */
type ReceptionReportFields = {
  ssrc: number;
  /** Share lost since the last report, 0 to 255 of 256. */
  fractionLost: number;
  /** Packets lost since the last report. */
  lost: number;
  cumulativeLost: number;
  extendedHighestSequence: number;
  /** Jitter in timestamp units. */
  jitter: number;
};

/** State of a source, for in-order packets. */
type RunningSource = { ssrc: number; highest: number; transit: number; jitter: number };

/** Packets that came in order: how often their numbers wrapped among them, and where the source stands now. */
type OrderedPackets = Omit<RunningSource, 'ssrc'> & { wraps: number; packets: number; octets: number };

/**
 * Jitter after one more packet (RFC 3550 A.8), in timestamp units modulo 2^32: only the difference of transits matters.
 * @param jitter 16 × the old value. @returns 16 × the new value.
 */
export function jitterAfter(jitter: number, transit: number, transitBefore: number): number {
  const difference = Math.abs((transit - transitBefore) | 0);
  // A jump of more than ten seconds is a new timeline, not jitter.
  return difference < 80_000 ? jitter + difference - ((jitter + 8) >> 4) : jitter;
}

/** Counts what arrives from one RTP source: sequence numbers (RFC 3550 A.1), loss (A.3) and jitter (A.8). */
export class Reception {
  /** Source heard now; undefined before the first packet. */
  ssrc: number | undefined;
  packets = 0;
  octets = 0;
  /** How often a source started or restarted its sequence numbers. */
  starts = 0;
  #lostBefore = 0;
  #baseSequence = 0;
  #highest = 0;
  #cycles = 0;
  #badSequence = -1;
  #receivedFromSource = 0;
  #expectedPrior = 0;
  #receivedPrior = 0;
  /** Transit of the last packet in timestamp units, modulo 2^32; it says nothing before the first. */
  #transit = 0;
  #hasTransit = false;
  /** 16 × jitter: whole numbers, as in RFC 3550 A.8, which are kept in the object itself. */
  #jitter = 0;

  /**
   * Counts a packet. False for an invalid sequence number (more than 3000 ahead or 100 back, not confirmed by the next
   * packet): it is not counted and should not be used.
   *
   * @param arrival time of arrival in timestamp units; undefined for packets without jitter information (telephone
   * events repeat their timestamp).
   */
  receive(
    { ssrc, sequence, timestamp, payloadStart, payloadEnd }: Omit<RtpHeader, 'marker' | 'payloadType'>,
    arrival: number | undefined,
  ): boolean {
    if (ssrc !== this.ssrc) this.#startSource(ssrc, sequence);
    else if (!this.#follow(sequence)) return false;
    this.#receivedFromSource++;
    this.packets++;
    this.octets += payloadEnd - payloadStart;
    if (arrival !== undefined) this.#updateJitter((arrival - timestamp) | 0);
    return true;
  }

  /** Packets lost from all sources so far; never below 0, though duplicates may outnumber losses. */
  get lost(): number {
    return Math.max(0, this.#lostBefore + this.#lostFromSource);
  }

  /** Interarrival jitter in timestamp units. */
  get jitter(): number {
    return this.#jitter / 16;
  }

  /** The highest sequence number with its cycles in the upper 16 bits. */
  get extendedHighestSequence(): number {
    return this.#cycles + this.#highest;
  }

  /** The state of the source; undefined before its first audio packet, and while its numbers are invalid. */
  get running(): RunningSource | undefined {
    const { ssrc } = this;
    if (ssrc === undefined || !this.#hasTransit || this.#badSequence >= 0) return undefined;
    return { ssrc, highest: this.#highest, transit: this.#transit, jitter: this.#jitter };
  }

  /** Counts in-order packets since {@link running} that another part has counted. */
  goOn({ highest, wraps, packets, octets, transit, jitter }: OrderedPackets): void {
    this.#highest = highest;
    this.#cycles += wraps * 0x1_0000;
    this.#receivedFromSource += packets;
    this.packets += packets;
    this.octets += octets;
    this.#transit = transit;
    this.#jitter = jitter;
  }

  /** The figures for a report, and the beginning of the next interval; undefined before the first packet. */
  report(): ReceptionReportFields | undefined {
    if (this.ssrc === undefined) return undefined;
    const expected = this.#expected;
    const expectedInterval = expected - this.#expectedPrior;
    const lostInterval = expectedInterval - (this.#receivedFromSource - this.#receivedPrior);
    this.#expectedPrior = expected;
    this.#receivedPrior = this.#receivedFromSource;
    const fraction = expectedInterval > 0 && lostInterval > 0 ? Math.floor((lostInterval * 256) / expectedInterval) : 0;
    return {
      ssrc: this.ssrc,
      fractionLost: Math.min(fraction, 255),
      lost: Math.max(0, lostInterval),
      // 24 bits, signed (RFC 3550 section 6.4.1).
      cumulativeLost: Math.max(-0x80_0000, Math.min(0x7f_ffff, this.#lostFromSource)),
      extendedHighestSequence: this.extendedHighestSequence >>> 0,
      jitter: this.#jitter >> 4,
    };
  }

  get #expected(): number {
    return this.#cycles + this.#highest - this.#baseSequence + 1;
  }

  get #lostFromSource(): number {
    return this.ssrc === undefined ? 0 : this.#expected - this.#receivedFromSource;
  }

  #startSource(ssrc: number, sequence: number): void {
    this.#lostBefore = this.lost;
    this.ssrc = ssrc;
    this.#restart(sequence);
  }

  #restart(sequence: number): void {
    this.starts++;
    this.#baseSequence = sequence;
    this.#highest = sequence;
    this.#cycles = 0;
    this.#badSequence = -1;
    this.#receivedFromSource = 0;
    this.#expectedPrior = 0;
    this.#receivedPrior = 0;
    this.#hasTransit = false;
  }

  #follow(sequence: number): boolean {
    const ahead = sequenceDistance(this.#highest, sequence);
    if (ahead > 0 && ahead < maximumDropout) {
      if (sequence < this.#highest) this.#cycles += 0x1_0000;
      this.#highest = sequence;
    } else if (ahead <= 0 && ahead > -maximumMisorder) {
      // A duplicate or a packet out of order: counted as received, as RFC 3550 A.1 does.
    } else if (sequence === this.#badSequence) {
      // Two in a row: the source restarted its sequence numbers.
      this.#lostBefore = this.lost;
      this.#restart(sequence);
    } else {
      this.#badSequence = (sequence + 1) & 0xffff;
      return false;
    }
    this.#badSequence = -1;
    return true;
  }

  #updateJitter(transit: number): void {
    if (this.#hasTransit) this.#jitter = jitterAfter(this.#jitter, transit, this.#transit);
    this.#transit = transit;
    this.#hasTransit = true;
  }
}
