import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parseDescription } from '../../../src/sip/sdp/description.ts';
import {
  acceptAnswer,
  answerOffer,
  type LocalMedia,
  newSession,
  type SdpSession,
  writeOffer,
} from '../../../src/sip/sdp/offer-answer.ts';
import { candidateBound } from '../../../src/sip/sdp/webrtc.ts';

/** Offers with audio and video: recorded of Chromium 156, and in the forms of Firefox and Safari. */
const offers = suite('offers of browsers');

let counted = 0;
const local: LocalMedia = {
  ...{ address: '192.0.2.10', port: 5000, codecs: ['opus', 'ulaw'], telephoneEvents: true },
  srtp: { mode: 'webrtc', fingerprint: 'AA:BB', random: (octets) => `${counted++}`.padStart(octets, 'x') },
};
/** The same with video, in streams that share the port. */
const withVideo = (count = 1): LocalMedia => ({
  ...local,
  video: {
    codecs: ['vp8'],
    streams: Array.from({ length: count }, () => ({ port: 5000, offered: true, direction: 'sendrecv' as const })),
  },
});
const textOf = (name: string): string =>
  readFileSync(new URL(`offers/${name}.sdp`, import.meta.url), 'utf8').replaceAll(/\r?\n/g, '\r\n');

function answered(offer: string, session: SdpSession = newSession('1'), ours: LocalMedia = local) {
  const read = parseDescription(offer);
  if (!read.ok) throw new Error(read.problem);
  const answer = answerOffer(session, read.description, ours);
  if (!answer.ok) throw new Error(answer.problem);
  return answer;
}

const ufragIn = (sdp: string): string => /a=ice-ufrag:(.*)/.exec(sdp)?.[1] ?? '';

