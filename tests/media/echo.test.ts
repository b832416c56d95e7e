import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RtpFlow } from '../../src/telephony/media.ts';
import { bench, encodePacket, ourSsrc, type Packet, ramp, settle, usualFlow } from './support.ts';

const arrived = (sequence: number, more: Partial<Packet> = {}): Packet => ({
  marker: false,
  payloadType: 0,
  sequence,
  timestamp: 50_000 + sequence * 160,
  ssrc: 77,
  payload: ramp(160, sequence),
  ...more,
});

async function echoing(flow: Partial<RtpFlow> = {}) {
  const all = bench();
  await all.open(flow);
  all.engine.apply({ type: 'echo', session: 1, on: true });
  all.clock.advance(1000);
  all.sent();
  return { ...all, hear: (packet: Packet) => all.network.deliver(10_000, encodePacket(packet)) };
}

test('each packet goes back at once with our source, sequence and timestamps, and its own audio', async () => {
  const { engine, hear, sent } = await echoing();
  hear(arrived(1, { marker: true }));
  hear(arrived(2));
  assert.equal(sent(), [
    { ...arrived(1), marker: true, sequence: 0x7ffe, timestamp: 8000, ssrc: ourSsrc },
    { ...arrived(2), marker: false, sequence: 0x7fff, timestamp: 8160, ssrc: ourSsrc },
  ]);
  engine.close();
});

test('losses and changes of order come back as they are: nothing is waited for', async () => {
  const { engine, hear, sent } = await echoing();
  for (const sequence of [1, 3, 2, 5]) hear(arrived(sequence));
  assert.equal(
    sent().map(({ sequence, timestamp, payload }) => [sequence, timestamp, payload[0]]),
    [
      [0x7ffe, 8000, 1],
      [0x8000, 8320, 3],
      [0x7fff, 8160, 2],
      [0x8002, 8640, 5],
    ],
  );
  engine.close();
});

test('sockets turn packets round by themselves, and what else there is to do is done all the same', async () => {
  const { engine, clock, network, hear, sent, reports } = await echoing();
  let sequence = 0;
  const say = (count: number) => {
    const before = network.passed;
    for (let packet = 0; packet < count; packet++) {
      hear(arrived(++sequence));
      clock.advance(20);
    }
    return network.passed - before;
  };
  assert.is(say(10), 9);
  assert.equal(
    sent().map(({ sequence: number, timestamp }) => [number, timestamp]),
    Array.from({ length: 10 }, (_, index) => [0x7ffe + index, 8000 + 160 * index]),
  );
  const before = engine.statistics(1)!;
  assert.equal([before.rxcount, before.txcount, before.rxploss], [10, 10, 0]);
  // A digit goes the long way, and what follows it is turned round by the sockets again.
  const digit = { payloadType: 101, timestamp: 50_000 + ++sequence * 160 };
  hear(arrived(sequence, { ...digit, marker: true, payload: [5, 0x8a, 3, 32] }));
  assert.equal(reports, [{ type: 'digit', session: 1, digit: '5', durationMs: 100 }]);
  assert.is(say(5), 4);
  // What is played wins; the echo goes on behind it.
  engine.apply({ type: 'play', session: 1, play: 1, item: { uri: 'ramp:1600', language: 'en', offsetMs: 0 } });
  await settle();
  sent();
  assert.is(say(10), 0);
  assert.is(sent().length, 10);
  assert.is(say(5), 4);
  engine.apply({ type: 'mute', session: 1, in: false, out: true });
  sent();
  assert.is(say(2), 0);
  assert.ok(sent().every(({ payload }) => payload.every((octet) => octet === 0xff)));
  engine.apply({ type: 'mute', session: 1, in: true, out: false });
  assert.equal([say(2), sent()], [0, []]);
  engine.apply({ type: 'mute', session: 1, in: false, out: false });
  assert.is(say(5), 4);
  // On hold: nothing is to be sent.
  engine.apply({ type: 'configure', session: 1, flow: { ...usualFlow, send: false } });
  sent();
  assert.equal([say(3), sent()], [0, []]);
  engine.apply({ type: 'configure', session: 1, flow: usualFlow });
  assert.is(say(5), 4);
  engine.apply({ type: 'echo', session: 1, on: false });
  sent();
  assert.equal([say(3), sent()], [0, []]);
  engine.close();
});

for (const spy of ['in', 'out', 'both'] as const)
  test(`an echo is heard by a snoop of direction ${spy}, and its far side hears it meanwhile and afterwards`, async () => {
    const { engine, clock, network, hear, sent } = await echoing();
    let sequence = 0;
    const loud = (packets: Packet[]) => packets.filter(({ payload }) => new Set(payload).size > 1).length;
    const say = (count: number) => {
      for (let packet = 0; packet < count; packet++) {
        hear(arrived(++sequence));
        clock.advance(20);
      }
    };
    say(5);
    engine.openSnoop(2, 1, { spy, whisper: 'none' });
    sent();
    say(20);
    const meanwhile = loud(sent());
    assert.ok(meanwhile >= 18, `${meanwhile} packets of 20`);
    engine.apply({ type: 'close', session: 2 });
    sent();
    network.passed = 0;
    say(10);
    assert.equal([loud(sent()) >= 10, network.passed], [true, 9]);
    engine.close();
  });

