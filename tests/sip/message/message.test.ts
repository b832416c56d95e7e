import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { buildRequest, buildResponse } from '../../../src/sip/message/build.ts';
import { type SipMessage, type SipRequest, SipResponse } from '../../../src/sip/message/message.ts';
import { parseMessage } from '../../../src/sip/message/parse.ts';
import { reasonPhrase } from '../../../src/sip/message/status.ts';
import { sipUri } from '../../../src/sip/message/uri.ts';

const invite = [
  'INVITE sip:bob@biloxi.example.com SIP/2.0',
  'Via: SIP/2.0/TCP client.atlanta.example.com:5060;branch=z9hG4bK74b43',
  'via: SIP/2.0/UDP a.example.com, SIP/2.0/UDP b.example.com',
  'Max-Forwards: 70',
  'Record-Route: <sip:p1.example.com;lr>, <sip:p2.example.com;lr>',
  'Record-Route: <sip:p3.example.com;lr>',
  'f: Alice <sip:alice@atlanta.example.com>;tag=9fxced76sl',
  't: Bob <sip:bob@biloxi.example.com>',
  'i: 3848276298220188511@atlanta.example.com',
  'CSeq: 1 INVITE',
  'Timestamp: 54.2',
  'm: <sip:alice@client.atlanta.example.com;transport=tcp>',
  'Allow: INVITE, ACK',
  'Allow: BYE',
  'c: application/SDP;charset=x',
  'l: 5',
  '',
  'v=0\r\n',
].join('\r\n');

function parsed(text: string | Buffer): SipMessage {
  const result = parseMessage(Buffer.from(text));
  if (!result.ok) throw new Error(result.failure.problem);
  return result.message;
}

test('headers are found by any spelling, and all lines of a list make one list', () => {
  const message = parsed(invite);
  for (const name of ['Call-ID', 'call-id', 'CALL-ID', 'i', 'I', 'cALL-id']) {
    assert.is(message.header(name), '3848276298220188511@atlanta.example.com');
  }
  assert.equal(message.headerList('Allow'), ['INVITE', 'ACK', 'BYE']);
  assert.equal(message.headerLines('Record-Route').length, 2);
  assert.is(message.recordRoutes.length, 3);
  assert.is(message.viaCount, 3);
  assert.is(message.contentType, 'application/sdp');
  assert.is(message.contentLength, 5);
  assert.is(message.header('Subject'), undefined);
  assert.equal(message.routes, []);
});

test('typed headers follow every change of their text', () => {
  const message = parsed(invite);
  assert.is(message.fromTag, '9fxced76sl');
  message.set('From', '<sip:carol@example.com>;tag=new');
  assert.is(message.fromTag, 'new');
  message.set('CSeq', '2 INVITE');
  assert.is(message.cseq.number, 2);
  message.set('Contact', '<sip:a@x>, <sip:b@x>');
  assert.is(message.contacts.length, 2);
  message.prepend('Via', 'SIP/2.0/UDP us.example.com');
  assert.is(message.topVia?.host, 'us.example.com');
  message.setTopVia('SIP/2.0/UDP them.example.com');
  assert.is(message.topVia?.host, 'them.example.com');
  message.remove('Via');
  assert.is(message.topVia, undefined);
  message.append('m', '<sip:c@x>');
  assert.is(message.contacts.length, 3);
  message.set('Allow', 'INFO');
  assert.equal(message.headerList('allow'), ['INFO']);
});

test('the top Via alone is replaced on a line of several', () => {
  const message = parsed(invite);
  message.remove('Via').prepend('Via', 'SIP/2.0/UDP a;x="1,2", SIP/2.0/UDP b');
  message.setTopVia('SIP/2.0/UDP c');
  assert.is(message.header('Via'), 'SIP/2.0/UDP c, SIP/2.0/UDP b');
});

test('Contact: * is no address', () => {
  const message = parsed(invite.replace(/m: .*/, 'Contact: *'));
  assert.equal([message.hasStarContact, message.contacts, message.contact], [true, [], undefined]);
});

test('a message is written as it was read, but for the Content-Length', () => {
  const written = parsed(invite).toBuffer().toString();
  assert.is(written, invite.replace('l: 5\r\n\r\n', 'Content-Length: 5\r\n\r\n'));
  const message = parsed(invite);
  message.body = Buffer.from('ж');
  assert.match(message.toBuffer().toString(), /\r\nContent-Length: 2\r\n\r\nж$/);
});

test('a line end in a Request-URI, a header name or value starts no new header', () => {
  const request = buildRequest({
    method: 'MESSAGE',
    uri: 'sip:a@b\r\nEvil: 1',
    from: '<sip:a@b>;tag=1\nEvil: 1',
    to: '<sip:a@b>',
    callId: 'x\r\nEvil: 1',
    cseq: 1,
    headers: [['Subject', 'hi\r\n\r\nEvil: 1']],
  })
    .append('X-Y', 'a\nEvil: 1')
    .prepend('X\nEvil: 1', 'b')
    .set('Subject', 'a\rEvil: 1');
  const response = buildResponse(request, 200, { reason: 'OK\r\nEvil: 1' });
  for (const message of [request, response]) {
    const lines = message
      .toBuffer()
      .toString()
      .split(/[\r\n]+/);
    assert.not(lines.some((line) => line.startsWith('Evil')));
  }
});

