import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig, type MediaConfig } from '../../src/media/config.ts';
import { MediaEngine } from '../../src/media/engine.ts';
import { AudioSocketReader, audioSocketFrame } from '../../src/media/external/audio-socket.ts';
import { IncomingAudio } from '../../src/media/external/incoming-audio.ts';
import type { Wire, WireListener } from '../../src/media/external/wires.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import type { ExternalRequest } from '../../src/telephony/external.ts';
import type { AudioMeasures } from '../../src/telephony/media.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { FakeNetwork, memoryLogger, octetsOf, rampLoader, StallingClock } from './support.ts';

/** A connection whose far side only reads when it is told to. */
class FakeWire implements Wire {
  paused = false;
  readonly sent: Uint8Array[] = [];
  unsent = 0;
  ended = false;
  readonly listener: WireListener;

  constructor(listener: WireListener) {
    this.listener = listener;
  }

  send(octets: Uint8Array): void {
    this.sent.push(octets.slice());
    this.unsent += octets.length;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.ended = true;
  }
}

const request = {
  transport: 'audioSocket',
  host: 'server.example',
  port: 9092,
  uuid: '40325ec2-5efd-4bd3-805f-53576e581d13',
  codec: 'slin',
  direction: 'both',
} satisfies ExternalRequest;

function open(more: { direction?: 'both' | 'in' | 'out' } = {}, settings: Partial<MediaConfig> = {}) {
  const clock = new ManualClock();
  const reports: EngineReport[] = [];
  const wires: FakeWire[] = [];
  const engine = new MediaEngine({
    config: { ...defaultMediaConfig, ...settings },
    clock,
    log: memoryLogger(),
    sockets: new FakeNetwork(),
    wires: {
      connect(_host, _port, listener) {
        const wire = new FakeWire(listener);
        wires.push(wire);
        return wire;
      },
      openWebSocket: () => {
        throw new Error('there are no WebSockets here');
      },
    },
    loader: rampLoader,
    random32: () => 1,
    report: (report) => reports.push(report),
  });
  engine.openExternal(1, { ...request, ...more });
  return { clock, engine, reports, wire: wires[0]! };
}

const frame = (value: number) => {
  const samples = new Int16Array(160).fill(value);
  return audioSocketFrame(0x10, new Uint8Array(samples.buffer));
};

test('a far side that never reads is sent no more than it may leave unread, and is given up in the end', () => {
  const { clock, engine, reports, wire } = open();
  wire.listener.opened({ address: '127.0.0.1', port: 4000 });
  engine.apply({ session: 1, type: 'echo', on: true });
  const { unsentBytes, stallMs } = defaultMediaConfig.external;
  let spokenMs = 0;
  for (; spokenMs < 60_000 && !wire.ended; spokenMs += 20) {
    wire.listener.received(frame(1000));
    clock.advance(20);
  }
  assert.ok(wire.ended);
  assert.ok(wire.unsent <= unsentBytes + 323 + 3, `${wire.unsent} octets wait`);
  assert.ok(spokenMs <= (unsentBytes / 323) * 20 + stallMs + 200, `given up after ${spokenMs} ms`);
  assert.equal(reports, [
    { type: 'connected', session: 1, local: { address: '127.0.0.1', port: 4000 } },
    { type: 'flowing', session: 1 },
    { type: 'faulted', session: 1, reason: 'the far side does not read' },
  ]);
  assert.is(engine.usage().sessions, 0);
  engine.close();
});

test('a far side that reads late loses audio, and is heard again', () => {
  const { clock, engine, reports, wire } = open();
  wire.listener.opened({ address: '127.0.0.1', port: 4000 });
  engine.apply({ session: 1, type: 'echo', on: true });
  const speak = (ms: number): void => {
    for (let at = 0; at < ms; at += 20) {
      wire.listener.received(frame(1000));
      clock.advance(20);
    }
  };
  speak(6000);
  const before = wire.sent.length;
  wire.unsent = 0;
  speak(200);
  assert.is(wire.sent.length, before + 10);
  assert.not(reports.some(({ type }) => type === 'faulted'));
  engine.close();
  assert.ok(wire.ended);
});

