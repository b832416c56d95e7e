import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ShownStream } from '../../../src/telephony/driver.ts';
import { audioAt, Carrier } from './carrier.ts';
import {
  anybody,
  createPhone,
  type endpoint,
  type Phone,
  type PhoneOptions,
  type TestChannel,
  trunkTo,
} from './support.ts';

const phones: Phone[] = [];
const phone = async (options: PhoneOptions = {}): Promise<Phone> => {
  const made = await createPhone(options);
  phones.push(made);
  return made;
};

type Terms = Parameters<typeof endpoint>[1];
const vp8: Terms = { videoCodecs: ['vp8'] };
/** Streams are told of at once. */
const pace = { delayMs: 1, intervalMs: 1, keyFrameIntervalMs: 1 };

/** A call that stands between two that have video as they say, and what the caller sent. */
async function connected(callerHas: Terms, calleeHas: Terms, options: { formats?: string[]; pace?: typeof pace } = {}) {
  const sent: string[] = [];
  const config = { video: options.pace ?? pace };
  const callee = await phone({ config: { ...config, endpoints: [{ ...anybody, ...calleeHas }] } });
  const caller = await phone({
    config: { ...config, endpoints: [trunkTo(callee.uri, callerHas)] },
    lets: (text) => {
      if (/^(INVITE|INFO) /.test(text)) sent.push(text);
      return true;
    },
  });
  const out = caller.open('600@trunk', options.formats ? { formats: options.formats } : {});
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  return { caller, callee, out, inbound, sent };
}

/** Stream, port of the far side, and direction of what flows. */
const flows = (at: Phone, { id }: TestChannel) =>
  [...at.media.sessions.get(id)!.videos].map(([stream, { remote, codec, send, receive }]) => [
    stream,
    remote.port,
    codec,
    `${send ? 'send' : ''}${receive ? 'recv' : ''}`,
  ]);
const ports = (at: Phone, { id }: TestChannel) => at.media.sessions.get(id)!.videoPorts;
const invites = (sent: readonly string[]) =>
  new Set(sent.map((text) => /CSeq: (\d+) INVITE/.exec(text)?.[1]).filter(Boolean)).size;
const lines = (text: string | undefined) =>
  (text ?? '').split('\r\n').filter((line) => /^(m=video|a=label)/.test(line));
const shown = (...labels: string[]): ShownStream[] => labels.map((label) => ({ codec: 'vp8', label }));

const video = suite('video of SIP calls');

video.after.each(async () => {
  const all = phones.splice(0);
  await Promise.all(all.map((each) => each.finish()));
  for (const each of all) {
    const { dialogs, pending, legs } = each.driver.counts();
    assert.equal([dialogs, pending, legs, each.media.sessions.size], [0, 0, 0, 0]);
    await each.close();
  }
});

video('two that have a codec in common see each other', async () => {
  const { caller, callee, out, inbound } = await connected({ videoCodecs: ['h264', 'vp8'] }, vp8);
  assert.equal(flows(caller, out), [[0, ports(callee, inbound).get(0), 'vp8', 'sendrecv']]);
  assert.equal(flows(callee, inbound), [[0, ports(caller, out).get(0), 'vp8', 'sendrecv']]);
  const streams = [{ stream: 0, codec: 'vp8', send: true, receive: true }];
  assert.equal([out.leg.video?.streams, out.leg.video?.formats], [streams, ['vp8']]);
  assert.equal(out.told.slice(-2), ['leg.videoChanged', 'leg.answered']);
  assert.equal(inbound.told, ['leg.videoChanged', 'leg.answered']);
});

video('without codecs of video on one side, or in the formats that were asked for, a call has none', async () => {
  const refused = await connected(vp8, {});
  assert.equal([refused.out.leg.video?.streams, refused.inbound.leg.video], [[], undefined]);
  assert.equal(lines(refused.sent[0]), [`m=video ${ports(refused.caller, refused.out).get(0)} RTP/AVP 96`]);
  const unasked = await connected(vp8, vp8, { formats: ['ulaw'] });
  assert.equal([unasked.out.leg.video, unasked.inbound.leg.video?.streams], [undefined, []]);
  assert.equal(unasked.inbound.told, ['leg.answered']);
  const asked = await connected(
    { videoCodecs: ['vp8', 'h264'] },
    { videoCodecs: ['vp8', 'h264'] },
    {
      formats: ['ulaw', 'h264'],
    },
  );
  assert.equal(asked.out.leg.video?.formats, ['h264']);
});

