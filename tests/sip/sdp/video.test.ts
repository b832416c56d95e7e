import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Description, parseDescription } from '../../../src/sip/sdp/description.ts';
import { answerH264, h264Terms, readH264 } from '../../../src/sip/sdp/h264-parameters.ts';
import type { Direction } from '../../../src/sip/sdp/media-line.ts';
import {
  acceptAnswer,
  answerOffer,
  type LocalMedia,
  newSession,
  type SdpSession,
  writeOffer,
} from '../../../src/sip/sdp/offer-answer.ts';
import type { LocalVideo, LocalVideoStream } from '../../../src/sip/sdp/video-lines.ts';

const stream = (port: number, more: Partial<LocalVideoStream> = {}): LocalVideoStream => ({
  port,
  offered: true,
  direction: 'sendrecv',
  ...more,
});
const local = (
  streams: readonly LocalVideoStream[] = [stream(6000)],
  codecs: LocalVideo['codecs'] = ['vp8', 'h264'],
): LocalMedia => ({
  address: '192.0.2.10',
  port: 5000,
  codecs: ['ulaw'],
  telephoneEvents: false,
  video: { codecs, streams },
});
const read = (text: string): Description => {
  const result = parseDescription(text);
  if (!result.ok) throw new Error(result.problem);
  return result.description;
};
const audio = 'm=audio 4000 RTP/AVP 0';
const remote = (...rest: string[]) =>
  read(['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', audio, ...rest, ''].join('\r\n'));
/** The lines of a body from its first video line on. */
const videoOf = (body: string): string[] => {
  const lines = body.trimEnd().split('\r\n');
  const first = lines.findIndex((line) => line.startsWith('m=video'));
  return first < 0 ? [] : lines.slice(first);
};
const answered = (offer: Description, media: LocalMedia, session: SdpSession = newSession('7')) => {
  const answer = answerOffer(session, offer, media);
  if (!answer.ok) throw new Error(answer.problem);
  return answer;
};
const none = { nack: false, pli: false, fir: false, tmmbr: false, remb: false };
/** That we understand feedback, as offers of ours say it. */
const feedbackOffered = [
  'a=rtcp-fb:* nack',
  'a=rtcp-fb:* nack pli',
  'a=rtcp-fb:* ccm fir',
  'a=rtcp-fb:* ccm tmmbr',
  'a=rtcp-fb:* goog-remb',
];
const vp8 = ['m=video 4002 RTP/AVP 96', 'a=rtpmap:96 VP8/90000'];

test('what a camera may send is said in offers and answers, of streams that we take', () => {
  const media = local([stream(6000), stream(6002, { direction: 'sendonly' })], ['vp8']);
  const limited: LocalMedia = { ...media, video: { ...media.video!, maxBitrate: 512_500 } };
  const said = (body: string) => videoOf(body).filter((line) => /^(m=|b=|a=(send|recv))/.test(line));
  const bandwidth = ['b=TIAS:512500', 'b=AS:513'];
  assert.equal(said(writeOffer(newSession('7'), limited, 'sendrecv').body), [
    ...['m=video 6000 RTP/AVP 96', ...bandwidth, 'a=sendrecv'],
    ...['m=video 6002 RTP/AVP 96', 'a=sendonly'],
  ]);
  const offer = remote(...vp8, 'm=video 4004 RTP/AVP 96', 'a=rtpmap:96 VP8/90000', 'a=recvonly');
  assert.equal(said(answered(offer, limited).body), [
    ...['m=video 6000 RTP/AVP 96', ...bandwidth, 'a=sendrecv'],
    ...['m=video 6002 RTP/AVP 96', 'a=sendonly'],
  ]);
});

test('an offer says every codec with its parameters, and that feedback is understood', () => {
  const media = local([stream(6000)], ['vp8', 'vp9', 'h264', 'av1']);
  assert.equal(videoOf(writeOffer(newSession('7'), media, 'sendrecv').body), [
    'm=video 6000 RTP/AVP 96 97 98 99 100',
    'a=rtpmap:96 VP8/90000',
    'a=rtpmap:97 VP9/90000',
    'a=rtpmap:98 H264/90000',
    'a=rtpmap:99 H264/90000',
    'a=rtpmap:100 AV1/90000',
    'a=fmtp:97 profile-id=0',
    'a=fmtp:98 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
    'a=fmtp:99 profile-level-id=42e01f;packetization-mode=0;level-asymmetry-allowed=1',
    ...feedbackOffered,
    'a=sendrecv',
  ]);
});

