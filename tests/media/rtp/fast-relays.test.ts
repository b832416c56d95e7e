import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../../src/media/config.ts';
import { MediaEngine } from '../../../src/media/engine.ts';
import { Descriptors, newDescriptorTable } from '../../../src/media/rtp/descriptors.ts';
import { EpollSockets } from '../../../src/media/rtp/epoll-sockets.ts';
import type { Sockets } from '../../../src/media/rtp/sockets.ts';
import { loadSystemCalls } from '../../../src/media/rtp/system-calls.ts';
import type { SessionCommand } from '../../../src/telephony/media.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { member } from '../phones.ts';
import {
  decodePacket,
  encodePacket,
  FakeNetwork,
  memoryLogger,
  ramp,
  rampLoader,
  settle,
  usualFlow,
} from '../support.ts';

const calls = await loadSystemCalls().catch(() => undefined);
const native = calls ? test : test.skip;
if (!calls)
  process.stdout.write('skipped: needs koffi on Linux: packets that sockets of the kernel pass on by themselves\n');

const openEngine = (clock: ManualClock, sockets: Sockets, ports = { first: 0, last: 0 }): MediaEngine => {
  let random = 0x1234_5678;
  return new MediaEngine({
    config: { ...defaultMediaConfig, ports, measureMs: 500, rtpTimeoutMs: 700 },
    ...{ clock, sockets, log: memoryLogger(), loader: rampLoader, report: () => {} },
    random32: () => (random = (random * 1_103_515_245 + 12_345) >>> 0),
  });
};

/** Two far sides in a bridge, with a third one near; what the first two say is random, and what is asked for meanwhile. */
async function world(passes: boolean) {
  const clock = new ManualClock(0);
  const network = new FakeNetwork(passes ? clock : undefined);
  const engine = openEngine(clock, network, { first: 10_000, last: 10_099 });
  const sides = [1, 2, 3].map((session) => ({
    ...{
      session,
      port: 0,
      sequence: session === 1 ? 65_530 : 40,
      timestamp: session === 1 ? 0xffff_ff00 : 7,
      ssrc: session,
    },
    address: `192.0.2.${session}`,
  }));
  for (const side of sides) {
    side.port = (await engine.openRtp(side.session)).port;
    const remote = { address: side.address, port: 4000 };
    engine.apply({ type: 'configure', session: side.session, flow: { ...usualFlow, remote } });
  }
  engine.openMix(1, 'mixing');
  const join = (session: number, muted = false) =>
    engine.applyToMix(1, { type: 'join', session, member: { ...member, muted } });
  join(1);
  join(2);
  return { clock, network, engine, sides, join };
}

type World = Awaited<ReturnType<typeof world>>;
const usually = <T>(usual: T, ...others: T[]) =>
  fc.oneof({ weight: 10 * others.length, arbitrary: fc.constant(usual) }, fc.constantFrom(...others));

/** A packet of one of them, as it usually comes or not. */
const packets = fc.record({
  side: fc.integer({ min: 0, max: 1 }),
  ahead: usually(1, 0, -1, 2, 3, 64, 65, 200, 4000),
  units: usually(160, 0, -160, 320, 80_000, 80_001, 1_000_000),
  octets: usually(160, 0, 1, 80, 161),
  payloadType: usually(0, 101, 13, 96),
  first: usually(0x80, 0x90, 0xa0, 0x81, 0),
  marker: usually(false, true),
  from: usually('far side', 'stranger', 'other port'),
  isOtherSource: fc.oneof({ weight: 60, arbitrary: fc.constant(false) }, fc.constant(true)),
});

function say(
  { network, sides }: World,
  said: typeof packets extends fc.Arbitrary<infer Packet> ? Packet : never,
): void {
  const side = sides[said.side]!;
  side.sequence = (side.sequence + said.ahead) & 0xffff;
  side.timestamp = (side.timestamp + said.units) >>> 0;
  if (said.isOtherSource) side.ssrc += 10;
  const { marker, payloadType, octets } = said;
  const { sequence, timestamp, ssrc } = side;
  const packet = encodePacket({ marker, payloadType, sequence, timestamp, ssrc, payload: ramp(octets, sequence) });
  packet[0] = said.first;
  const address = said.from === 'stranger' ? '203.0.113.9' : side.address;
  network.deliver(side.port, packet, { address, port: said.from === 'other port' ? 4100 : 4000 });
}

const asked =
  (session: number, command: SessionCommand) =>
  ({ engine }: World): void =>
    engine.apply({ ...command, session });
