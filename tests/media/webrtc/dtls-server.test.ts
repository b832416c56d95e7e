import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SrtpKeys } from '../../../src/lib/srtp.ts';
import { identityOf } from '../../../src/media/webrtc/dtls-end.ts';
import { DtlsServer } from '../../../src/media/webrtc/dtls-server.ts';
import { handshakeType } from '../../../src/media/webrtc/messages.ts';
import { contentType, writeRecord } from '../../../src/media/webrtc/records.ts';
import { srtpProfiles } from '../../../src/media/webrtc/secrets.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { certifiedKey, DtlsClient, fingerprintOf, type Mischief } from '../../support/dtls-client.ts';
import { mutated, mutations, mutationsAtOnce } from '../../support/mutations.ts';

const test = suite('the server of DTLS');

const ours = identityOf(certifiedKey('server'));
const browser = identityOf(certifiedKey('browser'));
const stranger = identityOf(certifiedKey('stranger'));
const from = '192.0.2.1 5000';

/** A server and a client that only the test carries datagrams between. */
function meet(mischief: Mischief = {}, expected = browser) {
  const clock = new ManualClock();
  const client = new DtlsClient(mischief, browser);
  const sent: Buffer[] = [];
  const keys: SrtpKeys[] = [];
  const ended: string[] = [];
  const server = new DtlsServer({
    ...{ clock, identity: ours, fingerprint: fingerprintOf(expected), handshakeMs: 10_000 },
    send: (datagram) => {
      sent.push(Buffer.from(datagram));
      client.receive(datagram);
    },
    connected: (agreed) => keys.push(agreed),
    ended: (reason) => ended.push(reason),
  });
  const give = (datagrams: readonly Uint8Array[]) => {
    for (const datagram of datagrams) server.receive(datagram, from);
  };
  return { clock, client, server, sent, keys, ended, give };
}

type Meeting = ReturnType<typeof meet>;

function greet({ give, client }: Meeting): void {
  give(client.hello());
  give(client.hello());
}

for (const { id, suite: name } of srtpProfiles)
  for (const cipher of [0xc02b, 0xc02c])
    test(`a handshake with ${name} and cipher suite ${cipher.toString(16)} gives both sides the same keys`, () => {
      const meeting = meet({ srtp: id, suite: cipher });
      greet(meeting);
      meeting.give(meeting.client.proof());
      assert.is(meeting.server.state, 'connected');
      assert.is(meeting.client.proved, true);
      assert.equal(meeting.keys, [meeting.client.keys]);
      assert.is(meeting.keys[0]?.local.suite, name);
      assert.equal(meeting.ended, []);
    });

test('before the cookie it answers no more octets than came, and nothing to what is no ClientHello', () => {
  const meeting = meet();
  const [hello] = meeting.client.hello() as [Buffer];
  meeting.give([hello]);
  assert.equal(meeting.client.received, [handshakeType.helloVerifyRequest]);
  assert.ok(meeting.sent[0]!.length <= hello.length);
  const other = meet();
  for (let octets = 0; octets <= 20; octets++) other.give([Buffer.alloc(octets, 22)]);
  other.give(other.client.cut(other.client.hello()[0]!, 1).slice(0, 1));
  assert.equal(other.sent, []);
  assert.is(other.server.state, 'hello');
});

test('a certificate is read once for all calls', () => {
  const [one, other] = [certifiedKey('one'), certifiedKey('other')];
  assert.is(identityOf(one), identityOf(one));
  assert.not.equal(identityOf(one).certificate, identityOf(other).certificate);
});

test('handshakes that 10,000 addresses leave half open keep nothing, and the next one goes on', () => {
  const meeting = meet();
  const [hello] = meeting.client.hello() as [Buffer];
  for (let source = 0; source < 10_000; source++) meeting.server.receive(hello, `192.0.2.${source & 255} ${source}`);
  assert.is(meeting.server.state, 'hello');
  const sent = meeting.sent.reduce((sum, { length }) => sum + length, 0);
  assert.ok(sent <= 10_000 * hello.length, 'no more octets than came');
  const [cookie] = meeting.sent as [Buffer];
  assert.not.ok(
    meeting.sent.slice(1).some((each) => each.subarray(28).equals(cookie.subarray(28))),
    'each address has a cookie of its own',
  );
  const next = new DtlsClient({}, browser);
  const carry = (datagrams: readonly Buffer[]) => {
    for (const datagram of datagrams) {
      const before = meeting.sent.length;
      meeting.give([datagram]);
      for (const answer of meeting.sent.slice(before)) next.receive(answer);
    }
  };
  for (const flight of ['hello', 'hello', 'proof'] as const) carry(next[flight]());
  assert.is(meeting.server.state, 'connected');
});

