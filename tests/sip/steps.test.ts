import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { causeFromReason } from '../../src/drivers/sip/causes.ts';
import { parseInfoDigit } from '../../src/drivers/sip/info-digits.ts';
import { resourceOf } from '../../src/drivers/sip/messages.ts';
import { assertedParty } from '../../src/drivers/sip/party.ts';
import { sipfragStatus } from '../../src/drivers/sip/refer.ts';
import { parseDigest } from '../../src/sip/auth/header.ts';
import { sessionExpires } from '../../src/sip/dialog/session-timer.ts';
import { buildResponse } from '../../src/sip/message/build.ts';
import { formatNameAddr } from '../../src/sip/message/name-addr.ts';
import { formatRejection, MAX_MESSAGE_BYTES, parseMessage } from '../../src/sip/message/parse.ts';
import { StreamFramer } from '../../src/sip/message/stream-framer.ts';
import { parseUri, sameUri } from '../../src/sip/message/uri.ts';
import { parseDescription } from '../../src/sip/sdp/description.ts';
import { mergeKey, serverKey } from '../../src/sip/transaction/keys.ts';
import { stampViaLine } from '../../src/sip/transport/routing.ts';
import { countSteps, TooManySteps } from '../support/steps.ts';
import { peer } from './transaction/fake-transports.ts';

/** What may be repeated until a message is full: everything that means something to one of the parsers. */
const pieces = [
  ...[' ', '\t', ':', ';', ',', '"', '\\', '\\"', '<', '>', '<>', '=', '@', '%', '%41', '/', '[', ']', '?', '&', '('],
  ...['a', '0', '.', '-', ';a', ';a=', ';a=b', ';a="', ',a', ', <sip:a@b>', '&a=b', ' :', ': ', '\\ ', '\u00e9', '\0'],
  ...['\r\n ', '\r\n\tx', '\nx', '\n', '\nx:', '\r\nVia: SIP/2.0/UDP h', ', SIP/2.0/UDP h', '\r\nContact: <sip:a@b>'],
];

/** A request with a `~` in every place where something may be repeated. */
const request = [
  'INVITE~ sip:~bob~@~192.0.2.1~:5060~;lr~?~a=b~ SIP~/2.0~',
  'Via: ~SIP~/~2.0/UDP~ ~192.0.2.9~:~5070~;branch~=~z9hG4bKone~;rport~',
  'Via: SIP/2.0/UDP ~[::1~]~, SIP/2.0/TCP h;x="~"',
  'From: ~"Carol~" ~<sip:carol@192.0.2.9>~;~tag=c~',
  'To: ~Bob~ <~sip:600@192.0.2.1~>~',
  'Call-ID: ~one~',
  'CSeq: ~1~ INVITE~',
  'Max-Forwards: 70~',
  'Contact: ~<sip:carol@192.0.2.9:5070~;~transport=~udp>~;expires=~60~, ~sip:x@y~',
  'Record-Route: ~<sip:192.0.2.3;lr~>~',
  'Route: <sip:192.0.2.3;lr~>~,<sip:a~>',
  'Expires: ~60~',
  'Supported: ~timer~, ~100rel',
  'Session-Expires: ~1800~;refresher~=~uas~',
  'Reason: ~Q.850~;cause~=~16~;text="~"',
  'P-Asserted-Identity: ~"A~" <sip:x@y>~',
  'Authorization: ~Digest~ ~username~=~"~alice\\~"~,~ realm=~hookswitch~',
  'Event: ~refer~',
  'Subscription-State: ~active~;expires=~60~',
  'X-Own~: ~',
  'Content-Type: ~application/sdp~;x',
  'Content-Length: ~0~',
  '',
  '',
].join('\r\n');

const response = [
  'SIP/2.0~ ~200~ OK~',
  'Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bKone',
  'From: <sip:a@b>;tag=a',
  'To: <sip:c@d>;tag=~',
  'Call-ID: two',
  'CSeq: 1 INVITE',
  'WWW-Authenticate: ~Digest realm~="~"~',
  '',
  '',
].join('\r\n');

const description = [
  'v=~0~',
  'o=~- 1 1 IN IP4 192.0.2.9~',
  's=~-',
  'c=~IN~ IP4~ ~192.0.2.9~',
  't=0 0~',
  'a=~sendrecv~',
  'm=~audio~ ~4000~/~2~ ~RTP/AVP~ 0~ 101~',
  'c=IN IP6 ~::1~',
  'a=rtpmap~:~101~ ~telephone-event~/~8000~/~1~',
  'a=fmtp:101 ~0-16~',
  'a=ptime:~20~',
  'a=~candidate:1 1 udp 1 192.0.2.9 4000 typ host~',
  'a=crypto:~1 AES_CM_128_HMAC_SHA1_80 inline:~',
  '',
].join('\r\n');

/** What most often means something, for the largest messages: all of them would take minutes. */
const usualPieces = [' ', ':', ',', ';a', '"', '\r\n x'];

