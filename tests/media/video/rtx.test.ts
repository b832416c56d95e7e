import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultVideoConfig } from '../../../src/media/config.ts';
import { emptyHeader, readHeader } from '../../../src/media/rtp/header.ts';
import type { VideoPacket } from '../../../src/media/video/camera.ts';
import { LocalCamera } from '../../../src/media/video/local-camera.ts';
import { unwrapRtx } from '../../../src/media/video/rtx.ts';
import { newStreamMemory, streamNumbers } from '../../../src/media/video/stream-memory.ts';
import { withExtensions } from '../../../src/media/webrtc/mid.ts';
import { everything, flow, HandCamera, type HandClock, handScreen, taken } from './cameras.ts';

const rtx = { payloadType: 102, receivePayloadType: 97 };
const rtxFlow = { ...flow, rtx };

/** A packet as it is sent again (RFC 4588 section 4). @param number original sequence number, if it is not that of the packet. */
function again(packet: Uint8Array, sequence: number, { ssrc = 900, number = -1, extended = false, padded = 0 } = {}) {
  const { length } = packet;
  const head = Buffer.from(packet.subarray(0, 12));
  const original = Buffer.alloc(2);
  original.writeUInt16BE(number < 0 ? head.readUInt16BE(2) : number);
  head[1] = (head[1]! & 0x80) | rtx.receivePayloadType;
  head.writeUInt16BE(sequence, 2);
  head.writeUInt32BE(ssrc, 8);
  if (extended) head[0]! |= 0x10;
  if (padded > 0) head[0]! |= 0x20;
  const padding = Buffer.alloc(padded, padded);
  const extension = extended ? Buffer.from('bede000141ff0000', 'hex') : Buffer.alloc(0);
  return Buffer.concat([head, extension, original, packet.subarray(12, length), padding]);
}

/** A camera that repeats packets by hand, and what its viewer gets: the number of each packet, and its payload. */
function watched() {
  const clock: HandClock = { now: 0 };
  const hand = new HandCamera(1, clock);
  hand.camera.configure(rtxFlow);
  const got: [index: number, payload: string][] = [];
  hand.camera.watch({
    take: ({ index, octets, payloadStart, payloadEnd }: VideoPacket) =>
      void got.push([index, Buffer.from(octets.subarray(payloadStart, payloadEnd)).toString('hex')]),
    takes: () => everything,
  });
  const header = emptyHeader();
  const repair = (packet: Uint8Array) => {
    if (readHeader(packet, header)) hand.camera.repair(Uint8Array.from(packet), header);
  };
  return { clock, hand, got, repair };
}

test('a packet that is missed comes again in a stream of its own, and takes its place', () => {
  const { clock, hand, got, repair } = watched();
  hand.receive(...hand.frame(1));
  const lost = hand.frame(3);
  hand.receive(...hand.frame(1));
  hand.camera.tick((clock.now += 40));
  assert.equal(hand.told, ['205/1']);
  assert.is(hand.camera.figures.missed, 3);
  repair(again(lost[0]!, 5));
  repair(again(lost[1]!, 6, { extended: true }));
  repair(again(lost[2]!, 7, { padded: 4 }));
  const [first] = got[0]!;
  assert.equal(
    got.map(([index]) => index - first),
    [0, 4, 1, 2, 3],
  );
  assert.equal(
    got.slice(2).map(([, payload]) => payload),
    lost.map((packet) => Buffer.from(packet.subarray(12)).toString('hex')),
  );
  assert.is(hand.camera.figures.missed, 0);
  // It was lost all the same: the far side hears how its network is.
  const [reception] = hand.camera.receptions;
  assert.equal([reception!.lost, reception!.packets, reception!.ssrc], [3, 2, 1]);
});

