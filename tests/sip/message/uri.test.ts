import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formatUri, parseUri, percentDecode, percentEncode, sameUri, sipUri } from '../../../src/sip/message/uri.ts';
import { anyCodePoint } from '../../support/any-text.ts';

test('every part of a SIP URI is read and written', () => {
  const text = 'sips:alice:secret@[2001:DB8::10]:5061;transport=tcp;lr;x=%41?subject=hi%20there&Replaces=a';
  const uri = sipUri({
    scheme: 'sips',
    user: 'alice',
    password: 'secret',
    host: '2001:db8::10',
    port: 5061,
    params: { transport: 'tcp', lr: '', x: '%41' },
    headers: { subject: 'hi%20there', Replaces: 'a' },
  });
  assert.equal(parseUri(text), uri);
  assert.is(formatUri(uri), text.replace('DB8', 'db8'));
});

test('what a SIP URI does not have stays absent', () => {
  assert.equal(parseUri('SIP:Example.COM'), sipUri({ host: 'example.com' }));
  assert.is(formatUri(sipUri({ host: 'example.com' })), 'sip:example.com');
});

test('malformed URIs are refused', () => {
  for (const text of [
    ...[
      '',
      'sip',
      'sip:',
      ':x',
      'sip:@host',
      'sip:a@',
      'sip:a@b@c',
      'sip:a b@c',
      'sip:a@b:port',
      'sip:a@b:65536',
      'sip:a@b:',
    ],
    ...[
      'sip:[::1',
      'sip:[::1]x',
      'sip:[host]',
      'sip:a@b;',
      'sip:a@b;;lr',
      'sip:a@b;=x',
      'sip:a@b;p="x"',
      'sip:a@b?',
      'sip:a@b? x',
    ],
    ...['sip:a<b@c', 'tel:', 'tel:123x', 'tel:1 2', 'ht tp://x', 'mailto:', 'http://a b', '<sip:a@b>', 'sip:a@b>'],
  ]) {
    assert.is(parseUri(text), undefined, text);
  }
});

test('a telephone number has digits, separators and parameters', () => {
  const uri = { scheme: 'tel', number: '+1-201-555-0123', params: { ext: '22' } } as const;
  assert.equal(parseUri('TEL:+1-201-555-0123;ext=22'), uri);
  assert.is(formatUri(uri), 'tel:+1-201-555-0123;ext=22');
});

test('a parameter of a name that plain objects treat specially is a parameter like others', () => {
  const uri = parseUri('sip:a@b;__proto__=x;constructor=y');
  assert.is(uri && formatUri(uri), 'sip:a@b;__proto__=x;constructor=y');
});

test('URIs are compared as RFC 3261 19.1.4 shows', () => {
  for (const [a, b] of [
    ['sip:%61lice@atlanta.com;transport=TCP', 'sip:alice@AtlanTa.CoM;Transport=tcp'],
    ['sip:carol@chicago.com', 'sip:carol@chicago.com;newparam=5'],
    ['sip:carol@chicago.com;security=on', 'sip:carol@chicago.com;newparam=5'],
    [
      'sip:biloxi.com;transport=tcp;method=REGISTER?to=sip:bob%40biloxi.com',
      'sip:biloxi.com;method=REGISTER;transport=tcp?to=sip:bob%40biloxi.com',
    ],
    [
      'sip:alice@atlanta.com?subject=project%20x&priority=urgent',
      'sip:alice@atlanta.com?priority=urgent&subject=project%20x',
    ],
    ['tel:+1-201-555-0123', 'tel:+12015550123'],
    ['mailto:a@b', 'mailto:a@b'],
  ] as const) {
    assert.ok(sameUri(parseUri(a)!, parseUri(b)!), `${a} = ${b}`);
    assert.ok(sameUri(parseUri(b)!, parseUri(a)!), `${b} = ${a}`);
  }
  for (const [a, b] of [
    ['SIP:ALICE@AtLanTa.CoM;Transport=udp', 'sip:alice@AtLanTa.CoM;Transport=UDP'],
    ['sip:bob@biloxi.com', 'sip:bob@biloxi.com:5060'],
    ['sip:bob@biloxi.com', 'sip:bob@biloxi.com;transport=udp'],
    ['sip:bob@biloxi.com', 'sips:bob@biloxi.com'],
    ['sip:bob@biloxi.com', 'sip:bob:pw@biloxi.com'],
    ['sip:carol@chicago.com;security=on', 'sip:carol@chicago.com;security=off'],
    ['sip:carol@chicago.com', 'sip:carol@chicago.com?Subject=next%20meeting'],
    ['sip:a@b?x=1', 'sip:a@b?x=2'],
    ['sip:911@b', 'tel:911'],
    ['tel:911', 'tel:911;phone-context=x'],
    ['mailto:a@b', 'sip:a@b'],
  ] as const) {
    assert.not(sameUri(parseUri(a)!, parseUri(b)!), `${a} ≠ ${b}`);
    assert.not(sameUri(parseUri(b)!, parseUri(a)!), `${b} ≠ ${a}`);
  }
});

test('escaping and its undoing are inverse for any text and any bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCodePoint }), (text) => {
      assert.is(percentDecode(percentEncode(text)), text);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const escaped = [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
      const again = percentEncode(percentDecode(escaped));
      assert.equal(bytesOf(again), [...bytes]);
    }),
  );
});

test('bytes that are no UTF-8 are told from an escaped replacement character', () => {
  assert.is(percentDecode('%EF%BF%BD%20'), '\ufffd ');
  assert.is(percentDecode('%FFa'), '\udcffa');
  assert.is(percentEncode('\udcffa'), '%FFa');
});

test('any user makes a URI that is read back the same', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ unit: 'grapheme' }), (user, password) => {
      const uri = sipUri({ user, password, host: 'example.com' });
      assert.equal(parseUri(formatUri(uri)), uri);
    }),
  );
});

test('no text makes the URI parser throw, and what it reads it writes to the same', () => {
  const pieces = fc.constantFrom(
    'sip:',
    'tel:',
    'a',
    '@',
    ':',
    ';',
    '?',
    '=',
    '&',
    '[',
    ']',
    '%',
    '%41',
    '5060',
    '.',
    ' ',
    'é',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces, { maxLength: 12 }).map((list) => `sip:${list.join('')}`),
      ),
      (text) => {
        const uri = parseUri(text);
        if (uri) assert.equal(parseUri(formatUri(uri)), uri);
      },
    ),
  );
});

function bytesOf(text: string): number[] {
  return [...text.matchAll(/%([0-9A-F]{2})|([\s\S])/g)].map(([, hex, plain]) =>
    hex === undefined ? plain!.charCodeAt(0) : Number.parseInt(hex, 16),
  );
}

test.run();
