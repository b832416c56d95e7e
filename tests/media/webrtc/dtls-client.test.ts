import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SrtpKeys } from '../../../src/lib/srtp.ts';
import { DtlsClient } from '../../../src/media/webrtc/dtls-client.ts';
import { identityOf } from '../../../src/media/webrtc/dtls-end.ts';
import { DtlsServer } from '../../../src/media/webrtc/dtls-server.ts';
import { fragmentsOf, handshakeHeaderOctets } from '../../../src/media/webrtc/fragments.ts';
import { handshakeType } from '../../../src/media/webrtc/messages.ts';
import { contentType, readRecords, writeRecord } from '../../../src/media/webrtc/records.ts';
import { ManualClock } from '../../../src/virtual/manual-clock.ts';
import { certifiedKey, fingerprintOf } from '../../support/dtls-client.ts';
import { FakeDtlsServer, type ServerMischief } from '../../support/dtls-server.ts';
import { mutated, mutations, mutationsAtOnce } from '../../support/mutations.ts';

const test = suite('the client of DTLS');

const ours = identityOf(certifiedKey('client'));
const browser = identityOf(certifiedKey('browser'));
const stranger = identityOf(certifiedKey('stranger'));

/** A client of ours whose datagrams somebody takes. */
function open(take: (datagram: Buffer) => void, expected = browser) {
  const clock = new ManualClock();
  const sent: Buffer[] = [];
  const keys: SrtpKeys[] = [];
  const ended: string[] = [];
  const client = new DtlsClient({
    ...{ clock, identity: ours, fingerprint: fingerprintOf(expected), handshakeMs: 10_000 },
    send: (datagram) => {
      sent.push(Buffer.from(datagram));
      take(Buffer.from(datagram));
    },
    connected: (agreed) => keys.push(agreed),
    ended: (reason) => ended.push(reason),
  });
  const give = (datagrams: readonly Uint8Array[]) => {
    for (const datagram of datagrams) client.receive(datagram, '');
  };
  return { clock, client, sent, keys, ended, give };
}

/** A client, and a server that the test carries datagrams of. */
function meet(mischief: ServerMischief = {}, expected = browser) {
  const server = new FakeDtlsServer(mischief, browser);
  return { server, ...open((datagram) => server.receive(datagram), expected) };
}

type Meeting = ReturnType<typeof meet>;

/** Up to the second ClientHello. */
function greet({ client, server, give }: Meeting): void {
  client.begin();
  give([server.verify()]);
}

/** All of a handshake. */
function shake(meeting: Meeting): void {
  greet(meeting);
  meeting.give(meeting.server.flight());
  meeting.give(meeting.server.finish());
}

for (const mischief of [{}, { withoutRequest: true }] satisfies ServerMischief[])
  test(`a handshake proves both sides; ${JSON.stringify(mischief)}`, () => {
    const meeting = meet(mischief);
    shake(meeting);
    assert.is(meeting.client.state, 'connected');
    assert.is(meeting.server.proved, true);
    assert.is(meeting.server.received.includes(handshakeType.certificate), !mischief.withoutRequest);
    assert.equal([meeting.keys.length, meeting.ended], [1, []]);
  });

test('a server that asks for no cookie is taken as well', () => {
  const meeting = meet();
  meeting.client.begin();
  meeting.give(meeting.server.flight());
  meeting.give(meeting.server.finish());
  assert.equal([meeting.client.state, meeting.server.proved], ['connected', true]);
});

/** Our client and our server, each with the certificate that the other expects, and what was lost on the way. */
function pair(loses: (count: number) => boolean = () => false) {
  const answers: Buffer[] = [];
  const keys: SrtpKeys[] = [];
  const toServer: Buffer[] = [];
  let count = 0;
  const end = open((datagram) => {
    if (!loses(count++)) toServer.push(datagram);
  });
  const server = new DtlsServer({
    ...{ clock: end.clock, identity: browser, fingerprint: fingerprintOf(ours), handshakeMs: 10_000 },
    send: (datagram) => {
      if (!loses(count++)) answers.push(Buffer.from(datagram));
    },
    connected: (agreed) => keys.push(agreed),
    ended: (reason) => assert.unreachable(reason),
  });
  const carry = () => {
    while (toServer.length > 0 || answers.length > 0) {
      for (const datagram of toServer.splice(0)) server.receive(datagram, 'client');
      end.give(answers.splice(0));
    }
  };
  return { ...end, server, serverKeys: keys, carry };
}

test('our server and our client agree on keys, and each hears the goodbye of the other', () => {
  const { client, server, keys, serverKeys, ended, carry } = pair();
  client.begin();
  carry();
  assert.equal([client.state, server.state], ['connected', 'connected']);
  const [{ local, remote }] = serverKeys as [SrtpKeys];
  assert.equal(keys, [{ local: remote, remote: local }]);
  server.close();
  carry();
  assert.equal([client.state, ended], ['closed', ['the far side has closed DTLS']]);
});

