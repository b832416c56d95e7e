import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseDescription } from '../../../src/sip/sdp/description.ts';

const lines = (...rest: string[]) =>
  ['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', ...rest].map((line) => `${line}\r\n`).join('');

const audioOf = (text: string) => {
  const result = parseDescription(text);
  return result.ok ? result.description.audios[0] : result.problem;
};

test('a usual offer is read: address, codecs in order, digits, packet time', () => {
  const text = lines(
    'c=IN IP4 192.0.2.1',
    't=0 0',
    'm=audio 4000 RTP/AVP 9 8 0 96',
    'a=rtpmap:96 telephone-event/8000',
    'a=fmtp:96 0-16',
    'a=ptime:30',
    'a=maxptime:60',
    'a=sendonly',
  );
  assert.equal(audioOf(text), {
    line: 0,
    address: '192.0.2.1',
    port: 4000,
    codecs: [
      { codec: 'g722', payloadType: 9 },
      { codec: 'alaw', payloadType: 8 },
      { codec: 'ulaw', payloadType: 0 },
    ],
    telephoneEvent: 96,
    ptimeMs: 30,
    maxPtimeMs: 60,
    direction: 'sendonly',
  });
});

test('the media level wins over the session level for address and direction', () => {
  const text = lines(
    'c=IN IP4 192.0.2.1',
    't=0 0',
    'a=inactive',
    'm=audio 4000 RTP/AVP 0',
    'c=IN IP6 2001:db8::1',
    'a=recvonly',
  );
  const audio = audioOf(text);
  assert.equal(typeof audio === 'object' && [audio.address, audio.direction], ['2001:db8::1', 'recvonly']);
});

test('a session direction holds for media that have none', () => {
  const audio = audioOf(lines('c=IN IP4 192.0.2.1', 't=0 0', 'a=inactive', 'm=audio 4000 RTP/AVP 0'));
  assert.is(typeof audio === 'object' && audio.direction, 'inactive');
});

test('codecs on dynamic payload types are known by name, other rates and names are not ours', () => {
  const audio = audioOf(
    lines(
      'c=IN IP4 192.0.2.1',
      't=0 0',
      'm=audio 4000 RTP/AVP 97 98 0 101',
      'a=rtpmap:97 pcma/8000/1',
      'a=rtpmap:98 PCMU/16000',
      'a=rtpmap:0 opus/48000/2',
      'a=rtpmap:101 telephone-event/48000',
    ),
  );
  assert.ok(typeof audio === 'object');
  assert.equal(audio.codecs, [
    { codec: 'alaw', payloadType: 97 },
    { codec: 'opus', payloadType: 0 },
  ]);
  assert.is(audio.telephoneEvent, undefined);
});

test('other media are listed but only plain RTP audio with a port and an address or a host name is taken', () => {
  const text = lines(
    't=0 0',
    'm=audio 0 RTP/AVP 0',
    'c=IN IP4 192.0.2.1',
    'm=audio 4000 RTP/SAVP 0',
    'c=IN IP4 192.0.2.1',
    'm=video 4002/2 RTP/AVP 31 32',
    'c=IN IP4 192.0.2.1',
    'm=audio 4004 RTP/AVP 0',
    'c=IN IP4 phone.example.org',
    'm=audio 4006 RTP/AVP 0',
    'c=IN IP4 192.0.2.9',
  );
  const result = parseDescription(text);
  assert.ok(result.ok);
  assert.equal(
    result.description.audios.map(({ line, secret }) => [line, secret]),
    [
      [1, true],
      [3, undefined],
      [4, undefined],
    ],
  );
  const [, named] = result.description.audios;
  assert.equal([named?.address, named?.named], ['phone.example.org', 4]);
  assert.equal(result.description.lines[2], { type: 'video', port: 4002, protocol: 'RTP/AVP', formats: ['31', '32'] });
});

test('the first audio line that we cannot talk to says why', () => {
  const obstacleTo = (media: string, ...rest: string[]) => {
    const result = parseDescription(lines(...rest, 't=0 0', media));
    return result.ok && [result.description.audios.length, result.description.obstacle];
  };
  const plain = 'm=audio 4000 RTP/AVP 0';
  const dtls = 'DTLS-SRTP is not supported; offer RTP/AVP, or RTP/SAVP with a=crypto';
  const address = (problem: string) => [0, { problem, code: 301 }];
  const profile = (problem: string) => [0, { problem, code: 302 }];
  assert.equal(obstacleTo(plain), address('its audio has no address'));
  assert.equal(obstacleTo(plain, 'c=IN IP4 ::1'), address('::1 is no address of type IP4'));
  assert.equal(obstacleTo(plain, 'c=IN IP6 192.0.2.1'), address('192.0.2.1 is no address of type IP6'));
  assert.equal(obstacleTo(plain, 'c=IN IP4 192.0.2.256'), address('192.0.2.256 is neither an address nor a host name'));
  assert.equal(obstacleTo(plain, 'c=IN IP7 192.0.2.1'), address('IP7 is no type of address'));
  assert.equal(obstacleTo(plain, 'c=IN IP6 ::1'), [1, undefined]);
  assert.equal(obstacleTo(plain, 'c=IN IP4 192.0.2.1/127'), [1, undefined]);
  const ours = 'c=IN IP4 192.0.2.1';
  assert.equal(obstacleTo('m=audio 4000 UDP/TLS/RTP/SAVPF 0', ours), profile(dtls));
  assert.equal(obstacleTo('m=audio 4000 TCP/RTP/AVP 0', ours), profile('audio over TCP/RTP/AVP is not supported'));
  assert.equal(obstacleTo('m=video 4000 TCP/RTP/AVP 0', ours), [0, undefined]);
});

test('bare line feeds are read as well', () => {
  assert.type(
    audioOf(lines('c=IN IP4 192.0.2.1', 't=0 0', 'm=audio 4000 RTP/AVP 0').replaceAll('\r\n', '\n')),
    'object',
  );
});

test('what cannot be read is a problem in words', () => {
  const media = 'm=audio 4000 RTP/AVP 0';
  assert.is(audioOf(''), 'it has no media line');
  assert.is(audioOf(lines('t=0 0')), 'it has no media line');
  assert.is(audioOf(`${media}\r\n`), 'it does not begin with v=0');
  assert.is(audioOf(lines('m=audio none RTP/AVP 0')), 'the media line "m=audio none RTP/AVP 0" cannot be read');
  assert.is(audioOf(lines('m=audio 70000 RTP/AVP 0')), 'the media line "m=audio 70000 RTP/AVP 0" cannot be read');
  assert.is(audioOf(lines(...Array<string>(33).fill(media))), 'it has too many media lines');
  assert.is(audioOf('x'.repeat(40_000)), 'the description is too long');
});

test('no text makes the reader throw', () => {
  const field = fc.constantFrom(
    'v=',
    'o=',
    's=',
    'c=IN IP4 ',
    'm=audio ',
    'm=',
    'a=',
    'a=rtpmap:',
    'a=fmtp:',
    'a=ptime:',
    't=',
    '',
  );
  const line = fc
    .tuple(field, fc.oneof(fc.string(), fc.constantFrom('0', '0 RTP/AVP 0 8', '4000 RTP/AVP 0 101', '__proto__')))
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(line), fc.constantFrom('\r\n', '\n'), (all, end) => {
      const result = parseDescription(all.join(end));
      assert.type(result.ok, 'boolean');
    }),
  );
  assert.is(({} as Record<string, unknown>)['polluted'], undefined);
});

test.run();
