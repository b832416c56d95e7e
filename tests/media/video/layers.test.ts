import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import { defaultVideoConfig } from '../../../src/media/config.ts';
import { emptyHeader, readHeader } from '../../../src/media/rtp/header.ts';
import { LayerChoice } from '../../../src/media/video/layer-choice.ts';
import { type Layer, Layers } from '../../../src/media/video/layers.ts';
import { LocalCamera } from '../../../src/media/video/local-camera.ts';
import { newStreamMemory, streamNumbers } from '../../../src/media/video/stream-memory.ts';
import { withExtensions } from '../../../src/media/webrtc/mid.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';
import { everything, flow, type HandClock, handScreen, taken } from './cameras.ts';

/** Cameras that send their picture in several sizes at once (RFC 8853). */
const layers = suite('sizes of a picture');

const sizes: readonly Layer[] = [
  { layer: 2, bitrate: 100_000 },
  { layer: 1, bitrate: 400_000 },
  { layer: 3, bitrate: 1_500_000 },
];

layers('they are ranked by what they send; one that falls silent is left out until it is back', () => {
  const measured = new Layers();
  assert.equal(measured.ranked(), []);
  const send = (from: number, to: number, octets: Record<number, number>) => {
    for (let now = from; now < to; now += 100)
      for (const [layer, each] of Object.entries(octets)) measured.took(Number(layer), each, now);
  };
  send(0, 2000, { 1: 5000, 2: 1000 });
  assert.equal(
    measured.ranked().map(({ layer }) => layer),
    [2, 1],
  );
  assert.ok(Math.abs(measured.ranked()[1]!.bitrate - 400_000) < 50_000);
  send(2000, 4000, { 2: 1000 });
  assert.equal(
    measured.ranked().map(({ layer }) => layer),
    [2],
  );
  send(4000, 9000, { 1: 500, 2: 1000 });
  assert.equal(
    measured.ranked().map(({ layer }) => layer),
    [1, 2],
  );
});

layers('a viewer without a word gets the largest, and one that says what it takes the largest within', () => {
  for (const [most, expected] of [
    [everything, 3],
    [1_600_000, 3],
    [1_000_000, 1],
    [300_000, 2],
    [50_000, 2],
  ] as const)
    assert.is(new LayerChoice().choose(sizes, undefined, most, 0), expected);
  assert.is(new LayerChoice().choose([], 3, everything, 0), undefined);
});

/** What a choice is from second to second, where `estimate` says what a viewer of a size estimates. */
function follow(
  choice: LayerChoice,
  seconds: number,
  estimate: (shown: number, second: number) => number,
  most = everything,
) {
  let shown: number | undefined = 3;
  const seen: (number | undefined)[] = [];
  for (let second = 0; second < seconds; second++) {
    const sent: number = sizes.find(({ layer }) => layer === shown)?.bitrate ?? 0;
    choice.estimated(estimate(shown ?? 0, second), sent, second * 1000);
    for (let now = second * 1000; now < (second + 1) * 1000; now += 200) shown = choice.choose(sizes, shown, most, now);
    seen.push(shown);
  }
  return seen;
}

layers(
  'estimates that fall below what is sent take the size down; tries take it up again, less often where they fail',
  () => {
    const choice = new LayerChoice();
    // The line carries 500 kbit/s: what is beyond that makes the estimate fall, what is below lets it grow to half as much again.
    let before = 3_000_000;
    const line = (shown: number): number => {
      const sent = sizes.find(({ layer }) => layer === shown)!.bitrate;
      before = sent > 500_000 ? Math.min(before * 0.85, 425_000) : Math.min(sent * 1.5, before * 1.08);
      return before;
    };
    const seen = follow(choice, 120, line);
    assert.is(seen[0], 1);
    const settled = seen.slice(20);
    assert.ok(settled.includes(1), 'it climbs to the size that the line carries');
    const tried = settled.filter((each) => each === 3).length;
    assert.ok(tried > 0 && tried < 20, `the size that it does not carry is tried now and then: ${tried} s of 100`);
    assert.ok(settled.filter((each) => each === 1).length > 50, `${seen}`);
  },
);

layers('an estimate that only grows with what is sent does not hold a viewer down', () => {
  const choice = new LayerChoice();
  choice.estimated(90_000, 1_500_000, 0);
  const grown = (shown: number) => sizes.find(({ layer }) => layer === shown)!.bitrate * 1.5;
  assert.is(follow(choice, 40, grown).at(-1), 3);
  assert.is(choice.state, 'bounded');
});