test('any one or two lost datagrams are made up for by sending flights again', () => {
  for (let first = 0; first < 8; first++)
    for (let second = first; second < 10; second++) {
      const { client, server, clock, carry } = pair((count) => count === first || count === second);
      client.begin();
      carry();
      for (let ms = 0; ms < 5000 && client.state !== 'connected'; ms += 250) {
        clock.advance(250);
        carry();
      }
      assert.equal([client.state, server.state], ['connected', 'connected'], `lost ${first} and ${second}`);
    }
});

const changed = (type: number) => (of: number, body: Buffer) => {
  if (of !== type) return body;
  const copy = Buffer.from(body);
  copy[copy.length - 1]! ^= 1;
  return copy;
};

const replaced = (type: number, make: (body: Buffer) => Buffer) => (of: number, body: Buffer) =>
  of === type ? make(body) : body;

/** A ServerHello with other octets at a place. */
const hello = (at: number, ...octets: number[]) =>
  replaced(handshakeType.serverHello, (body) =>
    Buffer.concat([body.subarray(0, at), Buffer.from(octets), body.subarray(at + octets.length)]),
  );

const withoutMaster = (body: Buffer): Buffer => {
  const rest = body.subarray(40 + 4);
  return Buffer.concat([body.subarray(0, 38), Buffer.of(rest.length >> 8, rest.length & 255), rest]);
};

const failures: readonly { title: string; mischief?: ServerMischief; expected?: typeof browser; reason: RegExp }[] = [
  { title: 'another certificate than its SDP says', expected: stranger, reason: /another fingerprint/ },
  {
    title: "a key that another key than the certificate's has signed",
    mischief: { signsWith: stranger },
    reason: /own$/,
  },
  {
    title: 'a ServerKeyExchange with a changed signature',
    mischief: { change: changed(handshakeType.serverKeyExchange) },
    reason: /own$|cannot be read/,
  },
  {
    title: 'a ServerKeyExchange with another point than the signed one',
    mischief: {
      change: replaced(handshakeType.serverKeyExchange, (body) => {
        const copy = Buffer.from(body);
        copy[20]! ^= 1;
        return copy;
      }),
    },
    reason: /own$/,
  },
  {
    title: 'another curve',
    mischief: {
      change: replaced(handshakeType.serverKeyExchange, (body) =>
        Buffer.concat([Buffer.of(3, 0, 24), body.subarray(3)]),
      ),
    },
    reason: /ServerKeyExchange is malformed/,
  },
  {
    title: 'a Finished with a changed octet',
    mischief: { change: changed(handshakeType.finished) },
    reason: /another handshake/,
  },
  {
    title: 'an empty list of certificates',
    mischief: { change: replaced(handshakeType.certificate, () => Buffer.alloc(3)) },
    reason: /no certificate/,
  },
  { title: 'a cipher suite that is not offered', mischief: { change: hello(35, 0x00, 0x2f) }, reason: /not offered/ },
  { title: 'DTLS 1.0', mischief: { change: hello(0, 0xfe, 0xff) }, reason: /not offered/ },
  { title: 'compression', mischief: { change: hello(37, 1) }, reason: /not offered/ },
  {
    title: 'no extended master secret',
    mischief: { change: replaced(handshakeType.serverHello, withoutMaster) },
    reason: /not offered/,
  },
  {
    title: 'an SRTP suite that is not offered',
    mischief: {
      change: replaced(handshakeType.serverHello, (body) => Buffer.concat([body.subarray(0, -2), Buffer.of(2, 0)])),
    },
    reason: /not offered/,
  },
  {
    title: 'a CertificateRequest for RSA alone',
    mischief: { change: replaced(handshakeType.certificateRequest, () => Buffer.of(1, 1, 0, 2, 4, 1, 0, 0)) },
    reason: /takes no certificate/,
  },
  {
    title: 'a second HelloVerifyRequest',
    mischief: {},
    reason: /out of turn/,
  },
];

for (const { title, mischief, expected, reason } of failures)
  test(`a server fails the handshake with ${title}`, () => {
    const meeting = meet(mischief, expected);
    greet(meeting);
    if (title.startsWith('a second')) meeting.give([meeting.server.verify()]);
    meeting.give(meeting.server.flight());
    if (meeting.client.state === 'changeCipher') meeting.give(meeting.server.finish());
    assert.is(meeting.client.state, 'failed');
    assert.equal([meeting.keys, meeting.ended.length], [[], 1]);
    assert.match(meeting.ended[0]!, reason);
    assert.equal(meeting.server.alerts.at(0), [2, 40]);
  });

test('messages in any order, in fragments and doubled, are taken in theirs', () => {
  const meeting = meet();
  greet(meeting);
  let number = 50;
  const pieces = meeting.server.flight().flatMap((datagram) => {
    const { content } = readRecords(datagram)[0]!;
    const octets = Buffer.from(content);
    const message = { type: octets[0]!, sequence: octets.readUInt16BE(4), octets };
    return fragmentsOf(message, 40).map((piece) => writeRecord(contentType.handshake, number++, piece));
  });
  meeting.give([...pieces.reverse(), ...pieces]);
  assert.is(meeting.client.state, 'changeCipher');
  const [change, finished] = meeting.server.finish() as [Buffer, Buffer];
  meeting.give([finished, change, finished]);
  assert.equal([meeting.client.state, meeting.server.proved], ['connected', true]);
});

