import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Description, parseDescription } from '../../../src/sip/sdp/description.ts';
import {
  acceptAnswer,
  answerOffer,
  type LocalAudio,
  newSession,
  rejectOffer,
  writeOffer,
} from '../../../src/sip/sdp/offer-answer.ts';

const local: LocalAudio = { address: '192.0.2.10', port: 5000, codecs: ['ulaw', 'alaw'], telephoneEvents: true };
const remoteText = (...rest: string[]) =>
  ['v=0', 'o=- 1 1 IN IP4 192.0.2.1', 's=-', 'c=IN IP4 192.0.2.1', 't=0 0', ...rest, ''].join('\r\n');
const read = (text: string): Description => {
  const result = parseDescription(text);
  if (!result.ok) throw new Error(result.problem);
  return result.description;
};

const wide: LocalAudio = { ...local, codecs: ['opus', 'g722', 'slin16', 'alaw'] };

test('wide codecs are offered with their clocks, Opus with its channels, and events at both clocks', () => {
  assert.equal(writeOffer(newSession('77'), wide, 'sendrecv').body.split('\r\n').slice(5, -3), [
    'm=audio 5000 RTP/AVP 107 9 114 8 101 110',
    'a=rtpmap:107 opus/48000/2',
    'a=rtpmap:9 G722/8000',
    'a=rtpmap:114 L16/16000',
    'a=rtpmap:8 PCMA/8000',
    'a=rtpmap:101 telephone-event/8000',
    'a=rtpmap:110 telephone-event/48000',
    'a=fmtp:107 useinbandfec=1',
    'a=fmtp:101 0-16',
    'a=fmtp:110 0-16',
  ]);
});

test('Opus goes with events of its own clock, or else of the other; G.722 needs no name', () => {
  const offer = (...rest: string[]) =>
    read(remoteText('m=audio 4000 RTP/AVP 9 96 100 102', 'a=rtpmap:96 OPUS/48000/2', ...rest));
  const agreed = (description: Description, codecs: LocalAudio['codecs']) => {
    const answer = answerOffer(newSession('7'), description, { ...local, codecs });
    return (
      answer.ok && {
        ...answer.agreed,
        body: answer.body.split('\r\n').filter((line) => /^(m|a=(rtpmap|fmtp))/.test(line)),
      }
    );
  };
  const common = {
    remote: { address: '192.0.2.1', port: 4000 },
    ptimeMs: 20,
    send: true,
    receive: true,
    held: false,
  };
  const both = ['a=rtpmap:100 telephone-event/8000', 'a=rtpmap:102 telephone-event/48000'];
  assert.equal(agreed(offer(...both), ['opus', 'g722']), {
    ...common,
    codec: 'opus',
    payloadType: 96,
    opus: { fec: false, dtx: false, cbr: false },
    telephoneEvent: 102,
    telephoneEventRate: 48_000,
    body: [
      'm=audio 5000 RTP/AVP 96 102',
      'a=rtpmap:96 opus/48000/2',
      'a=rtpmap:102 telephone-event/48000',
      'a=fmtp:96 useinbandfec=1',
      'a=fmtp:102 0-16',
    ],
  });
  assert.equal(agreed(offer(both[0]!), ['opus']), {
    ...common,
    codec: 'opus',
    payloadType: 96,
    opus: { fec: false, dtx: false, cbr: false },
    telephoneEvent: 100,
    body: [
      'm=audio 5000 RTP/AVP 96 100',
      'a=rtpmap:96 opus/48000/2',
      'a=rtpmap:100 telephone-event/8000',
      'a=fmtp:96 useinbandfec=1',
      'a=fmtp:100 0-16',
    ],
  });
  assert.equal(agreed(offer(...both), ['g722', 'opus']), {
    ...common,
    codec: 'g722',
    payloadType: 9,
    telephoneEvent: 100,
    body: [
      'm=audio 5000 RTP/AVP 9 100',
      'a=rtpmap:9 G722/8000',
      'a=rtpmap:100 telephone-event/8000',
      'a=fmtp:100 0-16',
    ],
  });
});