test('a built request has every header RFC 3261 8.1.1 asks for but Via', () => {
  const request = buildRequest({
    method: 'INVITE',
    uri: sipUri({ user: 'bob', host: '::1', params: { transport: 'tcp' } }),
    from: { displayName: 'Älice', uri: sipUri({ user: 'alice', host: 'x' }), params: { tag: '1' } },
    to: { uri: sipUri({ user: 'bob', host: 'x' }), params: {} },
    callId: 'c',
    cseq: 3,
    routes: ['<sip:p;lr>'],
    contact: '<sip:us@x>',
    headers: [['Supported', 'timer']],
    contentType: 'application/sdp',
    body: 'v=0',
  });
  assert.is(
    request.toBuffer().toString(),
    [
      'INVITE sip:bob@[::1];transport=tcp SIP/2.0',
      'Route: <sip:p;lr>',
      'Max-Forwards: 70',
      'From: "Älice" <sip:alice@x>;tag=1',
      'To: <sip:bob@x>',
      'Call-ID: c',
      'CSeq: 3 INVITE',
      'Contact: <sip:us@x>',
      'Supported: timer',
      'Content-Type: application/sdp',
      'Content-Length: 3',
      '',
      'v=0',
    ].join('\r\n'),
  );
  assert.is(request.topVia, undefined);
});

test('a response copies the headers of RFC 3261 8.2.6: Record-Route in 101 to 299, Timestamp in 100', () => {
  const request = parsed(invite) as SipRequest;
  const names = (status: number) =>
    buildResponse(request, status, { toTag: 'ours' })
      .headers()
      .map(([name, value]) => (name === 'To' ? `To ${value}` : name));
  const vias = ['Via', 'Via'];
  const to = 'To Bob <sip:bob@biloxi.example.com>';
  assert.equal(names(100), [...vias, 'From', to, 'Call-ID', 'CSeq', 'Timestamp']);
  assert.equal(names(200), [...vias, 'Record-Route', 'Record-Route', 'From', `${to};tag=ours`, 'Call-ID', 'CSeq']);
  assert.equal(names(486), [...vias, 'From', `${to};tag=ours`, 'Call-ID', 'CSeq']);
  request.set('To', '<sip:bob@x>;tag=theirs');
  assert.is(buildResponse(request, 200, { toTag: 'ours' }).toTag, 'theirs');
});

test('reason phrases are the registered ones, or name the class', () => {
  assert.equal([200, 481, 299, 499, 699].map(reasonPhrase), [
    'OK',
    'Call/Transaction Does Not Exist',
    'Success',
    'Client Error',
    'Global Failure',
  ]);
  assert.is(buildResponse(parsed(invite) as SipRequest, 480, { reason: 'Asleep' }).startLine, 'SIP/2.0 480 Asleep');
});

test('a message may end its lines with bare line feeds', () => {
  assert.is(
    parsed(invite.replaceAll('\r\n', '\n').replace('l: 5', 'l: 4')).callId,
    '3848276298220188511@atlanta.example.com',
  );
});

test('no bytes make the parser throw, also not those that are nearly a message', () => {
  const pieces = invite.split(/(?<=[\r\n:;,<>" ])/);
  const mangled = fc
    .tuple(
      fc.array(fc.nat(pieces.length - 1)),
      fc.array(fc.constantFrom(...pieces, '"', '\\', '%', '\u0000', 'é', '\r', '\n')),
    )
    .map(([removed, inserted]) => {
      const left = pieces.filter((_, i) => !removed.includes(i));
      for (const [i, piece] of inserted.entries()) left.splice((i * 7) % (left.length + 1), 0, piece);
      return Buffer.from(left.join(''));
    });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
        mangled,
      ),
      (bytes) => {
        const result = parseMessage(bytes);
        if (!result.ok) return;
        const { message } = result;
        const all = [
          message.topVia,
          message.from,
          message.to,
          message.cseq,
          message.callId,
          message.contacts,
          message.routes,
        ];
        assert.is(all.length, 7);
        const again = parsed(message.toBuffer());
        assert.is(again.startLine, message.startLine);
        assert.equal(again.body, message.body);
        const headers = (one: SipMessage) => one.remove('Content-Length').headers();
        assert.equal(headers(again), headers(message));
      },
    ),
    { numRuns: 2000 },
  );
});

test('what is built with any texts is read back with them', () => {
  const text = fc.string({ unit: 'grapheme' }).map((value) => value.replace(/\s+/g, ' ').trim());
  fc.assert(
    fc.property(text, text, fc.uint8Array(), fc.integer({ min: 0, max: 2 ** 31 - 1 }), (name, subject, body, cseq) => {
      const request = buildRequest({
        method: 'MESSAGE',
        uri: 'sip:a@b',
        from: { displayName: name, uri: sipUri({ user: name || 'x', host: 'h' }), params: { tag: 't' } },
        to: '<sip:a@b>',
        callId: 'c',
        cseq,
        headers: [['Subject', subject]],
        body: Buffer.from(body),
      }).prepend('Via', 'SIP/2.0/UDP h;branch=z9hG4bKx');
      const message = parsed(request.toBuffer());
      assert.is(message.from.displayName ?? '', name);
      assert.is(message.from.uri.scheme === 'sip' && message.from.uri.user, name || 'x');
      assert.is(message.header('Subject'), subject);
      assert.is(message.cseq.number, cseq);
      assert.equal(message.body, Buffer.from(body));
    }),
  );
});

test('a reason phrase is kept up to 128 characters', () => {
  assert.is(new SipResponse(403, 'x'.repeat(50_000), { names: [], keys: [], values: [] }).reason, 'x'.repeat(128));
});

test.run();
