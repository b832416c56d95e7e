import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PendingSession } from '../../../src/drivers/pending-session.ts';
import {
  causeFromReason,
  causeFromStatus,
  causeOfRefusal,
  endOfBye,
  reasonHeaders,
  statusFromCause,
} from '../../../src/drivers/sip/causes.ts';
import { defaultAor } from '../../../src/drivers/sip/config.ts';
import { isFlash, parseInfoDigit } from '../../../src/drivers/sip/info-digits.ts';
import { resourceOf } from '../../../src/drivers/sip/messages.ts';
import { assertedParty, partyOf, userOf } from '../../../src/drivers/sip/party.ts';
import { buildRequest, buildResponse, type HeaderLines } from '../../../src/sip/message/build.ts';
import { parseNameAddr } from '../../../src/sip/message/name-addr.ts';
import { parseUri } from '../../../src/sip/message/uri.ts';
import { silentLog } from '../../support/log.ts';
import { createPhone, endpoint, FakeMedia } from './support.ts';

const request = (headers: HeaderLines, contentType?: string, body?: string) =>
  buildRequest({
    method: 'INFO',
    uri: 'sip:a@b',
    from: '<sip:a@b>;tag=1',
    to: '<sip:a@b>',
    callId: 'c',
    cseq: 1,
    headers,
    contentType,
    body,
  });

test('causes and statuses are those of RFC 3398 and of Asterisk', () => {
  assert.equal(
    [404, 486, 408, 480, 603, 488, 503, 499, 599, 699, 302, 301].map(causeFromStatus),
    [1, 17, 18, 19, 21, 58, 34, 127, 34, 127, 23, 16],
  );
  assert.equal([402, 405, 406, 420, 513, 607].map(causeFromStatus), [127, 127, 127, 3, 34, 127]);
  assert.equal(
    [1, 17, 18, 19, 21, 26, 34, 58, 16, 0, 127].map(statusFromCause),
    [404, 486, 408, 480, 603, 603, 503, 488, 603, 603, 500],
  );
});

test('a Reason header tells the cause, Q.850 as it is, SIP by its status', () => {
  const causes = [
    'Q.850;cause=17;text="User busy"',
    'q.850 ; cause = 31',
    'SIP;cause=200;text="x, y;z"',
    'SIP;cause=486',
    'Q.850;cause=999',
    'X;cause=1',
    'Q.850',
    '"',
  ].map((value) => causeFromReason(request([['Reason', value]])));
  assert.equal(causes, [17, 31, 26, 17, undefined, undefined, undefined, undefined]);
  assert.is(causeFromReason(request([['Reason', 'X;cause=1, Q.850;cause=16']])), 16);
  assert.equal(reasonHeaders(17), [['Reason', 'Q.850;cause=17;text="User busy"']]);
  assert.equal([reasonHeaders(0), reasonHeaders(128), reasonHeaders(999)], [[], [], []]);
  assert.equal(reasonHeaders(26), [
    ['Reason', 'SIP;cause=200;text="Call completed elsewhere"'],
    ['Reason', 'Q.850;cause=26;text="Answered elsewhere"'],
  ]);
});

test('a busy phone is busy whatever its Reason says, and a BYE is no answer elsewhere', () => {
  const refusal = (status: number, reason: string) =>
    causeOfRefusal(buildResponse(request([]), status, { headers: [['Reason', reason]] }));
  assert.equal(
    [refusal(486, 'Q.850;cause=16'), refusal(600, 'Q.850;cause=21'), refusal(480, 'Q.850;cause=19')],
    [17, 17, 19],
  );
  const reasons = [
    'Q.850;cause=19',
    'SIP;cause=486',
    'SIP;cause=480, Q.850;cause=16',
    'SIP;cause=200',
    'Q.850;cause=16',
    'X',
  ];
  assert.equal(
    reasons.map((reason) => endOfBye(request([['Reason', reason]]))),
    [
      { cause: 19, techCause: 480 },
      { cause: 17, techCause: 486 },
      { cause: 19, techCause: 480 },
      { cause: 16 },
      { cause: 16 },
      { cause: 16 },
    ],
  );
});

test('digits are read from both forms of INFO', () => {
  const read = (type: string, body: string) => parseInfoDigit(request([], type, body));
  assert.equal(read('application/dtmf-relay', 'Signal=5\r\nDuration=160\r\n'), { digit: '5', durationMs: 160 });
  assert.equal(read('application/dtmf-relay', 'signal= * \nduration =40'), { digit: '*', durationMs: 40 });
  assert.equal(read('application/dtmf-relay', 'Signal=11\r\n'), { digit: '#', durationMs: 100 });
  assert.equal(read('application/dtmf', ' b '), { digit: 'B', durationMs: 100 });
  for (const [type, body] of [
    ['application/dtmf-relay', 'Signal=55'],
    ['application/dtmf', '12345'],
    ['text/plain', '5'],
  ] as const)
    assert.is(read(type, body), undefined, body);
});

