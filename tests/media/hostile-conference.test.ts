import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { MediaEngine } from '../../src/media/engine.ts';
import type { EngineReport } from '../../src/media/protocol.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { encodePacket, FakeNetwork, memoryLogger, rampLoader, usualFlow } from './support.ts';

/** What a far side does wrong in one tick, by its number. */
const wrongs: ((leg: number, tick: number) => Uint8Array)[] = [
  // Another SSRC in each packet.
  (leg, tick) => audio(leg * 1_000 + tick, tick, tick * 160),
  // Backwards, and far ahead.
  (leg, tick) => audio(leg, (60_000 - tick * 7_919) & 0xffff, (tick * 0x1234_5678) >>> 0),
  // As large as a packet may be.
  (leg, tick) => audio(leg, tick, tick * 160, 65_000),
  // A header that promises more than there is.
  (_leg, tick) => Uint8Array.from([0xbf, 0x80, 0, tick, 255, 255, 255, 255]),
  (_leg, tick) => Uint8Array.from([0x80, 0xff, tick]),
  () => new Uint8Array(0),
  // A payload type that was never agreed, and another one each time.
  (leg, tick) =>
    encodePacket({
      ...{ marker: false, payloadType: (leg + tick) % 128, sequence: tick, timestamp: tick * 160, ssrc: leg },
      payload: new Array(160).fill(tick),
    }),
  // A new digit in each packet.
  (leg, tick) =>
    encodePacket({
      ...{ marker: true, payloadType: 101, sequence: tick, timestamp: tick * 800, ssrc: leg },
      payload: [tick % 12, 0x8a, 3, 0x20],
    }),
];

/** RTCP that is none, promises more than there is, or reports losses that cannot be. */
const controls = [
  new Uint8Array(0),
  Uint8Array.from([0x80]),
  Uint8Array.from([0x9f, 200, 0xff, 0xff, 1, 2, 3, 4]),
  Uint8Array.from([0x81, 201, 0, 7, ...new Array(28).fill(0xff)]),
  Uint8Array.from([0xbf, 203, 0, 0, 0x81, 203, 0, 1, 0, 0, 0, 1]),
  new Uint8Array(65_000).fill(0x80),
];

const audio = (ssrc: number, sequence: number, timestamp: number, length = 160): Uint8Array =>
  encodePacket({
    ...{ marker: false, payloadType: 0, sequence, timestamp, ssrc },
    payload: new Array(length).fill(0x10),
  });

test('a conference of 300 legs that send nonsense goes on for the one that behaves', async () => {
  const clock = new ManualClock(0);
  const network = new FakeNetwork(clock);
  const log = memoryLogger();
  const reports: EngineReport[] = [];
  const engine = new MediaEngine({
    config: { ...defaultMediaConfig, ports: { first: 10_000, last: 10_999 } },
    ...{ clock, log, sockets: network, loader: rampLoader, random32: () => 1 },
    report: (report) => reports.push(report),
  });
  engine.openMix(1, 'mixing');
  const legs = Array.from({ length: 301 }, (_, at) => at + 1);
  const ports: number[] = [];
  for (const session of legs) {
    const { port } = await engine.openRtp(session);
    ports.push(port);
    const remote = { address: '192.0.2.1', port: 20_000 + 2 * session };
    engine.apply({ type: 'configure', session, flow: { ...usualFlow, remote } });
    const member = { role: 'participant', muted: false, passDigits: true } as const;
    engine.applyToMix(1, { type: 'join', session, member });
  }
  const ticks = 40;
  for (let tick = 1; tick <= ticks; tick++) {
    for (const [at, port] of ports.entries()) {
      const source = { address: '192.0.2.1', port: 20_000 + 2 * (at + 1) };
      const wrong = at === 300 ? undefined : wrongs[at % wrongs.length];
      network.deliver(port, wrong ? wrong(at, tick) : audio(at, tick, tick * 160), source);
      if (wrong)
        network.deliver(port + 1, controls[(at + tick) % controls.length]!, { ...source, port: source.port + 1 });
    }
    clock.advance(20);
  }
  const to = `192.0.2.1:${20_000 + 2 * 301}`;
  const heard = network.sent.filter((packet) => packet.to === to).length;
  assert.ok(heard >= ticks - 2, `${heard} packets of ${ticks}`);
  assert.equal(
    reports.filter(({ type }) => type === 'faulted' || type === 'mixFaulted'),
    [],
  );
  assert.equal(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  );
  assert.is(engine.usage().sessions, 301);
  engine.close();
});

test.run();
