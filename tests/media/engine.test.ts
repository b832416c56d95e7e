import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { MediaEngine } from '../../src/media/engine.ts';
import { SequenceReader } from '../../src/media/sequence.ts';
import { digitFrequencies, toneSequence } from '../../src/media/tones.ts';
import { bench, encodePacket, firstSequence, noExternal, ourSsrc, ramp, settle, usualFlow } from './support.ts';

const silence = (length: number) => new Array(length).fill(0xff);
const play = (engine: MediaEngine, uri: string, item = 1) =>
  engine.apply({ type: 'play', session: 1, play: item, item: { uri, language: 'en', offsetMs: 0 } });
const digits = (engine: MediaEngine, text: string, session = 1) =>
  engine.apply({
    type: 'sendDigits',
    session,
    sequence: { digits: text, beforeMs: 0, betweenMs: 100, durationMs: 60, afterMs: 0 },
  });
const audio = { payloadType: 0, ssrc: ourSsrc };

test('an item is sent packet by packet every 20 ms, its last piece filled with silence, and then told', async () => {
  const { engine, clock, sent, network, reports, open } = bench();
  await open();
  play(engine, 'ramp:360');
  await settle();
  clock.advance(59);
  assert.equal(reports, []);
  clock.advance(41);
  assert.equal(
    network.sent.map((each) => [each.from, each.to]),
    new Array(3).fill([10_000, '192.0.2.1:4000']),
  );
  assert.equal(sent(), [
    { ...audio, marker: true, sequence: 0x7ffe, timestamp: 160, payload: ramp(160) },
    { ...audio, marker: false, sequence: 0x7fff, timestamp: 320, payload: ramp(160, 160) },
    { ...audio, marker: false, sequence: 0x8000, timestamp: 480, payload: [...ramp(40, 320), ...silence(120)] },
  ]);
  assert.equal(reports, [{ type: 'played', session: 1, play: 1, report: { type: 'media.finished' } }]);
  engine.close();
});

test('silence is not sent; the next talkspurt has a marker, and its timestamp counts the pause', async () => {
  const { engine, clock, sent, open } = bench();
  await open();
  play(engine, 'ramp:160');
  await settle();
  clock.advance(1000);
  play(engine, 'ramp:160', 2);
  await settle();
  clock.advance(20);
  assert.equal(
    sent().map(({ marker, sequence, timestamp }) => [marker, sequence, timestamp]),
    [
      [true, 0x7ffe, 160],
      [true, 0x7fff, 51 * 160],
    ],
  );
  engine.close();
});

test('an item of a session whose port is taken is told so', async () => {
  const { engine, reports, open } = bench();
  await open();
  const refused = engine.openRtp(2, { port: 10_000 }).catch((error: Error) => error.message);
  engine.apply({ type: 'play', session: 2, play: 1, item: { uri: 'ramp:360', language: 'en', offsetMs: 0 } });
  const reason = 'the RTP port 10000 is in use';
  assert.is(await refused, reason);
  assert.equal(reports, [{ type: 'played', session: 2, play: 1, report: { type: 'media.failed', reason } }]);
  engine.close();
});

test('an item queued behind the last one follows without a gap', async () => {
  const { engine, clock, sent, reports, open } = bench();
  await open();
  play(engine, 'ramp:160');
  await settle();
  clock.advance(20);
  assert.is(reports.length, 1);
  play(engine, 'ramp:160', 2);
  await settle();
  clock.advance(20);
  assert.equal(
    sent().map(({ marker, timestamp }) => [marker, timestamp]),
    [
      [true, 160],
      [false, 320],
    ],
  );
  engine.close();
});