test('a hook flash in an INFO is known, and is no digit', () => {
  const verdict = (type: string, body: string) => {
    const info = request([], type, body);
    return [isFlash(info), parseInfoDigit(info)];
  };
  for (const [type, body] of [
    ['application/dtmf-relay', 'Signal=16\r\nDuration=160\r\n'],
    ['application/dtmf-relay', 'Duration=160\r\nsignal = !\r\n'],
    ['application/dtmf', '16'],
    ['application/dtmf', '!'],
  ] as const)
    assert.equal(verdict(type, body), [true, undefined], body);
  assert.equal(verdict('application/dtmf-relay', 'Signal=15\r\nDuration=16'), [false, { digit: 'D', durationMs: 16 }]);
  assert.equal(verdict('text/plain', '16'), [false, undefined]);
});

test('parties are read from addresses; anonymous ones stay unknown', () => {
  const party = (text: string) => partyOf(parseNameAddr(text)!);
  assert.equal(party('"Bob B" <sip:100@host>'), { name: 'Bob B', number: '100' });
  assert.equal(party('<sip:+4930;phone-context=x@host;user=phone>'), { name: '', number: '+4930' });
  assert.equal(party('<tel:+49-30>'), { name: '', number: '+49-30' });
  assert.equal(party('"Anonymous" <sip:anonymous@anonymous.invalid>'), { name: '', number: '' });
  assert.is(userOf(parseUri('urn:x')!), '');
  assert.equal(assertedParty(request([['P-Asserted-Identity', 'Al <sip:7@x>, <tel:+7>']])), {
    name: 'Al',
    number: '7',
  });
  assert.equal(assertedParty(request([['Remote-Party-ID', '<sip:8@x>;party=calling']])), { name: '', number: '8' });
  assert.is(assertedParty(request([['P-Asserted-Identity', '<']])), undefined);
});

test('addresses of messages name a resource with or without the technology', () => {
  assert.equal(
    ['alice', 'pjsip:alice', 'PJSIP/alice', 'pjsip:alice/sip:a@h', 'sip:alice@h', 'sip:alice'].map(resourceOf),
    ['alice', 'alice', 'alice', 'alice/sip:a@h', 'alice@h', 'alice'],
  );
});

test('what is asked of a session before its port is open is done then, in order', async () => {
  const media = new FakeMedia();
  const session = new PendingSession(
    's',
    media.openRtp('s', () => {}),
    { log: silentLog },
    () => {},
  );
  session.echo(true);
  const playing = session.play({ uri: 'sound:a', language: 'en', offsetMs: 0 }, () => {});
  playing.pause();
  const statistics = session.statistics();
  assert.is(await statistics, undefined);
  assert.equal(media.sessions.get('s')?.asked, ['echo true', 'play sound:a', 'pause']);
  session.close();
  assert.is(media.sessions.size, 0);
});

test('a session closed while its port is being opened closes the port when it comes', async () => {
  const media = new FakeMedia();
  const session = new PendingSession(
    's',
    media.openRtp('s', () => {}),
    { log: silentLog },
    () => assert.unreachable(),
  );
  session.close();
  session.echo(true);
  await Promise.resolve();
  assert.is(media.sessions.size, 0);
});

test('a port that cannot be had is told once, and what waited for it has failed', async () => {
  const media = new FakeMedia();
  media.failWith = new Error('none free');
  const told: string[] = [];
  const session = new PendingSession(
    's',
    media.openRtp('s', () => {}),
    { log: silentLog },
    (reason) => told.push(reason),
  );
  session.play({ uri: 'sound:a', language: 'en', offsetMs: 0 }, (report) => told.push(report.type));
  assert.is(await session.statistics(), undefined);
  await Promise.resolve();
  session.play({ uri: 'sound:b', language: 'en', offsetMs: 0 }, (report) => told.push(`late ${report.type}`));
  assert.equal(told, ['media.failed', 'none free', 'late media.failed']);
});

test('an endpoint changed at run time drops the contacts it no longer has', async () => {
  const line = (...contacts: string[]) => endpoint('line', { aor: { ...defaultAor, contacts } });
  const phone = await createPhone({ config: { endpoints: [line('sip:192.0.2.1', 'sip:192.0.2.2')] } });
  phone.driver.setEndpoint(line('sip:192.0.2.2', 'sip:192.0.2.3'));
  assert.equal(
    [...phone.contacts.values()].map(({ uri }) => uri),
    ['sip:192.0.2.2', 'sip:192.0.2.3'],
  );
  assert.is(phone.driver.counts().bindings, 2);
  assert.is(phone.driver.endpoints().length, 1);
  await phone.close();
});

test.run();
