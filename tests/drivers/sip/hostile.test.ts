import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Leg } from '../../../src/telephony/driver.ts';
import { peer, settle } from '../../sip/transaction/fake-transports.ts';
import { createVictim, leftovers, nothing, type Victim } from './victim.ts';

const methods = fc.constantFrom(
  'INVITE',
  'ACK',
  'BYE',
  'CANCEL',
  'REGISTER',
  'OPTIONS',
  'UPDATE',
  'INFO',
  'MESSAGE',
  'NOTIFY',
  'REFER',
  'PRACK',
  'SUBSCRIBE',
  'PUBLISH',
  'X',
);
const sdp =
  'v=0\r\no=- 1 1 IN IP4 192.0.2.9\r\ns=-\r\nc=IN IP4 192.0.2.9\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n';
const bodies = fc.oneof(
  fc.constantFrom(
    '',
    sdp,
    sdp.replace('0 101', '18'),
    `${sdp}a=inactive\r\n`,
    'v=0\r\nm=',
    'Signal=5\r\n',
    'SIP/2.0 200 OK',
  ),
  fc.string({ maxLength: 40 }),
);
const types = fc.constantFrom(
  'application/sdp',
  'application/dtmf-relay',
  'message/sipfrag',
  'text/plain',
  'multipart/mixed;boundary=x',
  '',
);
const extras: fc.Arbitrary<string[]> = fc.array(
  fc.constantFrom(
    'Require: 100rel',
    'Session-Expires: 90;refresher=uas',
    'Session-Expires: 91',
    'Session-Expires: x',
    'Supported: timer',
    'Expires: 0',
    'Expires: 60',
    'Expires: -1',
    'Contact: *',
    'Contact: <sip:a@192.0.2.9>;expires=70',
    'Contact: <tel:+1>',
    'Contact: sips:a@b',
    'Record-Route: <sip:192.0.2.3;lr>',
    'Record-Route: <sip:router>',
    'Record-Route: <tel:1>',
    'Authorization: Digest username="alice", realm="hookswitch"',
    'Authorization: Basic x',
    'Event: refer',
    'Event: message-summary',
    'Event: dialog',
    'Event: presence;id=1',
    'Reason: Q.850;cause=17',
    'Reason: SIP;cause=abc',
    'P-Asserted-Identity: <sip:x@y>',
    'Content-Type: application/sdp',
    'Max-Forwards: 0',
    'Refer-To: <sip:x@y>',
    'X: y',
  ),
  { maxLength: 4 },
);
const uris = fc.constantFrom(
  'sip:everybody@192.0.2.1',
  'sip:600@192.0.2.1',
  'sip:192.0.2.1',
  'tel:+4930',
  'urn:x',
  'sips:a@b',
  'sip:%00@192.0.2.1',
  'sip:a@[::1]:5060;x=y?z=1',
);
const request = fc.record({
  method: methods,
  uri: uris,
  from: fc.constantFrom(
    ...Array<string>(5).fill('<sip:carol@192.0.2.9>;tag=c'),
    '<sip:carol@192.0.2.9>;tag=c',
    '"A" <sip:alice@x>;tag=a',
    'sip:x',
    '<tel:1>;tag=t',
    '<urn:x>;tag=u',
  ),
  /** Which tag of ours, if any, of those that we have answered with; mostly that of the call that stands. */
  to: fc.constantFrom(1, 1, 1, 0, 2, 3),
  call: fc.constantFrom(0, 0, 0, 1, 2),
  cseq: fc.nat(9),
  branch: fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 9),
  type: types,
  body: bodies,
  extras,
  wait: fc.constantFrom(0, 0, 0, 600, 40_000),
});

type Request = typeof request extends fc.Arbitrary<infer T> ? T : never;

