import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { srtpSuites } from '../../../src/lib/srtp.ts';
import { parseDescription } from '../../../src/sip/sdp/description.ts';
import {
  type AgreedAudio,
  acceptAnswer,
  answerOffer,
  type LocalAudio,
  newSession,
  type SdpSession,
  writeOffer,
} from '../../../src/sip/sdp/offer-answer.ts';
import type { SrtpPolicy } from '../../../src/sip/sdp/sdes.ts';

type Mode = SrtpPolicy['mode'];
const modes: readonly Mode[] = ['off', 'optional', 'best_effort', 'required'];

let seed = 0;
const random = (octets: number) => Buffer.alloc(octets, ++seed).toString('base64');

const side = (mode: Mode): LocalAudio => ({
  address: '192.0.2.1',
  port: 4000,
  codecs: ['ulaw'],
  telephoneEvents: false,
  srtp: { mode, random },
});

const read = (body: string) => {
  const result = parseDescription(body);
  if (!result.ok) throw new Error(result.problem);
  return result.description;
};

/** What comes of an offer of one side to another; undefined when they do not come together. */
function exchange(from: Mode, to: Mode, before?: { caller: SdpSession; callee: SdpSession }) {
  const offered = writeOffer(before?.caller ?? newSession('1'), side(from), 'sendrecv');
  const answered = answerOffer(before?.callee ?? newSession('2'), read(offered.body), side(to));
  if (!answered.ok) return undefined;
  const accepted = acceptAnswer(read(answered.body), side(from), 'sendrecv', offered.session);
  if (!accepted.ok) return undefined;
  return { offered, answered, ours: accepted.agreed, theirs: answered.agreed };
}

const mirrored = ({ srtp }: AgreedAudio) => srtp && { local: srtp.remote, remote: srtp.local };

test('what becomes of each policy against each other one', () => {
  const outcomes = modes.map((from) =>
    modes.map((to) => {
      const done = exchange(from, to);
      if (!done) return 'none';
      assert.equal(mirrored(done.ours), done.theirs.srtp);
      return done.ours.srtp ? 'secret' : 'plain';
    }),
  );
  assert.equal(outcomes, [
    // Answering:   off      optional  best_effort  required
    /* off */ ['plain', 'plain', 'plain', 'none'],
    /* optional */ ['plain', 'plain', 'plain', 'none'],
    /* best_effort */ ['plain', 'secret', 'secret', 'secret'],
    /* required */ ['none', 'secret', 'secret', 'secret'],
  ]);
});

test('an offer lists all suites, and the profile says whether it can do without', () => {
  const lines = (mode: Mode) =>
    writeOffer(newSession('1'), side(mode), 'sendrecv')
      .body.split('\r\n')
      .filter((line) => line.startsWith('m=') || line.startsWith('a=crypto'))
      .map((line) => line.replace(/inline:.*/, (key) => `inline of ${Buffer.from(key.slice(7), 'base64').length}`));
  const all = Object.entries(srtpSuites).map(
    ([suite, { key, salt }], index) => `a=crypto:${index + 1} ${suite} inline of ${key + salt}`,
  );
  assert.equal(lines('required'), ['m=audio 4000 RTP/SAVP 0', ...all]);
  assert.equal(lines('best_effort'), ['m=audio 4000 RTP/AVP 0', ...all]);
  assert.equal(lines('optional'), ['m=audio 4000 RTP/AVP 0']);
});

test('keys stay the same in a session, whoever offers again', () => {
  const first = exchange('required', 'required')!;
  const sessions = { caller: first.offered.session, callee: first.answered.session };
  const again = exchange('required', 'required', sessions)!;
  assert.equal([again.ours.srtp, again.theirs.srtp], [first.ours.srtp, first.theirs.srtp]);
  const back = exchange('required', 'required', { caller: again.answered.session, callee: again.offered.session })!;
  assert.equal(back.theirs.srtp, first.ours.srtp);
});