layers('a viewer that loses a tenth gets a smaller size, and none is tried while some is lost', () => {
  const choice = new LayerChoice();
  let shown = choice.choose(sizes, 3, everything, 0);
  choice.lost(0.2, 1_500_000, 0);
  shown = choice.choose(sizes, shown, everything, 200);
  choice.lost(0.2, 400_000, 3000);
  shown = choice.choose(sizes, shown, everything, 3200);
  assert.is(shown, 2);
  for (let now = 4000; now < 30_000; now += 1000) {
    choice.lost(0.05, 100_000, now);
    assert.is((shown = choice.choose(sizes, shown, everything, now)), 2);
  }
  for (let now = 30_000; now < 60_000; now += 200) shown = choice.choose(sizes, shown, everything, now);
  assert.is(shown, 3);
});

layers('whatever is estimated and lost, a size is chosen that is sent, and within what the viewer says', () => {
  const step = fc.record({
    estimate: fc.double({ min: 0, max: 5_000_000, noNaN: true }),
    lost: fc.double({ min: 0, max: 1, noNaN: true }),
    sent: fc.nat(3_000_000),
    most: fc.constantFrom(everything, 1_600_000, 450_000, 120_000),
    after: fc.nat(20_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const choice = new LayerChoice();
      let now = 0;
      let shown: number | undefined;
      for (const { estimate, lost, sent, most, after } of steps) {
        now += after;
        choice.estimated(estimate, sent, now);
        choice.lost(lost, sent, now);
        shown = choice.choose(sizes, shown, most, now);
        const { bitrate } = sizes.find(({ layer }) => layer === shown)!;
        assert.ok(bitrate <= Math.max(100_000, most * 1.1));
      }
    }),
  );
});

const rids = ['h', 'l'] as const;
const ridExtension = 5;
const simulcastFlow: VideoFlow = {
  ...flow,
  feedback: { ...flow.feedback, remb: true },
  bundled: { mid: '1', midExtension: 4, simulcast: { rids, ridExtension } },
};

/** A camera that sends two sizes, whose packets are made by hand; a key frame of each where one was asked for. */
class HandSimulcast {
  readonly memory = newStreamMemory();
  camera: LocalCamera;
  readonly told: [name: string, ssrc: number][] = [];
  readonly #clock: HandClock;
  readonly #header = emptyHeader();
  #numbers = { h: { ssrc: 70, sequence: 9000, time: 5_000_000 }, l: { ssrc: 80, sequence: 10, time: 100 } };
  #asked = new Set<string>(rids);
  #picture = 0;

  constructor(clock: HandClock) {
    this.#clock = clock;
    this.camera = this.open();
  }