test('what the other side asks of Opus is read, in offers and answers; what cannot be is left out', () => {
  const wishes = (parameters: string) => {
    const sdp = read(remoteText('m=audio 4000 RTP/AVP 96', 'a=rtpmap:96 opus/48000/2', `a=fmtp:96 ${parameters}`));
    const opus: LocalAudio = { ...local, codecs: ['opus'] };
    const answered = answerOffer(newSession('7'), sdp, opus);
    const accepted = acceptAnswer(sdp, opus);
    assert.equal(answered.ok && answered.agreed.opus, accepted.ok && accepted.agreed.opus);
    return accepted.ok && accepted.agreed.opus;
  };
  assert.equal(
    wishes(
      'maxplaybackrate=16000; sprop-maxcapturerate=16000; maxaveragebitrate=20000;stereo=1; useinbandfec=1; usedtx=1; cbr=1',
    ),
    { maxPlaybackRate: 16_000, maxAverageBitrate: 20_000, fec: true, dtx: true, cbr: true },
  );
  assert.equal(wishes('maxaveragebitrate=9999999;maxplaybackrate=1;usedtx=0'), {
    maxPlaybackRate: 8000,
    maxAverageBitrate: 510_000,
    fec: false,
    dtx: false,
    cbr: false,
  });
  for (const nonsense of ['maxplaybackrate=-3;=;;a=b=c', 'usedtx', 'maxplaybackrate=1e9'])
    assert.equal(wishes(nonsense), { fec: false, dtx: false, cbr: false });
});

test('what we ask of Opus is said in offers and answers; what goes without saying is not', () => {
  const said = (opus?: LocalAudio['opus']) => {
    const ours: LocalAudio = { ...local, codecs: ['opus'], telephoneEvents: false, opus };
    const theirs = read(remoteText('m=audio 4000 RTP/AVP 96', 'a=rtpmap:96 opus/48000/2'));
    const answered = answerOffer(newSession('7'), theirs, ours);
    const lines = [writeOffer(newSession('7'), ours, 'sendrecv').body, answered.ok ? answered.body : ''].map((body) =>
      body.split('\r\n').filter((line) => line.startsWith('a=fmtp')),
    );
    assert.equal(
      lines[0]!.map((line) => line.replace(':107', ':96')),
      lines[1],
    );
    return lines[1];
  };
  assert.equal(said(), ['a=fmtp:96 useinbandfec=1']);
  assert.equal(said({ fec: false, dtx: false, cbr: false, maxPlaybackRate: 48_000 }), []);
  assert.equal(said({ fec: true, dtx: true, cbr: true, maxPlaybackRate: 16_000, maxAverageBitrate: 20_000 }), [
    'a=fmtp:96 maxplaybackrate=16000; maxaveragebitrate=20000; useinbandfec=1; usedtx=1; cbr=1',
  ]);
});

test('comfort noise is taken where it is offered for the clock of the codec, and not offered', () => {
  const agreed = (codecs: LocalAudio['codecs'], ...lines: string[]) => {
    const offer = read(remoteText(...lines));
    const answer = answerOffer(newSession('7'), offer, { ...local, codecs, telephoneEvents: false });
    return answer.ok && [answer.agreed.comfortNoise, answer.body.split('\r\n').filter((line) => /^m=|CN/.test(line))];
  };
  const narrow = 'm=audio 4000 RTP/AVP 0 13';
  assert.equal(agreed(['ulaw'], narrow), [13, ['m=audio 5000 RTP/AVP 0 13', 'a=rtpmap:13 CN/8000']]);
  assert.equal(agreed(['ulaw'], 'm=audio 4000 RTP/AVP 0 98', 'a=rtpmap:98 cn/8000'), [
    98,
    ['m=audio 5000 RTP/AVP 0 98', 'a=rtpmap:98 CN/8000'],
  ]);
  assert.equal(agreed(['ulaw'], 'm=audio 4000 RTP/AVP 0'), [undefined, ['m=audio 5000 RTP/AVP 0']]);
  assert.equal(agreed(['opus'], 'm=audio 4000 RTP/AVP 96 13', 'a=rtpmap:96 opus/48000/2'), [
    undefined,
    ['m=audio 5000 RTP/AVP 96'],
  ]);
});

