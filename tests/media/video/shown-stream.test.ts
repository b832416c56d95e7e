import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { inOrder } from '../../support/video/pictures.ts';
import { flow, HandCamera, type HandClock, handScreen, type Sent, taken } from './cameras.ts';

const frameMs = 33;

/** Of which camera a packet is: its last octet says so. */
const cameraOf = ({ payload }: Sent): number => payload.at(-1)!;
const isKey = ({ payload }: Sent): boolean => payload.at(-2) === 0;
const begins = ({ payload }: Sent): boolean => (payload[0]! & 0x10) !== 0;
const pictureId = ({ payload }: Sent): number => ((payload[2]! & 0x7f) << 8) | payload[3]!;

/** A packet of camera 1 with a payload of H.264. */
const handH264 = (sequence: number, timestamp: number, ...payload: number[]) =>
  Uint8Array.from([0x80, 96, 0, sequence, 0, 0, 0, timestamp, 0, 0, 0, 1, ...payload]);

/** Numbers of packets relative to those of the first. */
function numbersOf(packets: readonly Sent[]) {
  const first = packets[0]!;
  return packets.map((packet) => [
    cameraOf(packet),
    (packet.sequence - first.sequence) & 0xffff,
    (packet.timestamp - first.timestamp) >>> 0,
    (pictureId(packet) - pictureId(first)) & 0x7fff,
  ]);
}

test('an estimate below the lowest bit rate that is asked for leaves out no frames within that: it would never grow', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  shown.bitrateAsked(5000, 'remb');
  for (let frame = 0; frame < 150; frame++) {
    // 19 octets a packet: 14 kbit/s.
    one.receive(...one.frame(3));
    clock.now += frameMs;
    shown.tick(clock.now);
  }
  assert.equal([sent.length, shown.leftOut], [450, 0]);
});

test('the next camera begins with its key frame; until then the one before goes on', () => {
  const clock: HandClock = { now: 0 };
  const [one, two] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const { shown, sent } = handScreen(clock);
  const next = () => (clock.now += frameMs);
  shown.show(one.camera);
  one.receive(...one.frame(2));
  two.receive(...two.frame(2));
  next();
  // Its key frame was before.
  const [other] = two.frame(1);
  shown.show(two.camera);
  two.receive(other!);
  one.receive(...one.frame(2));
  next();
  two.receive(...two.frame(2));
  one.receive(...one.frame(2));
  assert.equal(numbersOf(sent.map(taken)), [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
    [1, 2, 3000, 1],
    [1, 3, 3000, 1],
    // 33 ms after the frame before.
    [2, 4, 3000 + 33 * 90, 2],
    [2, 5, 3000 + 33 * 90, 2],
  ]);
  assert.equal(two.told, ['206/1']);
  assert.equal([shown.switches, shown.leftOut], [2, 1]);
});

test('a frame under way is sent to its end before the next camera begins, if that comes soon', () => {
  const clock: HandClock = { now: 0 };
  const [one, two] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  const [first, second] = one.frame(2) as [Uint8Array, Uint8Array];
  shown.show(two.camera);
  shown.show(one.camera);
  one.receive(first);
  shown.show(two.camera);
  two.receive(...two.frame(2));
  assert.is(sent.length, 1);
  one.receive(second);
  assert.equal(
    sent.map((packet) => cameraOf(taken(packet))),
    [1, 1, 2, 2],
  );
  // Its end is lost.
  shown.show(one.camera);
  two.receive(two.frame(2)[0]!);
  one.receive(...one.frame(2));
  assert.is(sent.length, 5);
  shown.tick((clock.now += 30));
  assert.equal(
    sent.map((packet) => cameraOf(taken(packet))),
    [1, 1, 2, 2, 2, 1, 1],
  );
  assert.equal(
    sent.map((packet) => taken(packet).sequence - taken(sent[0]!).sequence),
    [0, 1, 2, 3, 4, 5, 6],
  );
});