test('an offer without video codecs of ours has no video, and a video line that was there is refused', () => {
  const { video: _none, ...media } = local();
  assert.equal(videoOf(writeOffer(newSession('7'), media, 'sendrecv').body), []);
  const answer = answered(remote(...vp8), media);
  assert.equal([videoOf(answer.body), answer.videos], [['m=video 0 RTP/AVP 96'], undefined]);
});

test('streams are offered in their places, with their labels and codecs, behind those that are there', () => {
  const shown = (port: number, label: string) => stream(port, { direction: 'sendonly', codecs: ['vp8'], label });
  const { session } = writeOffer(newSession('7'), local([stream(6000)], ['vp8']), 'sendrecv');
  const more = local([stream(6000), shown(6002, 'c2'), shown(6004, 'c3')], ['vp8']);
  const next = writeOffer(session, more, 'sendrecv');
  assert.equal(videoOf(next.body), [
    'm=video 6000 RTP/AVP 96',
    'a=rtpmap:96 VP8/90000',
    ...feedbackOffered,
    'a=sendrecv',
    'm=video 6002 RTP/AVP 96',
    'a=rtpmap:96 VP8/90000',
    ...feedbackOffered,
    'a=sendonly',
    'a=label:c2',
    'm=video 6004 RTP/AVP 96',
    'a=rtpmap:96 VP8/90000',
    ...feedbackOffered,
    'a=sendonly',
    'a=label:c3',
  ]);
  assert.is(next.session.version, session.version + 1);
  const fewer = local([stream(6000), { ...shown(6002, 'c3') }, { ...shown(6004, ''), offered: false }], ['vp8']);
  assert.equal(
    videoOf(writeOffer(next.session, fewer, 'sendrecv').body).filter((line) => /^m=|^a=label/.test(line)),
    ['m=video 6000 RTP/AVP 96', 'm=video 6002 RTP/AVP 96', 'a=label:c3', 'm=video 0 RTP/AVP 96'],
  );
});

test('a label that would end its line is left out', () => {
  for (const label of ['a\r\na=sendonly', 'a b', '', 'x'.repeat(257)])
    assert.not.match(writeOffer(newSession('7'), local([stream(6000, { label })]), 'sendrecv').body, /label|sendonly/);
});

test('a stream that is not offered leaves no gap: none behind it is new', () => {
  const media = local([stream(6000, { offered: false }), stream(6002)]);
  assert.equal(videoOf(writeOffer(newSession('7'), media, 'sendrecv').body), []);
});

