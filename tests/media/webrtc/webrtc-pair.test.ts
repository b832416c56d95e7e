import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SrtpKeys } from '../../../src/lib/srtp.ts';
import type { EstablishedDtls, RemoteCandidate } from '../../../src/lib/webrtc.ts';
import type { PortPair } from '../../../src/media/rtp/ports.ts';
import type { PacketListener, PacketSocket } from '../../../src/media/rtp/sockets.ts';
import type { PacketAddress } from '../../../src/media/rtp/source-lock.ts';
import { SecurePair } from '../../../src/media/srtp/secure-pair.ts';
import { newStreamMemory, streamNumbers, videoWord } from '../../../src/media/video/stream-memory.ts';
import { Bundle } from '../../../src/media/webrtc/bundle.ts';
import { readCheck, writeCheckAnswer } from '../../../src/media/webrtc/checks.ts';
import { identityOf } from '../../../src/media/webrtc/dtls-end.ts';
import { DtlsServer } from '../../../src/media/webrtc/dtls-server.ts';
import { textIn, withExtensions } from '../../../src/media/webrtc/mid.ts';
import { WebrtcPair } from '../../../src/media/webrtc/webrtc-pair.ts';
import type { VideoFlow } from '../../../src/telephony/video.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { certifiedKey, DtlsClient, fingerprintOf } from '../../support/dtls-client.ts';
import { check, iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';
import { mutated, mutations, mutationsAtOnce } from '../../support/mutations.ts';

type Sent = { datagram: Buffer; to: PacketAddress };

const test = suite('one port with ICE, DTLS and SRTP');

const browser = identityOf(certifiedKey('browser'));
const server = certifiedKey('server');
const here: PacketAddress = { address: '192.0.2.1', port: 5000 };
const beside: PacketAddress = { address: '192.0.2.1', port: 5001 };
const stranger: PacketAddress = { address: '203.0.113.9', port: 5000 };

function port() {
  let listener: PacketListener | undefined;
  const sent: Sent[] = [];
  const identified: [string, PacketAddress | undefined][] = [];
  const socket: PacketSocket = {
    port: 4000,
    send: (packet, to, address) => sent.push({ datagram: Buffer.from(packet), to: { address, port: to } }),
    listen: (next) => {
      listener = next;
    },
    close: () => undefined,
    identify: (ice, found) => void identified.push([ice.local.ufrag, found]),
  };
  const give = (datagram: Uint8Array, { address, port: from }: PacketAddress) =>
    listener?.(Uint8Array.from(datagram), address, from);
  return { pair: { rtp: socket, rtcp: socket } satisfies PortPair, sent, give, identified };
}

function setUp({
  established,
  role,
  checked,
  isControlled,
  memory = new Float64Array(16),
}: {
  established?: EstablishedDtls;
  role?: 'client';
  checked?: readonly RemoteCandidate[];
  isControlled?: true;
  memory?: Float64Array;
} = {}) {
  const { pair, sent, give, identified } = port();
  const clock = new ManualClock();
  const bundle = new Bundle();
  const secured: EstablishedDtls[] = [];
  const faults: unknown[] = [];
  const ended: string[] = [];
  const webrtc = new WebrtcPair(
    pair,
    {
      ...{ local, remote, fingerprint: fingerprintOf(browser) },
      ...(established && { established }),
      ...(role && { role }),
      ...(checked && { checked }),
      ...(isControlled && { isControlled }),
    },
    {
      ...{ clock, memory: memory as never, identity: identityOf(server) },
      ...{ handshakeMs: 10_000, consentMs: 30_000, bundle },
      selected: () => undefined,
      secured: (told) => secured.push(told),
      ended: (reason) => ended.push(reason),
      faulted: (error) => faults.push(error),
    },
  );
  const heard: Buffer[] = [];
  webrtc.rtp.listen((packet) => heard.push(Buffer.from(packet)));
  const control: Buffer[] = [];
  webrtc.rtcp.listen((packet) => control.push(Buffer.from(packet)));
  /** Answers our checks as a lite far side does. @returns how many there were since `from`. */
  const answerChecks = (from = 0): number => {
    const asked = sent.slice(from).filter(({ datagram }) => readCheck(datagram, remote, local));
    for (const { datagram, to } of asked) give(writeCheckAnswer(datagram, here, remote.password)!, to);
    return asked.length;
  };
  return {
    webrtc,
    bundle,
    answerChecks,
    sent,
    give,
    identified,
    faults,
    ended,
    heard,
    control,
    clock,
    secured,
    memory,
  };
}

/** Makes both sides agree on keys; gives what seals packets as the browser does. */
function connect({ give, sent, clock, answerChecks }: ReturnType<typeof setUp>, then = here) {
  const client = new DtlsClient({}, browser);
  let from = here;
  const carry = (datagrams: readonly Uint8Array[]): void => {
    for (const datagram of datagrams) {
      const before = sent.length;
      give(datagram, from);
      for (const each of sent.slice(before)) client.receive(each.datagram);
    }
  };
  give(check(), here);
  carry(client.hello());
  from = then;
  give(check({ nominates: true }), then);
  clock.advance(0);
  answerChecks();
  carry(client.hello());
  carry(client.proof());
  const { local: ours, remote: theirs } = client.keys;
  const keys: SrtpKeys = { local: theirs, remote: ours };
  const out = port();
  const sealing = new SecurePair(out.pair, keys, new Float64Array(16) as never);
  const sealed = (): Buffer => out.sent.pop()!.datagram;
  return {
    keys,
    audio(sequence: number): Buffer {
      const packet = Buffer.alloc(172, 1);
      packet.writeUInt16BE(0x8000);
      packet.writeUInt16BE(sequence, 2);
      packet.writeUInt32BE(77, 8);
      sealing.rtp.send(packet, 1, '');
      return sealed();
    },
    /** A packet of video. @param source its SSRC. @param mid the name of its line, if it has that. */
    video(sequence: number, source: number, mid?: string): Buffer {
      const plain = Buffer.alloc(60, 2);
      plain.writeUInt16BE(0x8060);
      plain.writeUInt16BE(sequence, 2);
      plain.writeUInt32BE(source, 8);
      sealing.rtp.send(mid === undefined ? plain : withExtensions(plain, { mid, midExtension: 4 }, 0), 1, '');
      return sealed();
    },
    control(source = 77): Buffer {
      const report = Buffer.alloc(28);
      report.writeUInt32BE(0x80c8_0006);
      report.writeUInt32BE(source, 4);
      sealing.rtcp.send(report, 1, '');
      return sealed();
    },
  };
}

test('a lite far side is checked; media goes to the pair that it takes, and stops when it no longer answers', () => {
  const world = setUp({
    checked: [
      { ...here, priority: 2 },
      { ...beside, priority: 1 },
    ],
    role: 'client',
  });
  const { clock, sent, answerChecks, ended } = world;
  clock.advance(0);
  assert.is(answerChecks(), 1);
  assert.is(sent.length, 1);
  clock.advance(0);
  // It has answered the nomination: we are the client of DTLS, and say hello there.
  assert.is(answerChecks(1), 1);
  assert.equal([sent[2]?.datagram[0], sent[2]?.to], [22, here]);
  const hellos = (from: number) => sent.slice(from).filter(({ datagram }) => datagram[0] === 22).length;
  clock.advance(3_000);
  const from = sent.length;
  assert.ok(hellos(3) > 0);
  clock.advance(40_000);
  assert.equal(ended, ['the DTLS handshake took too long', 'the far side no longer answers connectivity checks']);
  assert.ok(answerChecks(from) > 0);
});

test('10,000 sources that prove nothing get no answer, and nothing of them is kept', () => {
  const { webrtc, sent, give, faults, heard } = setUp();
  const [hello] = new DtlsClient({}, browser).hello() as [Buffer];
  const forged = check({ password: 'not+the+password+at+all+1' });
  const packet = Buffer.alloc(60, 0x80);
  for (let source = 0; source < 10_000; source++) {
    const from = { address: `198.51.${source >> 8}.${source & 255}`, port: 1024 + source };
    for (const datagram of [hello, forged, packet, Buffer.alloc(0)]) give(datagram, from);
  }
  assert.equal([sent, faults, heard], [[], [], []]);
  assert.is(webrtc.secure, undefined);
});

test('a proved address with half a handshake gets no more octets than it sent', () => {
  const { sent, give } = setUp();
  const [hello] = new DtlsClient({}, browser).hello() as [Buffer];
  const proof = check({ nominates: true });
  give(proof, here);
  for (let times = 0; times < 100; times++) give(hello, here);
  const octets = sent.reduce((sum, { datagram }) => sum + datagram.length, 0);
  assert.ok(octets <= proof.length + 100 * hello.length);
});

test('as the client of DTLS it says hello to the first proved address, and its keys open media', () => {
  const parts = setUp({ role: 'client' });
  const { give, sent, clock, webrtc, heard, secured } = parts;
  const keys: SrtpKeys[] = [];
  let count = 0;
  const meet = () =>
    new DtlsServer({
      ...{ clock, identity: browser, fingerprint: fingerprintOf(identityOf(server)), handshakeMs: 10_000 },
      send: (datagram) => give(datagram, here),
      connected: (agreed) => keys.push(agreed),
      ended: () => undefined,
    });
  const carry = (dtls: DtlsServer) => {
    for (; count < sent.length; count++)
      if ((sent[count]!.datagram[0] ?? 0) >= 20) dtls.receive(sent[count]!.datagram, '');
  };
  const far = meet();
  clock.advance(2000);
  assert.equal(sent, []);
  give(check(), here);
  carry(far);
  const media = (agreed: SrtpKeys) => {
    const out = port();
    new SecurePair(out.pair, agreed, new Float64Array(16) as never).rtp.send(Buffer.alloc(60, 0x80), 1, '');
    return out.sent[0]!.datagram;
  };
  give(media(keys[0]!), here);
  assert.equal([heard.length, secured.length, secured[0]?.keys.remote], [1, 1, keys[0]!.local]);
  // The far side becomes the client: another association, with other keys.
  webrtc.use({ local, remote, fingerprint: fingerprintOf(browser) });
  assert.is(webrtc.secure, undefined);
  webrtc.use({ local, remote, fingerprint: fingerprintOf(browser), role: 'client' });
  const again = meet();
  carry(again);
  assert.is(keys.length, 2);
  give(media(keys[1]!), here);
  assert.is(heard.length, 2);
});

test('the handshake goes on when the browser takes another pair after the cookie', () => {
  const parts = setUp();
  const sealing = connect(parts, beside);
  parts.give(sealing.audio(1), beside);
  assert.is(parts.heard.length, 1);
});

test('media is heard from every proved address, once, and from no other', () => {
  const parts = setUp();
  const { give, heard, control, webrtc, faults } = parts;
  const sealing = connect(parts);
  assert.ok(webrtc.secure);
  const [first, second, third] = [sealing.audio(1), sealing.audio(2), sealing.audio(3)];
  give(first, here);
  give(first, here);
  give(second, stranger);
  give(second, beside);
  assert.is(heard.length, 1);
  give(check(), beside);
  give(second, beside);
  give(second, here);
  const changed = Buffer.from(third);
  changed[40]! ^= 1;
  give(changed, here);
  give(third, here);
  assert.equal(
    heard.map((packet) => packet.readUInt16BE(2)),
    [1, 2, 3],
  );
  const report = sealing.control();
  for (const from of [stranger, here, here]) give(report, from);
  assert.is(control.length, 1);
  assert.equal(faults, []);
});

const newStreamNumbers = () => streamNumbers(newStreamMemory());
const numberOfOctets = (packet: Buffer, extension: number) => textIn(packet, extension)?.length;

/** A stream in the transport of the audio, that takes payload type 96. */
function stream({ bundle }: ReturnType<typeof setUp>, mid: string, { receive = true, midExtension = 4 } = {}) {
  const memory = newStreamNumbers();
  const traced: string[] = [];
  const trace = (_packet: Uint8Array, direction: string, address: string, to: number) =>
    void traced.push(`${direction} ${address} ${to}`);
  const pair = bundle.open({ memory, port: 4000, trace });
  pair.carry({ payloadType: 96, receive, bundled: { mid, midExtension } } as VideoFlow);
  const heard: number[] = [];
  pair.rtp.listen((packet) => heard.push(Buffer.from(packet).readUInt16BE(2)));
  const control: number[] = [];
  pair.rtcp.listen((packet) => control.push(Buffer.from(packet).readUInt32BE(4)));
  return { pair, heard, control, memory, traced };
}

test('packets of a bundle go to the line that they name, or to the one of their source or payload type', () => {
  const parts = setUp();
  const camera = stream(parts, '1');
  const slides = stream(parts, '2');
  const sealing = connect(parts);
  const { give, heard } = parts;
  give(sealing.video(1, 500), here);
  give(sealing.video(10, 600, '2'), here);
  // A browser names its line until it is heard.
  give(sealing.video(11, 600), here);
  give(sealing.audio(100), here);
  assert.equal([camera.heard, slides.heard, heard.length], [[1], [10, 11], 1]);
  slides.pair.rtp.close();
  give(sealing.video(12, 600), here);
  assert.equal(slides.heard, [10, 11]);
});

test('a stream of a bundle that takes no video leaves its payload type to others', () => {
  const parts = setUp();
  const screen = stream(parts, '1', { receive: false });
  const camera = stream(parts, '2');
  parts.give(connect(parts).video(1, 500), here);
  assert.equal([screen.heard, camera.heard], [[], [1]]);
});

test('each stream of a bundle has rollover counters and replay windows of its own, and all hear all RTCP', () => {
  const parts = setUp();
  const camera = stream(parts, '1');
  const sealing = connect(parts);
  const { give, heard, control } = parts;
  const round = [65_534, 65_535, 0, 1];
  const sealed = round.map((sequence) => sealing.audio(sequence));
  for (const packet of [...sealed, ...sealed]) give(packet, here);
  // The same numbers of another source are no replay.
  const pictures = round.map((sequence) => sealing.video(sequence, 500));
  for (const packet of [...pictures, ...pictures]) give(packet, here);
  assert.equal([heard.length, camera.heard], [4, round]);
  for (const report of [sealing.control(77), sealing.control(500)])
    for (let times = 0; times < 2; times++) give(report, here);
  assert.equal([control.length, camera.control], [2, [77, 500]]);
  const changed = sealing.control(500);
  changed[12]! ^= 1;
  give(changed, here);
  assert.equal([control.length, camera.control.length], [2, 2]);
});

test('a stream of a bundle is sent to the browser with the name of its line, sealed, and nowhere before the keys', () => {
  const parts = setUp();
  const { pair } = stream(parts, '1');
  const plain = Buffer.alloc(60, 2);
  plain.writeUInt16BE(0x8060);
  pair.rtp.send(plain, 1, '');
  assert.equal(parts.sent, []);
  connect(parts);
  pair.rtp.send(plain, 1, '');
  const { datagram, to } = parts.sent.at(-1)!;
  assert.equal([to, textIn(datagram, 4)], [here, '1']);
  assert.ok(datagram.length > plain.length + 8);
  parts.webrtc.close();
  const count = parts.sent.length;
  pair.rtp.send(plain, 1, '');
  assert.is(parts.sent.length, count);
});

/** A packet of video of ours. */
function ourVideo(payloadType: number, sequence: number, ssrc: number): Buffer {
  const plain = Buffer.alloc(60, 2);
  plain.writeUInt16BE(0x8000 | payloadType);
  plain.writeUInt16BE(sequence, 2);
  plain.writeUInt32BE(ssrc, 8);
  return plain;
}

test('retransmissions of a stream are sealed by numbers of their own, which another thread and other keys go on with', () => {
  const parts = setUp();
  const { pair, memory } = stream(parts, '1');
  const bundled = { mid: '1', midExtension: 4, sendTimeExtension: 2 };
  const flow = { payloadType: 96, receive: true, bundled, rtx: { payloadType: 97, receivePayloadType: 98 } };
  pair.carry(flow as VideoFlow);
  const sealing = connect(parts);
  const opened: Buffer[] = [];
  const listening = port();
  const browserSide = new SecurePair(listening.pair, sealing.keys, newStreamNumbers());
  browserSide.rtp.listen((packet) => opened.push(Buffer.from(packet)));
  const carry = (payloadType: number, sequence: number, ssrc: number) => {
    pair.rtp.send(ourVideo(payloadType, sequence, ssrc), 1, '');
    listening.give(parts.sent.at(-1)!.datagram, here);
  };
  // The stream goes round, its retransmissions do not: each has rollover counters of its own (RFC 3711 3.2.3).
  for (const sequence of [65_534, 65_535, 0, 1]) carry(96, sequence, 500);
  for (const sequence of [7, 8]) carry(97, sequence, 900);
  carry(96, 2, 500);
  carry(97, 9, 900);
  assert.equal(
    opened.map((packet) => [packet.readUInt32BE(8), packet.readUInt16BE(2)]),
    [65_534, 65_535, 0, 1]
      .map((each) => [500, each])
      .concat([
        [900, 7],
        [900, 8],
        [500, 2],
        [900, 9],
      ]),
  );
  assert.is(memory[videoWord.rtxSealed], 10);
  pair.forgetIndices();
  assert.is(memory[videoWord.rtxSealed], 0);
  // What comes with either payload type is of the stream.
  assert.equal(
    [96, 97, 98, 99].map((each) => [pair.has(each), pair.takes(each)]),
    [
      [true, true],
      [true, false],
      [true, true],
      [false, false],
    ],
  );
});

test('a packet that is sent again in its stream is the same octet for octet: it is sealed with the same nonce', () => {
  const parts = setUp();
  const { pair } = stream(parts, '1');
  const bundled = { mid: '1', midExtension: 4, sendTimeExtension: 2 };
  pair.carry({ payloadType: 96, receive: true, bundled } as VideoFlow);
  connect(parts);
  const [first, again] = [0, 1].map(() => {
    parts.clock.advance(100);
    pair.rtp.send(ourVideo(96, 1, 500), 1, '');
    return parts.sent.at(-1)!.datagram;
  });
  assert.equal(again, first);
  // With retransmissions as a stream of their own each packet says when it is sent.
  pair.carry({
    payloadType: 96,
    receive: true,
    bundled,
    rtx: { payloadType: 97, receivePayloadType: 97 },
  } as VideoFlow);
  pair.rtp.send(ourVideo(96, 2, 500), 1, '');
  assert.equal([textIn(first!, 2), numberOfOctets(parts.sent.at(-1)!.datagram, 2)], [undefined, 3]);
});

test('heads of the packets of a stream are written down as they are on the network, and told from those of the audio', () => {
  const parts = setUp();
  const { pair, traced } = stream(parts, '1');
  const sealing = connect(parts);
  const picture = sealing.video(1, 500);
  parts.give(picture, here);
  const plain = Buffer.alloc(60, 2);
  plain.writeUInt16BE(0x8060);
  pair.rtp.send(plain, 1, '');
  parts.give(sealing.audio(1), here);
  parts.give(sealing.control(500), here);
  assert.equal(traced, ['in 192.0.2.1 5000', 'out 192.0.2.1 5000']);
  const { bundle, sent } = parts;
  const kinds = [picture, sent.at(-1)!.datagram, sealing.audio(2), sealing.control(500), check(), Buffer.alloc(0)];
  assert.equal(
    kinds.map((each) => bundle.carries(each)),
    [true, true, false, false, false, false],
  );
});

test('another process goes on with the video of a bundle: an old packet of it stays refused', () => {
  const first = setUp();
  const before = stream(first, '1');
  const sealing = connect(first);
  const old = sealing.video(1, 500);
  first.give(old, here);
  const next = setUp({ established: first.secured[0]!, memory: first.memory });
  const pair = next.bundle.open({ memory: before.memory, port: 4000 });
  pair.carry({ payloadType: 96, receive: true, bundled: { mid: '1' } } as VideoFlow);
  const heard: number[] = [];
  pair.rtp.listen((packet) => heard.push(Buffer.from(packet).readUInt16BE(2)));
  next.give(old, here);
  next.give(sealing.video(2, 500), here);
  assert.equal(heard, [2]);
});

test('sequence numbers go round: audio goes on, and what is from before stays refused', () => {
  const parts = setUp();
  const sealing = connect(parts);
  const sealed = new Map<number, Buffer>();
  for (const sequence of [65_533, 65_534, 65_535, 0, 1, 2]) sealed.set(sequence, sealing.audio(sequence));
  for (const packet of [...sealed.values(), ...sealed.values()]) parts.give(packet, here);
  assert.equal(
    parts.heard.map((packet) => packet.readUInt16BE(2)),
    [65_533, 65_534, 65_535, 0, 1, 2],
  );
});

test('datagrams of chance at any time are no fault', () => {
  const parts = setUp();
  connect(parts);
  let state = 1;
  const octet = (): number => {
    state = (state * 48_271) % 0x7fff_ffff;
    return state & 255;
  };
  for (let times = 0; times < 20_000; times++) {
    const datagram = Buffer.from(Array.from({ length: times % 90 }, octet));
    parts.give(datagram, times % 2 === 0 ? here : stranger);
  }
  assert.equal([parts.faults, parts.heard, parts.ended], [[], [], []]);
});

/** How far a call has come when it is attacked. */
const states = ['new', 'checked', 'greeted', 'half', 'connected'] as const;

/** Brings a call so far. @returns datagrams of the browser: those that were given, and those that come next. */
function bring(parts: ReturnType<typeof setUp>, state: (typeof states)[number]): Buffer[] {
  const { give, sent } = parts;
  if (state === 'connected') {
    const sealing = connect(parts);
    return [sealing.audio(1), sealing.video(1, 500, '1'), sealing.control(), sealing.control(500)];
  }
  const client = new DtlsClient({}, browser);
  const all: Buffer[] = [];
  const carry = (datagrams: readonly Buffer[]): void => {
    for (const datagram of datagrams) {
      const before = sent.length;
      all.push(datagram);
      give(datagram, here);
      for (const each of sent.slice(before)) client.receive(each.datagram);
    }
  };
  const nomination = check({ nominates: true });
  if (state === 'new') return [nomination, ...client.hello()];
  carry([nomination]);
  parts.clock.advance(0);
  parts.answerChecks();
  if (state === 'checked') return [...all, ...client.hello()];
  carry(client.hello());
  carry(client.hello());
  const proof = client.proof();
  if (state === 'half') carry(proof.splice(0, 2));
  return [...all, ...proof];
}

/** Mutated datagrams in each state. */
const runs = Number(process.env['HOOKSWITCH_FUZZ_RUNS'] ?? 3000);

/** A call in a state, with a camera, and datagrams of its browser. */
function callIn(state: (typeof states)[number], isFull: boolean) {
  const parts = setUp(isFull ? { checked: [], isControlled: true } : {});
  const camera = stream(parts, '1');
  return { parts, camera, all: bring(parts, state) };
}

for (const isFull of [false, true])
  for (const state of states)
    test(`mutated datagrams are no fault, agree on no keys, and are not heard: ICE ${isFull ? 'full' : 'lite'}, ${state}`, () => {
      fc.assert(
        fc.property(mutations, fc.constantFrom(here, beside, stranger), (each, from) => {
          let attacked = callIn(state, isFull);
          for (const mutation of each) {
            if (attacked.parts.ended.length > 0) attacked = callIn(state, isFull);
            const { parts, camera, all } = attacked;
            const datagram = mutated(all, mutation);
            const isGenuine = all.some((genuine) => genuine.equals(datagram));
            const before = parts.sent.length;
            for (let times = 0; times < 2; times++) if (!isGenuine) parts.give(datagram, from);
            assert.equal(
              [parts.faults, parts.heard, parts.control, camera.heard, camera.control],
              [[], [], [], [], []],
            );
            assert.is(parts.secured.length, state === 'connected' ? 1 : 0);
            const answered = parts.sent.slice(before).reduce((sum, { datagram: { length } }) => sum + length, 0);
            // An address that is not proved gets nothing.
            if (from !== here && datagram[0]! >= 4) assert.is(answered, 0);
          }
          const { parts, all } = attacked;
          if (state === 'connected') {
            parts.give(all[0]!, here);
            assert.is(parts.heard.length, 1);
          }
          parts.webrtc.close();
        }),
        { numRuns: Math.ceil(runs / mutationsAtOnce) },
      );
    });

test('keys and address are told after the handshake, and moves at most once a second', () => {
  const { give, secured, clock, ...parts } = setUp();
  connect({ give, secured, clock, ...parts });
  assert.is(secured.length, 1);
  assert.equal([secured[0]!.source, secured[0]!.fingerprint], [here, fingerprintOf(browser)]);
  for (let times = 0; times < 100; times++) give(check({ nominates: true }), times % 2 === 0 ? beside : here);
  assert.is(secured.length, 1);
  clock.advance(1000);
  give(check({ nominates: true }), beside);
  assert.equal(
    secured.slice(1).map(({ source }) => source),
    [beside],
  );
});

test('another process goes on with the keys: nothing is shaken hands for, and no packet number comes twice', () => {
  const first = setUp();
  const sealing = connect(first);
  first.give(sealing.audio(1), here);
  const packet = Buffer.alloc(172, 1);
  packet.writeUInt16BE(0x8000);
  packet.writeUInt16BE(500, 2);
  first.webrtc.rtp.send(packet, here.port, here.address);
  const before = first.sent.at(-1)!.datagram;
  const [established] = first.secured;
  const next = setUp({ established: established!, memory: first.memory });
  assert.ok(next.webrtc.secure);
  next.give(sealing.audio(2), here);
  assert.is(next.heard.length, 1);
  packet.writeUInt16BE(501, 2);
  next.webrtc.rtp.send(packet, here.port, here.address);
  const after = next.sent.at(-1)!;
  assert.equal(after.to, here);
  assert.not.equal(after.datagram.subarray(12), before.subarray(12));
  const [hello] = new DtlsClient({}, browser).hello() as [Buffer];
  const count = next.sent.length;
  next.give(hello, here);
  assert.is(next.sent.length, count, 'the handshake is over');
});

test('keys for another certificate than that of the description are not used', () => {
  const first = setUp();
  connect(first);
  const [established] = first.secured;
  const other = { ...established!, fingerprint: fingerprintOf(identityOf(certifiedKey('other'))) };
  assert.is(setUp({ established: other }).webrtc.secure, undefined);
});

test('a port that sessions share is told the credentials of each start of ICE, and where the browser was found', () => {
  const first = setUp();
  connect(first);
  const fingerprint = fingerprintOf(browser);
  first.webrtc.use({ local: { ...local, ufrag: 'next' }, remote, fingerprint });
  assert.equal(first.identified, [
    ['ours', undefined],
    ['next', undefined],
  ]);
  const [established] = first.secured;
  assert.equal(setUp({ established: established! }).identified, [['ours', here]]);
  const relayed = { ...established!, source: { ...here, via: 'relay' } } as const;
  assert.equal(
    setUp({ established: relayed }).identified,
    [['ours', undefined]],
    'the address of a relay is none of it',
  );
  const other = { ...established!, fingerprint: { ...fingerprint, digest: 'other' } };
  assert.equal(setUp({ established: other }).identified, [['ours', undefined]]);
});

test.run();