for (const [name, opus, events, ufrag] of [
  ['chromium-156', 111, 110, '8XUs'],
  ['firefox', 109, 101, '01234567'],
  ['safari', 111, 110, 'Qw3r'],
] as const) {
  offers(`that of ${name} gets Opus in one transport, with its mid; video is refused in its place`, () => {
    const { body, agreed } = answered(textOf(name));
    assert.match(body, new RegExp(`^m=audio 5000 UDP/TLS/RTP/SAVPF ${opus} ${events}\r$`, 'm'));
    assert.match(body, /^m=video 0 UDP\/TLS\/RTP\/SAVPF \d+\r$/m);
    assert.match(body, /^a=group:BUNDLE 0\r$/m);
    for (const line of ['a=ice-lite', 'a=setup:passive', 'a=rtcp-mux', 'a=mid:0', 'a=sendrecv'])
      assert.ok(body.split('\r\n').includes(line), line);
    assert.is(body.match(/^a=candidate:/gm)?.length, 1);
    assert.is(agreed.webrtc?.remote.ufrag, ufrag);
    // Where a browser is, its checks say: addresses and names (mDNS) of its description mean nothing.
    assert.is(agreed.remote.address, '0.0.0.0');
    assert.is(agreed.remote.named, undefined);
  });

  offers(`to ${name} an answer says what servers told and lent, and where it may be is known`, () => {
    const candidates = [
      { type: 'tcp', port: 443 },
      { type: 'srflx', address: '198.51.100.7', port: 5000 },
      { type: 'relay', address: '203.0.113.7', port: 50_000 },
    ] as const;
    const srtp = { ...local.srtp!, candidates, peer: '192.0.2.99' };
    const lines = ['192.0.2.1', '2001:db8::1', 'f3a1b2c4.local', '192.0.2.1'].map(
      (address, index) => `a=candidate:${index} 1 udp 1 ${address} 5000 typ host\r\n`,
    );
    const offer = textOf(name)
      .replaceAll(/^a=candidate:.*\r\n/gm, '')
      .replace(/^a=mid:0\r\n/m, `a=mid:0\r\n${lines.join('')}`);
    const { body, agreed } = answered(offer, newSession('1'), { ...local, srtp });
    assert.equal(body.match(/^a=candidate:.*(?=\r$)/gm), [
      'a=candidate:1 1 udp 2130706431 192.0.2.10 5000 typ host',
      'a=candidate:2 1 tcp 1520435199 192.0.2.10 443 typ host tcptype passive',
      'a=candidate:3 1 udp 1694498815 198.51.100.7 5000 typ srflx raddr 192.0.2.10 rport 5000',
      'a=candidate:4 1 udp 16777215 203.0.113.7 50000 typ relay raddr 192.0.2.10 rport 5000',
    ]);
    assert.equal(agreed.webrtc?.places, ['192.0.2.99', '192.0.2.1', '2001:db8::1']);
    // Nobody has to be let through where nothing is relayed.
    assert.is(answered(offer).agreed.webrtc?.places, undefined);
  });

  offers(`an offer like that of ${name} by a lite agent gets a full one, which knows where to check`, () => {
    const [good, second] = ['192.0.2.1 5000', '2001:db8::1 5002'];
    const lines = [
      ...[`1 udp 7 ${good}`, `1 UDP 9 ${second}`, `1 udp 5 ${good}`, '2 udp 9 192.0.2.1 5001', '1 tcp 9 192.0.2.2 9'],
      ...['1 udp 9 f3a1b2c4.local 5000', '1 udp 9 192.0.2.3 0', '1 udp 9 192.0.2.3 65536', '1 udp 9 999.0.2.3 5000'],
    ].map((candidate, index) => `a=candidate:${index} ${candidate} typ host\r\n`);
    const lite = textOf(name)
      .replaceAll(/^a=candidate:.*\r\n/gm, '')
      .replace(/^t=0 0\r\n/m, 't=0 0\r\na=ice-lite\r\n')
      .replace(/^a=mid:0\r\n/m, `a=mid:0\r\n${lines.join('')}`);
    const first = answered(lite);
    assert.not.match(first.body, 'ice-lite');
    assert.equal(first.agreed.webrtc?.checked, [
      { address: '192.0.2.1', port: 5000, priority: 5 },
      { address: '2001:db8::1', port: 5002, priority: 9 },
    ]);
    // Ours stays full in later offers, and is lite again for a far side that is not.
    assert.not.match(writeOffer(first.session, local, 'sendrecv').body, 'ice-lite');
    const again = answered(textOf(name), first.session);
    assert.match(again.body, 'a=ice-lite');
    assert.is(again.agreed.webrtc?.checked, undefined);
    const many = lines[0]!
      .repeat(40)
      .split('\r\n')
      .map((line, at) => line.replace('5000', `${5000 + at}`));
    const crowd = lite
      .replaceAll(/^a=candidate:.*\r\n/gm, '')
      .replace(/^a=mid:0\r\n/m, `a=mid:0\r\n${many.join('\r\n')}`);
    const hits: string[] = [];
    const bounded = {
      ...local,
      srtp: { ...local.srtp!, boundCandidates: candidateBound(3, (name) => void hits.push(name)) },
    };
    const offer = parseDescription(crowd);
    assert.ok(offer.ok);
    const few = answerOffer(newSession('1'), offer.description, bounded);
    assert.equal(few.ok && few.agreed.webrtc?.checked?.map(({ port }) => port), [5000, 5001, 5002]);
    assert.equal(hits, ['media.webrtc.candidates']);
  });

  offers(
    `a full agent says so to ${name}, knows its candidates, and lets it choose unless we have offered first`,
    () => {
      const ours = { ...local, srtp: { ...local.srtp!, ice: 'full' as const } };
      const candidate =
        'a=candidate:1 1 udp 7 192.0.2.1 5000 typ host\r\na=candidate:2 1 udp 9 f3a1b2c4.local 5000 typ host';
      const offer = textOf(name)
        .replaceAll(/^a=candidate:.*\r\n/gm, '')
        .replace(/^a=mid:0\r\n/m, `a=mid:0\r\n${candidate}\r\n`);
      const first = answered(offer, newSession('1'), ours);
      assert.not.match(first.body, 'ice-lite');
      assert.match(first.body, /^a=ice-options:trickle ice2\r$/m);
      const { checked, isControlled, isFarLite } = first.agreed.webrtc!;
      const known = [{ address: '192.0.2.1', port: 5000, priority: 7 }];
      assert.equal([checked, isControlled, isFarLite], [known, true, undefined]);
      assert.not.match(writeOffer(first.session, ours, 'sendrecv').body, 'ice-lite');
      // Roles stay through a restart (RFC 8445 6.1.1).
      const again = answered(offer.replaceAll(ufrag, 'zzzz'), first.session, ours);
      assert.is(again.agreed.webrtc?.isControlled, true);
      const offered = writeOffer(newSession('1'), ours, 'sendrecv');
      assert.not.match(offered.body, 'ice-lite');
      const later = answered(offer, offered.session, ours);
      assert.equal([later.agreed.webrtc?.isControlled, later.agreed.webrtc?.checked], [undefined, known]);
      const lite = answered(offer.replace(/^t=0 0\r\n/m, 't=0 0\r\na=ice-lite\r\n'), newSession('1'), ours);
      assert.equal([lite.agreed.webrtc?.isControlled, lite.agreed.webrtc?.isFarLite], [undefined, true]);
    },
  );

  offers(`an answer to ${name} says whose packets are audio, also beside video`, () => {
    const { body } = answered(textOf(name), newSession('1'), {
      ...withVideo(),
      srtp: { ...local.srtp!, ssrc: 0xffff_fff0 },
    });
    assert.equal(body.match(/^a=ssrc:.*(?=\r$)|^m=\w+/gm), [
      'm=audio',
      'a=ssrc:4294967280 cname:hookswitch',
      'm=video',
    ]);
  });

  offers(`the same offer of ${name} again gets the same answer, another direction holds`, () => {
    const text = textOf(name);
    const first = answered(text);
    assert.is(answered(text, first.session).body, first.body);
    const held = answered(text.replaceAll('a=sendrecv', 'a=sendonly'), first.session);
    assert.is(held.agreed.held, true);
    assert.match(held.body, /^a=recvonly\r$/m);
    assert.is(ufragIn(held.body), ufragIn(first.body));
    assert.is(answered(text, held.session).agreed.held, false);
  });

  offers(`other credentials of ${name} restart ICE: ours are others, too`, () => {
    const text = textOf(name);
    const first = answered(text);
    const again = answered(text.replaceAll(ufrag, 'zzzz'), first.session);
    assert.is.not(ufragIn(again.body), ufragIn(first.body));
    assert.is(again.agreed.webrtc?.remote.ufrag, 'zzzz');
    assert.equal(again.agreed.webrtc?.fingerprint, first.agreed.webrtc?.fingerprint);
  });
}

