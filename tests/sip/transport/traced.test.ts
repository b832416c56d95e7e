import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { redactBody } from '../../../src/recorder/sip-text.ts';
import { shownMessage } from '../../../src/sip/transport/traced.ts';

const message = (headers: string[], body = '') => [...headers, '', body].join('\r\n');

test('a SIP message is shown without passwords, answers to challenges and keys', () => {
  const shown = shownMessage(
    message(
      [
        'INVITE sip:bob:hunter2@10.0.0.1 SIP/2.0',
        'From: <sip:alice:pass@10.0.0.1>;tag=1',
        'Authorization: Digest username="alice", realm="hookswitch", nonce="n", response="0123456789abcdef"',
        'Proxy-Authorization: Digest response="fedcba", username="alice"',
        'Content-Type: application/sdp',
      ],
      [
        'v=0',
        'k=clear:secret',
        'a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:c2VjcmV0',
        'a=ice-pwd:secret',
        'a=sendrecv',
      ].join('\r\n'),
    ),
  );
  assert.equal(shown.split('\n'), [
    'INVITE sip:bob:…@10.0.0.1 SIP/2.0',
    'From: <sip:alice:…@10.0.0.1>;tag=1',
    'Authorization: Digest username="alice", …',
    'Proxy-Authorization: Digest username="alice", …',
    'Content-Type: application/sdp',
    '',
    'v=0',
    'k=…',
    'a=crypto:…',
    'a=ice-pwd:…',
    'a=sendrecv',
  ]);
});

test('a message keeps what stands before an @ that is no password', () => {
  const lines = ['INVITE SIPS:bob:hunter2@10.0.0.1 SIP/2.0', 'Call-ID: 8a3f:1@10.0.0.9', 'Warning: 399 a:5060 "x@y"'];
  assert.equal(shownMessage(message(lines)).split('\n').slice(0, 3), [
    'INVITE SIPS:bob:…@10.0.0.1 SIP/2.0',
    ...lines.slice(1),
  ]);
});

test('keys of every kind are taken out of session descriptions', () => {
  const secrets = ['k=clear:secret', 'A=Crypto:1 x inline:secret', 'a=key-mgmt:mikey secret'];
  const shown = shownMessage(message(['ACK sip:a SIP/2.0', 'c: application/sdp'], secrets.join('\n')));
  assert.equal(shown.split('\n').slice(3), ['k=…', 'A=Crypto:…', 'a=key-mgmt:…']);
  assert.is(redactBody(secrets.join('\r\n')), 'k=***\r\nA=Crypto:***\r\na=key-mgmt:***');
});

test('of texts and digits only the size is told', () => {
  const shown = shownMessage(message(['INFO sip:a@b SIP/2.0', 'c: application/dtmf-relay'], 'Signal=7'));
  assert.equal(shown.split('\n'), ['INFO sip:a@b SIP/2.0', 'c: application/dtmf-relay', '', '[8 characters]']);
});

test('a long message is cut, and one that never ends its head is shown as far as it goes', () => {
  assert.is(shownMessage('x'.repeat(10_000)).length, 8_194);
  assert.is(shownMessage('OPTIONS sip:a SIP/2.0'), 'OPTIONS sip:a SIP/2.0\n');
});

test.run();