test('other packet times are kept on average', async () => {
  for (const [ptimeMs, sizes] of [
    [10, new Array(12).fill(80)],
    [30, new Array(4).fill(240)],
    [60, new Array(2).fill(480)],
  ] as const) {
    const { engine, clock, sent, open } = bench();
    await open({ ptimeMs });
    play(engine, 'ramp:960');
    await settle();
    clock.advance(120);
    const packets = sent();
    assert.equal(
      packets.map(({ payload }) => payload.length),
      sizes,
    );
    assert.equal(
      packets.flatMap(({ payload }) => payload),
      ramp(960),
    );
    const step = ptimeMs * 8;
    assert.equal(
      packets.map(({ timestamp }) => timestamp - packets[0]!.timestamp),
      sizes.map((_, index) => index * step),
    );
    engine.close();
  }
});

test('with keepalive silence is sent when there is nothing else', async () => {
  const { engine, clock, sent, open } = bench({ keepalive: true });
  await open({ codec: 'alaw', payloadType: 8 });
  clock.advance(40);
  assert.equal(sent(), [
    { ...audio, payloadType: 8, marker: true, sequence: 0x7ffe, timestamp: 160, payload: new Array(160).fill(0xd5) },
    { ...audio, payloadType: 8, marker: false, sequence: 0x7fff, timestamp: 320, payload: new Array(160).fill(0xd5) },
  ]);
  engine.close();
});

test('what is played before the far side listens takes its time and is lost', async () => {
  const { engine, clock, sent, reports } = bench();
  await engine.openRtp(1);
  play(engine, 'ramp:320');
  await settle();
  clock.advance(20);
  engine.apply({ type: 'configure', session: 1, flow: { ...usualFlow, codec: 'alaw', payloadType: 8 } });
  clock.advance(40);
  const packets = sent();
  assert.is(packets.length, 1);
  assert.equal([packets[0]?.payloadType, packets[0]?.payload.length], [8, 160]);
  assert.is.not(packets[0]?.payload[0], ramp(1, 160)[0], 'it goes on in the codec that was agreed');
  assert.is(reports.length, 1);
  engine.close();
});

test('a digit is one event: one timestamp, growing duration, three ends; audio pauses and starts again', async () => {
  const { engine, clock, sent, open } = bench();
  await open();
  digits(engine, '#');
  play(engine, 'ramp:1120');
  await settle();
  clock.advance(20 * 12);
  const packets = sent();
  const event = { payloadType: 101, ssrc: ourSsrc, timestamp: 960 };
  assert.equal(packets.slice(5, 10), [
    { ...event, marker: true, sequence: firstSequence + 5, payload: [11, 10, 0, 160] },
    { ...event, marker: false, sequence: firstSequence + 6, payload: [11, 10, 1, 64] },
    { ...event, marker: false, sequence: firstSequence + 7, payload: [11, 0x8a, 1, 0xe0] },
    { ...event, marker: false, sequence: firstSequence + 8, payload: [11, 0x8a, 1, 0xe0] },
    { ...event, marker: false, sequence: firstSequence + 9, payload: [11, 0x8a, 1, 0xe0] },
  ]);
  const heard = packets.filter(({ payloadType }) => payloadType === 0);
  assert.equal(
    heard.flatMap(({ payload }) => payload),
    ramp(1120),
  );
  assert.equal([heard[5]?.marker, heard[5]?.timestamp], [true, 11 * 160]);
  engine.close();
});

test('a far side that takes no telephone events hears the two tones of the digit', async () => {
  const { engine, clock, sent, open } = bench();
  const { telephoneEvent: _, ...flow } = usualFlow;
  await open();
  engine.apply({ type: 'configure', session: 1, flow });
  digits(engine, '5');
  clock.advance(20 * 12);
  const element = { frequencies: digitFrequencies('5'), modulated: false, durationMs: 60, once: false };
  assert.equal(element.frequencies, [770, 1336]);
  const tone = new Uint8Array(60 * 8);
  new SequenceReader(toneSequence([element], 'ulaw')).read(tone, 0, tone.length);
  assert.equal(
    sent().flatMap(({ payload }) => payload),
    [...tone],
  );
  engine.close();
});