test('a packet of an earlier frame that comes late does not end the one under way', () => {
  const clock: HandClock = { now: 0 };
  const [one, two] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  const [first, late] = one.frame(2) as [Uint8Array, Uint8Array];
  const [second, third] = one.frame(2) as [Uint8Array, Uint8Array];
  one.receive(first, second);
  shown.show(two.camera);
  two.receive(...two.frame(1));
  one.receive(late, third);
  assert.equal(
    sent.map((packet) => [cameraOf(taken(packet)), taken(packet).sequence - taken(sent[0]!).sequence]),
    [
      [1, 0],
      [1, 2],
      [1, 1],
      [1, 3],
      [2, 4],
    ],
  );
});

test('gaps of a source stay gaps, late packets keep their place, packets of the source before are dropped', () => {
  const clock: HandClock = { now: 0 };
  const [one, two] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  const packets = one.frame(6);
  one.receive(packets[0]!, packets[1]!, packets[4]!, packets[3]!, packets[4]!, packets[5]!);
  shown.show(two.camera);
  two.receive(...two.frame(1));
  one.receive(packets[2]!);
  assert.equal(
    sent.map((packet) => taken(packet).sequence - taken(sent[0]!).sequence),
    [0, 1, 4, 3, 5, 6],
  );
});

test('a camera that begins anew goes on with a key frame', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  one.receive(...one.frame(1), ...one.frame(1));
  clock.now += frameMs;
  one.restart({ ssrc: 77, sequence: 9, timestamp: 5, pictureId: 3 });
  const lost = one.frame(1);
  assert.ok(lost);
  one.receive(...one.frame(1));
  clock.now += 1000;
  one.camera.tick(clock.now);
  one.receive(...one.frame(1), ...one.frame(1));
  assert.equal(numbersOf(sent.map(taken)), [
    [1, 0, 0, 0],
    [1, 1, 3000, 1],
    [1, 2, 3000 + 1033 * 90, 2],
    [1, 3, 6000 + 1033 * 90, 3],
  ]);
});

test('padding alone keeps its number', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  const [key, padding, next] = [one.frame(1)[0]!, one.frame(1)[0]!, one.frame(1)[0]!];
  one.receive(key, Uint8Array.from([0xa0, ...padding.subarray(1, 12), 0, 0, 3]), next);
  assert.equal(
    sent.map((packet) => [packet[0], taken(packet).payload.length]),
    [
      [0x80, 7],
      [0xa0, 0],
      [0x80, 7],
    ],
  );
});

test('H.264: a key frame without parameter sets gets those of the stream, else those of the SDP', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  const sets = [
    [0x67, 9],
    [0x68, 9],
    [0x68, 8],
  ].map((set) => Buffer.from(set).toString('base64'));
  const h264 = { profile: 'constrained baseline', level: 31, packetization: 1, parameterSets: sets } as const;
  one.camera.configure({ ...flow, codec: 'h264', h264 });
  shown.configure({ ...flow, codec: 'h264' });
  shown.show(one.camera);
  one.receive(handH264(1, 10, 0x65, 1), handH264(2, 20, 0x41, 2), handH264(3, 30, 0x65, 3));
  const first = taken(sent[0]!).sequence;
  const heard = () => sent.map(taken).map(({ sequence, payload }) => [(sequence - first) & 0xffff, ...payload]);
  assert.equal(heard(), [
    [0, 0x67, 9],
    [1, 0x68, 9],
    [2, 0x68, 8],
    [3, 0x65, 1],
    [4, 0x41, 2],
    [5, 0x65, 3],
  ]);
  one.receive(handH264(4, 40, 0x67, 1), handH264(5, 40, 0x65, 4));
  const other = handScreen(clock);
  other.shown.configure({ ...flow, codec: 'h264' });
  other.shown.show(one.camera);
  one.receive(handH264(6, 50, 0x65, 5));
  assert.equal(
    other.sent.map(taken).map(({ payload }) => payload),
    [
      [0x67, 1],
      [0x68, 9],
      [0x68, 8],
      [0x65, 5],
    ],
  );
});