test('probes for bandwidth are left out: padding, and packets that have come', () => {
  const { hand, got, repair } = watched();
  const frame = hand.frame(2);
  repair(again(frame[0]!, 1));
  assert.equal(got, [], 'nothing has been heard yet');
  hand.receive(...frame);
  for (let sequence = 2; sequence < 2000; sequence++) repair(again(frame[sequence % 2]!, sequence));
  const padding = Buffer.concat([again(frame[0]!, 2001).subarray(0, 12), Buffer.alloc(200, 200)]);
  padding[0]! |= 0x20;
  for (let count = 0; count < 1000; count++) repair(padding);
  assert.is(got.length, 2);
  const [reception] = hand.camera.receptions;
  assert.equal([reception!.lost, reception!.packets], [0, 2]);
});

test('a retransmission of the source itself, of one octet, or of numbers that are far away changes nothing', () => {
  const { hand, got, repair } = watched();
  hand.receive(...hand.frame(1));
  const lost = hand.frame(1)[0]!;
  hand.receive(...hand.frame(1));
  repair(again(lost, 1, { ssrc: 1 }));
  repair(again(lost, 1).subarray(0, 13));
  repair(again(lost, 1).subarray(0, 12));
  for (const number of [0, 99, 103, 1000, 32_768, 40_000, 65_000]) repair(again(lost, 1, { number }));
  // Those before the first one are for viewers to leave out.
  assert.equal(
    got.map(([index]) => index - got[0]![0]),
    [0, 2, -100, -1],
  );
  hand.receive(...hand.frame(1));
  assert.is(got.at(-1)![0] - got[0]![0], 3);
});

test('whatever comes as a retransmission, nothing throws and no packet is handed on twice', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 12, maxLength: 40 }), { maxLength: 60 }), (packets) => {
      const { hand, got, repair } = watched();
      hand.receive(...hand.frame(2));
      hand.frame(3);
      hand.receive(...hand.frame(1));
      for (const packet of packets) {
        packet[0] = 0x80 | (packet[0]! & 0x3f);
        repair(packet);
      }
      const numbers = got.map(([index]) => index);
      assert.is(new Set(numbers).size, numbers.length);
    }),
  );
});

test('a packet with all that a head may have is unwrapped to the packet that it was', () => {
  // RFC 4588 4: padding, an extension, two contributing sources, marker; OSN 0x1234.
  const wrapped = Buffer.from(
    'b2e100070a0b0c0d00000384' + '1111111122222222' + 'bede0001' + '41ff0000' + '1234' + 'cafe' + '0002',
    'hex',
  );
  const header = emptyHeader();
  assert.ok(readHeader(wrapped, header));
  const original = unwrapRtx(wrapped, header, 96, 77)!;
  assert.is(
    Buffer.from(original).toString('hex'),
    'b2e012340a0b0c0d0000004d' + '1111111122222222' + 'bede0001' + '41ff0000' + 'cafe' + '0002',
  );
});