  /** Another thread goes on. */
  open(): LocalCamera {
    const camera = new LocalCamera({
      ...{ session: 1, config: defaultVideoConfig, hit: new LimitCounts().hit, memory: streamNumbers(this.memory) },
      ...{ random32: () => this.#picture++ * 1000, now: () => this.#clock.now, ssrc: () => 1 },
      tell: (feedback) => {
        const about = Buffer.from(feedback).readUInt32BE(8);
        this.told.push([`${feedback[1]}/${feedback[0]! & 31}`, about]);
        for (const rid of rids) if (this.#numbers[rid].ssrc === about && feedback[1] === 206) this.#asked.add(rid);
      },
      keyFrameNeeded: () => {},
    });
    camera.configure(simulcastFlow);
    this.camera = camera;
    return camera;
  }

  /** A frame of one size, of packets of so many octets. @param named whether they name their size. */
  send(rid: 'h' | 'l', octets: number, { named = true, packets = 1 } = {}): void {
    const numbers = this.#numbers[rid];
    numbers.time += 9000;
    const isKey = this.#asked.delete(rid);
    for (let index = 0; index < packets; index++) {
      const packet = Buffer.alloc(12 + octets);
      packet[0] = 0x80;
      packet[1] = (index === packets - 1 ? 0x80 : 0) | 96;
      packet.writeUInt16BE(numbers.sequence++ & 0xffff, 2);
      packet.writeUInt32BE(numbers.time, 4);
      packet.writeUInt32BE(numbers.ssrc, 8);
      packet.set([index === 0 ? 0x10 : 0, isKey ? 0 : 1, rid.charCodeAt(0)], 12);
      const octetsOf = named ? withExtensions(packet, { mid: rid, midExtension: ridExtension }, 0) : packet;
      if (readHeader(octetsOf, this.#header)) this.camera.receive(octetsOf, this.#header, this.#clock.now);
    }
  }
}

/** Seconds of ten frames of both sizes each: 40 and 320 kbit/s. */
function pass(clock: HandClock, source: HandSimulcast, screens: ReturnType<typeof handScreen>[], seconds: number) {
  for (let frame = 0; frame < seconds * 10; frame++) {
    source.send('l', 500);
    source.send('h', 1000, { packets: 4 });
    for (let tick = 0; tick < 5; tick++) {
      clock.now += 20;
      source.camera.tick(clock.now);
      for (const { shown } of screens) shown.tick(clock.now);
    }
  }
}

const sizeOf = (packet: Uint8Array): string => String.fromCharCode(taken(packet).payload[2]!);

layers(
  'each viewer is sent the size that it takes, from a key frame on, as one stream; the source is not lowered',
  () => {
    const clock: HandClock = { now: 1 };
    const source = new HandSimulcast(clock);
    const [slow, fast] = [handScreen(clock), handScreen(clock)] as const;
    slow.shown.configure({ ...flow, maxBitrate: 100_000 });
    for (const { shown } of [slow, fast]) shown.show(source.camera);
    pass(clock, source, [slow, fast], 10);
    assert.equal(
      [slow, fast].map(({ shown }) => shown.layers.sizeOf(source.camera)),
      [
        { size: 1, sizes: 2 },
        { size: 2, sizes: 2 },
      ],
    );
    assert.is(handScreen(clock).shown.layers.sizeOf(source.camera), undefined);
    assert.is(slow.sent.slice(-20).map(sizeOf).join(''), 'l'.repeat(20));
    assert.is(fast.sent.slice(-20).map(sizeOf).join(''), 'h'.repeat(20));
    for (const { sent } of [slow, fast]) {
      const packets = sent.map(taken);
      for (const [at, packet] of packets.entries()) {
        const before = packets[at - 1];
        if (!before) continue;
        assert.is((packet.sequence - before.sequence) & 0xffff, 1);
        const step = (packet.timestamp - before.timestamp) | 0;
        assert.ok(step >= 0 && step <= 18_000, `${step}`);
        if (sizeOf(sent[at]!) !== sizeOf(sent[at - 1]!)) assert.is(packet.payload[1], 0, 'a key frame begins the size');
      }
    }
    assert.is(source.camera.bitrateAsked, undefined);
    assert.not(source.told.some(([name]) => name === '206/15'));
  },
);

layers('estimates and losses of a viewer change its size alone, and a lost size is replaced', () => {
  const clock: HandClock = { now: 1 };
  const source = new HandSimulcast(clock);
  const [one, other] = [handScreen(clock), handScreen(clock)] as const;
  for (const { shown } of [one, other]) shown.show(source.camera);
  pass(clock, source, [one, other], 5);
  one.shown.bitrateAsked(60_000, 'remb');
  other.shown.bitrateAsked(300_000_000, 'remb');
  pass(clock, source, [one, other], 2);
  assert.equal(
    [one, other].map(({ sent }) => sizeOf(sent.at(-1)!)),
    ['l', 'h'],
  );
  other.shown.lost(0.5);
  pass(clock, source, [one, other], 1);
  assert.equal(
    [one, other].map(({ sent }) => sizeOf(sent.at(-1)!)),
    ['l', 'l'],
  );
  pass(clock, source, [one, other], 30);
  assert.equal(
    [one, other].map(({ sent }) => sizeOf(sent.at(-1)!)),
    ['h', 'h'],
  );
  // The source can no longer send the larger one.
  for (let frame = 0; frame < 40; frame++) {
    source.send('l', 500);
    for (let tick = 0; tick < 5; tick++) {
      clock.now += 20;
      for (const { shown } of [one, other]) shown.tick(clock.now);
    }
  }
  assert.equal(
    [one, other].map(({ sent }) => sizeOf(sent.at(-1)!)),
    ['l', 'l'],
  );
});

layers('sizes are known by their sources once they were named, in another thread too', () => {
  const clock: HandClock = { now: 1 };
  const source = new HandSimulcast(clock);
  const viewer = handScreen(clock);
  source.send('h', 500, { named: false });
  assert.is(source.camera.figures.leftOut, 1, 'a source that names no size is of none');
  viewer.shown.show(source.camera);
  pass(clock, source, [viewer], 3);
  viewer.shown.show(undefined);
  source.open();
  const before = viewer.sent.length;
  viewer.shown.show(source.camera);
  for (let time = 0; time < 2; time++) {
    for (const rid of rids) source.send(rid, 500, { named: false });
    source.camera.tick((clock.now += 1000));
  }
  assert.equal([viewer.sent.length > before, source.camera.figures.leftOut], [true, 0]);
  assert.equal(
    source.camera.receptions.map(({ ssrc }) => ssrc),
    [70, 80],
  );
});

layers.run();
