import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { formatNameAddr, parseNameAddr, parseNameAddrList } from '../../../src/sip/message/name-addr.ts';
import { splitList, unquote } from '../../../src/sip/message/scan.ts';
import { sipUri } from '../../../src/sip/message/uri.ts';
import { firstViaEnd, formatVia, parseVia } from '../../../src/sip/message/via.ts';

const bob = sipUri({ user: 'bob', host: 'example.com' });

test('names come quoted, bare, or not at all; parameters without brackets are the header’s', () => {
  for (const [text, displayName, params] of [
    ['"Bob \\"B\\", Jr. <x>" <sip:bob@example.com>;tag=1', 'Bob "B", Jr. <x>', { tag: '1' }],
    ['Bob Builder <sip:bob@example.com>', 'Bob Builder', {}],
    ['<sip:bob@example.com>;TAG=aB;flag', undefined, { tag: 'aB', flag: '' }],
    ['sip:bob@example.com;tag=1;x="a;b<c"', undefined, { tag: '1', x: '"a;b<c"' }],
    ['"" <sip:bob@example.com>', '', {}],
  ] as const) {
    assert.equal(parseNameAddr(text), { displayName, uri: bob, params }, text);
  }
});

test('parameters inside the brackets are the URI’s', () => {
  const address = parseNameAddr('<sip:bob@example.com;transport=tcp>;expires=60');
  assert.equal(address, {
    displayName: undefined,
    uri: sipUri({ user: 'bob', host: 'example.com', params: { transport: 'tcp' } }),
    params: { expires: '60' },
  });
});

test('malformed addresses are refused', () => {
  for (const text of [
    ...[
      '',
      '<>',
      '<sip:a@b',
      'sip:a@b>',
      '"x <sip:a@b>',
      '"x" sip:a@b',
      '<sip:a@b>x',
      '<sip:a@b>;',
      '<sip:a@b>;;a',
      '<sip:a@b>;a=',
      '<sip:a@b>;"a"=1',
    ],
    ...['sip:a@b?x=y', 'sip:a@b,c', 'bob', '<sip:a@b>;tag="x'],
  ]) {
    assert.is(parseNameAddr(text), undefined, text);
  }
});

test('lists split at commas outside quotes and brackets', () => {
  assert.equal(
    parseNameAddrList('"a, b" <sip:x@y>;p="1,2", sip:c@d ,<sip:e@f>')?.map(({ displayName, params }) => [
      displayName,
      params,
    ]),
    [
      ['a, b', { p: '"1,2"' }],
      [undefined, {}],
      [undefined, {}],
    ],
  );
  assert.is(parseNameAddrList('<sip:a@b>, c'), undefined);
  assert.equal(splitList('"a, b" <sip:x@y,z>, sip:c@d;q="1,2" ,<sip:e@f>'), [
    '"a, b" <sip:x@y,z>',
    'sip:c@d;q="1,2"',
    '<sip:e@f>',
  ]);
  assert.equal(splitList('INVITE, ACK,BYE'), ['INVITE', 'ACK', 'BYE']);
  for (const text of ['', 'a,', ',a', 'a,,b', '"a, b', '<a, b']) assert.is(splitList(text), undefined, text);
});

test('any name is written so that it is read back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
      const address = { displayName: name.replace(/[\r\n]+/g, ' '), uri: bob, params: { tag: 'x' } };
      assert.equal(parseNameAddr(formatNameAddr({ ...address, displayName: name })), address);
    }),
  );
  assert.is(formatNameAddr({ displayName: 'Bob Builder', uri: bob }), 'Bob Builder <sip:bob@example.com>');
  assert.is(formatNameAddr({ displayName: 'Bob "B"', uri: bob }), '"Bob \\"B\\"" <sip:bob@example.com>');
  assert.is(unquote('"a\\\\b\\"c"'), 'a\\b"c');
});

test('no text makes the address and Via parsers throw', () => {
  const pieces = fc.constantFrom(
    '"',
    '<',
    '>',
    'sip:a@b',
    ';',
    '=',
    ',',
    '\\',
    ' ',
    '\t',
    'SIP/2.0/UDP',
    '[::1]',
    ':',
    '5',
    '/',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((list) => list.join('')),
      ),
      (text) => {
        const address = parseNameAddr(text);
        if (address) assert.equal(parseNameAddr(formatNameAddr(address)), address);
        const via = parseVia(text.slice(0, firstViaEnd(text)));
        if (via) assert.equal(parseVia(formatVia(via)), via);
        parseNameAddrList(text);
      },
    ),
  );
});

test('a Via is read with IPv4, IPv6 and names, with and without port', () => {
  assert.equal(parseVia('SIP/2.0/UDP [2001:db8::1]:5062;branch=z9hG4bKx;rport'), {
    transport: 'UDP',
    host: '2001:db8::1',
    port: 5062,
    params: { branch: 'z9hG4bKx', rport: '' },
  });
  assert.equal(parseVia('SIP / 2.0 / tls  Host.Example.com : 5061 ; received=::1'), {
    transport: 'TLS',
    host: 'host.example.com',
    port: 5061,
    params: { received: '::1' },
  });
  for (const text of [
    '',
    'SIP/2.0/UDP',
    'SIP/2.0 host',
    'SIP/2.0/UDP ;x',
    'SIP/2.0/UDP a b',
    'SIP/2.0/ host',
    'SIP/2.0/UDP h:99999',
  ]) {
    assert.is(parseVia(text), undefined, text);
  }
});

test.run();