for (const [name, vp8, rtx, line] of [
  ['chromium-156', 96, 97, { mid: '1', midExtension: 4, transportExtension: 3, sendTimeExtension: 2 }],
  ['firefox', 120, 124, { mid: '1', midExtension: 3 }],
  ['safari', undefined, undefined, undefined],
] as const) {
  offers(`the video of ${name} is taken in the transport of the audio, where it has VP8`, () => {
    const { body, videos } = answered(textOf(name), undefined, withVideo());
    assert.match(body, vp8 ? /^a=group:BUNDLE 0 1\r$/m : /^a=group:BUNDLE 0\r$/m);
    const video = body.slice(body.indexOf('m=video'));
    assert.match(video, vp8 ? new RegExp(`^m=video 5000 UDP/TLS/RTP/SAVPF ${vp8} ${rtx}\r`) : /^m=video 0 /);
    if (vp8 === undefined) return assert.equal(videos, []);
    const parts = ['a=mid:1', `a=extmap:${line.midExtension} urn:ietf:params:rtp-hdrext:sdes:mid`, 'a=rtcp-mux'];
    const uri = 'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01';
    const sendTime = 'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time';
    const arrivals =
      name === 'chromium-156' ? [`a=rtcp-fb:${vp8} transport-cc`, `a=extmap:3 ${uri}`, `a=extmap:2 ${sendTime}`] : [];
    for (const each of [...parts, ...arrivals, 'a=setup:passive', `a=rtcp-fb:${vp8} nack pli`])
      assert.ok(video.split('\r\n').includes(each), each);
    assert.is(ufragIn(video), ufragIn(body));
    // Retransmissions are a stream of their own (RFC 4588), of the codec that is chosen alone.
    assert.equal(video.match(/^a=(rtpmap|fmtp):.*(?=\r$)/gm), [
      `a=rtpmap:${vp8} VP8/90000`,
      `a=rtpmap:${rtx} rtx/90000`,
      `a=fmtp:${rtx} apt=${vp8}`,
    ]);
    assert.not.match(video, /simulcast|a=rid/);
    const [agreed] = videos!;
    assert.equal([agreed!.bundled, agreed!.payloadType, agreed!.send, agreed!.receive], [line, vp8, true, true]);
    assert.equal(agreed!.rtx, { payloadType: rtx, receivePayloadType: rtx });
  });
}