video('a call goes on without video where no port can be had for it', async () => {
  const callee = await phone({ config: { endpoints: [{ ...anybody, ...vp8 }] } });
  callee.media.failVideo = true;
  const caller = await phone({ config: { endpoints: [trunkTo(callee.uri, vp8)] } });
  const out = caller.open('600@trunk');
  out.leg.dial();
  (await callee.rung()).leg.answer();
  await out.heard('leg.answered');
  assert.equal(out.leg.video?.streams, []);
});

video('hold keeps the streams: who holds sends on, and is sent nothing', async () => {
  const { caller, callee, out, inbound } = await connected(vp8, vp8);
  out.leg.hold();
  await inbound.heard('leg.held');
  assert.equal(flows(callee, inbound), [[0, ports(caller, out).get(0), 'vp8', 'recv']]);
  out.leg.unhold();
  await inbound.heard('leg.unheld');
  assert.equal(flows(callee, inbound), [[0, ports(caller, out).get(0), 'vp8', 'sendrecv']]);
  await caller.facts.until(() => flows(caller, out)[0]![3] === 'sendrecv', 'the answer');
});

video('a far side is told of the streams it is to have, with their labels, and of fewer again', async () => {
  const many: Terms = { ...vp8, maxVideoStreams: 4 };
  const { caller, callee, out, inbound, sent } = await connected(many, many);
  const { video: streams } = out.leg;
  const until = async (count: number) => {
    await callee.facts.until(() => inbound.leg.video!.streams.length === count, 'streams');
    await caller.facts.until(() => streams!.streams.length === count, 'streams');
  };
  streams!.show(shown('b', 'c', 'd'));
  await until(3);
  const [first, second, third] = [0, 1, 2].map((stream) => ports(caller, out).get(stream));
  assert.equal(lines(sent.at(-1)), [
    `m=video ${first} RTP/AVP 96`,
    'a=label:b',
    `m=video ${second} RTP/AVP 96`,
    'a=label:c',
    `m=video ${third} RTP/AVP 96`,
    'a=label:d',
  ]);
  assert.equal(
    flows(callee, inbound).map(([stream, port, , way]) => [stream, port, way]),
    [
      [0, first, 'sendrecv'],
      [1, second, 'recv'],
      [2, third, 'recv'],
    ],
  );
  streams!.show(shown('b'));
  await until(1);
  assert.equal(lines(sent.at(-1)), [
    `m=video ${first} RTP/AVP 96`,
    'a=label:b',
    'm=video 0 RTP/AVP 96',
    'm=video 0 RTP/AVP 96',
  ]);
  // What is over flows no more; the ports stay for what may come.
  assert.equal(
    flows(caller, out).map(([stream, , , way]) => [stream, way]),
    [
      [0, 'sendrecv'],
      [1, ''],
      [2, ''],
    ],
  );
  assert.equal([...ports(caller, out).keys()], [0, 1, 2, 3]);
  const before = invites(sent);
  streams!.show(shown('b'));
  out.leg.hold();
  await inbound.heard('leg.held');
  assert.is(invites(sent), before + 1);
});

video('what a far side refuses is not asked of it again', async () => {
  const { caller, out, sent } = await connected({ ...vp8, maxVideoStreams: 8 }, { ...vp8, maxVideoStreams: 2 });
  const { video: streams } = out.leg;
  streams!.show(shown('b', 'c', 'd', 'e'));
  await caller.facts.until(() => streams!.capacity === 2, 'a refusal');
  assert.is(streams!.streams.length, 2);
  const before = invites(sent);
  streams!.show(shown('b', 'c', 'e', 'd', 'f'));
  out.leg.hold();
  await caller.facts.until(() => invites(sent) > before, 'a re-INVITE');
  assert.is(lines(sent.at(-1)).filter((line) => line.startsWith('m=') && !line.includes(' 0 ')).length, 2);
});

video('many changes at once are one re-INVITE, and the next ones wait for their turn', async () => {
  const many: Terms = { ...vp8, maxVideoStreams: 16 };
  const { out, inbound, callee, sent } = await connected(many, many, {
    pace: { ...pace, delayMs: 20, intervalMs: 60 },
  });
  const labels = [...'bcdefghijk'];
  const before = invites(sent);
  for (let count = 1; count <= labels.length; count++) out.leg.video!.show(shown(...labels.slice(0, count)));
  await callee.facts.until(() => inbound.leg.video!.streams.length === labels.length, 'all streams');
  assert.is(invites(sent) - before, 1);
  for (let count = labels.length; count > 0; count--) out.leg.video!.show(shown(...labels.slice(0, count)));
  await callee.facts.until(() => inbound.leg.video!.streams.length === 1, 'no streams');
  assert.is(invites(sent) - before, 2);
});