function textOf(from: Request, tags: readonly string[]): string {
  const tag = from.to === 0 ? '' : `;tag=${tags.at(-from.to) ?? 'none'}`;
  const lines = [
    `${from.method} ${from.uri} SIP/2.0`,
    `Via: SIP/2.0/UDP 192.0.2.9:5070;branch=z9hG4bK${from.branch}`,
    `From: ${from.from}`,
    `To: <sip:600@192.0.2.1>${tag}`,
    `Call-ID: call${from.call}`,
    `CSeq: ${from.cseq} ${from.method}`,
    ...from.extras,
    ...(from.type ? [`Content-Type: ${from.type}`] : []),
    `Content-Length: ${Buffer.byteLength(from.body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${from.body}`;
}

/** A call as it should be, for what follows to spoil. */
const goodCall: Request = {
  method: 'INVITE',
  uri: 'sip:600@192.0.2.1',
  from: '<sip:carol@192.0.2.9>;tag=c',
  to: 0,
  call: 0,
  cseq: 0,
  branch: 9,
  type: 'application/sdp',
  body: sdp,
  extras: ['Contact: <sip:carol@192.0.2.9:5070>'],
  wait: 0,
};

async function attack(victim: Victim, requests: readonly Request[]): Promise<void> {
  for (const each of [goodCall, ...requests]) {
    const tags = victim.transports.sent.flatMap(({ message }) => (message.kind === 'response' && message.toTag) || []);
    victim.transports.deliver(Buffer.from(textOf(each, tags), 'latin1').toString('latin1'), peer('udp'));
    await settle();
    victim.clock.advance(each.wait);
  }
}

const behaviours: readonly ((leg: Leg) => void)[] = [
  () => {},
  (leg) => leg.answer(),
  (leg) => {
    leg.ring();
    leg.progress();
  },
  (leg) => leg.hangup(17),
  (leg) => {
    leg.answer();
    leg.hold();
    leg.sendDigits({ digits: '1', beforeMs: 0, betweenMs: 0, durationMs: 1, afterMs: 0 });
    leg.redirect('sip:x@192.0.2.4');
  },
];

test('whatever requests come, nothing is thrown and nothing is left', async () => {
  const behaviour = fc.constantFrom(...behaviours);
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 12 }), behaviour, async (requests, onCall) => {
      const victim = createVictim(onCall);
      await attack(victim, requests);
      assert.equal(await leftovers(victim), nothing);
    }),
    { numRuns: 300 },
  );
});

test('a NOTIFY about a transfer that nobody asked for is refused, and its call goes on', async () => {
  const victim = createVictim((leg) => leg.ring());
  const done: Request = {
    ...goodCall,
    method: 'NOTIFY',
    to: 1,
    cseq: 1,
    branch: 1,
    type: 'message/sipfrag',
    body: 'SIP/2.0 200 OK',
    extras: ['Event: refer', 'Subscription-State: terminated;reason=noresource'],
  };
  await attack(victim, [done]);
  victim.legs[0]!.hangup(17);
  const answers = victim.transports.sent.map(({ message }) =>
    message.kind === 'response' ? `${message.status} ${message.cseq.method}` : message.method,
  );
  assert.equal(answers, ['180 INVITE', '481 NOTIFY', '486 INVITE']);
  assert.equal(await leftovers(victim), nothing);
});

test('whatever is answered to our call, nothing is thrown and nothing is left', async () => {
  const response = fc.record({
    status: fc.constantFrom(
      100,
      180,
      181,
      183,
      199,
      200,
      202,
      299,
      302,
      401,
      407,
      408,
      480,
      481,
      486,
      487,
      491,
      503,
      603,
      699,
    ),
    tag: fc.constantFrom('one', 'two', ''),
    type: types,
    body: bodies,
    extras,
    wait: fc.constantFrom(0, 0, 600, 40_000),
    /** What our side does then. */
    next: fc.constantFrom('nothing', 'nothing', 'hangup', 'hold', 'refer'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(response, { minLength: 1, maxLength: 8 }), async (responses) => {
      const victim = createVictim(() => {});
      const { leg } = victim.driver.open(
        {
          channelId: 'c',
          resource: 'everybody/sip:bob@192.0.2.9:5070',
          caller: { name: '', number: '' },
          variables: {},
        },
        ({ type }) => {
          if (type === 'leg.hungUp') leg.hangup(16);
        },
      );
      victim.legs.push(leg);
      leg.dial();
      await settle();
      for (const each of responses) {
        const sent = victim.transports.sent.at(-1)?.message;
        if (sent?.kind !== 'request') break;
        const head = [
          `SIP/2.0 ${each.status} X`,
          `Via: ${sent.header('Via')}`,
          `From: ${sent.header('From')}`,
          `To: ${sent.header('To')}${each.tag && !sent.toTag ? `;tag=${each.tag}` : ''}`,
          `Call-ID: ${sent.callId}`,
          `CSeq: ${sent.header('CSeq')}`,
          ...each.extras.filter((line) => !line.startsWith('Content-Type')),
          ...(each.type ? [`Content-Type: ${each.type}`] : []),
        ];
        victim.transports.deliver(`${head.join('\r\n')}\r\n\r\n${each.body}`);
        await settle();
        if (each.next === 'hangup') leg.hangup(16);
        if (each.next === 'hold') leg.hold();
        if (each.next === 'refer') leg.redirect('sip:x@192.0.2.4');
        victim.clock.advance(each.wait);
      }
      assert.equal(await leftovers(victim), nothing);
    }),
    { numRuns: 300 },
  );
});

test('bytes that are no SIP at all are survived', async () => {
  const victim = createVictim(() => {});
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      victim.transports.deliver(text);
      victim.transports.deliver(`INVITE sip:x SIP/2.0\r\n${text}\r\n\r\n`);
    }),
  );
  assert.equal(await leftovers(victim), nothing);
});

test.run();