test('H.264: a far side in single NAL unit mode gets reassembled units, and starts at a whole key frame', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  one.camera.configure({ ...flow, codec: 'h264' });
  const { shown, sent, limits } = handScreen(clock, { largestUnit: 4 });
  shown.configure({ ...flow, codec: 'h264', h264: { profile: 'constrained baseline', level: 31, packetization: 0 } });
  shown.show(one.camera);
  const payloads = () => sent.splice(0).map((packet) => taken(packet).payload);
  const last = (octets: Uint8Array): Uint8Array => {
    octets[1]! |= 0x80;
    return octets;
  };
  // The end of a picture; one with its parameter sets together, in parts.
  one.receive(last(handH264(1, 10, 0x7c, 0x45, 9)));
  one.receive(handH264(2, 20, 0x78, 0, 2, 0x67, 1, 0, 2, 0x68, 2), handH264(3, 20, 0x7c, 0x85, 3));
  assert.equal(payloads(), []);
  one.receive(last(handH264(4, 20, 0x7c, 0x45, 4)), last(handH264(5, 30, 0x41, 5)));
  assert.equal(payloads(), [
    [0x67, 1],
    [0x68, 2],
    [0x65, 3, 4],
    [0x41, 5],
  ]);
  assert.equal([shown.unseen, limits.figures()], [undefined, {}]);
  // One that is too long, and what follows: nobody is asked for key frames that would be as long.
  one.receive(last(handH264(6, 40, 0x41, 6, 7, 8, 9)), last(handH264(7, 50, 0x41, 7)));
  const told = one.told.length;
  shown.tick((clock.now += 2000));
  one.receive(last(handH264(8, 60, 0x41, 8)));
  assert.equal([payloads(), one.told.length, shown.unseen], [[], told, 'packetization']);
  assert.equal(limits.figures(), { 'media.video.largest_unit': 1 });
  one.receive(handH264(9, 70, 0x67, 1), handH264(10, 70, 0x68, 2), last(handH264(11, 70, 0x65, 1)));
  assert.equal(
    [payloads(), shown.unseen],
    [
      [
        [0x67, 1],
        [0x68, 2],
        [0x65, 1],
      ],
      undefined,
    ],
  );
});

test('only the payload of a packet with CSRCs, an extension or padding is forwarded, in a packet of its own', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  shown.show(one.camera);
  const plain = one.frame(3);
  const payloads = plain.map((packet) => [...packet.subarray(12)]);
  const [first, second, third] = plain as [Uint8Array, Uint8Array, Uint8Array];
  // One source and an extension of one word; two octets of padding.
  const more = Buffer.concat([first.subarray(0, 12), Buffer.from([1, 2, 3, 4, 0xbe, 0xde, 0, 1, 9, 9, 9, 9])]);
  const long = Buffer.concat([more, first.subarray(12)]);
  long[0] = 0x91;
  const padded = Buffer.concat([third, Buffer.from([0, 2])]);
  padded[0] = 0xa0;
  one.receive(long, second, padded);
  const ids = ({ payload: [, , high, low] }: Sent) => ((high! & 0x7f) << 8) | low!;
  const went = sent.map(taken);
  assert.equal(
    went.map((packet) => [packet.payload.length, packet.payload.slice(-2)]),
    payloads.map((payload) => [payload.length, payload.slice(-2)]),
  );
  assert.is(new Set(went.map(ids)).size, 1);
  assert.equal(
    sent.map((packet) => packet[0]),
    [0x80, 0x80, 0x80],
  );
});

test('H.264: a picture that comes without its parameter sets is given those that came before', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  one.camera.configure({ ...flow, codec: 'h264' });
  shown.configure({ ...flow, codec: 'h264' });
  const packet = handH264;
  one.receive(packet(1, 10, 0x67, 1), packet(2, 10, 0x68, 2), packet(3, 10, 0x65, 3));
  shown.show(one.camera);
  one.receive(packet(4, 20, 0x41, 4), packet(5, 30, 0x65, 5), packet(6, 30, 0x65, 6), packet(7, 40, 0x41, 7));
  const first = taken(sent[0]!);
  assert.equal(
    sent
      .map(taken)
      .map(({ sequence, timestamp, payload }) => [
        ...[(sequence - first.sequence) & 0xffff, (timestamp - first.timestamp) >>> 0],
        ...payload,
      ]),
    [
      [0, 0, 0x67, 1],
      [1, 0, 0x68, 2],
      [2, 0, 0x65, 5],
      [3, 0, 0x65, 6],
      [4, 10, 0x41, 7],
    ],
  );
});