test('the first suite of the offer that we have is taken; lines that we cannot use are passed over', () => {
  const inline = (octets: number) => `inline:${Buffer.alloc(octets, 7).toString('base64')}`;
  const offer = [
    'v=0',
    'o=- 1 1 IN IP4 192.0.2.9',
    's=-',
    'c=IN IP4 192.0.2.9',
    't=0 0',
    'm=audio 5000 RTP/SAVP 0',
    `a=crypto:1 AES_256_CM_HMAC_SHA1_80 ${inline(46)}`,
    `a=crypto:2 AES_CM_128_HMAC_SHA1_80 ${inline(29)}`,
    // Keys without a name, with names of two lengths, with one name for both, of two lengths, and too many of them.
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|2^20;${inline(30)}|2^20`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|2^20|1:4;${inline(30)}|2^20|2:2`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|2^20|1:4;${inline(30)}|2^20|1:4`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|2^20|1:4;${inline(29)}|2^20|2:4`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${Array.from({ length: 17 }, (_, each) => `${inline(30)}|${each}:1`).join(';')}`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|2^20|256:1`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|1:0`,
    `a=crypto:3 AES_CM_128_HMAC_SHA1_80 ${inline(30)}|1:129`,
    `a=crypto:4 AES_CM_128_HMAC_SHA1_80 ${inline(30)} UNENCRYPTED_SRTP`,
    `a=crypto:5 AES_CM_128_HMAC_SHA1_32 ${inline(30)}|2^20`,
    `a=crypto:6 AES_CM_128_HMAC_SHA1_80 ${inline(30)}`,
    '',
  ].join('\r\n');
  const answered = answerOffer(newSession('2'), read(offer), side('optional'));
  assert.ok(answered.ok);
  if (!answered.ok) return;
  assert.is(answered.agreed.srtp?.remote.suite, 'AES_CM_128_HMAC_SHA1_32');
  assert.match(answered.body, /m=audio 4000 RTP\/SAVP 0\r\n/);
  assert.match(answered.body, /a=crypto:5 AES_CM_128_HMAC_SHA1_32 inline:/);
});

test('a key with an MKI is taken, and ours beside it has the same (RFC 4568 6.1)', () => {
  const key = Buffer.alloc(30, 7).toString('base64');
  const offer = (media: string, tag: number, rest: string) => [
    `m=${media} 5000 RTP/SAVP 0`,
    ...(media === 'video' ? ['a=rtpmap:0 VP8/90000'] : []),
    `a=crypto:${tag} AES_CM_128_HMAC_SHA1_80 inline:${key}${rest}`,
  ];
  const head = ['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0'];
  const stream = { port: 4002, offered: true, direction: 'sendrecv' as const };
  const local = { ...side('optional'), video: { codecs: ['vp8' as const], streams: [stream] } };
  const text = [...head, ...offer('audio', 1, '|2^20|1:4'), ...offer('video', 2, '|66051:3'), ''].join('\r\n');
  const answered = answerOffer(newSession('2'), read(text), local);
  assert.ok(answered.ok);
  if (!answered.ok) return;
  const { srtp } = answered.agreed;
  assert.equal([srtp?.remote.mki, srtp?.local.mki, srtp?.remote.key], ['00000001', '00000001', key]);
  const video = answered.videos?.[0]?.srtp;
  assert.equal([video?.remote.mki, video?.local.mki], ['010203', '010203']);
  const lines = answered.body.split('\r\n').filter((line) => line.startsWith('a=crypto'));
  assert.equal(
    lines.map((line) => line.replace(/inline:[^|]*/, '')),
    ['a=crypto:1 AES_CM_128_HMAC_SHA1_80 |1:4', 'a=crypto:2 AES_CM_128_HMAC_SHA1_80 |66051:3'],
  );
});

test('a line may have several keys with names: the far side sends with any of them (RFC 4568 6.1)', () => {
  const inline = (fill: number, mki: number) => `inline:${Buffer.alloc(30, fill).toString('base64')}|2^20|${mki}:4`;
  const offer = [
    ...['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0', 'm=audio 5000 RTP/SAVP 0'],
    ...[`a=crypto:1 AES_CM_128_HMAC_SHA1_80 ${inline(7, 1)};${inline(8, 2)};${inline(9, 3)}`, ''],
  ].join('\r\n');
  const answered = answerOffer(newSession('2'), read(offer), side('optional'));
  assert.ok(answered.ok);
  if (!answered.ok) return;
  const { local, remote } = answered.agreed.srtp!;
  assert.equal([local.mki, local.others], ['00000001', undefined]);
  assert.equal(
    [remote, ...remote.others!].map(({ key, mki }) => [Buffer.from(key, 'base64')[0], mki]),
    [
      [7, '00000001'],
      [8, '00000002'],
      [9, '00000003'],
    ],
  );
});

test('an answer may name its key by an MKI; ours, which was offered without, has none', () => {
  const offered = writeOffer(newSession('1'), side('required'), 'sendrecv');
  const answered = answerOffer(newSession('2'), read(offered.body), side('required'));
  if (!answered.ok) throw new Error(answered.problem);
  const named = answered.body.replace(/(a=crypto.*)/, '$1|7:1');
  const accepted = acceptAnswer(read(named), side('required'), 'sendrecv', offered.session);
  assert.ok(accepted.ok);
  assert.equal(accepted.ok && [accepted.agreed.srtp?.remote.mki, accepted.agreed.srtp?.local.mki], ['07', undefined]);
});

test('an answer without a key where there must be one is of no use; its tag may be that of another suite', () => {
  const offered = writeOffer(newSession('1'), side('required'), 'sendrecv');
  const answered = answerOffer(newSession('2'), read(offered.body), side('required'));
  if (!answered.ok) throw new Error(answered.problem);
  const accept = (body: string) => acceptAnswer(read(body), side('required'), 'sendrecv', offered.session).ok;
  assert.equal(
    [
      accept(answered.body),
      // As Jami answers.
      accept(answered.body.replace('a=crypto:1', 'a=crypto:2')),
      accept(answered.body.replace(/a=crypto.*\r\n/, '')),
      accept(answered.body.replace(/a=crypto.*\r\n/, '').replace('RTP/SAVP', 'RTP/AVP')),
    ],
    [true, true, false, false],
  );
});

test('suites are named without regard to case', () => {
  const key = `inline:${Buffer.alloc(30, 7).toString('base64')}`;
  const offer = ['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0', 'm=audio 5000 RTP/SAVP 0'];
  const line = `a=crypto:1 aes_cm_128_hmac_sha1_80 ${key}`;
  const answered = answerOffer(newSession('2'), read([...offer, line, ''].join('\r\n')), side('required'));
  assert.ok(answered.ok);
  assert.match(answered.ok ? answered.body : '', /a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:/);
});

test.run();