/** The template as it is meant with one place filled to `length` octets: every place and every piece in turn. */
function* filled(template: string, length: number, wanted = pieces): Generator<[string, string]> {
  const parts = template.split('~');
  const room = length - Buffer.byteLength(parts.join(''));
  for (let place = 1; place < parts.length; place++)
    for (const piece of wanted) {
      const filling = piece.repeat(Math.floor(room / Buffer.byteLength(piece)));
      const name = `${JSON.stringify(piece)} before ${JSON.stringify(parts[place]!.slice(0, 12))}`;
      yield [name, parts.slice(0, place).join('') + filling + parts.slice(place).join('')];
    }
}

/** Everything that is read of a message, whether or not it is one. */
function read(bytes: Buffer): void {
  const result = parseMessage(bytes);
  if (!result.ok) {
    const via = result.failure.answerable?.vias[0];
    formatRejection(result.failure, 'tag', via === undefined ? undefined : stampViaLine(via, peer('udp')));
    return;
  }
  const { message } = result;
  for (const contact of message.contacts) {
    formatNameAddr(contact);
    sameUri(contact.uri, message.from.uri);
  }
  void [message.viaCount, message.routes, message.recordRoutes, message.expires, message.contentType];
  for (const name of ['Supported', 'Require', 'Allow']) message.headerList(name);
  for (const name of ['Authorization', 'WWW-Authenticate']) message.headerLines(name).map(parseDigest);
  causeFromReason(message);
  assertedParty(message);
  message.toBuffer();
  if (message.kind === 'response') return;
  void [serverKey(message), mergeKey(message), sessionExpires(message), sipfragStatus(message)];
  buildResponse(message, 200, { toTag: 'x' }).toBuffer();
  parseInfoDigit(message);
}

/** @returns what took more than `perOctet` steps for each octet of its input. */
function slowOf(inputs: Iterable<[string, string]>, perOctet: number, parse: (text: string) => void): string[] {
  const slow: string[] = [];
  for (const [name, text] of inputs) {
    try {
      countSteps(perOctet * text.length, () => parse(text));
    } catch (error) {
      if (!(error instanceof TooManySteps)) throw error;
      slow.push(name);
    }
  }
  return slow;
}

test('what is counted grows with the square for what looks at everything again and again', () => {
  const search = (text: string) => {
    for (let at = 0; at < text.length; at++) text.indexOf('x', at);
  };
  const [short, long] = ['a'.repeat(100), 'a'.repeat(10_000)];
  const steps = countSteps(1e6, () => search(short));
  assert.is(steps, 5050);
  assert.throws(() => countSteps(1e6, () => search(long)), /more than 1000000 steps/);
  assert.throws(() => countSteps(99, () => /b$/.test(short)), /more than 99 steps/);
});

test('no repetition in a request makes its parsing take more than its length', () => {
  assert.equal(
    slowOf(filled(request, 3_000), 40, (text) => read(Buffer.from(text))),
    [],
  );
  assert.equal(
    slowOf(filled(request, MAX_MESSAGE_BYTES, usualPieces), 40, (text) => read(Buffer.from(text))),
    [],
  );
});

test('no repetition in a response makes its parsing take more than its length', () => {
  assert.equal(
    slowOf(filled(response, MAX_MESSAGE_BYTES, usualPieces), 40, (text) => read(Buffer.from(text))),
    [],
  );
});

test('no repetition in a session description makes its parsing take more than its length', () => {
  const lines = ['\r\na=x', '\r\nm=audio 1 RTP/AVP 0', '\r\na=rtpmap:0 PCMU/8000', ' 0', ' 101', '\r\n'];
  // Each line is held against some fifty forms of attributes.
  assert.equal(slowOf(filled(description, 3_000, [...pieces, ...lines]), 200, parseDescription), []);
  assert.equal(slowOf(filled(description, 32_000, [...usualPieces, ...lines]), 200, parseDescription), []);
});

test('no repetition in credentials, URIs or addresses makes their parsing take more than their length', () => {
  const digest = '~Digest~ ~username~=~"~alice\\~"~,~ realm=~hookswitch~,nc=~00000001~';
  assert.equal(slowOf(filled(digest, 8_000), 20, parseDigest), []);
  assert.equal(slowOf(filled('~sip~:~a~:~b~@~h~:~1~;~x~=~y~?~z~=~&~', 10_000), 20, parseUri), []);
  assert.equal(slowOf(filled('~pjsip~:~alice~/~sip:a@h~', 10_000), 20, resourceOf), []);
});

test('a stream of such messages is cut in steps that grow with its length, however it is dripped', () => {
  const cut = (text: string) => {
    const framer = new StreamFramer();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 64) framer.push(bytes.subarray(at, at + 64));
  };
  assert.equal(
    slowOf(filled('OPTIONS sip:a SIP/2.0\r\n~Content-Length: ~0~\r\n~\r\n~', 60_000, usualPieces), 20, cut),
    [],
  );
});

test.run();