test('an answer that gives wide codecs other numbers is understood', () => {
  const answer = read(
    remoteText('m=audio 4000 RTP/AVP 96 97', 'a=rtpmap:96 opus/48000/2', 'a=rtpmap:97 telephone-event/48000'),
  );
  const accepted = acceptAnswer(answer, wide);
  assert.equal(accepted.ok && accepted.agreed, {
    remote: { address: '192.0.2.1', port: 4000 },
    codec: 'opus',
    payloadType: 96,
    opus: { fec: false, dtx: false, cbr: false },
    telephoneEvent: 97,
    telephoneEventRate: 48_000,
    receivePayloadType: 107,
    receiveTelephoneEvent: 110,
    ptimeMs: 20,
    send: true,
    receive: true,
    held: false,
  });
});

test('an offer lists our codecs in our order, digits and direction', () => {
  const { body } = writeOffer(newSession('77'), local, 'sendrecv');
  assert.is(
    body,
    [
      'v=0',
      'o=- 77 1 IN IP4 192.0.2.10',
      's=Hookswitch',
      'c=IN IP4 192.0.2.10',
      't=0 0',
      'm=audio 5000 RTP/AVP 0 8 101',
      'a=rtpmap:0 PCMU/8000',
      'a=rtpmap:8 PCMA/8000',
      'a=rtpmap:101 telephone-event/8000',
      'a=fmtp:101 0-16',
      'a=ptime:20',
      'a=sendrecv',
      '',
    ].join('\r\n'),
  );
});

test('an answer has the codec we prefer among those offered, on the payload types of the offer', () => {
  const offer = read(remoteText('m=audio 4000 RTP/AVP 8 0 96', 'a=rtpmap:96 telephone-event/8000', 'a=ptime:40'));
  const answer = answerOffer(newSession('7'), offer, local);
  assert.ok(answer.ok);
  assert.match(answer.body, 'm=audio 5000 RTP/AVP 0 96\r\n');
  assert.equal(answer.agreed, {
    remote: { address: '192.0.2.1', port: 4000 },
    codec: 'ulaw',
    payloadType: 0,
    telephoneEvent: 96,
    ptimeMs: 40,
    send: true,
    receive: true,
    held: false,
  });
});