test('a cookie counts for the address that got it alone', () => {
  const meeting = meet();
  meeting.give(meeting.client.hello());
  meeting.server.receive(meeting.client.hello()[0]!, '192.0.2.2 5000');
  assert.is(meeting.server.state, 'hello');
  assert.is(meeting.sent.length, 2);
});

const forged = (type: number) => (of: number, body: Buffer) => {
  if (of !== type) return body;
  const changed = Buffer.from(body);
  changed[changed.length - 1]! ^= 1;
  return changed;
};

const failures: readonly { title: string; mischief?: Mischief; expected?: typeof browser; reason: RegExp }[] = [
  { title: 'another certificate than its SDP says', expected: stranger, reason: /another fingerprint/ },
  { title: "a proof with another key than the certificate's", mischief: { verifiesWith: stranger }, reason: /own$/ },
  {
    title: 'a CertificateVerify with a changed octet',
    mischief: { change: forged(handshakeType.certificateVerify) },
    reason: /own$|cannot be read/,
  },
  {
    title: 'a Finished with a changed octet',
    mischief: { change: forged(handshakeType.finished) },
    reason: /another handshake/,
  },
  {
    title: 'a point that is not on the curve',
    mischief: { change: forged(handshakeType.clientKeyExchange) },
    reason: /cannot be read/,
  },
  {
    title: 'an empty list of certificates',
    mischief: { change: (type, body) => (type === handshakeType.certificate ? Buffer.alloc(3) : body) },
    reason: /no certificate/,
  },
];

for (const { title, mischief, expected, reason } of failures)
  test(`a client fails the handshake with ${title}`, () => {
    const meeting = meet(mischief, expected);
    greet(meeting);
    meeting.give(meeting.client.proof());
    assert.is(meeting.server.state, 'failed');
    assert.equal([meeting.keys, meeting.ended.length], [[], 1]);
    assert.match(meeting.ended[0]!, reason);
    assert.equal(meeting.client.alerts.at(0), [2, 40]);
  });

for (const [title, mischief] of [
  ['no cipher suite of ours', { suite: 0x002f }],
  ['no SRTP suite of ours', { srtp: 2 }],
  ['no extended master secret', { plainMaster: true }],
] as [string, Mischief][])
  test(`a client with ${title} is refused`, () => {
    const meeting = meet(mischief);
    greet(meeting);
    assert.is(meeting.server.state, 'failed');
    assert.is(meeting.ended.length, 1);
  });

test('fragments in any order, doubled, are put together', () => {
  const meeting = meet();
  greet(meeting);
  const [certificate, ...others] = meeting.client.proof();
  const pieces = meeting.client.cut(certificate!, 50).reverse();
  meeting.give([...pieces, ...pieces, ...others]);
  assert.is(meeting.server.state, 'connected');
});

test('messages of a flight in another order are taken in theirs; a lost flight is sent again', () => {
  const meeting = meet();
  greet(meeting);
  const [certificate, exchange, verify, change, finished] = meeting.client.proof() as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  meeting.give([finished, change, verify, exchange, certificate]);
  assert.is(meeting.server.state, 'changeCipher');
  meeting.give([change, finished]);
  assert.is(meeting.server.state, 'connected');
  assert.equal(meeting.keys, [meeting.client.keys]);
});

test('its flight is sent again after 250 ms, then after twice as long each time, until the time is up', () => {
  const meeting = meet();
  greet(meeting);
  const before = meeting.sent.length;
  const flights: number[] = [];
  for (let ms = 250; ms < 10_000; ms += 250) {
    meeting.clock.advance(250);
    if (meeting.sent.length > before + flights.length) flights.push(ms);
  }
  assert.equal(flights, [250, 750, 1750, 3750, 7750]);
  meeting.clock.advance(250);
  assert.equal([meeting.server.state, meeting.ended], ['failed', ['the DTLS handshake took too long']]);
});