video('streams that an endpoint has not, and tellings that wait for their turn, are counted', async () => {
  const { out, inbound, callee, caller } = await connected(
    { ...vp8, maxVideoStreams: 2 },
    { ...vp8, maxVideoStreams: 2 },
    {
      // So long that the second telling has to wait, however slow the machine is.
      pace: { ...pace, intervalMs: 60_000 },
    },
  );
  const streams = out.leg.video!;
  for (let times = 0; times < 3; times++) streams.show(shown('b', 'c'), 3);
  await callee.facts.until(() => inbound.leg.video!.streams.length === 2, 'both streams');
  assert.equal(caller.limits.figures(), { 'sip.endpoints.*.max_video_streams': 3 });
  await caller.facts.until(() => streams.streams.length === 2, 'both streams');
  for (let times = 0; times < 3; times++) streams.show(shown('b'));
  assert.equal(caller.limits.figures(), {
    ...{ 'sip.endpoints.*.max_video_streams': 3, 'sip.video.renegotiate_interval': 1 },
  });
});

video('both sides add streams at the same time: the glare is over after a while, and both have theirs', async () => {
  const many: Terms = { ...vp8, maxVideoStreams: 3 };
  const { out, inbound, caller, callee } = await connected(many, many);
  out.leg.video!.show(shown('b', 'c'));
  inbound.leg.video!.show(shown('x', 'y', 'z'));
  // Whoever tries first again adds its own; the other side's wish comes on top of that.
  await caller.facts.until(() => out.leg.video!.streams.length === 3, 'streams');
  await callee.facts.until(() => inbound.leg.video!.streams.length === 3, 'streams');
});

/** Requests for key frames that were sent, by their numbers. */
const asks = (sent: readonly string[]) =>
  new Set(sent.filter((text) => /^INFO /.test(text)).map((text) => /CSeq: (\d+)/.exec(text)?.[1])).size;

video('a key frame is asked for by INFO, one at a time, and shown to whoever asks so', async () => {
  const { caller, callee, out, inbound, sent } = await connected(vp8, vp8, {
    pace: { ...pace, keyFrameIntervalMs: 60_000 },
  });
  const [from, to] = [caller.media.sessions.get(out.id)!, callee.media.sessions.get(inbound.id)!];
  for (let count = 0; count < 50; count++) from.told({ type: 'media.keyFrameNeeded' });
  out.leg.hold();
  await inbound.heard('leg.held');
  assert.equal([asks(sent), to.asked.filter((each) => each === 'askKeyFrame').length], [1, 1]);
  assert.match(sent.find((text) => /^INFO /.test(text)) ?? '', /media_control\+xml[\s\S]*<picture_fast_update\/>/);
});

video('a call without video takes requests for key frames, and shows nothing', async () => {
  const { caller, callee, out, inbound } = await connected(vp8, {});
  caller.media.sessions.get(out.id)!.told({ type: 'media.keyFrameNeeded' });
  out.leg.hold();
  await inbound.heard('leg.held');
  assert.not.ok(callee.media.sessions.get(inbound.id)!.asked.includes('askKeyFrame'));
});

video('the codecs of video that are offered can be set before dialing, and of a call that stands', async () => {
  const both: Terms = { videoCodecs: ['vp8', 'h264'] };
  const callee = await phone({ config: { video: pace, endpoints: [{ ...anybody, ...both }] } });
  const caller = await phone({ config: { video: pace, endpoints: [trunkTo(callee.uri, both)] } });
  const out = caller.open('600@trunk');
  const { sip } = out.leg;
  assert.equal(
    [['vp8', 'alaw'], [], ['theora']].map((formats) => sip?.setVideoFormats(formats)),
    [false, false, false],
  );
  assert.ok(sip?.setVideoFormats(['h264']));
  assert.equal([out.leg.video?.formats, out.leg.formats], [['h264'], ['ulaw', 'alaw']]);
  out.leg.dial();
  const inbound = await callee.rung();
  inbound.leg.answer();
  await out.heard('leg.answered');
  assert.equal([out.leg.video?.formats, inbound.leg.video?.formats], [['h264'], ['h264']]);
  assert.ok(sip?.setVideoFormats(['vp8']));
  await caller.facts.until(() => out.leg.video?.formats[0] === 'vp8', 'the other codec');
  assert.equal(inbound.leg.video?.formats, ['vp8']);
  const plain = await connected({}, {});
  assert.is(plain.out.leg.sip?.setVideoFormats(['vp8']), false);
});

video('what a phone may send of video is told to it, as its endpoint says', async () => {
  const { sent } = await connected({ ...vp8, maxVideoBitrate: 256_000 }, vp8);
  assert.equal(
    sent[0]!.split('\r\n').filter((line) => line.startsWith('b=')),
    ['b=TIAS:256000', 'b=AS:256'],
  );
});

