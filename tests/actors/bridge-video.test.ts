import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BridgeViews, type Room } from '../../src/actors/bridge-views.ts';
import { createCallControl, type FakeLeg, settled } from '../support/call-control.ts';
import { anyDeed, likewise } from '../support/deeds.ts';
import { FakeMedia, FakeMix } from '../support/fake-audio.ts';
import { FakeVideo } from '../support/fake-video.ts';

const test = suite('who sees whom in a bridge');

type Member = { channel: { id: string; leg: { media: FakeMedia; video: FakeVideo } } };
const member = (id: string, video = new FakeVideo()): Member => ({
  channel: { id, leg: { media: new FakeMedia(id, () => {}), video } },
});
const room = (change: Partial<Room> = {}): Room => ({ mode: 'sfu', chosen: undefined, flags: [], ...change });
const sfu = room();

test('each member is shown the others, once it has the streams for them', () => {
  const video = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const all = [member('a'), member('b'), member('c')];
  assert.ok(video.tell(mix, sfu, all));
  video.arrange(mix, sfu, all);
  const first = all[0]!.channel.leg.video;
  assert.equal(first.asked, [[{ codec: 'vp8' }, { codec: 'vp8' }]]);
  assert.equal(mix.calls, ['video sfu', 'show a b,nobody', 'show b a,nobody', 'show c a,nobody']);
  for (const { channel } of all) channel.leg.video.agree();
  mix.calls.splice(0);
  video.arrange(mix, sfu, all);
  video.arrange(mix, sfu, all);
  assert.equal(mix.calls, ['show a b,c', 'show b a,c', 'show c a,b']);
});

test('streams are labelled with the channels that they show, where that is asked for', () => {
  const video = new BridgeViews();
  const all = [member('a'), member('b'), member('c')];
  video.arrange(new FakeMix('b1', 'mixing', () => {}), room({ flags: ['video_sfu', 'sdp_label'] }), all);
  assert.equal(all[1]!.channel.leg.video.asked.at(-1), [
    { codec: 'vp8', label: 'a' },
    { codec: 'vp8', label: 'c' },
  ]);
});

test('who leaves makes room: the last one takes the place, and one who waited comes in', () => {
  const video = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const [a, b, c, d, e] = [member('a', new FakeVideo(2)), member('b'), member('c'), member('d'), member('e')];
  video.arrange(mix, sfu, [a, b, c, d, e]);
  assert.equal(video.shownTo('a'), ['b', 'c'], 'those who came first');
  video.left(b);
  video.arrange(mix, sfu, [a, c, d, e]);
  assert.equal(video.shownTo('a'), ['c', 'd']);
  assert.equal(b.channel.leg.video.asked.at(-1), []);
  // Its far side takes one stream alone, as it turned out.
  a.channel.leg.video.capacity = 1;
  video.arrange(mix, sfu, [a, c, d, e]);
  assert.equal(video.shownTo('a'), ['c']);
});

test('nobody is shown what it cannot read, nor who has no camera', () => {
  const video = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const dark = member('dark', new FakeVideo(4, 'vp8', false));
  const all = [member('a'), member('h', new FakeVideo(4, 'h264')), dark];
  for (const { channel } of all) channel.leg.video.agree();
  video.arrange(mix, sfu, all);
  assert.equal(video.shownTo('dark'), ['a', 'h']);
  assert.equal(video.shownTo('a'), ['h']);
  assert.equal(mix.calls, ['show dark a,nobody']);
});

test('members change to the codec that most can have, and who cannot is told of once', () => {
  const views = new BridgeViews();
  const [a, b, dark] = [member('a'), member('b', new FakeVideo(4, 'h264')), member('d', new FakeVideo(4, 'av1'))];
  const videos = [a, b, dark].map(({ channel }) => channel.leg.video);
  const preferred = () => videos.map((video) => video.preferred);
  a.channel.leg.video.choices = ['vp8', 'h264'];
  assert.equal(views.unify([a]), []);
  assert.equal(preferred(), [undefined, undefined, undefined]);
  const cannot = (channel: string, ...others: string[]) => ({
    channel,
    sources: others.map((other) => ({ channel: other, why: 'codec' })),
  });
  assert.equal(views.unify([a, b, dark]), [cannot('a', 'd'), cannot('b', 'd'), cannot('d', 'a', 'b')]);
  assert.equal(preferred(), ['h264', 'h264', undefined]);
  assert.equal(views.unify([a, b, dark]), []);
  a.channel.leg.video.streams = [{ stream: 0, codec: 'h264', send: true, receive: true }];
  assert.equal(views.unify([a, b, dark]), []);
  views.left(b);
  assert.equal([preferred()[1], views.unify([a, dark])], [undefined, []]);
});