test('a repeated Finished gets the last flight again; a repeated record gets nothing', () => {
  const meeting = meet();
  greet(meeting);
  const proof = meeting.client.proof();
  meeting.give(proof);
  const before = meeting.sent.length;
  meeting.give([proof.at(-1)!]);
  assert.is(meeting.sent.length, before);
  // The same message in a new record, as a client sends that missed the answer.
  const body = Buffer.alloc(24);
  body.set([handshakeType.finished, 0, 0, 12, 0, 5, 0, 0, 0, 0, 0, 12]);
  meeting.give([meeting.client.seal(contentType.handshake, body)]);
  assert.is(meeting.sent.length, before + 1);
});

test('an alert in the clear ends nothing; an encrypted close_notify does, once', () => {
  const meeting = meet();
  greet(meeting);
  meeting.give([writeRecord(contentType.alert, 9, Buffer.of(2, 40))]);
  meeting.give(meeting.client.proof());
  meeting.give([writeRecord(contentType.alert, 10, Buffer.of(1, 0))]);
  assert.is(meeting.server.state, 'connected');
  meeting.give([meeting.client.seal(contentType.alert, Buffer.of(1, 0))]);
  meeting.give([meeting.client.seal(contentType.alert, Buffer.of(1, 0))]);
  assert.equal([meeting.server.state, meeting.ended], ['closed', ['the far side has closed DTLS']]);
});

test('it does not renegotiate', () => {
  const meeting = meet();
  greet(meeting);
  meeting.give(meeting.client.proof());
  const hello = Buffer.alloc(12);
  hello.set([handshakeType.clientHello, 0, 0, 0, 0, 6]);
  meeting.give([meeting.client.seal(contentType.handshake, hello)]);
  assert.is(meeting.server.state, 'connected');
  assert.equal(meeting.client.alerts, [[1, 100]]);
});

test('closing says goodbye, and leaves no timer', () => {
  const meeting = meet();
  greet(meeting);
  meeting.give(meeting.client.proof());
  meeting.server.close();
  meeting.clock.advance(60_000);
  assert.equal([meeting.client.alerts, meeting.ended], [[[1, 0]], []]);
});

/** How far a handshake goes before it is attacked: datagrams of the proof that were given. */
const stages = [-2, -1, 0, 1, 2, 3, 4, 5] as const;
/** Mutated datagrams at each stage. */
const runs = Number(process.env['HOOKSWITCH_FUZZ_RUNS'] ?? 3000);
const seed = Number(process.env['HOOKSWITCH_TEST_SEED'] ?? 1);

/** A handshake at a stage, and datagrams of its client, given ones too. */
function handshakeAt(stage: (typeof stages)[number]) {
  const meeting = meet();
  const hellos = [meeting.client.hello()[0]!];
  if (stage > -2) meeting.give(hellos);
  if (stage > -1) meeting.give(meeting.client.hello());
  const proof = stage >= 0 ? meeting.client.proof() : [];
  meeting.give(proof.slice(0, Math.max(0, stage)));
  return { meeting, all: [...hellos, ...proof], came: stage === -1 ? hellos[0]!.length : 0 };
}

for (const stage of stages)
  test(`at stage ${stage} mutated datagrams never throw, change no keys, and get no answer above the allowed size`, () => {
    fc.assert(
      fc.property(mutations, (each) => {
        let attacked = handshakeAt(stage);
        for (const mutation of each) {
          if (attacked.meeting.ended.length > 0) attacked = handshakeAt(stage);
          const { meeting, all } = attacked;
          const datagram = mutated(all, mutation);
          meeting.give([datagram]);
          attacked.came += datagram.length;
          if (stage < 0) assert.ok(meeting.sent.reduce((sum, { length }) => sum + length, 0) <= attacked.came);
          for (const keys of meeting.keys) assert.equal(keys, meeting.client.keys);
        }
        attacked.meeting.server.close();
      }),
      { numRuns: Math.ceil(runs / mutationsAtOnce), seed },
    );
  });

test.run();
