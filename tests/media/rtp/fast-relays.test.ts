import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type SrtpKey, srtpSuites } from '../../../src/lib/srtp.ts';
import { defaultMediaConfig, type MediaConfig } from '../../../src/media/config.ts';
import { MediaEngine } from '../../../src/media/engine.ts';
import { Descriptors, newDescriptorTable } from '../../../src/media/rtp/descriptors.ts';
import { EpollSockets } from '../../../src/media/rtp/epoll-sockets.ts';
import type { Sockets } from '../../../src/media/rtp/sockets.ts';
import { Opener } from '../../../src/media/srtp/opener.ts';
import { loadPacketCrypto } from '../../../src/media/srtp/packet-crypto.ts';
import { Sealer } from '../../../src/media/srtp/sealer.ts';
import { loadLibCrypto, loadSystemCalls } from '../../../src/native/system-calls.ts';
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
// Packets are opened and sealed where they are, as media threads do it.
const crypto = calls && (await loadLibCrypto());
if (crypto) await loadPacketCrypto();
const native = calls ? test : test.skip;
if (!calls)
  process.stdout.write('skipped: needs koffi on Linux: packets that sockets of the kernel pass on by themselves\n');

const openEngine = (clock: ManualClock, sockets: Sockets, more: Partial<MediaConfig> = {}): MediaEngine => {
  let random = 0x1234_5678;
  return new MediaEngine({
    config: { ...defaultMediaConfig, ports: { first: 0, last: 0 }, measureMs: 500, rtpTimeoutMs: 700, ...more },
    ...{ clock, sockets, log: memoryLogger(), loader: rampLoader, report: () => {} },
    random32: () => (random = (random * 1_103_515_245 + 12_345) >>> 0),
  });
};

/** Whether addresses are of IPv6, whose audio is SRTP, and whether packets name their keys. */
type Kind = { isLong: boolean; secret: readonly number[]; named?: boolean };
const kinds: Record<string, Kind> = {
  IPv4: { isLong: false, secret: [] },
  IPv6: { isLong: true, secret: [] },
  SRTP: { isLong: false, secret: [1, 2, 3] },
  'SRTP with the names of keys': { isLong: false, secret: [1, 2, 3], named: true },
  'SRTP on one side, with IPv6': { isLong: true, secret: [2] },
};

function keyOf(seed: number, named = false): SrtpKey {
  const suite = seed % 2 === 0 ? 'AES_CM_128_HMAC_SHA1_80' : 'AEAD_AES_128_GCM';
  const { key, salt } = srtpSuites[suite];
  return { suite, key: Buffer.alloc(key + salt, seed).toString('base64'), ...(named && { mki: '0102' }) };
}

/** Two far sides in a bridge, with a third one near; what the first two say is random, and what is asked for meanwhile. */
async function world(passes: boolean, { isLong, secret, named = false }: Kind) {
  const clock = new ManualClock(0);
  const network = new FakeNetwork(passes ? clock : undefined, crypto?.addressOf);
  const engine = openEngine(clock, network, { ports: { first: 10_000, last: 10_099 } });
  const sides = [1, 2, 3].map((session) => ({
    ...{
      session,
      port: 0,
      sequence: session === 1 ? 65_530 : 40,
      timestamp: session === 1 ? 0xffff_ff00 : 7,
      ssrc: session,
    },
    address: isLong ? `2001:db8::${session}` : `192.0.2.${session}`,
    named,
    sealer: secret.includes(session) ? new Sealer(keyOf(session + 10, named), { audio: 0, control: 0 }) : undefined,
  }));
  for (const side of sides) {
    side.port = (await engine.openRtp(side.session)).port;
    const remote = { address: side.address, port: 4000 };
    engine.apply({ type: 'configure', session: side.session, flow: { ...usualFlow, remote, ...secretOf(side) } });
  }
  engine.openMix(1, 'mixing');
  const join = (session: number, muted = false) =>
    engine.applyToMix(1, { type: 'join', session, member: { ...member, muted } });
  join(1);
  join(2);
  return { clock, network, engine, sides, join };
}

/** What we seal and open with; its own sealer seals what we open. */
const secretOf = ({ session, sealer, named }: { session: number; sealer: Sealer | undefined; named: boolean }) =>
  sealer ? { srtp: { local: keyOf(session, named), remote: keyOf(session + 10, named) } } : {};

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
  isForged: usually(false, true),
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
  const stranger = side.address.includes(':') ? '2001:db8::99' : '203.0.113.9';
  const address = said.from === 'stranger' ? stranger : side.address;
  const sealed = side.sealer ? side.sealer.audio(packet) : packet;
  if (!sealed) return;
  if (said.isForged) sealed[sealed.length - 1]! ^= 1;
  network.deliver(side.port, sealed, { address, port: said.from === 'other port' ? 4100 : 4000 });
}

const asked =
  (session: number, command: SessionCommand) =>
  ({ engine }: World): void =>
    engine.apply({ ...command, session });