test('of a camera in several sizes a retransmission says of which it is, until its source is known, also to the next thread', () => {
  const memory = streamNumbers(newStreamMemory());
  const simulcast = { rids: ['l', 'h'], ridExtension: 10, repairedExtension: 11 };
  const got: [layer: number, index: number][] = [];
  const header = emptyHeader();
  const open = () => {
    const camera = new LocalCamera({
      ...{ session: 1, config: defaultVideoConfig, hit: () => {}, memory, random32: () => 0, now: () => 0 },
      ...{ ssrc: () => 1, tell: () => {}, keyFrameNeeded: () => {} },
    });
    camera.configure({ ...rtxFlow, bundled: { mid: '1', simulcast } });
    const take = ({ layer, index }: VideoPacket) => void got.push([layer, index & 0xffff]);
    camera.watch({ take, takes: () => everything });
    return camera;
  };
  const named = (packet: Uint8Array, rid: string | undefined, extension: number) =>
    rid === undefined ? packet : withExtensions(packet, { mid: rid, midExtension: extension }, 0);
  const give = (camera: LocalCamera, to: 'receive' | 'repair', packet: Uint8Array) => {
    const octets = Uint8Array.from(packet);
    if (readHeader(octets, header)) camera[to](octets, header, 0);
  };
  const video = (ssrc: number, sequence: number) =>
    Buffer.from(
      `8060${sequence.toString(16).padStart(4, '0')}00000001${ssrc.toString(16).padStart(8, '0')}1000ff`,
      'hex',
    );
  let camera = open();
  for (const [rid, ssrc, from] of [
    ['l', 70, 100],
    ['h', 80, 500],
  ] as const)
    for (const sequence of [from, from + 4]) give(camera, 'receive', named(video(ssrc, sequence), rid, 10));
  got.length = 0;
  // No name, one that no size has, and one of another extension.
  for (const [rid, extension] of [
    [undefined, 11],
    ['x', 11],
    ['h', 10],
  ] as const)
    give(camera, 'repair', named(again(video(80, 501), 1, { ssrc: 81 }), rid, extension));
  assert.equal(got, []);
  give(camera, 'repair', named(again(video(80, 501), 2, { ssrc: 81 }), 'h', 11));
  give(camera, 'repair', again(video(80, 502), 3, { ssrc: 81 }));
  give(camera, 'repair', named(again(video(70, 101), 1, { ssrc: 71 }), 'l', 11));
  assert.equal(got, [
    [2, 501],
    [2, 502],
    [1, 101],
  ]);
  camera = open();
  for (const sequence of [510, 512]) give(camera, 'receive', video(80, sequence));
  give(camera, 'repair', again(video(80, 511), 4, { ssrc: 81 }));
  assert.equal(got.at(-1), [2, 511]);
});

test('what a viewer misses is sent again with another source, numbers of its own, and its original number', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent, memory } = handScreen(clock);
  shown.configure(rtxFlow);
  shown.show(one.camera);
  one.receive(...one.frame(3));
  const first = sent.map(taken);
  for (const { sequence } of [first[2]!, first[0]!]) shown.missed(sequence);
  const [last, begin] = sent.slice(3).map(taken) as [ReturnType<typeof taken>, ReturnType<typeof taken>];
  for (const [repeated, original] of [
    [last, first[2]!],
    [begin, first[0]!],
  ] as const) {
    assert.equal(repeated.payload, [original.sequence >> 8, original.sequence & 255, ...original.payload]);
    assert.equal([repeated.timestamp, repeated.marker], [original.timestamp, original.marker]);
    assert.equal([repeated.payloadType, repeated.ssrc], [102, (original.ssrc ^ 0x8000_0000) >>> 0]);
  }
  assert.is(begin.sequence - last.sequence, 1);
  assert.is(shown.sentAgain, 2);
  assert.is(shown.packets, 3, 'they are none of the stream');
  // Another thread goes on with the next number: no index of SRTP is used twice.
  const next = handScreen(clock, {}, memory);
  next.shown.configure(rtxFlow);
  next.shown.show(one.camera);
  one.receive(...one.frame(1));
  next.shown.missed(taken(next.sent[0]!).sequence);
  assert.is(taken(next.sent[1]!).sequence - begin.sequence, 1);
});

test('memory of a retransmission is used again where sockets copy, and that of the packet is kept', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock, {}, newStreamMemory(), true);
  shown.configure(rtxFlow);
  shown.show(one.camera);
  one.receive(...one.frame(2));
  const [first, second] = sent.map(taken) as [ReturnType<typeof taken>, ReturnType<typeof taken>];
  for (const { sequence } of [first, second]) shown.missed(sequence);
  shown.missed((clock.now += 30) && first.sequence);
  assert.equal(
    sent.slice(2).map((packet) => taken(packet).payload.slice(2)),
    [first.payload, second.payload, first.payload],
  );
});

test('where the numbers of header extensions change, nothing of before is sent again', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.configure(rtxFlow);
  shown.show(one.camera);
  one.receive(...one.frame(1));
  shown.configure(flow);
  shown.missed(taken(sent[0]!).sequence);
  assert.is(sent.length, 1);
});

test.run();