test('who takes less than is sent is sent whole frames, fewer of them', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent } = handScreen(clock);
  // Two frames of 19 octets fit into a second's worth of burst.
  shown.configure({ ...flow, maxBitrate: 8 * 38 });
  shown.show(one.camera);
  for (let frame = 0; frame < 300; frame++) {
    one.receive(...one.frame(1));
    clock.now += frameMs;
    one.camera.tick(clock.now);
    shown.tick(clock.now);
  }
  const octets = sent.reduce((sum, packet) => sum + packet.length, 0);
  assert.ok(octets <= (38 * (300 * frameMs + 1000)) / 1000 + 19, `${octets} octets`);
  assert.ok(octets >= 19 * 8, `${octets} octets`);
  assert.equal(
    sent.map((packet, index) => taken(packet).sequence - taken(sent[0]!).sequence - index),
    sent.map(() => 0),
  );
});

test('why who is to be shown is not stands there as long as it is so', () => {
  const clock: HandClock = { now: 0 };
  const [one, other] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const { shown } = handScreen(clock);
  const why: (string | undefined)[] = [];
  const look = () => why.push(shown.unseen);
  look();
  shown.show(one.camera);
  look();
  one.receive(...one.frame(1));
  look();
  other.frame(1);
  other.receive(...other.frame(1));
  shown.show(other.camera);
  look();
  shown.configure({ ...flow, send: false });
  look();
  shown.configure({ ...flow, codec: 'h264' });
  other.receive(...other.frame(1));
  look();
  shown.configure({ ...flow, maxBitrate: 8 });
  clock.now += 1000;
  other.camera.askKeyFrame();
  for (let count = 0; count < 3; count++) {
    other.receive(...other.frame(1));
    clock.now += 30;
  }
  look();
  clock.now += 10_000;
  look();
  assert.equal(why, [undefined, 'silent', undefined, 'key_frame', 'inactive', 'codec', 'bandwidth', 'silent']);
});

test('a packet that is missed is sent again, as often as may be, while it is kept', () => {
  const clock: HandClock = { now: 0 };
  const one = new HandCamera(1, clock);
  const { shown, sent, limits } = handScreen(clock, { resendPackets: 4, resendMs: 100 });
  shown.show(one.camera);
  one.receive(...one.frame(6));
  const numbers = sent.map((packet) => taken(packet).sequence);
  const again = (index: number, afterMs: number) => {
    clock.now += afterMs;
    shown.missed(numbers[index]!);
    return sent.splice(6).map((packet) => numbers.indexOf(taken(packet).sequence));
  };
  assert.equal([again(1, 0), again(2, 0), again(2, 0), again(2, 20), again(2, 40)], [[], [2], [], [2], []]);
  shown.missed(12_345);
  assert.equal([again(5, 40), again(4, 1), again(4, 60)], [[5], [], []]);
  // The first, of a time when four were kept, and twice one that was kept long enough; nothing of one that was never sent.
  assert.equal(limits.figures(), { 'media.video.resend_packets': 1, 'media.video.resend_time': 2 });
  shown.tick(clock.now);
  assert.is(shown.sentAgain, 3);
});

test('the numbers of a stream go on in another thread, as late as it is', () => {
  const clock: HandClock = { now: 0 };
  const [one, two] = [new HandCamera(1, clock), new HandCamera(2, clock)];
  const before = handScreen(clock);
  before.shown.show(one.camera);
  one.receive(...one.frame(2));
  clock.now += 500;
  const after = handScreen(clock, {}, before.memory);
  after.shown.show(two.camera);
  two.receive(...two.frame(1));
  const sent = [...before.sent, ...after.sent].map(taken);
  assert.equal(numbersOf(sent), [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
    [2, 2, 500 * 90, 1],
  ]);
  assert.is(new Set(sent.map(({ ssrc }) => ssrc)).size, 1);
  assert.is(after.shown.packets, 3);
});

