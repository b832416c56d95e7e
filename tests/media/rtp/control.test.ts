import fc from 'fast-check';
import { CompoundPacket, ReceiverReportPacket, ReceptionReport, SenderReportPacket } from 'rtp.js/packets';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RtcpControl } from '../../../src/media/rtp/control.ts';
import { Reception } from '../../../src/media/rtp/reception.ts';
import { RtpSender } from '../../../src/media/rtp/sender.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { received } from '../support.ts';

function control() {
  const clock = new ManualClock(1_000_000_000_500);
  const words = [0xaabbccdd, 100, 0];
  const sender = new RtpSender({ random32: () => words.shift() ?? 0 });
  return { clock, sender, control: new RtcpControl(clock, () => 0x8000_0000), reception: new Reception() };
}

/** What a compound packet says, without the random name. */
function dump(octets: Uint8Array) {
  const compound = new CompoundPacket(new DataView(octets.buffer, octets.byteOffset, octets.byteLength));
  return compound.getPackets().map((packet) => packet.dump());
}

test('reports come every five seconds on average, the first after half of that', () => {
  const { control: rtcp, clock } = control();
  const due: number[] = [];
  const start = clock.monotonic();
  for (let ms = 0; ms <= 13_000; ms += 20) if (rtcp.due(start + ms)) due.push(ms);
  assert.equal(due, [2500, 7500, 12_500]);
});

test('who sent since the last report sends a sender report, otherwise a receiver report', () => {
  const { control: rtcp, sender, reception } = control();
  assert.equal(
    dump(rtcp.report(sender, reception)).map((each) => each.packetType),
    [201, 202],
  );
  sender.audio(new Uint8Array(172), 0, 160, 20);
  assert.equal(
    dump(rtcp.report(sender, reception)).map((each) => each.packetType),
    [200, 202],
  );
  assert.equal(
    dump(rtcp.report(sender, reception)).map((each) => each.packetType),
    [201, 202],
  );
});

test('a sender report tells our counts, the wall clock as NTP time, and what was received', () => {
  const { control: rtcp, sender, reception, clock } = control();
  sender.audio(new Uint8Array(172), 0, 160, clock.monotonic());
  reception.receive(received(7, 1, 0, 160), 0);
  reception.receive(received(7, 3, 320, 160), 400);
  const report = dump(rtcp.report(sender, reception))[0] as ReturnType<SenderReportPacket['dump']>;
  const { ssrc, ntpSeq, ntpFraction, packetCount, octetCount, reports } = report;
  assert.equal([ssrc, ntpSeq, ntpFraction, packetCount, octetCount], [0xaabbccdd, 3_208_988_800, 0x8000_0000, 1, 160]);
  const { ssrc: source, fractionLost, totalLost, highestSeq, jitter, lsr, dlsr } = reports[0]!;
  assert.equal([source, fractionLost, totalLost, highestSeq, jitter, lsr, dlsr], [7, 85, 1, 3, 5, 0, 0]);
});

test('the round trip is measured from the report that answers ours', () => {
  const { control: rtcp, sender, clock } = control();
  const lsr = ((3_208_988_800 & 0xffff) * 65_536 + 0x8000) >>> 0;
  clock.advance(1250);
  const answer = new ReceiverReportPacket();
  answer.setSsrc(7);
  const block = new ReceptionReport();
  block.setSsrc(sender.ssrc);
  block.setTotalLost(3);
  block.setJitter(80);
  block.setLastSRTimestamp(lsr);
  block.setDelaySinceLastSR(65_536);
  answer.addReport(block);
  answer.serialize();
  assert.is(
    rtcp.receive(new Uint8Array(answer.getView().buffer, answer.getView().byteOffset, answer.getByteLength()), sender),
    true,
  );
  assert.equal(rtcp.roundTrip, { last: 0.25, minimum: 0.25, maximum: 0.25, mean: 0.25, deviation: 0 });
  assert.equal([rtcp.remoteLost, rtcp.remoteJitter], [3, 0.01]);
});

