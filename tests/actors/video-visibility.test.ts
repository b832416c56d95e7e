import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { videoVisibilityOf } from '../../src/actors/video-visibility.ts';
import type { VideoVisibility } from '../../src/models/video-visibility.ts';
import type { LegVideo, LegVideoStream } from '../../src/telephony/driver.ts';
import type { VideoCodec, VideoStatistics } from '../../src/telephony/video.ts';
import { FakeMedia } from '../support/fake-audio.ts';

const test = suite('who in a bridge sees whom, and why not');

const stream = (number: number, change: Partial<LegVideoStream> = {}): LegVideoStream => ({
  ...{ stream: number, codec: 'vp8', send: true, receive: number === 0 },
  ...change,
});
const member = (id: string, ...streams: LegVideoStream[]) => ({
  channel: {
    id,
    leg: {
      media: new FakeMedia(id, () => {}),
      ...(streams.length > 0 && { video: { streams } as unknown as LegVideo }),
    },
  },
});
type Figure = Pick<VideoStatistics, 'shows' | 'awaits' | 'unseen'> & Partial<VideoStatistics>;
const figures = (of: Record<string, Figure[]>) =>
  new Map(Object.entries(of) as unknown as [string, readonly VideoStatistics[]][]);
const nobody = { shownTo: () => undefined };
/** `viewer source why`, or `sees`. */
const told = (members: readonly VideoVisibility[]) =>
  members.flatMap(({ channel, others }) =>
    others.map(({ channel: other, seen, why }) =>
      [channel, other, ...(seen ? ['sees'] : []), ...(why ? [why] : [])].join(' '),
    ),
  );

test('of one who is shown to all: who sees it, who waits for it, and that others are not shown', () => {
  const present = [member('a', stream(0)), member('b', stream(0)), member('c', stream(0)), member('mute')];
  const shown = figures({
    a: [{ shows: 'b' }],
    b: [{ shows: 'c', awaits: 'a', unseen: 'key_frame' }],
    c: [{ shows: 'a', awaits: 'a', unseen: 'bandwidth' }],
  });
  assert.equal(told(videoVisibilityOf({ mode: 'talker', views: nobody, present, figures: shown })), [
    ...['a b sees', 'a c another'],
    ...['b a key_frame', 'b c another'],
    ...['c a bandwidth', 'c b another'],
    ...['mute a no_video', 'mute b no_video', 'mute c no_video'],
  ]);
});

test('who is on hold, has no camera or another codec, and what may not be decoded', () => {
  const h264 = (profile: string) =>
    stream(0, { codec: 'h264' as VideoCodec, h264: { profile, level: 31, packetization: 1 } });
  const present = [
    ...[member('held', stream(0, { send: false })), member('dark', stream(0, { receive: false }))],
    ...[member('high', h264('high')), member('base', h264('constrained baseline'))],
  ];
  const shown = figures({ base: [{ shows: 'high' }], dark: [{ awaits: 'held', unseen: 'silent' }] });
  assert.equal(told(videoVisibilityOf({ mode: 'single', views: nobody, present, figures: shown })), [
    ...['held dark inactive', 'held high inactive', 'held base inactive'],
    ...['dark held silent', 'dark high codec', 'dark base codec'],
    ...['high held codec', 'high dark source_inactive', 'high base another'],
    ...['base held codec', 'base dark source_inactive', 'base high sees profile'],
  ]);
});

test('where each is shown each other: streams that are not there (yet)', () => {
  const present = [
    member('a', stream(0), stream(1)),
    member('b', stream(0)),
    member('c', stream(0), stream(1, { send: false })),
    member('d', stream(0), stream(1, { codec: 'h264' })),
  ];
  const places: Record<string, string[]> = { a: ['b', 'c'], b: ['c', 'a'], c: ['a', 'b'], d: ['a', 'b'] };
  const shown = figures({ a: [{ shows: 'b' }, { awaits: 'c', unseen: 'packetization' }], d: [] });
  const views = { shownTo: (id: string) => places[id] };
  assert.equal(told(videoVisibilityOf({ mode: 'sfu', views, present, figures: shown })), [
    ...['a b sees', 'a c packetization', 'a d streams'],
    ...['b a negotiating', 'b c negotiating', 'b d streams'],
    ...['c a negotiating', 'c b inactive', 'c d streams'],
    ...['d a negotiating', 'd b codec', 'd c streams'],
  ]);
});

test('of a picture that is visible: its codec, bit rate and size', () => {
  const present = [member('a', stream(0)), member('b', stream(0)), member('c', stream(0))];
  const shown = figures({
    a: [{ shows: 'b', codec: 'vp8', bitrate_sent: 800_000, size: 2, sizes: 3 }],
    b: [{ shows: 'a', codec: 'vp8', bitrate_sent: 0 }],
  });
  const [a, b] = videoVisibilityOf({ mode: 'talker', views: nobody, present, figures: shown });
  assert.equal(a?.others[0], { channel: 'b', seen: true, codec: 'vp8', bitrate: 800_000, size: 2, sizes: 3 });
  assert.equal(b?.others[0], { channel: 'a', seen: true, codec: 'vp8', bitrate: 0 });
  assert.equal(b?.others[1], { channel: 'c', seen: false, why: 'another' });
});

test.run();