const second = (port: number, send = true): SessionCommand => ({
  type: 'configure',
  flow: { ...usualFlow, remote: { address: '192.0.2.2', port }, send },
});
const pressed = { digits: '5', beforeMs: 0, betweenMs: 40, durationMs: 60, afterMs: 0 };
const commands: Record<string, (world: World) => void> = {
  'mute what 1 hears': asked(1, { type: 'mute', in: false, out: true }),
  'mute 1': asked(1, { type: 'mute', in: true, out: false }),
  'unmute 1': asked(1, { type: 'mute', in: false, out: false }),
  'play to 2': asked(2, { type: 'play', play: 7, item: { uri: 'ramp:800', language: 'en', offsetMs: 0 } }),
  'send a digit to 1': asked(1, { type: 'sendDigits', sequence: pressed }),
  'hold 2': asked(2, second(4000, false)),
  'take 2 back': asked(2, second(4000)),
  '2 moves': asked(2, second(4100)),
  '1 leaves': ({ engine }) => engine.applyToMix(1, { type: 'leave', session: 1 }),
  '1 joins': ({ join }) => join(1),
  '1 is muted in the mix': ({ join }) => join(1, true),
  '3 joins': ({ join }) => join(3),
  '3 leaves': ({ engine }) => engine.applyToMix(1, { type: 'leave', session: 3 }),
};

const anything = fc.oneof(
  { weight: 60, arbitrary: packets },
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 60 }) },
  { weight: 3, arbitrary: fc.constantFrom(...Object.keys(commands)) },
);

/** All that can be seen from outside; figures only when they are asked for. */
const sent = ({ network }: World) =>
  network.sent.splice(0).map(({ from, to, packet }) => `${from} to ${to}: ${Buffer.from(packet).toString('hex')}`);
const figures = ({ engine }: World) => [1, 2, 3].map((session) => engine.statistics(session));

test('packets that sockets pass on by themselves are those that would be sent otherwise, and count as these do', async () => {
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anything, { maxLength: 400, size: 'max' }), fc.boolean(), async (all, isAsked) => {
      const worlds = [await world(true), await world(false)] as const;
      for (const each of all) {
        for (const one of worlds) {
          if (typeof each === 'number') one.clock.advance(each);
          else if (typeof each === 'string') commands[each]!(one);
          else say(one, each);
          await settle();
        }
        assert.equal(...(worlds.map(sent) as [string[], string[]]));
        if (isAsked) assert.equal(figures(worlds[0]), figures(worlds[1]));
      }
      assert.equal(figures(worlds[0]), figures(worlds[1]));
      passed += worlds[0].network.passed;
      assert.is(worlds[1].network.passed, 0);
      for (const { engine } of worlds) engine.close();
    }),
    { numRuns: 100 },
  );
  assert.ok(passed > 100, `${passed} packets were passed on by sockets`);
});

native(
  'sockets of the kernel pass packets on by themselves, but none of strangers, nor through what has been closed',
  async () => {
    let passed = 0;
    const clock = new ManualClock();
    const counting = {
      ...calls!,
      sendtoAt: (...how: Parameters<NonNullable<typeof calls>['sendtoAt']>) => {
        passed++;
        return calls!.sendtoAt(...how);
      },
    };
    const sockets = new EpollSockets({ calls: counting, clock, descriptors: new Descriptors(newDescriptorTable()) });
    const engine = openEngine(clock, sockets);
    const heard: string[] = [];
    const phones = await Promise.all(
      ['first', 'second', 'stranger'].map(async (name) => {
        const socket = await sockets.bind('127.0.0.1', 0);
        socket.listen((packet) => {
          const { sequence, payload } = decodePacket(packet);
          if (name !== 'first')
            heard.push(`${name} hears ${Buffer.from(payload)} as ${(sequence - firstHeard(sequence)) & 0xffff}`);
        });
        return socket;
      }),
    );
    let base: number | undefined;
    const firstHeard = (sequence: number): number => (base ??= sequence);
    const ports: number[] = [];
    for (const session of [1, 2]) {
      ports[session] = (await engine.openRtp(session)).port;
      const remote = { address: '127.0.0.1', port: phones[session - 1]!.port };
      engine.apply({ type: 'configure', session, flow: { ...usualFlow, remote } });
    }
    engine.openMix(1, 'mixing');
    for (const session of [1, 2]) engine.applyToMix(1, { type: 'join', session, member });
    let sequence = 100;
    const say = (text: string, by = phones[0]!): void => {
      const packet = { marker: false, payloadType: 0, ssrc: 5, payload: [...Buffer.from(text)] };
      by.send(encodePacket({ ...packet, sequence: ++sequence, timestamp: 160 * sequence }), ports[1]!, '127.0.0.1');
      clock.advance(20);
    };
    for (const text of ['a', 'b', 'c']) say(text);
    assert.is(passed, 2, 'the first one is looked at');
    say('x', phones[2]);
    say('d');
    assert.is(passed, 3);
    assert.equal(heard.splice(0), [
      'second hears a as 0',
      'second hears b as 1',
      'second hears c as 2',
      'second hears d as 4',
    ]);
    const { rxcount } = engine.statistics(1)!;
    assert.equal([rxcount, engine.statistics(2)!.txcount, engine.forwarded(1)], [4, 4, 4]);
    engine.apply({ type: 'close', session: 2 });
    say('e');
    clock.advance(1000);
    // It has the number of the one that was closed.
    const other = await sockets.bind('127.0.0.1', 0);
    say('f');
    assert.equal([heard, passed], [[], 3]);
    other.close();
    engine.close();
    for (const phone of phones) phone.close();
    sockets.close();
  },
);

test.run();