test('a phone that did not offer the codec of the others is asked for it, but not if all see each other', () => {
  const views = new BridgeViews();
  const [a, b] = [member('a'), member('b', new FakeVideo(4, 'h264'))];
  const first = a.channel.leg.video;
  first.untried = ['h264', 'av1'];
  assert.equal(views.unify([a, member('c')]), []);
  assert.equal(first.preferred, 'vp8');
  // That it is not seen is told when it has refused.
  assert.equal([views.unify([a, b]), first.preferred], [[], 'h264']);
  first.untried = ['av1'];
  const cannot = (channel: string, other: string) => ({ channel, sources: [{ channel: other, why: 'codec' }] });
  assert.equal(views.unify([a, b]), [cannot('a', 'b'), cannot('b', 'a')]);
});

test('a phone is told of those for whom it has streams, and how many others there are', () => {
  const views = new BridgeViews();
  const all = [member('a', new FakeVideo(2)), member('b'), member('c'), member('d'), member('e')];
  views.arrange(new FakeMix('b1', 'mixing', () => {}), sfu, all);
  assert.equal(
    all.map(({ channel }) => [channel.leg.video.asked.at(-1)!.length, channel.leg.video.others]),
    [
      [2, 2],
      [4, 0],
      [4, 0],
      [4, 0],
      [4, 0],
    ],
  );
});

test('who takes H.264 in whole units alone is shown who sends it in parts: they are put together', () => {
  const views = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const all = (['a', 'b'] as const).map((id) => member(id, new FakeVideo(4, 'h264')));
  for (const [index, { channel }] of all.entries()) {
    const h264 = { profile: 'constrained baseline', level: 31, packetization: index === 0 ? 0 : 1 } as const;
    channel.leg.video.streams = [{ stream: 0, codec: 'h264', h264, send: true, receive: true }];
  }
  assert.equal(views.unify(all), []);
  views.arrange(mix, sfu, all);
  assert.equal(mix.calls, ['show a b', 'show b a']);
});

test('another mode takes the streams away again, and shows one to all', () => {
  const video = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const all = [member('a'), member('b')];
  video.tell(mix, sfu, all);
  video.arrange(mix, sfu, all);
  mix.calls.splice(0);
  const single = room({ mode: 'single', chosen: 'b' });
  assert.equal([video.tell(mix, single, all), video.tell(mix, single, all)], [true, false]);
  video.arrange(mix, single, all);
  video.tell(mix, room({ mode: 'single' }), all);
  assert.equal(mix.calls, ['video single b', 'show a ', 'show b ', 'video talker']);
  assert.equal(
    all.map(({ channel }) => channel.leg.video.asked.at(-1)),
    [[], []],
  );
  assert.is(video.shownTo('a'), undefined);
});

test('calls without video cost nothing', () => {
  const video = new BridgeViews();
  const mix = new FakeMix('b1', 'mixing', () => {});
  const plain = { channel: { id: 'a', leg: { media: new FakeMedia('a', () => {}) } } };
  assert.not(video.tell(mix, sfu, [plain]));
  video.arrange(mix, sfu, [plain]);
  video.left(plain);
  assert.equal(mix.calls, []);
});

test('members come and go in any video mode: each sees as many others as it can, and nothing is left', () => {
  const who = fc.nat(7);
  const step = anyDeed({
    enter: [1, { who, capacity: fc.integer({ min: 1, max: 4 }) }],
    ...likewise(['leave', 'agree', 'refuse'], { who }),
    mode: [1, { mode: fc.constantFrom('sfu', 'talker', 'single', 'none') }],
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const video = new BridgeViews();
      const mix = new FakeMix('b1', 'mixing', () => {});
      const present: Member[] = [];
      const everybody: Member[] = [];
      let context = sfu;
      const leave = (gone: Member) => {
        present.splice(present.indexOf(gone), 1);
        video.left(gone);
      };
      for (const each of steps) {
        const who = 'who' in each ? `c${each.who}` : '';
        const known = present.find(({ channel }) => channel.id === who);
        if (each.kind === 'enter' && !known) {
          const one = member(who, new FakeVideo(each.capacity));
          present.push(one);
          everybody.push(one);
        } else if (each.kind === 'leave' && known) leave(known);
        else if (each.kind === 'agree') known?.channel.leg.video.agree();
        else if (each.kind === 'refuse' && known) known.channel.leg.video.capacity = 1;
        else if (each.kind === 'mode') context = room({ mode: each.mode as Room['mode'] });
        video.tell(mix, context, present);
        video.arrange(mix, context, present);
        for (const { channel } of present) {
          const shown = video.shownTo(channel.id);
          const others = present.filter((other) => other.channel !== channel).length;
          if (context.mode !== 'sfu') assert.is(shown, undefined);
          else {
            assert.is(shown?.length, Math.min(others, channel.leg.video.capacity));
            assert.is(new Set(shown).size, shown?.length);
            assert.not.ok(shown?.includes(channel.id));
            assert.ok(shown?.every((id) => present.some((other) => other.channel.id === id)));
          }
        }
      }
      for (const gone of [...present]) leave(gone);
      for (const { channel } of everybody) {
        assert.is(video.shownTo(channel.id), undefined);
        const { asked } = channel.leg.video;
        assert.equal(asked.at(-1) ?? [], []);
      }
    }),
    { numRuns: 300 },
  );
});