test('messages out of turn fail it: nothing is skipped', () => {
  for (const skipped of [0, 1, 2]) {
    const meeting = meet();
    greet(meeting);
    // The sequence numbers are those of the messages before: as a server sends that leaves one out.
    const octets = meeting.server.flight().map((datagram) => Buffer.from(readRecords(datagram)[0]!.content));
    const left = octets.toSpliced(skipped, 1);
    for (const [index, message] of left.entries()) message.writeUInt16BE(index + 1, 4);
    meeting.give(left.map((message, index) => writeRecord(contentType.handshake, 60 + index, message)));
    assert.equal([meeting.client.state, meeting.keys], ['failed', []]);
  }
  const early = meet();
  greet(early);
  early.give([writeRecord(contentType.changeCipherSpec, 3, Buffer.of(1))]);
  assert.is(early.client.state, 'serverHello');
});

test('each flight is sent again after 250 ms, then after twice as long each time, until the time is up', () => {
  const meeting = meet();
  const times: number[] = [];
  const watch = (ms: number) => {
    for (let at = 0; at < ms; at += 250) {
      const before = meeting.sent.length;
      meeting.clock.advance(250);
      if (meeting.sent.length > before) times.push(at + 250);
    }
  };
  meeting.client.begin();
  watch(2000);
  meeting.give([meeting.server.verify(), ...meeting.server.flight()]);
  watch(2000);
  assert.equal(times, [250, 750, 1750, 250, 750, 1750]);
  watch(6000);
  assert.equal([meeting.client.state, meeting.ended], ['failed', ['the DTLS handshake took too long']]);
});

test('before it begins it hears nothing, and one that never begins ends in time', () => {
  const meeting = meet();
  meeting.give([meeting.server.verify(), writeRecord(contentType.alert, 1, Buffer.of(2, 40))]);
  assert.equal([meeting.client.state, meeting.sent], ['idle', []]);
  meeting.client.begin();
  meeting.client.begin();
  assert.is(meeting.sent.length, 1);
  const other = meet();
  other.clock.advance(10_000);
  assert.equal([other.client.state, other.ended.length], ['failed', 1]);
});

test('it does not renegotiate, alerts in the clear end nothing, and closing says goodbye', () => {
  const meeting = meet();
  greet(meeting);
  meeting.give([writeRecord(contentType.alert, 9, Buffer.of(2, 40))]);
  meeting.give(meeting.server.flight());
  meeting.give(meeting.server.finish());
  meeting.give([writeRecord(contentType.alert, 10, Buffer.of(1, 0))]);
  assert.is(meeting.client.state, 'connected');
  const request = Buffer.alloc(handshakeHeaderOctets);
  request[5] = 7;
  meeting.give([meeting.server.seal(contentType.handshake, request)]);
  assert.equal([meeting.client.state, meeting.server.alerts], ['connected', [[1, 100]]]);
  meeting.client.close();
  meeting.clock.advance(60_000);
  assert.equal([meeting.server.alerts.at(-1), meeting.ended], [[1, 0], []]);
});

/** Datagrams of the server that were given before it is attacked: the cookie, five of its flight, two of its end. */
const stages = [0, 1, 2, 3, 4, 5, 6, 7, 8] as const;
/** Mutated datagrams at each stage. */
const runs = Number(process.env['HOOKSWITCH_FUZZ_RUNS'] ?? 3000);
const seed = Number(process.env['HOOKSWITCH_TEST_SEED'] ?? 1);

/** A handshake at a stage, and datagrams of its server, given ones too. */
function handshakeAt(stage: number) {
  const meeting = meet();
  const { server, give } = meeting;
  meeting.client.begin();
  const all: Buffer[] = [server.verify()];
  give(stage > 0 ? all : []);
  all.push(...server.flight());
  give(all.slice(1, Math.max(1, stage)));
  if (meeting.client.state === 'changeCipher') all.push(...server.finish());
  give(all.slice(6, Math.max(6, stage)));
  return { meeting, all };
}

for (const stage of stages)
  test(`at stage ${stage} mutated datagrams never throw, and get no keys of another handshake`, () => {
    fc.assert(
      fc.property(mutations, (each) => {
        let attacked = handshakeAt(stage);
        for (const mutation of each) {
          if (attacked.meeting.ended.length > 0) attacked = handshakeAt(stage);
          const { meeting, all } = attacked;
          const before = meeting.sent.length;
          meeting.give([mutated(all, mutation)]);
          assert.ok(meeting.sent.length - before <= 2, 'one flight at most');
          if (meeting.keys.length > 0) assert.is(meeting.server.proved, true);
        }
        attacked.meeting.client.close();
      }),
      { numRuns: Math.ceil(runs / mutationsAtOnce), seed },
    );
  });

test.run();