const second =
  (port: number, send = true) =>
  ({ engine, sides }: World): void => {
    const side = sides[1]!;
    const flow = { ...usualFlow, remote: { address: side.address, port }, send, ...secretOf(side) };
    engine.apply({ type: 'configure', session: 2, flow });
  };
const pressed = { digits: '5', beforeMs: 0, betweenMs: 40, durationMs: 60, afterMs: 0 };
const commands: Record<string, (world: World) => void> = {
  'mute what 1 hears': asked(1, { type: 'mute', in: false, out: true }),
  'mute 1': asked(1, { type: 'mute', in: true, out: false }),
  'unmute 1': asked(1, { type: 'mute', in: false, out: false }),
  'play to 2': asked(2, { type: 'play', play: 7, item: { uri: 'ramp:800', language: 'en', offsetMs: 0 } }),
  '1 echoes': asked(1, { type: 'echo', on: true }),
  '1 echoes no more': asked(1, { type: 'echo', on: false }),
  'send a digit to 1': asked(1, { type: 'sendDigits', sequence: pressed }),
  'hold 2': second(4000, false),
  'take 2 back': second(4000),
  '2 moves': second(4100),
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

for (const [name, kind] of Object.entries(kinds))
  test(`${name}: packets of the fast relay equal those of the slow path, and are counted alike`, async () => {
    let passed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(anything, { maxLength: 400, size: 'max' }), fc.boolean(), async (all, isAsked) => {
        const worlds = [await world(true, kind), await world(false, kind)] as const;
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
      { numRuns: 20 },
    );
    assert.ok(passed > 100, `${passed} packets were passed on by sockets`);
  });

for (const address of ['127.0.0.1', '::1'])
  native(
    `${address}: sockets of the kernel pass packets on by themselves, but none of strangers, nor through what has been closed`,
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
      const engine = openEngine(clock, sockets, { address });
      const heard: string[] = [];
      const phones = await Promise.all(
        ['first', 'second', 'stranger'].map(async (name) => {
          const socket = await sockets.bind(address, 0);
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
        const remote = { address, port: phones[session - 1]!.port };
        engine.apply({ type: 'configure', session, flow: { ...usualFlow, remote } });
      }
      engine.openMix(1, 'mixing');
      for (const session of [1, 2]) engine.applyToMix(1, { type: 'join', session, member });
      let sequence = 100;
      const say = (text: string, by = phones[0]!): void => {
        const packet = { marker: false, payloadType: 0, ssrc: 5, payload: [...Buffer.from(text)] };
        by.send(encodePacket({ ...packet, sequence: ++sequence, timestamp: 160 * sequence }), ports[1]!, address);
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
      const other = await sockets.bind(address, 0);
      say('f');
      assert.equal([heard, passed], [[], 3]);
      other.close();
      engine.close();
      for (const phone of phones) phone.close();
      sockets.close();
    },
  );

native('an echo of SRTP is passed on by sockets of the kernel, and is sealed anew', async () => {
  let begun = 0;
  const clock = new ManualClock();
  const descriptors = new Descriptors(newDescriptorTable());
  const sockets = new EpollSockets({ calls: calls!, clock, descriptors });
  const others = new EpollSockets({ calls: calls!, clock, descriptors });
  const counting: Sockets = {
    async bind(address, port) {
      const socket = await sockets.bind(address, port);
      const passOn = socket.passOn!.bind(socket);
      socket.passOn = (...how) => {
        begun++;
        return passOn(...how);
      };
      return socket;
    },
  };
  const engine = openEngine(clock, counting, { address: '127.0.0.1' });
  const phone = await others.bind('127.0.0.1', 0);
  const { port } = await engine.openRtp(1);
  const remote = { address: '127.0.0.1', port: phone.port };
  const srtp = { local: keyOf(1), remote: keyOf(12) };
  engine.apply({ type: 'configure', session: 1, flow: { ...usualFlow, remote, srtp } });
  engine.apply({ type: 'echo', session: 1, on: true });
  const [sealer, opener] = [new Sealer(srtp.remote, { audio: 0, control: 0 }), new Opener(srtp.local)];
  const heard: string[] = [];
  phone.listen((packet) => heard.push(Buffer.from(decodePacket(opener.audio(packet)!).payload).toString()));
  for (let sequence = 1; sequence <= 5; sequence++) {
    const payload = [...Buffer.from(`packet ${sequence}`)];
    const packet = { marker: false, payloadType: 0, ssrc: 5, sequence, timestamp: 160 * sequence, payload };
    phone.send(sealer.audio(encodePacket(packet))!, port, '127.0.0.1');
    clock.advance(20);
  }
  assert.equal(heard, ['packet 1', 'packet 2', 'packet 3', 'packet 4', 'packet 5']);
  assert.equal([engine.statistics(1)!.txcount, engine.statistics(1)!.rxcount], [5, 5]);
  assert.is(begun, 1, 'the first packet is looked at, and no other one');
  engine.close();
  phone.close();
  others.close();
  sockets.close();
});

test.run();