test('what a server says and hears is measured, and what was left out of it', () => {
  const { clock, engine, reports, wire } = open({}, { measureMs: 1_000 });
  wire.listener.opened({ address: '127.0.0.1', port: 4000 });
  clock.advance(2_000);
  const measured = () => reports.flatMap((report) => (report.type === 'measured' ? [report.measures] : []));
  assert.equal(measured(), [], 'nothing passes, nothing is told');
  engine.apply({ session: 1, type: 'echo', on: true });
  for (let at = 0; at < 2_000; at += 20) {
    wire.listener.received(frame(8_192));
    wire.unsent = 0;
    clock.advance(20);
  }
  const { waiting_ms: waiting = -1, ...rest } = measured()[0] as AudioMeasures;
  assert.ok(waiting >= 0 && waiting <= 60, `${waiting} ms wait`);
  assert.equal(rest, { codec: 'slin', dropped_ms: 0, digits: 0, level_db: -12, level_sent_db: -12 });
  engine.close();
});

test('with direction in nothing is sent, with out nothing is heard', () => {
  for (const [direction, echoed] of [
    ['both', true],
    ['in', false],
    ['out', false],
  ] as const) {
    const { clock, engine, wire } = open({ direction });
    wire.listener.opened({ address: '127.0.0.1', port: 4000 });
    engine.apply({ session: 1, type: 'echo', on: true });
    for (let count = 0; count < 5; count++) wire.listener.received(frame(1000));
    clock.advance(200);
    assert.is(
      wire.sent.some((sent) => sent[0] === 0x10),
      echoed,
      direction,
    );
    engine.close();
  }
});

test('a frame that is cut anywhere is read whole, and a length that never comes holds one frame at most', () => {
  const frames: [number, string][] = [];
  const reader = new AudioSocketReader((kind, payload) => frames.push([kind, Buffer.from(payload).toString('hex')]));
  const stream = Buffer.concat([
    audioSocketFrame(0x01, Uint8Array.of(1, 2)),
    audioSocketFrame(0x00, new Uint8Array(0)),
    audioSocketFrame(0x10, Uint8Array.of(3, 4, 5)),
  ]);
  const read = (octets: Uint8Array): void => {
    reader.add(octets);
    while (reader.next());
  };
  for (const octet of stream) read(Uint8Array.of(octet));
  read(stream);
  const once = [
    [0x01, '0102'],
    [0x00, ''],
    [0x10, '030405'],
  ];
  assert.equal(frames, [...once, ...once]);
});

test('audio that came while ticks were late waits for these', () => {
  const clock = new StallingClock(0);
  const incoming = new IncomingAudio({ codec: 'slin', mostMs: 300, keepMs: 60, clock });
  incoming.put(octetsOf(new Int16Array(160).fill(1)));
  clock.advance(20);
  assert.is(incoming.pull(20)?.samples[0], 1);
  clock.stall(500);
  for (let frame = 2; frame <= 26; frame++) incoming.put(octetsOf(new Int16Array(160).fill(frame)));
  const heard = Array.from({ length: 25 }, (_, index) => incoming.pull(40 + 20 * index)?.samples[0]);
  assert.equal(
    heard,
    Array.from({ length: 25 }, (_, index) => index + 2),
  );
  assert.is(incoming.droppedMs, 0);
  incoming.close();
});

test('audio that comes too early is left out and counted; what is heard then is the latest', () => {
  const incoming = new IncomingAudio({ codec: 'slin', mostMs: 300, keepMs: 60 });
  const piece = (value: number) => new Uint8Array(new Int16Array(160).fill(value).buffer);
  for (let value = 1; value <= 500; value++) incoming.put(piece(value));
  assert.ok(incoming.queuedMs <= 300, `${incoming.queuedMs} ms wait`);
  assert.is(incoming.droppedMs + incoming.queuedMs, 10_000);
  let last = 0;
  for (let heard = incoming.pull(); heard; heard = incoming.pull()) last = heard.samples[0]!;
  assert.is(last, 500);
  incoming.close();
});

test('linear samples that are cut in the middle of one are put together', () => {
  const incoming = new IncomingAudio({ codec: 'slin', mostMs: 300, keepMs: 60 });
  const samples = Int16Array.from({ length: 320 }, (_, index) => index * 3);
  const octets = new Uint8Array(samples.buffer);
  for (let at = 0; at < octets.length; at += 7) incoming.put(octets.subarray(at, at + 7));
  const heard = [...incoming.pull()!.samples, ...incoming.pull()!.samples];
  assert.equal(heard, [...samples]);
  incoming.close();
});

test.run();