test('an echo goes on while a snoop may whisper to its far side', async () => {
  const { engine, clock, hear, sent } = await echoing();
  engine.openSnoop(2, 1, { spy: 'none', whisper: 'out' });
  for (let sequence = 1; sequence <= 20; sequence++) {
    hear(arrived(sequence));
    clock.advance(20);
  }
  const loud = sent().filter(({ payload }) => new Set(payload).size > 1).length;
  assert.ok(loud >= 18, `${loud} packets of 20`);
  engine.close();
});

test('digits are told and go back as events', async () => {
  const { engine, hear, sent, reports } = await echoing();
  hear(arrived(1));
  const digit = { payloadType: 101, timestamp: 50_320 };
  hear(arrived(2, { ...digit, marker: true, payload: [5, 10, 0, 160] }));
  hear(arrived(3, { ...digit, payload: [5, 0x8a, 3, 32] }));
  assert.equal(sent().slice(1), [
    { marker: true, payloadType: 101, sequence: 0x7fff, timestamp: 8160, ssrc: ourSsrc, payload: [5, 10, 0, 160] },
    { marker: false, payloadType: 101, sequence: 0x8000, timestamp: 8160, ssrc: ourSsrc, payload: [5, 0x8a, 3, 32] },
  ]);
  assert.equal(reports, [{ type: 'digit', session: 1, digit: '5', durationMs: 100 }]);
  engine.close();
});

test('what comes back has the numbers that the far side told', async () => {
  const { engine, hear, sent } = await echoing({
    payloadType: 97,
    receivePayloadType: 0,
    telephoneEvent: 96,
    receiveTelephoneEvent: 101,
  });
  hear(arrived(1));
  hear(arrived(2, { payloadType: 101, payload: [5, 10, 0, 160] }));
  hear(arrived(3, { payloadType: 97 }));
  assert.equal(
    sent().map(({ payloadType }) => payloadType),
    [97, 96, 97],
  );
  engine.close();
});

test('contributing sources, extensions and padding do not come back', async () => {
  const { engine, network, sent } = await echoing();
  const octets = encodePacket(arrived(1));
  const extended = Uint8Array.from([
    0xb1,
    ...octets.subarray(1, 12),
    1,
    2,
    3,
    4,
    0,
    0,
    0,
    1,
    9,
    9,
    9,
    9,
    42,
    43,
    0,
    0,
    3,
  ]);
  network.deliver(10_000, extended);
  const [echoed] = network.sent;
  assert.is(echoed?.packet[0], 0x80);
  assert.equal(sent()[0]?.payload, [42, 43]);
  engine.close();
});

test('what we play wins over the echo, and both keep one stream', async () => {
  const { engine, clock, hear, sent } = await echoing();
  hear(arrived(1));
  engine.apply({ type: 'play', session: 1, play: 1, item: { uri: 'ramp:320', language: 'en', offsetMs: 0 } });
  await settle();
  clock.advance(20);
  hear(arrived(2));
  clock.advance(20);
  hear(arrived(3));
  const packets = sent();
  assert.equal(
    packets.map(({ sequence }) => sequence),
    [0x7ffe, 0x7fff, 0x8000, 0x8001],
  );
  assert.equal(
    packets.map(({ timestamp }) => timestamp),
    [8000, 8160, 8320, 8480],
  );
  assert.equal(
    packets.map(({ payload }) => payload[0]),
    [1, 0, 160, 3],
  );
  engine.close();
});

test('muted in: no audio comes back, digits do; muted out: silence does', async () => {
  const { engine, hear, sent } = await echoing();
  engine.apply({ type: 'mute', session: 1, in: true, out: false });
  hear(arrived(1));
  hear(arrived(2, { payloadType: 101, payload: [5, 10, 0, 160] }));
  assert.equal(
    sent().map(({ payloadType }) => payloadType),
    [101],
  );
  engine.apply({ type: 'mute', session: 1, in: false, out: true });
  hear(arrived(3));
  assert.equal(sent()[0]?.payload, new Array(160).fill(0xff));
  engine.close();
});

test('a far side that changes its source is followed on our one timeline; distances within it are kept', async () => {
  const { engine, clock, hear, sent } = await echoing();
  hear(arrived(1));
  clock.advance(20);
  hear(arrived(900, { ssrc: 78, timestamp: 5 }));
  clock.advance(20);
  hear(arrived(901, { ssrc: 78, timestamp: 0xffff_ff00 }));
  const packets = sent();
  assert.equal(
    packets.map(({ ssrc, sequence }) => [ssrc, sequence]),
    [
      [ourSsrc, 0x7ffe],
      [ourSsrc, 0x7fff],
      [ourSsrc, 0x8000],
    ],
  );
  assert.equal(
    packets.map(({ timestamp }) => timestamp),
    [8000, 8160, 7899],
  );
  engine.close();
});

test('their timestamps may wrap', async () => {
  const { engine, clock, hear, sent } = await echoing();
  hear(arrived(1, { timestamp: 0xffff_ffb0 }));
  clock.advance(20);
  hear(arrived(2, { timestamp: 0x50 }));
  assert.equal(
    sent().map(({ timestamp }) => timestamp),
    [8000, 8160],
  );
  engine.close();
});

test('nothing comes back once echo is off, or while we may not send or receive', async () => {
  const { engine, hear, sent } = await echoing();
  engine.apply({ type: 'echo', session: 1, on: false });
  hear(arrived(1));
  assert.equal(sent(), []);
  engine.close();
  for (const direction of [{ send: false }, { receive: false }]) {
    const held = await echoing(direction);
    held.hear(arrived(1));
    assert.equal(held.sent(), []);
    held.engine.close();
  }
});

test.run();