/** Offers of a far side, and what we say to them. */
const answers: readonly {
  title: string;
  offer: readonly string[];
  media?: LocalMedia;
  body: readonly string[];
  agreed: readonly object[];
}[] = [
  {
    title:
      'our preferred codec in its number, with the feedback that it offers and no control of all it sends together',
    offer: [
      'm=video 4002 RTP/AVPF 97 99',
      'b=AS:512',
      'a=rtpmap:97 H264/90000',
      'a=rtpmap:99 VP8/90000',
      'a=rtcp-fb:* nack',
      'a=rtcp-fb:99 nack pli',
      'a=rtcp-fb:99 transport-cc',
      'a=rtcp-fb:99 goog-remb',
      'a=rtcp-fb:99 ccm tmmbr smaxpr=120',
      'a=rtcp-fb:97 ccm fir',
      'a=label:7',
    ],
    body: [
      'm=video 6000 RTP/AVPF 99',
      'a=rtpmap:99 VP8/90000',
      'a=rtcp-fb:99 nack',
      'a=rtcp-fb:99 nack pli',
      'a=rtcp-fb:99 ccm tmmbr',
      'a=rtcp-fb:99 goog-remb',
      'a=sendrecv',
    ],
    agreed: [
      {
        stream: 0,
        remote: { address: '192.0.2.1', port: 4002 },
        codec: 'vp8',
        payloadType: 99,
        feedback: { nack: true, pli: true, fir: false, tmmbr: true, remb: true },
        maxBitrate: 512_000,
        alternatives: ['h264'],
        send: true,
        receive: true,
      },
    ],
  },
  {
    title: 'H.264 in the way that most can read, at the lower level where both directions have one',
    offer: [
      'm=video 4002 RTP/AVP 100 101 102 103',
      'b=TIAS:300000',
      'a=rtpmap:100 H264/90000',
      'a=fmtp:100 profile-level-id=640016;packetization-mode=1',
      'a=rtpmap:101 H264/90000',
      'a=fmtp:101 profile-level-id=42e016;packetization-mode=0',
      'a=rtpmap:102 H264/90000',
      'a=fmtp:102 profile-level-id=42e016;packetization-mode=1',
      'a=rtpmap:103 H264/90000',
      'a=fmtp:103 profile-level-id=42e016;packetization-mode=2',
    ],
    body: [
      'm=video 6000 RTP/AVP 102',
      'a=rtpmap:102 H264/90000',
      'a=fmtp:102 profile-level-id=42e016;packetization-mode=1',
      'a=sendrecv',
    ],
    agreed: [
      {
        stream: 0,
        remote: { address: '192.0.2.1', port: 4002 },
        codec: 'h264',
        payloadType: 102,
        feedback: none,
        maxBitrate: 300_000,
        h264: { profile: 'constrained baseline', level: 22, packetization: 1 },
        send: true,
        receive: true,
      },
    ],
  },
  {
    title: 'what is held line by line: its video alone, and one without an address',
    offer: [...vp8, 'a=sendonly', 'm=video 4004 RTP/AVP 96', 'c=IN IP4 0.0.0.0', 'a=rtpmap:96 VP8/90000'],
    media: local([stream(6000), stream(6002, { direction: 'sendonly' })]),
    body: [
      'm=video 6000 RTP/AVP 96',
      'a=rtpmap:96 VP8/90000',
      'a=recvonly',
      'm=video 6002 RTP/AVP 96',
      'a=rtpmap:96 VP8/90000',
      'a=sendonly',
    ],
    agreed: [
      {
        stream: 0,
        remote: { address: '192.0.2.1', port: 4002 },
        codec: 'vp8',
        payloadType: 96,
        feedback: none,
        send: false,
        receive: true,
      },
      {
        stream: 1,
        remote: { address: '0.0.0.0', port: 4004 },
        codec: 'vp8',
        payloadType: 96,
        feedback: none,
        send: false,
        receive: false,
      },
    ],
  },
  {
    title: 'bundled lines one by one, each with a port of its own; those only in the bundle are refused',
    offer: [
      ...vp8,
      'a=mid:1',
      'a=rtcp-mux',
      'm=video 0 RTP/AVP 96',
      'a=rtpmap:96 VP8/90000',
      'a=mid:2',
      'a=bundle-only',
    ],
    media: local([stream(6000), stream(6002)]),
    body: ['m=video 6000 RTP/AVP 96', 'a=rtpmap:96 VP8/90000', 'a=sendrecv', 'm=video 0 RTP/AVP 96'],
    agreed: [
      {
        stream: 0,
        remote: { address: '192.0.2.1', port: 4002 },
        codec: 'vp8',
        payloadType: 96,
        feedback: none,
        send: true,
        receive: true,
      },
    ],
  },
  {
    title: 'what we have not: no codec of ours, another profile, no port of ours, keys that we want none of',
    offer: [
      'm=video 4002 RTP/AVP 31',
      'm=video 4004 RTP/AVP 98',
      'a=rtpmap:98 VP9/90000',
      'a=fmtp:98 profile-id=2',
      'm=video 4006 RTP/SAVP 96',
      'a=rtpmap:96 VP8/90000',
      'm=video 4008 UDP/TLS/RTP/SAVPF 96',
      'a=rtpmap:96 VP8/90000',
      'm=video 4010 RTP/AVP 96',
      'a=rtpmap:96 VP8/90000',
    ],
    media: local([stream(6000), stream(6002), stream(6004), stream(6006)], ['vp8', 'vp9']),
    body: [
      'm=video 0 RTP/AVP 31',
      'm=video 0 RTP/AVP 98',
      'm=video 0 RTP/SAVP 96',
      'm=video 0 UDP/TLS/RTP/SAVPF 96',
      'm=video 0 RTP/AVP 96',
    ],
    agreed: [],
  },
];

