import {
  ByePacket,
  CompoundPacket,
  ReceiverReportPacket,
  ReceptionReport,
  SdesChunk,
  SdesPacket,
  SenderReportPacket,
} from 'rtp.js/packets';
import type { Clock } from '../../lib/clock.ts';
import type { Reception } from './reception.ts';
import { Spread, type SpreadFigures } from './spread.ts';

/** Seconds between 1900, where NTP time begins, and 1970. */
const ntpEpoch = 2_208_988_800;
/** Mean time between reports, in ms (RFC 3550 section 6.2: 5 s). */
const reportIntervalMs = 5000;
/** Type of a CNAME item (RFC 3550 section 6.5.1). */
const cnameItem = 1;

/** Figures of a stream that we send. */
export interface SentStream {
  readonly ssrc: number;
  /** Packets and octets of payload sent so far. */
  readonly packets: number;
  readonly octets: number;
  /** Units of the timestamps per second, in Hz. */
  readonly clockRate: number;
  /** The timestamp of the moment `now` (monotonic ms), below 2^32. */
  timestampAt(now: number): number;
}

/** RTCP of one session: our reports, and the far side's about our stream. */
export class RtcpControl {
  readonly #clock: Clock;
  readonly #random32: () => number;
  /** Our name: random, and the same in all that is to be played in time with each other. */
  readonly cname: string;
  #dueAt: number;
  #packetsReported = 0;
  /** Middle 32 bits of the NTP time of the last sender report, when it came and of which source. */
  #lastReport: { ntpMiddle: number; at: number; ssrc: number } | undefined;
  readonly #trips = new Spread();
  /** Jitter in seconds, and packets lost from one report to the next: of their stream here, and of ours there. */
  readonly #ours = { jitter: new Spread(), lost: new Spread() };
  readonly #theirs = { jitter: new Spread(), lost: new Spread() };
  /** Packets of ours that the far side misses. */
  remoteLost = 0;
  /** Jitter of our stream at the far side, in seconds. */
  remoteJitter = 0;
  /** Share of our packets that its last report says are lost, from 0 to 1; undefined before the first. */
  remoteFraction: number | undefined;

  /** @param cname that of another session of the same far side, when there is one. */
  constructor(clock: Clock, random32: () => number, cname?: string) {
    this.#clock = clock;
    this.#random32 = random32;
    // A random name per session tells nothing about the machine (RFC 7022 section 4.2).
    this.cname =
      cname ?? [random32(), random32(), random32()].map((word) => word.toString(16).padStart(8, '0')).join('');
    // The first report comes after half the interval (RFC 3550 section 6.2).
    this.#dueAt = clock.monotonic() + this.#spread(reportIntervalMs / 2);
  }