test('other streams are refused in their places', () => {
  const offer = read(
    remoteText(
      'm=video 4002 RTP/AVP 31 34',
      'm=audio 4000 RTP/AVP 0',
      'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    ),
  );
  const answer = answerOffer(newSession('7'), offer, local);
  assert.ok(answer.ok);
  assert.equal(
    answer.body.split('\r\n').filter((line) => line.startsWith('m=')),
    ['m=video 0 RTP/AVP 31', 'm=audio 5000 RTP/AVP 0', 'm=application 0 UDP/DTLS/SCTP webrtc-datachannel'],
  );
  const again = writeOffer(answer.session, local, 'sendonly');
  assert.equal(
    again.body.split('\r\n').filter((line) => line.startsWith('m=')),
    ['m=video 0 RTP/AVP 31', 'm=audio 5000 RTP/AVP 0 8 101', 'm=application 0 UDP/DTLS/SCTP webrtc-datachannel'],
  );
});

test('of several audio lines the first with a codec of this call is answered, the others are refused', () => {
  const offer = read(
    remoteText(
      'm=audio 4000 RTP/AVP 0',
      'm=audio 4002 RTP/AVP 18 8',
      'm=audio 4004 RTP/AVP 8',
      'm=video 4006 RTP/AVP 31',
    ),
  );
  const linesOf = (codecs: LocalAudio['codecs'], session = newSession('7')) => {
    const answer = answerOffer(session, offer, { ...local, codecs });
    assert.ok(answer.ok);
    return [answer.agreed.remote.port, ...answer.body.split('\r\n').filter((line) => line.startsWith('m='))];
  };
  assert.equal(linesOf(['alaw']), [
    4002,
    'm=audio 0 RTP/AVP 0',
    'm=audio 5000 RTP/AVP 8',
    'm=audio 0 RTP/AVP 8',
    'm=video 0 RTP/AVP 31',
  ]);
  assert.is(linesOf(['alaw', 'ulaw'])[0], 4000);
});

test('the answer to our next offer counts in the line of our audio', () => {
  const first = answerOffer(newSession('7'), read(remoteText('m=audio 4000 RTP/AVP 0', 'm=audio 4002 RTP/AVP 8')), {
    ...local,
    codecs: ['alaw'],
  });
  assert.ok(first.ok);
  const { session } = writeOffer(first.session, { ...local, codecs: ['alaw'] }, 'sendrecv');
  const answer = read(remoteText('m=audio 4000 RTP/AVP 8', 'm=audio 4002 RTP/AVP 8'));
  const accepted = acceptAnswer(answer, { ...local, codecs: ['alaw'] }, 'sendrecv', session);
  assert.is(accepted.ok && accepted.agreed.remote.port, 4002);
  const moved = acceptAnswer(read(remoteText('m=audio 4008 RTP/AVP 8')), local, 'sendrecv', session);
  assert.is(moved.ok && moved.agreed.remote.port, 4008);
});

test('an offer that has to have an answer is refused line by line, and our next offer has audio again', () => {
  const mediaOf = ({ body }: { body: string }) => body.split('\r\n').filter((line) => line.startsWith('m='));
  const agreed = answerOffer(newSession('7'), read(remoteText('m=audio 4000 RTP/AVP 0')), local);
  assert.ok(agreed.ok);
  const refuse = (...lines: string[]) => rejectOffer(agreed.session, read(remoteText(...lines)), local);
  const dtls = refuse('m=audio 4000 UDP/TLS/RTP/SAVP 96', 'm=video 4002 RTP/AVP 31');
  assert.equal(mediaOf(dtls), ['m=audio 0 UDP/TLS/RTP/SAVP 96', 'm=video 0 RTP/AVP 31']);
  assert.equal(mediaOf(writeOffer(dtls.session, local, 'sendrecv')), [
    'm=audio 5000 RTP/AVP 0 8 101',
    'm=video 0 RTP/AVP 31',
  ]);
  const silent = refuse('m=video 4002 RTP/AVP 31');
  assert.equal(mediaOf(silent), ['m=video 0 RTP/AVP 31']);
  assert.equal(mediaOf(writeOffer(silent.session, local, 'sendrecv')), [
    'm=video 0 RTP/AVP 31',
    'm=audio 5000 RTP/AVP 0 8 101',
  ]);
  const moved = refuse('m=video 4002 RTP/AVP 31', 'm=audio 4000 RTP/AVP 18');
  assert.equal(mediaOf(writeOffer(moved.session, local, 'sendrecv')), [
    'm=video 0 RTP/AVP 31',
    'm=audio 5000 RTP/AVP 0 8 101',
  ]);
});

test('without a stream or a codec in common the offer is refused in words', () => {
  const video = answerOffer(newSession('7'), read(remoteText('m=video 4000 RTP/AVP 31')), local);
  assert.equal(video, { ok: false, problem: 'no audio is offered', code: 304 });
  const g729 = answerOffer(newSession('7'), read(remoteText('m=audio 4000 RTP/AVP 18')), local);
  assert.equal(g729, { ok: false, problem: 'no codec in common', code: 305 });
});

test('the direction of an answer never exceeds what the offer allows', () => {
  const directions = ['sendrecv', 'sendonly', 'recvonly', 'inactive'] as const;
  const answered = directions.map((offered) =>
    directions.map((wished) => {
      const answer = answerOffer(
        newSession('7'),
        read(remoteText('m=audio 4000 RTP/AVP 0', `a=${offered}`)),
        local,
        wished,
      );
      return answer.ok && /a=(sendrecv|sendonly|recvonly|inactive)/.exec(answer.body)![1];
    }),
  );
  assert.equal(answered, [
    ['sendrecv', 'sendonly', 'recvonly', 'inactive'],
    ['recvonly', 'inactive', 'recvonly', 'inactive'],
    ['sendonly', 'sendonly', 'inactive', 'inactive'],
    ['inactive', 'inactive', 'inactive', 'inactive'],
  ]);
});

test('sendonly, inactive and the address 0.0.0.0 put us on hold', () => {
  const agreed = (direction: string, address: string) => {
    const answer = answerOffer(
      newSession('7'),
      read(remoteText('m=audio 4000 RTP/AVP 0', `c=IN IP4 ${address}`, `a=${direction}`)),
      local,
    );
    if (!answer.ok) return answer;
    const said = /a=(sendrecv|sendonly|recvonly|inactive)/.exec(answer.body)?.[1];
    return [answer.agreed.held, answer.agreed.send, answer.agreed.receive, said];
  };
  assert.equal(agreed('sendonly', '192.0.2.1'), [true, false, true, 'recvonly']);
  assert.equal(agreed('inactive', '192.0.2.1'), [true, false, false, 'inactive']);
  assert.equal(agreed('sendrecv', '0.0.0.0'), [true, false, true, 'recvonly']);
  assert.equal(agreed('recvonly', '192.0.2.1'), [false, true, false, 'sendonly']);
});

test('the version goes up only when we say something else than before', () => {
  const version = (body: string) => /o=- 77 (\d+)/.exec(body)![1];
  const first = writeOffer(newSession('77'), local, 'sendrecv');
  const same = writeOffer(first.session, local, 'sendrecv');
  const hold = writeOffer(same.session, local, 'sendonly');
  const back = writeOffer(hold.session, local, 'sendrecv');
  assert.equal(
    [first, same, hold, back].map(({ body }) => version(body)),
    ['1', '1', '2', '3'],
  );
  assert.is(same.body, first.body);
});

test('an answer to our offer agrees on the first codec that we offered', () => {
  const answer = read(remoteText('m=audio 4000 RTP/AVP 18 8 0', 'a=recvonly', 'a=ptime:10', 'a=maxptime:150'));
  const accepted = acceptAnswer(answer, { ...local, telephoneEvents: false });
  assert.equal(accepted, {
    ok: true,
    agreed: {
      remote: { address: '192.0.2.1', port: 4000 },
      codec: 'alaw',
      payloadType: 8,
      ptimeMs: 20,
      send: true,
      receive: false,
      held: false,
    },
  });
});

test('payload types of an answer that differ from our offer are used to send; received ones stay as offered', () => {
  const mapped = remoteText('m=audio 4000 RTP/AVP 97 96', 'a=rtpmap:97 PCMU/8000', 'a=rtpmap:96 telephone-event/8000');
  const accepted = acceptAnswer(read(mapped), { ...local, codecs: ['ulaw'] });
  assert.equal(accepted, {
    ok: true,
    agreed: {
      remote: { address: '192.0.2.1', port: 4000 },
      codec: 'ulaw',
      payloadType: 97,
      telephoneEvent: 96,
      receivePayloadType: 0,
      receiveTelephoneEvent: 101,
      ptimeMs: 20,
      send: true,
      receive: true,
      held: false,
    },
  });
});

test('an answer that refuses the audio or leaves our codecs is not accepted', () => {
  assert.equal(acceptAnswer(read(remoteText('m=audio 0 RTP/AVP 0')), local), {
    ok: false,
    problem: 'the answer refuses the audio',
  });
  assert.equal(acceptAnswer(read(remoteText('m=audio 4000 RTP/AVP 18')), local), {
    ok: false,
    problem: 'the answer has no codec of the offer',
  });
});

test('our offers keep what numbers stand for in the offers of the other side', () => {
  const lines = [
    'm=audio 4000 RTP/AVP 107 101 112 96',
    'a=rtpmap:107 telephone-event/8000',
    'a=rtpmap:101 opus/48000/2',
  ];
  const theirs = read(remoteText(...lines, 'a=rtpmap:112 speex/8000', 'a=rtpmap:96 telephone-event/48000'));
  const mine: LocalAudio = { ...local, codecs: ['opus', 'slin', 'alaw'] };
  const answered = answerOffer(newSession('1'), theirs, mine);
  assert.ok(answered.ok);
  const { session, body } = writeOffer(answered.session, mine, 'sendrecv');
  assert.match(body, /^m=audio 5000 RTP\/AVP 101 127 8 107 96\r$/m);
  for (const map of ['101 opus/48000/2', '127 L16/8000', '107 telephone-event/8000', '96 telephone-event/48000'])
    assert.match(body, `a=rtpmap:${map}\r\n`);
  const [opusAnswer, others] = [read(theirsAs(101, 107)), read(theirsAs(111, 100))];
  const same = acceptAnswer(opusAnswer, mine, 'sendrecv', session);
  assert.ok(same.ok);
  assert.equal([same.agreed.receivePayloadType, same.agreed.receiveTelephoneEvent], [undefined, undefined]);
  const other = acceptAnswer(others, mine, 'sendrecv', session);
  assert.ok(other.ok);
  const { payloadType, receivePayloadType, telephoneEvent, receiveTelephoneEvent } = other.agreed;
  assert.equal([payloadType, receivePayloadType, telephoneEvent, receiveTelephoneEvent], [111, 101, 100, 107]);
});

/** A description of the other side with Opus and telephone events under these numbers. */
const theirsAs = (opus: number, events: number): string =>
  remoteText(
    `m=audio 4000 RTP/AVP ${opus} ${events}`,
    `a=rtpmap:${opus} opus/48000/2`,
    `a=rtpmap:${events} telephone-event/8000`,
  );

test('IPv6 addresses are written and read as such', () => {
  const { body } = writeOffer(newSession('7'), { ...local, address: '2001:db8::5' }, 'sendrecv');
  assert.match(body, 'o=- 7 1 IN IP6 2001:db8::5\r\n');
  assert.match(body, 'c=IN IP6 2001:db8::5\r\n');
  const answer = answerOffer(newSession('8'), read(body), local);
  assert.equal(answer.ok && answer.agreed.remote, { address: '2001:db8::5', port: 5000 });
});

test('two of us always agree, whatever the codecs and directions', () => {
  const codecs = fc.constantFrom<LocalAudio['codecs'][]>(['ulaw'], ['alaw'], ['ulaw', 'alaw'], ['alaw', 'ulaw']);
  const direction = fc.constantFrom('sendrecv', 'sendonly', 'recvonly', 'inactive');
  fc.assert(
    fc.property(codecs, codecs, direction, direction, (ours, theirs, offered, wished) => {
      const caller = { ...local, codecs: ours };
      const callee = { ...local, codecs: theirs, address: '192.0.2.20', port: 6000 };
      const answer = answerOffer(
        newSession('2'),
        read(writeOffer(newSession('1'), caller, offered).body),
        callee,
        wished,
      );
      assert.is(
        answer.ok,
        ours.some((codec) => theirs.includes(codec)),
      );
      if (!answer.ok) return;
      const accepted = acceptAnswer(read(answer.body), caller, offered);
      assert.ok(accepted.ok);
      assert.is(accepted.agreed.codec, answer.agreed.codec);
      assert.equal([accepted.agreed.send, accepted.agreed.receive], [answer.agreed.receive, answer.agreed.send]);
    }),
  );
});

test('of several audio lines the first with a codec that we know is taken, the others are refused', () => {
  const head = ['v=0', 'o=- 1 1 IN IP4 192.0.2.9', 's=-', 'c=IN IP4 192.0.2.9', 't=0 0'];
  const media = ['m=audio 5000 RTP/AVP 18', 'm=audio 5002 RTP/AVP 0', 'm=audio 5004 RTP/AVP 0', ''];
  const offer = parseDescription([...head, ...media].join('\r\n'));
  assert.ok(offer.ok);
  if (!offer.ok) return;
  const local = { address: '192.0.2.1', port: 4000, codecs: ['ulaw' as const], telephoneEvents: false };
  const answered = answerOffer(newSession('1'), offer.description, local);
  assert.ok(answered.ok);
  if (!answered.ok) return;
  assert.is(answered.agreed.remote.port, 5002);
  const lines = answered.body.split('\r\n').filter((line) => line.startsWith('m='));
  assert.equal(lines, ['m=audio 0 RTP/AVP 18', 'm=audio 4000 RTP/AVP 0', 'm=audio 0 RTP/AVP 0']);
});

test('an address of an unknown type is no place for audio', () => {
  const audioOf = (version: string) => {
    const text = [
      'v=0',
      'o=- 1 1 IN IP4 192.0.2.9',
      's=-',
      `c=IN ${version} 192.0.2.9`,
      't=0 0',
      'm=audio 5000 RTP/AVP 0',
      '',
    ];
    const read = parseDescription(text.join('\r\n'));
    return read.ok && read.description.audios[0]?.address;
  };
  assert.equal([audioOf('IP4'), audioOf('IP7')], ['192.0.2.9', undefined]);
});

test.run();