type Step = { camera: number; packets: number; fate: number } | { show: number } | { waitMs: number };

/** What happens to a room: a camera sends a frame, another one is shown, time passes. */
const happenings: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ camera: fc.nat(2), packets: fc.integer({ min: 1, max: 5 }), fate: fc.nat(0xffff) }),
    },
    { weight: 1, arbitrary: fc.record({ show: fc.nat(3) }) },
    { weight: 3, arbitrary: fc.record({ waitMs: fc.nat(120) }) },
  ),
  { minLength: 20, maxLength: 150 },
);
const bits = fc.constantFrom<7 | 15>(7, 15);

function play(steps: readonly Step[], idBits: readonly (7 | 15)[], lossy: boolean): Sent[] {
  const clock: HandClock = { now: 0 };
  const starts = [65_500, 3, 40_000];
  const cameras = [1, 2, 3].map(
    (session, index) =>
      new HandCamera(session, clock, { sequence: starts[index]!, timestamp: 0xffff_f000, bits: idBits[index]! }),
  );
  const { shown, sent } = handScreen(clock);
  /** Packets of each camera that come later than they should. */
  const late: Uint8Array[][] = [[], [], []];
  for (const step of steps) {
    if ('show' in step) shown.show(cameras[step.show]?.camera);
    else if ('waitMs' in step) clock.now += step.waitMs;
    else {
      const { camera, fate: fates } = step;
      const packets = cameras[camera]!.frame(step.packets);
      for (const [index, packet] of packets.entries()) {
        const fate = lossy ? (fates >> (3 * index)) & 7 : 7;
        if (fate === 0) continue;
        if (fate === 1) late[camera]!.push(packet);
        else cameras[camera]!.receive(packet);
        if (fate === 2) cameras[camera]!.receive(packet);
      }
      if (fates & 1) cameras[camera]!.receive(...late[camera]!.splice(0));
      clock.now += 10;
    }
    for (const { camera } of cameras) camera.tick(clock.now);
    shown.tick(clock.now);
  }
  return sent.map(taken);
}

test('whatever is switched, numbers and pictures go on one by one', () => {
  fc.assert(
    fc.property(happenings, fc.tuple(bits, bits, bits), (steps, idBits) => {
      const sent = play(steps, idBits, false);
      for (let index = 1; index < sent.length; index++) {
        const [before, packet] = [sent[index - 1]!, sent[index]!];
        assert.is((packet.sequence - before.sequence) & 0xffff, 1);
        const units = (packet.timestamp - before.timestamp) | 0;
        const isSameFrame = !begins(packet);
        assert.ok(isSameFrame ? units === 0 : units > 0, `${units} units`);
        assert.is(packet.ssrc, before.ssrc);
        if (cameraOf(packet) !== cameraOf(before)) assert.ok(isKey(packet) && begins(packet) && before.marker);
        const wide = idBits[cameraOf(packet) - 1] === 15 && idBits[cameraOf(before) - 1] === 15;
        const id = (each: Sent) =>
          wide ? pictureId(each) : each.payload[2]! & 0x80 ? each.payload[3]! : each.payload[2]!;
        assert.is((id(packet) - id(before)) & (wide ? 0x7fff : 0x7f), isSameFrame ? 0 : 1);
      }
    }),
    { numRuns: 150 },
  );
});

test('whatever is lost, late or twice, no number is used twice and timestamps follow the numbers', () => {
  fc.assert(
    fc.property(happenings, fc.tuple(bits, bits, bits), (steps, idBits) => {
      const sent = play(steps, idBits, true);
      const ordered = inOrder(sent);
      assert.is(ordered.length, sent.length, 'a number was used twice');
      for (let index = 1; index < ordered.length; index++) {
        const [before, packet] = [ordered[index - 1]!, ordered[index]!];
        assert.ok(((packet.timestamp - before.timestamp) | 0) >= 0, 'back in time');
        if (cameraOf(packet) !== cameraOf(before)) assert.ok(isKey(packet) && begins(packet));
      }
    }),
    { numRuns: 150 },
  );
});

test.run();