/** The recorded offer with the sizes of a camera, as Chromium offers them. */
const inSizes = (sizes: string, rids: readonly string[]): string =>
  textOf('chromium-156').replace(
    /(a=rtpmap:96 VP8)/,
    [...rids.map((rid) => `a=rid:${rid} send`), `a=simulcast:send ${sizes}`, '$1'].join('\r\n'),
  );

offers('a camera in several sizes is taken in three at most, and later offers of ours ask for them again', () => {
  const { body, videos, session } = answered(inSizes('l,x;~m;h;huge', ['l', 'm', 'h', 'huge']), undefined, withVideo());
  const lines = ['a=rid:l recv', 'a=rid:m recv', 'a=rid:h recv', 'a=simulcast:recv l;m;h'];
  const extensions = [
    'a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id',
    'a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id',
  ];
  for (const line of [...lines, ...extensions]) assert.ok(body.split('\r\n').includes(line), line);
  assert.not.match(body, /huge/);
  const simulcast = { rids: ['l', 'm', 'h'], ridExtension: 10, repairedExtension: 11 };
  assert.equal(videos?.[0]?.bundled, {
    mid: '1',
    midExtension: 4,
    simulcast,
    transportExtension: 3,
    sendTimeExtension: 2,
  });
  const offer = writeOffer(session, withVideo(2), 'sendrecv');
  for (const line of lines) assert.is(offer.body.split(`\n${line}\r`).length, 2, line);
  const answer = offer.body
    .replaceAll('a=setup:passive', 'a=setup:active')
    .replaceAll('a=ice-lite\r\n', '')
    .replaceAll('AA:BB', Array(32).fill('AB').join(':'))
    .replaceAll(/^(a=rid:.*) recv/gm, '$1 send')
    .replace('a=simulcast:recv', 'a=simulcast:send');
  const read = parseDescription(answer);
  if (!read.ok) throw new Error(read.problem);
  const accepted = acceptAnswer(read.description, withVideo(2), 'sendrecv', offer.session);
  if (!accepted.ok) throw new Error(accepted.problem);
  assert.equal(
    accepted.videos?.map(({ bundled }) => bundled?.simulcast?.rids),
    [['l', 'm', 'h'], undefined],
  );
  // A camera that is sent in one size again is offered so.
  const one = answered(textOf('chromium-156'), offer.session, withVideo());
  assert.not.match(writeOffer(one.session, withVideo(), 'sendrecv').body, /simulcast|a=rid/);
});

offers('sizes that are not announced, cannot be named, or of which packets say nothing are no sizes', () => {
  const plain = (offer: string) => {
    const { body, videos } = answered(offer, undefined, withVideo());
    assert.not.match(body, /simulcast|a=rid/);
    assert.is(videos?.[0]?.bundled?.simulcast, undefined);
  };
  plain(inSizes('h;l', ['h']));
  plain(inSizes('h;h', ['h']));
  plain(inSizes(';;~,', []));
  plain(inSizes('h;<script>', ['h', '<script>']));
  plain(inSizes('h;l', ['h', 'l']).replace('a=simulcast:send', 'a=simulcast:recv'));
  plain(inSizes('h;l', ['h', 'l']).replace(/a=extmap:10 .*\r\n/, ''));
});