test('jitter and loss of either side are kept from report to report, with how far they lie apart', () => {
  const { control: rtcp, sender, reception } = control();
  assert.equal(rtcp.reported, {
    local: { jitter: undefined, lost: undefined },
    remote: { jitter: undefined, lost: undefined },
  });
  // Of theirs one packet is lost before our first report, and three before the second.
  for (const sequence of [1, 3]) reception.receive(received(7, sequence, sequence * 160, 160), sequence * 160);
  rtcp.report(sender, reception);
  reception.receive(received(7, 7, 7 * 160, 160), 7 * 160 + 256);
  rtcp.report(sender, reception);
  // Of ours two, and then none.
  for (const [lost, jitter] of [
    [2, 1000],
    [2, 2000],
  ] as const) {
    const block = new ReceptionReport();
    block.setSsrc(sender.ssrc);
    block.setTotalLost(lost);
    block.setJitter(jitter);
    const told = new ReceiverReportPacket();
    told.setSsrc(7);
    told.addReport(block);
    told.serialize();
    rtcp.receive(new Uint8Array(told.getView().buffer, told.getView().byteOffset, told.getByteLength()), sender);
  }
  const spread = (last: number, minimum: number, maximum: number) => ({
    ...{ last, minimum, maximum },
    ...{ mean: (minimum + maximum) / 2, deviation: (maximum - minimum) / 2 },
  });
  assert.equal(rtcp.reported, {
    local: { jitter: spread(0.002, 0, 0.002), lost: spread(3, 1, 3) },
    remote: { jitter: spread(0.25, 0.125, 0.25), lost: spread(0, 0, 2) },
  });
});

test('our report answers the last sender report of the far side', () => {
  const { control: rtcp, sender, reception, clock } = control();
  const theirs = new SenderReportPacket();
  theirs.setSsrc(7);
  theirs.setNtpSeconds(0x1234_5678);
  theirs.setNtpFraction(0x9abc_def0);
  theirs.serialize();
  rtcp.receive(new Uint8Array(theirs.getView().buffer, theirs.getView().byteOffset, theirs.getByteLength()), sender);
  reception.receive(received(7, 1, 0, 160), 0);
  clock.advance(500);
  const report = dump(rtcp.report(sender, reception))[0] as ReturnType<ReceiverReportPacket['dump']>;
  assert.equal([report.reports[0]?.lsr, report.reports[0]?.dlsr], [0x5678_9abc, 32_768]);
});

test('a report on a new source answers no sender report of the one before', () => {
  const { control: rtcp, sender, reception, clock } = control();
  const theirs = new SenderReportPacket();
  theirs.setSsrc(7);
  theirs.setNtpSeconds(0x1234_5678);
  theirs.serialize();
  rtcp.receive(new Uint8Array(theirs.getView().buffer, theirs.getView().byteOffset, theirs.getByteLength()), sender);
  reception.receive(received(8, 1, 0, 160), 0);
  clock.advance(500);
  const report = dump(rtcp.report(sender, reception))[0] as ReturnType<ReceiverReportPacket['dump']>;
  assert.equal([report.reports[0]?.ssrc, report.reports[0]?.lsr, report.reports[0]?.dlsr], [8, 0, 0]);
});

test('good-bye names our source behind an empty report', () => {
  const { control: rtcp, sender } = control();
  const packets = dump(rtcp.bye(sender));
  assert.equal(
    packets.map((each) => each.packetType),
    [201, 202, 203],
  );
  assert.equal((packets[2] as unknown as { ssrcs: number[] }).ssrcs, [0xaabbccdd]);
});

test('garbage and forged packets are ignored', () => {
  const { control: rtcp, sender } = control();
  const body = fc.uint8Array({ maxLength: 96 });
  const headed = fc
    .tuple(fc.constantFrom(200, 201, 202, 203, 204, 207), body)
    .map(([type, rest]) => Uint8Array.from([0x81, type, ...rest]));
  fc.assert(
    fc.property(fc.oneof(body, headed), (octets) => {
      rtcp.receive(octets, sender);
      const trip = rtcp.roundTrip;
      assert.ok(trip === undefined || (trip.minimum >= 0 && trip.maximum <= 60));
    }),
  );
});

test('what is told at once stands behind an empty report and our name', () => {
  const { control: rtcp, sender } = control();
  const loss = Uint8Array.from([0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]);
  const octets = rtcp.behindReport(sender, [loss, loss]);
  assert.equal(
    dump(octets).map((each) => each.packetType),
    [201, 202, 206, 206],
  );
  assert.equal(octets.subarray(-24), Buffer.concat([loss, loss]));
});

test('streams that are played in time with each other have one name', () => {
  const { control: rtcp, clock, sender } = control();
  const other = new RtcpControl(clock, () => 7, rtcp.cname);
  assert.is(other.cname, rtcp.cname);
  assert.ok(Buffer.from(other.bye(sender)).includes(rtcp.cname));
  assert.is.not(new RtcpControl(clock, () => 7).cname, rtcp.cname);
});

test.run();