for (const { title, offer, media = local(), body, agreed } of answers)
  test(`an offer of video is answered: ${title}`, () => {
    const answer = answered(remote(...offer), media);
    assert.equal([videoOf(answer.body), answer.videos], [body, agreed]);
  });

test('a profile of H.264 is known by all its spellings, and its level answered as asymmetry allows', () => {
  const rows: readonly [id: string, profile: string | undefined, answer?: string][] = [
    ['42e01f', 'constrained baseline', '42e01f'],
    ['42C016', 'constrained baseline', '42c016'],
    ['4d801f', 'constrained baseline', '4d801f'],
    ['42801F', 'baseline', '42801f'],
    ['42001e', 'baseline', '42001e'],
    ['4d0028', 'main', '4d001f'],
    ['640028', 'high', '64001f'],
    ['640c1f', 'constrained high', '640c1f'],
    // 1b is lower than ours, and told as it is.
    ['42f00b', 'constrained baseline', '42f00b'],
    ['6e001f', undefined],
    ['42e0', undefined],
  ];
  for (const [id, profile, told] of rows) {
    const format = readH264(`profile-level-id=${id}`);
    assert.is(format?.profile, profile, id);
    if (format) assert.is(answerH264(format), `profile-level-id=${told};packetization-mode=0`, id);
  }
  const own = readH264('profile-level-id=42f00b; Packetization-Mode=1;level-asymmetry-allowed=1');
  assert.is(own && answerH264(own), 'profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1');
  assert.is(readH264('')?.profile, 'baseline');
  assert.is(readH264('packetization-mode=2'), undefined);
});

test('parameter sets of H.264 are read of a description; what is none, or too long, is left out', () => {
  const sets = (told: string) =>
    h264Terms(`profile-level-id=42e01f;sprop-parameter-sets=${told};packetization-mode=1`)?.parameterSets;
  assert.equal(sets('Z0LAHtkDxWhAAAADAEAAAAwDxYuS,aMuMsg=='), ['Z0LAHtkDxWhAAAADAEAAAAwDxYuS', 'aMuMsg==']);
  const picture = Buffer.from([0x41, 1, 2]).toString('base64');
  const long = Buffer.alloc(513, 0x67).toString('base64');
  assert.equal(sets(`${picture},${long},,?,aMuMsg==`), ['aMuMsg==']);
  assert.equal(sets(Array(100).fill('aMuMsg==').join(','))?.length, 8);
  assert.is(h264Terms('profile-level-id=6e001f'), undefined);
});

test('payload types keep their meaning: our offers use those of the other side, and no others that it uses', () => {
  const media = local([stream(6000)], ['vp8', 'vp9', 'h264']);
  const offer = remote(
    'm=video 4002 RTP/AVP 96 97 98 127',
    'a=rtpmap:96 VP9/90000',
    'a=rtpmap:97 VP8/90000',
    'a=rtpmap:98 H265/90000',
    'a=rtpmap:127 H264/90000',
    'a=fmtp:127 profile-level-id=42e00a;packetization-mode=0',
  );
  const { session } = answered(offer, media);
  const again = writeOffer(session, media, 'sendrecv');
  assert.equal(
    videoOf(again.body).filter((line) => !line.startsWith('a=rtcp-fb')),
    [
      'm=video 6000 RTP/AVP 97 96 126 127',
      'a=rtpmap:97 VP8/90000',
      'a=rtpmap:96 VP9/90000',
      'a=rtpmap:126 H264/90000',
      'a=rtpmap:127 H264/90000',
      'a=fmtp:96 profile-id=0',
      'a=fmtp:126 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
      'a=fmtp:127 profile-level-id=42e01f;packetization-mode=0;level-asymmetry-allowed=1',
      'a=sendrecv',
    ],
  );
  const answer = remote('m=video 4002 RTP/AVP 97', 'a=rtpmap:97 VP8/90000');
  const accepted = acceptAnswer(answer, media, 'sendrecv', again.session);
  assert.equal(
    accepted.ok &&
      accepted.videos?.map(({ codec, payloadType, receivePayloadType }) => [codec, payloadType, receivePayloadType]),
    [['vp8', 97, undefined]],
  );
});