offers('video in a transport of its own is refused, and one without a port because of BUNDLE is not', () => {
  const text = textOf('chromium-156');
  const alone = answered(text.replace('a=group:BUNDLE 0 1', 'a=group:BUNDLE 0'), undefined, withVideo());
  assert.equal(alone.videos, []);
  assert.match(alone.body, /^m=video 0 /m);
  const elsewhere = text.replace('a=group:BUNDLE 0 1', 'a=group:BUNDLE 0\r\na=group:BUNDLE 1');
  assert.equal(answered(elsewhere, undefined, withVideo()).videos, []);
  const only = text.replace('m=video 9 ', 'm=video 0 ').replace('a=mid:1', 'a=mid:1\r\na=bundle-only');
  assert.is(answered(only, undefined, withVideo()).videos?.length, 1);
});

offers('a phone without WebRTC takes no video of a browser', () => {
  const read = parseDescription(textOf('chromium-156'));
  if (!read.ok) throw new Error(read.problem);
  const { srtp: _, ...plain } = withVideo();
  assert.is(answerOffer(newSession('1'), read.description, plain).ok, false);
});

offers('our offer has video in the transport of the audio, and the answer of a browser is taken', () => {
  const { session, body } = writeOffer(newSession('1'), withVideo(2), 'sendrecv');
  assert.match(body, /^a=group:BUNDLE 0 1 2\r$/m);
  assert.is(body.match(/^m=video 5000 UDP\/TLS\/RTP\/SAVPF 96 102\r$/gm)?.length, 2);
  assert.is(body.match(/^a=fmtp:102 apt=96\r$/gm)?.length, 2);
  assert.is(body.match(/^a=setup:actpass\r$/gm)?.length, 3);
  const answer = body
    .replaceAll('a=setup:actpass', 'a=setup:active')
    .replaceAll('a=ice-lite\r\n', '')
    .replaceAll('AA:BB', Array(32).fill('AB').join(':'))
    .split('m=video 5000');
  // The second one is refused.
  const read = parseDescription(`${answer[0]}m=video 5000${answer[1]}m=video 0${answer[2]}`);
  if (!read.ok) throw new Error(read.problem);
  const accepted = acceptAnswer(read.description, withVideo(2), 'sendrecv', session);
  if (!accepted.ok) throw new Error(accepted.problem);
  assert.equal(
    accepted.videos?.map(({ stream, bundled, send, rtx }) => [stream, bundled, send, rtx]),
    [
      [
        ...[0, { mid: '1', midExtension: 1, transportExtension: 3, sendTimeExtension: 14 }, true],
        { payloadType: 102, receivePayloadType: 102 },
      ],
    ],
  );
});

/** What is agreed on with a far side that says so of DTLS, and what we say of it. */
const setupWith = (setup: string, session = newSession('1')) => {
  const read = parseDescription(textOf('chromium-156').replaceAll('a=setup:actpass', `a=setup:${setup}`));
  if (!read.ok) throw new Error(read.problem);
  const answer = answerOffer(session, read.description, withVideo());
  if (!answer.ok) throw new Error(answer.problem);
  const said = /^a=setup:(.*)\r$/m.exec(answer.body)?.[1];
  return { session: answer.session, said, role: answer.agreed.webrtc?.role, body: answer.body };
};

offers(
  'we are the client of DTLS where the far side is to be its server, and stay what we were where it may be either',
  () => {
    const roles = (setup: string, session?: ReturnType<typeof newSession>) => {
      const { said, role } = setupWith(setup, session);
      return [said, role];
    };
    assert.equal(roles('actpass'), ['passive', undefined]);
    assert.equal(roles('active'), ['passive', undefined]);
    assert.equal(roles('passive'), ['active', 'client']);
    assert.throws(() => roles('holdconn'), /setup actpass, active or passive/);
    const client = setupWith('passive').session;
    assert.equal(roles('actpass', client), ['active', 'client']);
    assert.equal(roles('active', client), ['passive', undefined]);
    assert.match(writeOffer(client, withVideo(), 'sendrecv').body, /^a=setup:active\r$/m);
    const { session, body } = writeOffer(newSession('1'), withVideo(), 'sendrecv');
    const answer = (setup: string) => {
      const text = body
        .replaceAll('a=setup:actpass', `a=setup:${setup}`)
        .replaceAll('a=ice-lite\r\n', '')
        .replaceAll('AA:BB', Array(32).fill('AB').join(':'));
      const read = parseDescription(text);
      if (!read.ok) throw new Error(read.problem);
      const accepted = acceptAnswer(read.description, withVideo(), 'sendrecv', session);
      if (!accepted.ok) throw new Error(accepted.problem);
      return accepted.agreed.webrtc?.role;
    };
    assert.equal([answer('active'), answer('passive')], [undefined, 'client']);
  },
);