test('digits that arrive are told at their end with their duration', async () => {
  const { engine, network, reports, open } = bench();
  await open();
  let sequence = 500;
  for (const [timestamp, event] of [
    [8000, 1],
    [16_000, 15],
  ] as const)
    for (const payload of [[event, 10, 0, 160], ...new Array(3).fill([event, 0x8a, 3, 0x20])])
      network.deliver(
        10_000,
        encodePacket({ marker: false, payloadType: 101, sequence: sequence++, timestamp, ssrc: 9, payload }),
      );
  assert.equal(reports, [
    { type: 'digit', session: 1, digit: '1', durationMs: 100 },
    { type: 'digit', session: 1, digit: 'D', durationMs: 100 },
  ]);
  engine.close();
});

test('where each side told other numbers, digits are sent with theirs and heard with ours, or with theirs', async () => {
  const { engine, clock, network, reports, sent, open } = bench();
  await open({ telephoneEvent: 96, receiveTelephoneEvent: 101, payloadType: 97, receivePayloadType: 0 });
  const deliver = (payloadType: number, sequence: number, payload: number[]) =>
    network.deliver(
      10_000,
      encodePacket({ marker: false, payloadType, sequence, timestamp: sequence * 1000, ssrc: 9, payload }),
    );
  deliver(0, 1, ramp(160));
  deliver(101, 2, [1, 0x8a, 3, 0x20]);
  deliver(96, 3, [2, 0x8a, 3, 0x20]);
  deliver(98, 4, [3, 0x8a, 3, 0x20]);
  assert.equal(reports, [
    { type: 'digit', session: 1, digit: '1', durationMs: 100 },
    { type: 'digit', session: 1, digit: '2', durationMs: 100 },
  ]);
  digits(engine, '#');
  play(engine, 'ramp:160');
  await settle();
  clock.advance(20 * 12);
  assert.equal([...new Set(sent().map(({ payloadType }) => payloadType))].sort(), [96, 97]);
  engine.close();
});

test('silence is heard by a far side whose direction out is muted, and nothing is lost of its time', async () => {
  const { engine, clock, sent, reports, open } = bench();
  await open();
  engine.apply({ type: 'mute', session: 1, in: false, out: true });
  play(engine, 'ramp:320');
  await settle();
  clock.advance(20);
  engine.apply({ type: 'mute', session: 1, in: false, out: false });
  clock.advance(20);
  assert.equal(
    sent().map(({ payload }) => payload),
    [silence(160), ramp(160, 160)],
  );
  assert.is(reports.length, 1);
  engine.close();
});

test('an indication sounds until it is changed, and an item played wins over it', async () => {
  const { engine, clock, sent, open } = bench();
  await open();
  engine.apply({ type: 'indicate', session: 1, indication: 'busy' });
  clock.advance(20);
  const tone = sent()[0]!.payload;
  assert.ok(new Set(tone).size > 10);
  play(engine, 'ramp:160');
  await settle();
  clock.advance(40);
  const [item, toneAgain] = sent();
  assert.equal(item?.payload, ramp(160));
  assert.is(toneAgain?.payload.length, 160);
  engine.apply({ type: 'indicate', session: 1, indication: undefined });
  clock.advance(100);
  assert.equal(sent(), []);
  engine.close();
});

test('silence is kept while nothing else sounds: a tone over it leaves it as it was', async () => {
  const { engine, clock, sent, open } = bench();
  await open();
  const payloads = () => sent().map(({ payload }) => payload);
  engine.apply({ type: 'silence', session: 1, on: true });
  clock.advance(20);
  assert.equal(payloads(), [silence(160)]);
  engine.apply({ type: 'indicate', session: 1, indication: 'busy' });
  clock.advance(20);
  assert.ok(new Set(payloads()[0]).size > 10);
  engine.apply({ type: 'indicate', session: 1, indication: undefined });
  clock.advance(20);
  assert.equal(payloads(), [silence(160)]);
  engine.apply({ type: 'silence', session: 1, on: false });
  clock.advance(100);
  assert.equal(payloads(), []);
  engine.close();
});