test('an answer is read line by line: refused ones are left out, a codec that was not offered too', () => {
  const media = local([stream(6000), stream(6002, { direction: 'sendonly' }), stream(6004), stream(6006)]);
  const { session } = writeOffer(newSession('7'), media, 'sendrecv');
  const answer = remote(
    'm=video 4002 RTP/AVP 120',
    'a=rtpmap:120 VP8/90000',
    'a=rtcp-fb:120 ccm fir',
    'm=video 4004 RTP/AVP 99',
    'a=rtpmap:99 H264/90000',
    'a=fmtp:99 profile-level-id=42e00a;packetization-mode=0',
    'm=video 0 RTP/AVP 96',
    'm=video 4006 RTP/AVP 98',
    'a=rtpmap:98 H264/90000',
    'a=fmtp:98 profile-level-id=64001f;packetization-mode=1',
  );
  const accepted = acceptAnswer(answer, media, 'sendrecv', session);
  assert.equal(accepted.ok && accepted.videos, [
    {
      stream: 0,
      remote: { address: '192.0.2.1', port: 4002 },
      codec: 'vp8',
      payloadType: 120,
      feedback: { ...none, fir: true },
      send: true,
      receive: true,
      receivePayloadType: 96,
    },
    {
      stream: 1,
      remote: { address: '192.0.2.1', port: 4004 },
      codec: 'h264',
      payloadType: 99,
      feedback: none,
      h264: { profile: 'constrained baseline', level: 10, packetization: 0 },
      send: true,
      receive: false,
    },
  ]);
});

test('each video stream has keys of its own, repeated in each SDP; required encryption allows no plain stream', () => {
  let made = 0;
  const random = (octets: number) => Buffer.alloc(octets, ++made).toString('base64');
  const secret = (mode: 'required' | 'optional', more?: LocalMedia): LocalMedia => ({
    ...(more ?? local([stream(6000), stream(6002)], ['vp8'])),
    srtp: { mode, random },
  });
  const key = Buffer.alloc(30, 255).toString('base64');
  const crypto = `a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:${key}`;
  const offer = read(
    [
      'v=0',
      'o=- 1 1 IN IP4 192.0.2.1',
      's=-',
      'c=IN IP4 192.0.2.1',
      't=0 0',
      'm=audio 4000 RTP/SAVP 0',
      crypto,
      'm=video 4002 RTP/SAVPF 96',
      'a=rtpmap:96 VP8/90000',
      crypto,
      'm=video 4004 RTP/AVP 96',
      'a=rtpmap:96 VP8/90000',
      '',
    ].join('\r\n'),
  );
  const suite = 'AES_CM_128_HMAC_SHA1_80';
  const ours = Buffer.alloc(30, 2).toString('base64');
  const first = answered(offer, secret('required'));
  assert.equal(videoOf(first.body), [
    'm=video 6000 RTP/SAVPF 96',
    'a=rtpmap:96 VP8/90000',
    `a=crypto:3 ${suite} inline:${ours}`,
    'a=sendrecv',
    'm=video 0 RTP/AVP 96',
  ]);
  assert.equal(
    first.videos?.map(({ srtp }) => srtp),
    [{ local: { suite, key: ours }, remote: { suite, key } }],
  );
  assert.is(answered(offer, secret('required'), first.session).body, first.body);
  const offered = writeOffer(newSession('7'), secret('required', local([stream(6000)], ['vp8'])), 'sendrecv');
  const lines = videoOf(offered.body).filter((line) => line.startsWith('a=crypto'));
  assert.is(lines.length, 4);
  const told = lines[2]!;
  const answer = (...rest: string[]) =>
    read(
      [
        'v=0',
        'o=- 1 1 IN IP4 192.0.2.1',
        's=-',
        'c=IN IP4 192.0.2.1',
        't=0 0',
        'm=audio 4000 RTP/SAVP 0',
        crypto,
        'm=video 4002 RTP/SAVP 96',
        'a=rtpmap:96 VP8/90000',
        ...rest,
        '',
      ].join('\r\n'),
    );
  const take = (description: Description) => {
    const accepted = acceptAnswer(
      description,
      secret('required', local([stream(6000)], ['vp8'])),
      'sendrecv',
      offered.session,
    );
    return accepted.ok && accepted.videos?.map(({ srtp }) => srtp);
  };
  assert.equal(take(answer(crypto)), [{ local: { suite, key: told.split('inline:')[1] }, remote: { suite, key } }]);
  assert.equal(take(answer()), []);
});

