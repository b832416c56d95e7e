import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultAor, defaultSipConfig } from '../../../src/drivers/sip/config.ts';
import { createSipDriver } from '../../../src/drivers/sip/driver.ts';
import { createIds } from '../../../src/lib/ids.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { createTransactionLayer } from '../../../src/sip/transaction/layer.ts';
import type { Leg } from '../../../src/telephony/driver.ts';
import { FakeTransports, peer, settle } from '../../sip/transaction/fake-transports.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { endpoint, FakeMedia } from './support.ts';

/** The driver on simulated time and network, with call control that does what each test says with every call. */
function createVictim(onCall: (leg: Leg) => void) {
  const clock = new ManualClock();
  const transports = new FakeTransports(clock);
  const errors: string[] = [];
  const silent = () => {};
  const log: Logger = {
    trace: silent,
    debug: silent,
    info: silent,
    warn: silent,
    error: (fields, text) => errors.push(`${text} ${JSON.stringify(fields)}`),
    child: () => log,
  };
  const ids = createIds(clock);
  const media = new FakeMedia();
  const transactions = createTransactionLayer({ transports, clock, ids, log });
  const legs: Leg[] = [];
  const endpoints = [
    endpoint('everybody', { match: ['192.0.2.0/24'], aor: { ...defaultAor, maxContacts: 3 } }),
    endpoint('alice', { auth: { username: 'alice', password: 'x' } }),
  ];
  const driver = createSipDriver({
    config: { ...defaultSipConfig, endpoints },
    transports: {
      send: (...args) => transports.send(...args),
      localAddress: () => transports.localAddress(),
      onConnectionClosed: silent,
    },
    transactions,
    media,
    host: {
      incoming(call) {
        const leg: Leg = call.open(ids.channel(), ({ type }) => {
          if (type === 'leg.hungUp') leg.hangup(16);
          if (type === 'leg.ended') leg.release();
        });
        legs.push(leg);
        onCall(leg);
        return true;
      },
    },
    contacts: { registered: silent, removed: silent },
    clock,
    ids,
    log,
  });
  driver.start();
  return { clock, transports, transactions, driver, media, legs, errors };
}

type Victim = ReturnType<typeof createVictim>;

/** Lets everything run out: nothing may be left but registrations. */
async function leftovers({ clock, driver, transactions, media, legs, errors }: Victim) {
  await settle();
  for (const leg of legs) {
    leg.hangup(16);
    leg.release();
  }
  for (let minute = 0; minute < 4; minute++) {
    clock.advance(60_000);
    await settle();
  }
  // The longest that a subscription lasts, and the time that its last NOTIFY may take.
  clock.advance(86_400_000 + 64_000);
  await settle();
  const { dialogs, pending, qualifying, subscriptions, referrals, legs: open } = driver.counts();
  const { clients, servers } = transactions.counts();
  const sessions = media.sessions.size;
  return {
    dialogs,
    pending,
    qualifying,
    referrals,
    subscriptions,
    legs: open,
    clients,
    servers,
    sessions,
    timers: clock.pending,
    errors,
  };
}

const nothing = {
  dialogs: 0,
  pending: 0,
  qualifying: 0,
  referrals: 0,
  subscriptions: 0,
  legs: 0,
  clients: 0,
  servers: 0,
  sessions: 0,
  timers: 0,
  errors: [],
};

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