offers('a stream that is added to a call has the payload types of the first: a bundle has one list of them', () => {
  const first = answered(textOf('firefox'), undefined, withVideo());
  const { body } = writeOffer(first.session, withVideo(2), 'sendrecv');
  assert.is(body.match(/^m=video 5000 UDP\/TLS\/RTP\/SAVPF 120 124\r$/gm)?.length, 2);
});

/** What is agreed on of retransmissions with an offer that was changed, and the formats of our line. */
const sentAgain = (change: (offer: string) => string, name = 'chromium-156') => {
  const { body, videos } = answered(change(textOf(name)), undefined, withVideo());
  return [videos?.[0]?.rtx, /^m=video \d+ \S+ (.*)\r$/m.exec(body)?.[1]];
};

offers(
  'retransmissions go in the stream itself where a browser does not offer another, or offers none that can be read',
  () => {
    const both = [{ payloadType: 97, receivePayloadType: 97 }, '96 97'];
    assert.equal(
      sentAgain((offer) => offer),
      both,
    );
    const none = [undefined, '96'];
    for (const [from, to] of [
      ['a=fmtp:97 apt=96', 'a=fmtp:97 apt=97'],
      ['a=fmtp:97 apt=96', 'a=fmtp:97 apt=95'],
      ['a=fmtp:97 apt=96', 'a=fmtp:97 rtx-time=3000'],
      ['a=fmtp:97 apt=96\r\n', ''],
      ['a=rtpmap:97 rtx/90000', 'a=rtpmap:97 rtx/8000'],
      // Nothing is sent again that nobody misses.
      ['a=rtcp-fb:96 nack\r\n', ''],
    ] as const)
      assert.equal(
        sentAgain((offer) => offer.replace(from, to)),
        none,
        to,
      );
    // They have to say of what size they are.
    const simulcast = inSizes('h;l', ['h', 'l']);
    assert.equal(
      sentAgain(() => simulcast),
      both,
    );
    assert.equal(
      sentAgain(() => simulcast.replace(/a=extmap:11 .*\r\n/, '')),
      none,
    );
  },
);

offers('a number that a browser has for something else is not that of our retransmissions', () => {
  // Firefox has VP8 120, and 102 stands for another codec of its audio or video.
  const offer = textOf('firefox').replaceAll(/(m=video .*) 127\r\n/g, '$1 127 102\r\na=rtpmap:102 AV1/90000\r\n');
  const { session } = answered(offer.replaceAll('124', '99'), undefined, withVideo());
  const local = withVideo();
  const { body } = writeOffer(session, { ...local, video: { ...local.video!, codecs: ['vp8', 'vp9'] } }, 'sendrecv');
  const video = body.slice(body.indexOf('m=video'));
  const [, ...numbers] = /^m=video \d+ \S+ (.*)\r/.exec(video)![1]!.split(' ').map(Number);
  assert.is(new Set(numbers).size, numbers.length);
  assert.match(video, /^a=fmtp:99 apt=120\r$/m);
  assert.not.match(video, /^a=rtpmap:102 /m);
});

offers('a browser is told our sources of video, and which is that of retransmissions; a phone is not', () => {
  const [stream] = withVideo().video!.streams;
  const video = { codecs: ['vp8' as const], streams: [{ ...stream!, ssrc: 0x9000_0001 }] };
  const { body } = answered(textOf('firefox'), undefined, { ...local, video });
  assert.equal(body.slice(body.indexOf('m=video')).match(/^a=ssrc.*(?=\r$)/gm), [
    'a=ssrc:2415919105 cname:hookswitch',
    'a=ssrc:268435457 cname:hookswitch',
    'a=ssrc-group:FID 2415919105 268435457',
  ]);
  const { srtp: _, ...plain } = local;
  assert.not.match(writeOffer(newSession('1'), { ...plain, video }, 'sendrecv').body, /ssrc|rtx/);
});

offers.run();