test('streams come, go and come back in their places, whoever offers, and what was agreed is plain JSON', () => {
  const two = local([stream(6000), stream(6002)], ['vp8']);
  let { session } = answered(remote(), two);
  const agreeOn = (...lines: string[]) => {
    const answer = answered(remote(...lines), two, JSON.parse(JSON.stringify(session)));
    session = answer.session;
    return [
      answer.videos?.map(({ stream, remote }) => [stream, remote.port]),
      videoOf(answer.body).filter((line) => line.startsWith('m=')),
    ];
  };
  const gone = 'm=video 0 RTP/AVP 96';
  const second = ['m=video 4004 RTP/AVP 96', 'a=rtpmap:96 VP8/90000'];
  assert.equal(agreeOn(...vp8), [[[0, 4002]], ['m=video 6000 RTP/AVP 96']]);
  assert.equal(agreeOn(...vp8, ...second), [
    [
      [0, 4002],
      [1, 4004],
    ],
    ['m=video 6000 RTP/AVP 96', 'm=video 6002 RTP/AVP 96'],
  ]);
  assert.equal(agreeOn(gone, ...second), [[[1, 4004]], [gone, 'm=video 6002 RTP/AVP 96']]);
  assert.equal(agreeOn(...vp8, gone), [[[0, 4002]], ['m=video 6000 RTP/AVP 96', gone]]);
  // Our own offer then: what is not offered keeps its place.
  const ours = writeOffer(session, local([stream(6000), stream(6002, { offered: false })], ['vp8']), 'sendrecv');
  assert.equal(
    videoOf(ours.body).filter((line) => line.startsWith('m=')),
    ['m=video 6000 RTP/AVP 96', gone],
  );
});

test('whatever is offered, the answer has the same lines, and ports alone where a stream is agreed on', () => {
  const directions: readonly Direction[] = ['sendrecv', 'sendonly', 'recvonly', 'inactive'];
  const video = fc
    .record({
      port: fc.constantFrom(0, 4002, 4004),
      profile: fc.constantFrom('RTP/AVP', 'RTP/AVPF', 'RTP/SAVP', 'UDP/BFCP'),
      codec: fc.constantFrom('VP8/90000', 'VP9/90000', 'H264/90000', 'AV1/90000', 'H263/90000', 'VP8/8000'),
      fmtp: fc.constantFrom('', 'profile-level-id=42e01f', 'profile-level-id=zz', 'packetization-mode=2', ';;=', 'x'),
      direction: fc.constantFrom(...directions),
    })
    .map(({ port, profile, codec, fmtp, direction }) => [
      `m=video ${port} ${profile} 96`,
      `a=rtpmap:96 ${codec}`,
      ...(fmtp === '' ? [] : [`a=fmtp:96 ${fmtp}`]),
      `a=${direction}`,
    ]);
  fc.assert(
    fc.property(fc.array(video, { maxLength: 5 }), fc.integer({ min: 0, max: 4 }), (offered, ports) => {
      const streams = Array.from({ length: ports }, (_, index) => stream(6000 + 2 * index));
      const answer = answered(remote(...offered.flat()), local(streams, ['vp8', 'vp9', 'h264', 'av1']));
      const places = videoOf(answer.body).filter((line) => line.startsWith('m='));
      const agreed = new Set(answer.videos?.map((each) => each.stream));
      assert.equal(
        places.map((line) => line.split(' ')[1] !== '0'),
        offered.map((_, index) => agreed.has(index)),
      );
      assert.ok(parseDescription(answer.body).ok);
    }),
    { numRuns: 200 },
  );
});

test.run();