test('nothing is sent to the address of nobody, to port 0 or to a name', async () => {
  for (const remote of [
    { address: '0.0.0.0', port: 4000 },
    { address: '192.0.2.1', port: 0 },
    { address: 'phone.example', port: 4000 },
  ]) {
    const { engine, clock, network, open } = bench();
    await open({ remote });
    play(engine, 'ramp:320');
    digits(engine, '1');
    await settle();
    clock.advance(5000);
    assert.equal(network.sent, []);
    engine.close();
  }
});

test('on hold, with our direction off, nothing is sent while the item goes on', async () => {
  const { engine, clock, sent, reports, open } = bench();
  await open({ send: false });
  play(engine, 'ramp:320');
  digits(engine, '1');
  await settle();
  clock.advance(1000);
  assert.equal(sent(), []);
  assert.is(reports.length, 1);
  engine.close();
});

test('a far side behind a NAT is sent to where its packets come from; strangers are not heard', async () => {
  const { engine, clock, network, reports, open } = bench();
  await open();
  const nat = { address: '198.51.100.7', port: 33_000 };
  const deliver = (sequence: number, from: typeof nat, payloadType = 0) =>
    network.deliver(
      10_000,
      encodePacket({
        marker: false,
        payloadType,
        sequence,
        timestamp: sequence * 160,
        ssrc: 5,
        payload: [1, 0x8a, 3, 32],
      }),
      from,
    );
  for (let sequence = 1; sequence <= 4; sequence++) deliver(sequence, nat);
  deliver(5, { address: '203.0.113.1', port: 9 }, 101);
  assert.equal(reports, [{ type: 'located', session: 1, source: nat }]);
  play(engine, 'ramp:160');
  await settle();
  clock.advance(20);
  assert.equal(
    network.sent.map(({ to }) => to),
    ['198.51.100.7:33000'],
  );
  engine.close();
});

test('a stranger who sends before the phone does gets nothing, then or later, and changes no call', async () => {
  const { engine, clock, network, reports, open } = bench();
  await open();
  const deliver = (sequence: number, from: { address: string; port: number }, ssrc: number) =>
    network.deliver(
      10_000,
      encodePacket({ marker: false, payloadType: 101, sequence, timestamp: 160, ssrc, payload: [1, 0x8a, 3, 32] }),
      from,
    );
  const stranger = { address: '203.0.113.1', port: 9 };
  for (let port = 1; port <= 8; port++) deliver(1, { ...stranger, port }, port);
  deliver(1, { address: '192.0.2.1', port: 4000 }, 77);
  engine.apply({ type: 'configure', session: 1, flow: usualFlow });
  for (let sequence = 2; sequence <= 20; sequence++) deliver(sequence, stranger, 9);
  assert.equal(reports, [{ type: 'digit', session: 1, digit: '1', durationMs: 100 }]);
  play(engine, 'ramp:320');
  await settle();
  clock.advance(40);
  assert.equal([...new Set(network.sent.map(({ to }) => to))], ['192.0.2.1:4000']);
  engine.close();
});

test('no RTP for the configured time is told once, and again only after some came', async () => {
  const { engine, clock, network, reports, open } = bench({ rtpTimeoutMs: 1000 });
  await open();
  clock.advance(980);
  assert.equal(reports, []);
  clock.advance(5000);
  assert.equal(reports, [{ type: 'timedOut', session: 1 }]);
  network.deliver(
    10_000,
    encodePacket({ marker: false, payloadType: 0, sequence: 1, timestamp: 0, ssrc: 5, payload: [] }),
  );
  clock.advance(1100);
  assert.is(reports.length, 2);
  engine.close();
});

