import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SrtpKeys } from '../../../src/lib/srtp.ts';
import type { EstablishedDtls } from '../../../src/lib/webrtc.ts';
import type { PortPair } from '../../../src/media/rtp/ports.ts';
import type { PacketListener, PacketSocket } from '../../../src/media/rtp/sockets.ts';
import type { PacketAddress } from '../../../src/media/rtp/source-lock.ts';
import { SecurePair } from '../../../src/media/srtp/secure-pair.ts';
import { identityOf } from '../../../src/media/webrtc/dtls-server.ts';
import { WebrtcPair } from '../../../src/media/webrtc/webrtc-pair.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { certifiedKey, DtlsClient, fingerprintOf } from '../../support/dtls-client.ts';
import { check, iceLocal as local, iceRemote as remote } from '../../support/ice-check.ts';

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
  const socket: PacketSocket = {
    port: 4000,
    send: (packet, to, address) => sent.push({ datagram: Buffer.from(packet), to: { address, port: to } }),
    listen: (next) => {
      listener = next;
    },
    close: () => undefined,
  };
  const give = (datagram: Uint8Array, { address, port: from }: PacketAddress) =>
    listener?.(Uint8Array.from(datagram), address, from);
  return { pair: { rtp: socket, rtcp: socket } satisfies PortPair, sent, give };
}

function setUp({
  established,
  memory = new Float64Array(16),
}: {
  established?: EstablishedDtls;
  memory?: Float64Array;
} = {}) {
  const { pair, sent, give } = port();
  const clock = new ManualClock();
  const secured: EstablishedDtls[] = [];
  const faults: unknown[] = [];
  const ended: string[] = [];
  const webrtc = new WebrtcPair(
    pair,
    { local, remote, fingerprint: fingerprintOf(browser), ...(established && { established }) },
    {
      ...{ clock, memory: memory as never, identity: identityOf(server) },
      ...{ handshakeMs: 10_000, consentMs: 30_000 },
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
  return { webrtc, sent, give, faults, ended, heard, control, clock, secured, memory };
}

/** Makes both sides agree on keys; gives what seals packets as the browser does. */
function connect({ give, sent }: ReturnType<typeof setUp>, then = here) {
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
  carry(client.hello());
  carry(client.proof());
  const { local: ours, remote: theirs } = client.keys;
  const keys: SrtpKeys = { local: theirs, remote: ours };
  const out = port();
  const sealing = new SecurePair(out.pair, keys, new Float64Array(16) as never);
  const sealed = (): Buffer => out.sent.pop()!.datagram;
  return {
    audio(sequence: number): Buffer {
      const packet = Buffer.alloc(172, 1);
      packet.writeUInt16BE(0x8000);
      packet.writeUInt16BE(sequence, 2);
      packet.writeUInt32BE(77, 8);
      sealing.rtp.send(packet, 1, '');
      return sealed();
    },
    control(): Buffer {
      const report = Buffer.alloc(28);
      report.writeUInt32BE(0x80c8_0006);
      report.writeUInt32BE(77, 4);
      sealing.rtcp.send(report, 1, '');
      return sealed();
    },
  };
}

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

test.run();