video('a call changes to the codec that others have, where its far side has said that it takes it', async () => {
  const both: Terms = { videoCodecs: ['vp8', 'h264'] };
  const { caller, callee, out, inbound } = await connected(both, both);
  const codecs = () => [out, inbound].map(({ leg }) => leg.video?.streams[0]?.codec);
  assert.equal(
    [codecs(), out.leg.video?.choices, inbound.leg.video?.choices],
    [['vp8', 'vp8'], ['vp8'], ['vp8', 'h264']],
  );
  inbound.leg.video?.prefer('h264');
  await caller.facts.until(() => codecs()[0] === 'h264', 'the other codec');
  await callee.facts.until(() => codecs()[1] === 'h264', 'the other codec');
  assert.equal(out.leg.video?.streams[0]?.h264, { profile: 'constrained baseline', level: 31, packetization: 1 });
  // It stays with it, whatever else is negotiated.
  inbound.leg.hold();
  await out.heard('leg.held');
  assert.equal(
    [codecs(), inbound.leg.video?.choices],
    [
      ['h264', 'h264'],
      ['h264', 'vp8'],
    ],
  );
});

video('a far side whose answer did not list a codec that was offered is asked for it, once', async () => {
  const both: Terms = { videoCodecs: ['vp8', 'h264'] };
  const knows = (at: TestChannel) => [at.leg.video?.streams[0]?.codec, at.leg.video?.choices, at.leg.video?.untried];
  const can = await connected(both, both);
  assert.equal([knows(can.out), can.inbound.leg.video?.untried], [['vp8', ['vp8'], ['h264']], []]);
  can.out.leg.video?.prefer('h264');
  await can.caller.facts.until(() => can.out.leg.video?.streams[0]?.codec === 'h264', 'the other codec');
  assert.equal(knows(can.out), ['h264', ['h264', 'vp8'], []]);
  const cannot = await connected(both, vp8);
  cannot.out.leg.video?.prefer('h264');
  const isBack = () => cannot.out.leg.video?.untried.length === 0 && cannot.out.leg.video.streams.length === 1;
  await cannot.caller.facts.until(isBack, 'the first codec');
  assert.equal(knows(cannot.out), ['vp8', ['vp8'], []]);
  const asked = invites(cannot.sent);
  cannot.out.leg.video?.prefer(undefined);
  cannot.out.leg.video?.prefer('h264');
  cannot.out.leg.hold();
  await cannot.inbound.heard('leg.held');
  assert.is(invites(cannot.sent), asked + 1);
});

/** A description of the carrier's, with or without video in the formats given. */
const withVideo = (...formats: string[]) =>
  audioAt(9000) +
  (formats.length === 0
    ? 'm=video 0 RTP/AVP 96\r\n'
    : ['m=video 9002 RTP/AVP 96 98', ...formats].map((line) => `${line}\r\n`).join(''));
const plainVp8 = 'a=rtpmap:96 VP8/90000';
const plainH264 = ['a=rtpmap:98 H264/90000', 'a=fmtp:98 profile-level-id=42e01f;packetization-mode=1'];

video(
  'a codec that a far side does not take although it has listed it is not asked for again, and the video stays',
  async () => {
    const carrier = await Carrier.open();
    const both: Terms = { videoCodecs: ['vp8', 'h264'] };
    const placing = await phone({ config: { video: pace, endpoints: [trunkTo(carrier.uri, both)] } });
    const out = placing.open('600@trunk');
    out.leg.dial();
    const answer = async (...formats: string[]) => {
      const invite = await carrier.request('INVITE');
      carrier.reply(invite, 200, { sdp: withVideo(...formats) });
      await carrier.request('ACK');
      return /^m=video \d+ (.*)\r$/m.exec(invite.bodyText)?.[1];
    };
    assert.is(await answer(plainVp8, ...plainH264), 'RTP/AVP 96 98 99');
    await out.heard('leg.answered');
    const streams = out.leg.video!;
    assert.equal([streams.formats, streams.choices], [['vp8'], ['vp8', 'h264']]);
    streams.prefer('h264');
    assert.is(await answer(), 'RTP/AVP 98 99', 'that codec alone');
    assert.is(await answer(plainVp8, ...plainH264), 'RTP/AVP 96 98 99', 'as before');
    await placing.facts.until(() => streams.formats[0] === 'vp8', 'the codec of before');
    assert.equal(streams.choices, ['vp8']);
    out.leg.hold();
    assert.is(await answer(plainVp8, ...plainH264), 'RTP/AVP 96 98 99');
    out.leg.hangup(16);
    carrier.reply(await carrier.request('BYE'), 200);
    await placing.finish();
    await carrier.close();
  },
);

video.run();