test('nobody is missed while nothing is expected to come', async () => {
  const { engine, clock, reports, open } = bench({ rtpTimeoutMs: 1000 });
  await open({ receive: false });
  clock.advance(10_000);
  assert.equal(reports, []);
  engine.close();
});

test('statistics count both directions', async () => {
  const { engine, clock, network, open } = bench();
  await open();
  play(engine, 'ramp:320');
  await settle();
  clock.advance(40);
  for (const sequence of [1, 2, 4])
    network.deliver(
      10_000,
      encodePacket({ marker: false, payloadType: 0, sequence, timestamp: sequence * 160, ssrc: 5, payload: ramp(160) }),
    );
  assert.equal(engine.statistics(1), {
    txcount: 2,
    rxcount: 3,
    txoctetcount: 320,
    rxoctetcount: 480,
    txploss: 0,
    rxploss: 1,
    local_ssrc: ourSsrc,
    remote_ssrc: 5,
    txjitter: 0,
    // All came at once: 160 units early, then 320 (RFC 3550 A.8).
    rxjitter: (10 + (320 - 10) / 16) / 8000,
    forwarded: 0,
  });
  assert.is(engine.statistics(2), undefined);
  engine.close();
});

test('RTCP goes to the port above, and to where that of the far side comes from', async () => {
  const { engine, clock, network, open } = bench();
  await open();
  clock.advance(1300);
  const report = network.sent.find((each) => each.from === 10_001);
  assert.equal([report?.to, report?.packet[1]], ['192.0.2.1:4001', 201]);
  network.deliver(10_001, report!.packet, { address: '203.0.113.1', port: 1 });
  network.deliver(10_001, report!.packet, { address: '192.0.2.1', port: 4999 });
  network.sent.length = 0;
  clock.advance(5000);
  assert.equal(network.sent.filter((each) => each.from === 10_001).map((each) => each.to)[0], '192.0.2.1:4999');
  engine.close();
});

test('closing says good-bye, fails the item under way, and leaves nothing', async () => {
  const { engine, clock, network, reports, open } = bench();
  await open();
  play(engine, 'ramp:1600');
  await settle();
  clock.advance(40);
  assert.equal(engine.usage(), { sessions: 1, ports: 1, players: 1, timers: 1, ...noExternal });
  network.sent.length = 0;
  engine.apply({ type: 'close', session: 1 });
  assert.equal(
    network.sent.map((each) => [each.from, each.to, each.packet[1]]),
    [[10_001, '192.0.2.1:4001', 201]],
  );
  assert.equal(reports, [
    { type: 'played', session: 1, play: 1, report: { type: 'media.failed', reason: 'the session was closed' } },
  ]);
  assert.equal(engine.usage(), { sessions: 0, ports: 0, players: 0, timers: 0, ...noExternal });
  clock.advance(500);
  assert.equal([network.listeners.size, clock.pending], [0, 0]);
  engine.close();
});

test('a session closed while its port is being bound never comes to be', async () => {
  const { engine, network, clock } = bench();
  const opening = engine.openRtp(1).catch((error: Error) => error.message);
  engine.apply({ type: 'close', session: 1 });
  assert.is(await opening, 'the session was closed while it was opened');
  engine.close();
  assert.equal([network.listeners.size, clock.pending], [0, 0]);
});

for (const late of [40, 100, 500])
  test(`ticks that are ${late} ms late send every packet of a playback, in one stream`, async () => {
    const { engine, clock, sent, open, reports } = bench();
    await open();
    play(engine, 'ramp:9600');
    await settle();
    clock.advance(20);
    clock.stall(late);
    clock.advance(20);
    clock.advance(1200 - late - 40);
    const packets = sent();
    assert.is(engine.ticks.skipped, 0);
    assert.equal(
      packets.map(({ marker, sequence, timestamp, payload }) => [marker, sequence, timestamp, payload]),
      Array.from({ length: 60 }, (_, index) => [
        index === 0,
        firstSequence + index,
        160 + 160 * index,
        ramp(160, 160 * index),
      ]),
    );
    assert.equal(reports, [{ type: 'played', session: 1, play: 1, report: { type: 'media.finished' } }]);
    engine.close();
  });

