import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SipRequest } from '../../../src/sip/message/message.ts';
import { descriptionIn, hasBody, sessionBodyOf } from '../../../src/sip/message/session-body.ts';

const sdp = 'v=0\r\nm=audio 4000 RTP/AVP 0\r\n';

function message(body: string, headers: Record<string, string> = {}): SipRequest {
  const request = new SipRequest(
    { method: 'INVITE', text: 'sip:a@b' },
    { names: [], keys: [], values: [] },
    Buffer.from(body),
  );
  for (const [name, value] of Object.entries(headers)) request.append(name, value);
  return request;
}

const part = (headers: string, content: string) => `--b\r\n${headers}\r\n\r\n${content}\r\n`;
const mixed = (...parts: string[]) => `${parts.join('')}--b--\r\n`;
const sdpPart = (rest = '', content = sdp) => part(`Content-Type: application/sdp${rest}`, content);
const read = (body: string, type = 'multipart/mixed;boundary=b', rest: Record<string, string> = {}) =>
  sessionBodyOf(message(body, { 'Content-Type': type, ...rest }));

const description = { kind: 'description', text: sdp };
const none = { kind: 'none' };

test('a body without Content-Type is none (RFC 3261 20.15)', () => {
  assert.equal(sessionBodyOf(message(sdp)), none);
  assert.not(hasBody(message(sdp)));
  assert.equal(sessionBodyOf(message('', { 'Content-Type': 'application/sdp' })), none);
  assert.is(descriptionIn(message(sdp, { c: 'Application/SDP;x=y' })), sdp);
});

test('a body of another type is foreign, unless it is optional (RFC 3261 20.11)', () => {
  assert.equal(read('x', 'application/isup'), { kind: 'foreign', type: 'application/isup' });
  assert.equal(read('x', 'application/isup', { 'Content-Disposition': 'signal; handling=optional' }), none);
  assert.equal(read('x', 'application/isup', { 'Content-Disposition': 'signal; handling="Optional"' }), none);
});

test('the description among several parts is found, without the line end that belongs to the delimiter', () => {
  const isup = part('Content-Type: application/isup;version=itu-t92+\r\nContent-Disposition: signal', '\u0001\u0002');
  assert.equal(read(mixed(isup, sdpPart())), description);
  assert.equal(read(mixed(sdpPart('\r\nContent-Disposition: session;handling=required'), isup)), description);
  assert.equal(read(`a preamble\r\n${mixed(sdpPart())}an epilogue\r\n${sdpPart('', 'other')}`), description);
  assert.equal(read(mixed(sdpPart()).replaceAll('--b', '--a b'), 'Multipart/Mixed; boundary="a b"'), description);
  assert.equal(read(mixed(sdpPart('\r\nContent-Transfer-Encoding: 8BIT'))), description);
  assert.equal(read(mixed(part('c: application/sdp', sdp))), description);
  assert.equal(read(mixed(part('Content-Type:\r\n application/sdp', sdp))), description);
  assert.equal(read(mixed(part('Content-Type: text/plain', '--bx\r\n--b x'), sdpPart())), description);
  assert.equal(read('--b\nContent-Type: application/sdp\n\nv=0\n--b--'), { kind: 'description', text: 'v=0' });
});

test('a boundary that is not named is that of the first line, and the end may be missing', () => {
  assert.equal(read(mixed(sdpPart()), 'multipart/mixed'), description);
  assert.equal(read(`--b\r\nContent-Type: application/sdp\r\n\r\n${sdp}`), description);
});

test('parts of other dispositions or encodings describe no session', () => {
  const early = sdpPart('\r\nContent-Disposition: early-session', 'early');
  assert.equal(read(mixed(early, sdpPart())), description);
  assert.equal(read(mixed(early)), { kind: 'foreign', type: 'application/sdp' });
  const quoted = sdpPart('\r\nContent-Transfer-Encoding: quoted-printable', 'v=3D0');
  assert.equal(read(mixed(quoted, sdpPart())), description);
});

test('a part in base64 is decoded, in lines or not (RFC 2045 6.8)', () => {
  const encoded = Buffer.from(sdp).toString('base64');
  const part = (content: string) => mixed(sdpPart('\r\nContent-Transfer-Encoding: Base64', content));
  assert.equal(read(part(encoded)), description);
  assert.equal(read(part(encoded.replace(/.{8}/g, '$&\r\n'))), description);
});

test('a part that has to be understood and is not makes the whole foreign, as in Asterisk', () => {
  const isup = (handling: string) =>
    part(`Content-Type: application/isup\r\nContent-Disposition: signal${handling}`, '\u0001');
  const foreign = { kind: 'foreign', type: 'application/isup' };
  assert.equal(read(mixed(sdpPart(), isup(';handling=required'))), foreign);
  assert.equal(read(mixed(sdpPart(), isup(';handling=optional'))), description);
  assert.equal(read(mixed(isup(''))), foreign);
  assert.equal(read(mixed(isup(';handling=optional'))), none);
});

test('parts within parts are read, of alternatives the last', () => {
  const inner = (type: string, ...parts: string[]) =>
    part(`Content-Type: multipart/${type};boundary=c`, mixed(...parts).replaceAll('--b', '--c'));
  const xml = part('Content-Type: application/xml', '<a/>');
  assert.equal(read(mixed(xml, inner('alternative', sdpPart('', 'poor'), sdpPart()))), description);
  assert.equal(read(mixed(xml, inner('mixed', sdpPart(), sdpPart('', 'other')))), description);
  const deep = inner('mixed', inner('mixed', inner('mixed', sdpPart())));
  assert.is(read(mixed(deep.replaceAll('=c', '=d'))).kind, 'malformed');
});

test('parts without a boundary, without end or without number are refused', () => {
  assert.equal(read(sdp, 'multipart/mixed'), {
    kind: 'malformed',
    problem: 'its body has parts without a boundary',
  });
  assert.equal(read(sdp), { kind: 'malformed', problem: 'its body has no parts' });
  assert.equal(read(mixed()), { kind: 'malformed', problem: 'its body has no parts' });
  assert.equal(read(mixed(sdpPart()), `multipart/mixed;boundary=${'b'.repeat(71)}`).kind, 'malformed');
  const many = (count: number) => mixed(...Array.from({ length: count }, () => sdpPart()));
  assert.equal(read(many(32)), description);
  assert.equal(read(many(33)), { kind: 'malformed', problem: 'its body has too many parts' });
});

test.run();