/** Three callers with cameras in the application `app`. */
async function world() {
  const control = createCallControl({ contexts: { default: { app: ['Stasis(app)', 'Wait(60)'] } } });
  const { events } = control.connect('app');
  const videos: Record<string, FakeVideo> = {};
  for (const id of ['a', 'b', 'c']) {
    control.incoming(id, 'app');
    const video = new FakeVideo();
    videos[id] = video;
    (control.channels.get(id).leg as FakeLeg).video = video;
  }
  await settled();
  events.splice(0);
  const sources = () =>
    events
      .splice(0)
      .flatMap((event) =>
        event.type === 'BridgeVideoSourceChanged'
          ? [[event.bridge.video_mode, event.bridge.video_source_id, event.old_video_source_id]]
          : [],
      );
  return { ...control, videos, sources };
}

test('in a bridge that follows who talks, applications hear who is seen, and lock it with a command', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.bridgeOperations.addChannel('b1', { channel: ['a', 'b', 'c'] });
  const mix = w.meeting.mix('b1');
  assert.equal(mix.calls.splice(0), ['video talker']);
  mix.told({ type: 'mix.videoSource', session: 'b' });
  assert.equal(w.sources(), [['talker', 'b', undefined]]);
  w.bridgeOperations.setVideoSource('b1', 'b');
  w.bridgeOperations.setVideoSource('b1', 'a');
  assert.equal(w.sources(), [['single', 'a', 'b']]);
  assert.equal(mix.calls.splice(0), ['video single b', 'video single a']);
  mix.told({ type: 'mix.videoSource', session: 'a' });
  w.bridgeOperations.clearVideoSource('b1');
  // The mix goes on to show whom it has shown.
  assert.equal(w.sources(), [
    ['talker', undefined, 'a'],
    ['talker', 'a', undefined],
  ]);
  w.bridgeOperations.removeChannel('b1', { channel: ['a'] });
  assert.equal(w.sources(), [['talker', undefined, 'a']]);
});

test('in a video_sfu bridge streams follow members that enter, answer and leave, also after a restore', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1', type: 'video_sfu,sdp_label' });
  w.bridgeOperations.addChannel('b1', { channel: ['a', 'b'] });
  const asked = (id: string) => w.videos[id]!.asked.at(-1)?.map(({ label }) => label);
  assert.equal([asked('a'), asked('b')], [['b'], ['a']]);
  w.bridgeOperations.addChannel('b1', { channel: ['c'] });
  assert.equal(
    [asked('a'), asked('b'), asked('c')],
    [
      ['b', 'c'],
      ['a', 'c'],
      ['a', 'b'],
    ],
  );
  w.videos['a']!.agree();
  (w.channels.get('a').leg as FakeLeg).report({ type: 'leg.videoChanged' });
  assert.equal(w.meeting.mix('b1').calls.at(-1), 'show a b,c');
  const [dump] = w.bridges.dump();
  assert.equal(
    dump!.stays.map(({ shown }) => shown),
    [
      ['b', 'c'],
      ['a', 'c'],
      ['a', 'b'],
    ],
  );
  w.meeting.mix('b1').told({ type: 'mix.lost', reason: 'a test' });
  assert.equal(w.meeting.mix('b1').calls, ['video sfu', 'show a b,c', 'show b a,nobody', 'show c a,nobody']);
  w.bridgeOperations.destroy('b1');
  assert.equal([asked('a'), asked('b'), asked('c')], [[], [], []]);
});

test.run();