test('of a delay of more than one second the oldest ticks are skipped and logged', async () => {
  const { engine, clock, sent, log, open } = bench();
  await open();
  play(engine, 'ramp:32000');
  await settle();
  clock.advance(20);
  sent();
  clock.stall(1200);
  clock.advance(20);
  const packets = sent();
  assert.equal(
    packets.map(({ marker, timestamp }) => [marker, timestamp]),
    Array.from({ length: 50 }, (_, index) => [index === 0, (13 + index) * 160]),
  );
  assert.is(engine.ticks.skipped, 11);
  clock.stall(1200);
  clock.advance(20);
  assert.equal(
    log.lines.map(({ level, message }) => [level, message]),
    [['warn', 'media ticks were skipped: the machine is too busy']],
  );
  engine.close();
});

test('commands for sessions that are gone are ignored, but an item always gets its report', () => {
  const { engine, reports } = bench();
  play(engine, 'ramp:160');
  digits(engine, '1');
  for (const command of [
    { type: 'echo', session: 1, on: true },
    { type: 'mute', session: 1, in: true, out: true },
    { type: 'indicate', session: 1, indication: 'busy' },
    { type: 'control', session: 1, play: 1, action: 'stop' },
    { type: 'seek', session: 1, play: 1, ms: 5 },
    { type: 'configure', session: 1, flow: usualFlow },
    { type: 'close', session: 1 },
  ] as const)
    engine.apply(command);
  assert.equal(reports, [
    { type: 'played', session: 1, play: 1, report: { type: 'media.failed', reason: 'the session was closed' } },
  ]);
  engine.close();
});

test('a local half takes the time of what it plays and tells the digits it sent', async () => {
  const { engine, clock, network, reports } = bench();
  engine.openLocal(1);
  play(engine, 'ramp:320');
  await settle();
  clock.advance(20);
  assert.equal(reports, []);
  clock.advance(20);
  assert.is(reports.length, 1);
  digits(engine, '7');
  clock.advance(140);
  assert.is(reports.length, 1);
  clock.advance(20);
  assert.equal(reports[1], { type: 'digitSent', session: 1, digit: '7', durationMs: 60 });
  assert.equal([network.sent, network.listeners.size], [[], 0]);
  engine.close();
  assert.is(clock.pending, 0);
});

test('no packet, whatever is in it and whoever sends it, disturbs a session', async () => {
  const port = fc.constantFrom(10_000, 10_001);
  const from = fc.record({ address: fc.constantFrom('192.0.2.1', '192.0.2.2'), port: fc.constantFrom(4000, 4001) });
  const second = fc.constantFrom(0, 128, 101, 229, 200, 201, 13);
  const likely = fc.tuple(fc.constantFrom(0x80, 0x90, 0xa0, 0x81, 0x8f), second, fc.uint8Array({ maxLength: 200 }));
  const octets = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    likely.map(([first, type, rest]) => Uint8Array.from([first, type, ...rest])),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(port, from, octets, fc.nat(100))), async (packets) => {
      const { engine, clock, network, log, reports, open } = bench();
      await open();
      engine.apply({ type: 'echo', session: 1, on: true });
      for (const [to, source, packet, wait] of packets) {
        network.deliver(to, packet, source);
        clock.advance(wait);
      }
      clock.advance(1000);
      assert.equal(log.lines, []);
      assert.ok(reports.every((each) => each.type === 'digit'));
      assert.is(engine.usage().sessions, 1);
      engine.close();
    }),
    { numRuns: 60 },
  );
});

test.run();