  /** When the next report is due, monotonic ms. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** Whether a report is due; then the next one is planned. @param now monotonic ms. */
  due(now: number): boolean {
    if (now < this.#dueAt) return false;
    this.#dueAt = now + this.#spread(reportIntervalMs);
    return true;
  }

  /** A sender report, or a receiver report when nothing was sent since the last one, with our name. */
  report(sender: SentStream, ...receptions: readonly Reception[]): Uint8Array {
    const reports = receptions.flatMap((reception) => this.#receptionReports(sender, reception));
    const compound = new CompoundPacket();
    if (sender.packets > this.#packetsReported) {
      const report = new SenderReportPacket();
      const { seconds, fraction } = this.#ntp();
      report.setSsrc(sender.ssrc);
      report.setNtpSeconds(seconds);
      report.setNtpFraction(fraction);
      report.setRtpTimestamp(sender.timestampAt(this.#clock.monotonic()));
      report.setPacketCount(sender.packets >>> 0);
      report.setOctetCount(sender.octets >>> 0);
      report.setReports(reports);
      compound.addPacket(report);
      this.#packetsReported = sender.packets;
    } else {
      compound.addPacket(this.#receiverReport(sender.ssrc, reports));
    }
    compound.addPacket(this.#name(sender.ssrc));
    return octets(compound);
  }

  /** Says good-bye, behind the empty report that every compound packet begins with (RFC 3550 section 6.1). */
  bye(sender: SentStream): Uint8Array {
    const bye = new ByePacket();
    bye.addSsrc(sender.ssrc);
    const compound = new CompoundPacket();
    compound.addPacket(this.#receiverReport(sender.ssrc, []));
    compound.addPacket(this.#name(sender.ssrc));
    compound.addPacket(bye);
    return octets(compound);
  }

  /** Sends feedback behind the required compound packet head. @param feedback whole packets. */
  behindReport(sender: SentStream, feedback: readonly Uint8Array[]): Uint8Array {
    const compound = new CompoundPacket();
    compound.addPacket(this.#receiverReport(sender.ssrc, []));
    compound.addPacket(this.#name(sender.ssrc));
    return Buffer.concat([octets(compound), ...feedback]);
  }

  /**
   * Processes a packet of the far side; false if it is no RTCP.
   * @param heard the sources that are heard: reports of others in their transport say nothing about them.
   */
  receive(packet: Uint8Array, sender: SentStream, heard: readonly Reception[] = []): boolean {
    // Version 2, no padding in the first packet, which is a report (RFC 3550 A.2).
    if (packet.length < 8 || packet[0]! >> 6 !== 2 || (packet[1] !== 200 && packet[1] !== 201)) return false;
    const isHeard = (source: number): boolean =>
      heard.every(({ ssrc }) => ssrc === undefined) || heard.some(({ ssrc }) => ssrc === source);
    try {
      const compound = new CompoundPacket(new DataView(packet.buffer, packet.byteOffset, packet.byteLength));
      for (const each of compound.getPackets()) {
        if (each instanceof SenderReportPacket && isHeard(each.getSsrc())) this.#heardSenderReport(each);
        if (each instanceof SenderReportPacket || each instanceof ReceiverReportPacket)
          for (const report of each.getReports())
            if (report.getSsrc() === sender.ssrc) this.#heardReport(report, sender);
      }
      return true;
    } catch {
      return false;
    }
  }

  /** Round-trip times in seconds; undefined before the first was measured. */
  get roundTrip(): SpreadFigures | undefined {
    return this.#trips.figures;
  }

  /**
   * Jitter in seconds and losses between reports: from our reports about the far side (`local`), and from its reports
   * about us (`remote`). Undefined before the first report.
   */
  get reported(): Record<'local' | 'remote', Record<'jitter' | 'lost', SpreadFigures | undefined>> {
    const of = ({ jitter, lost }: { jitter: Spread; lost: Spread }) => ({ jitter: jitter.figures, lost: lost.figures });
    return { local: of(this.#ours), remote: of(this.#theirs) };
  }

  #heardSenderReport(report: SenderReportPacket): void {
    const ntpMiddle = ((report.getNtpSeconds() & 0xffff) * 0x1_0000 + (report.getNtpFraction() >>> 16)) >>> 0;
    this.#lastReport = { ntpMiddle, at: this.#clock.monotonic(), ssrc: report.getSsrc() };
  }

  #heardReport(report: ReceptionReport, sender: SentStream): void {
    const lost = Math.max(0, report.getTotalLost());
    this.#theirs.lost.add(Math.max(0, lost - this.remoteLost));
    this.remoteLost = lost;
    this.remoteFraction = report.getFractionLost() / 256;
    this.remoteJitter = report.getJitter() / sender.clockRate;
    this.#theirs.jitter.add(this.remoteJitter);
    const sent = report.getLastSRTimestamp();
    if (sent === 0) return;
    // RFC 3550 section 6.4.1: arrival − last SR − delay since then, in units of 1/65536 s.
    const { seconds, fraction } = this.#ntp();
    const arrival = ((seconds & 0xffff) * 0x1_0000 + (fraction >>> 16)) >>> 0;
    const units = (arrival - sent - report.getDelaySinceLastSR()) | 0;
    const trip = units / 0x1_0000;
    // Clocks have limited precision, and reports may be forged, so impossible values are not counted.
    if (trip < 0 || trip > 60) return;
    this.#trips.add(trip);
  }

  #receptionReports(sender: SentStream, reception: Reception): ReceptionReport[] {
    const fields = reception.report();
    if (!fields) return [];
    this.#ours.jitter.add(reception.jitter / sender.clockRate);
    this.#ours.lost.add(fields.lost);
    const report = new ReceptionReport();
    report.setSsrc(fields.ssrc);
    report.setFractionLost(fields.fractionLost);
    report.setTotalLost(fields.cumulativeLost);
    report.setHighestSeqNumber(fields.extendedHighestSequence);
    report.setJitter(fields.jitter);
    // Another source than the one heard now says nothing about this one's reports (RFC 3550 section 6.4.1).
    if (this.#lastReport?.ssrc === fields.ssrc) {
      report.setLastSRTimestamp(this.#lastReport.ntpMiddle);
      const delayMs = this.#clock.monotonic() - this.#lastReport.at;
      report.setDelaySinceLastSR(Math.round((delayMs / 1000) * 0x1_0000) >>> 0);
    }
    return [report];
  }

  #receiverReport(ssrc: number, reports: ReceptionReport[]): ReceiverReportPacket {
    const report = new ReceiverReportPacket();
    report.setSsrc(ssrc);
    report.setReports(reports);
    return report;
  }

  #name(ssrc: number): SdesPacket {
    const chunk = new SdesChunk();
    chunk.setSsrc(ssrc);
    chunk.addItem(cnameItem, this.cname);
    const packet = new SdesPacket();
    packet.addChunk(chunk);
    return packet;
  }

  #ntp(): { seconds: number; fraction: number } {
    const now = this.#clock.now();
    const seconds = Math.floor(now / 1000);
    return { seconds: (seconds + ntpEpoch) >>> 0, fraction: Math.floor(((now % 1000) / 1000) * 0x1_0000_0000) >>> 0 };
  }

  /** 0.5 to 1.5 times `ms`, so that sessions opened together do not report together. */
  #spread(ms: number): number {
    return ms * (0.5 + this.#random32() / 0x1_0000_0000);
  }
}

function octets(compound: CompoundPacket): Uint8Array {
  compound.serialize();
  const view = compound.getView();
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
