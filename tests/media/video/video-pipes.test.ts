import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { LimitCounts } from '../../../src/lib/limit-counts.ts';
import { newRing } from '../../../src/media/pipe/ring.ts';
import { newWakeUp, noWakeUps } from '../../../src/media/pipe/wake-up.ts';
import type { Camera, VideoMember, VideoPacket, Viewer } from '../../../src/media/video/camera.ts';
import { VideoPipeMeeting, VideoPipeMember } from '../../../src/media/video/video-pipes.ts';
import { VideoWire } from '../../../src/media/video/video-wire.ts';
import { everything, HandCamera, type HandClock, handScreen, taken } from './cameras.ts';

/** A session in one thread, a mix in another, and what joins them; nobody is woken but by ticks. */
function piped(octets: number) {
  const clock: HandClock = { now: 0 };
  const own = new HandCamera(1, clock);
  const shown: (Camera | undefined)[] = [];
  const member: VideoMember = {
    camera: own.camera,
    show: (stream, camera) => void (shown[stream] = camera),
    showNoneFrom: () => {},
    hide: () => {},
  };
  const limits = new LimitCounts();
  const [toMix, toSession] = [newRing(octets), newRing(octets)];
  const [nearWakeUp, farWakeUp] = [newWakeUp(1), newWakeUp(2)];
  const near = { pipe: 1, outgoing: toMix, incoming: toSession, farWakeUp, farPipe: 2 };
  const far = { pipe: 2, outgoing: toSession, incoming: toMix, farWakeUp: nearWakeUp, farPipe: 1 };
  const meeting = new VideoPipeMeeting(member, 0, new VideoWire(near, noWakeUps, limits.hit), () => clock.now);
  const atMix = new VideoPipeMember(71, new VideoWire(far, noWakeUps, limits.hit), () => clock.now);
  return { clock, own, shown, meeting, atMix, limits, other: new HandCamera(2, clock) };
}

const viewer = (): Viewer & { packets: VideoPacket[] } => {
  const packets: VideoPacket[] = [];
  return {
    packets,
    take: (packet) => void packets.push({ ...packet, mark: { ...packet.mark } }),
    takes: () => everything,
  };
};

test('packets of a camera cross only while somebody there watches, with all that is known of them', () => {
  const { own, meeting, atMix, clock } = piped(65_536);
  own.receive(...own.frame(1));
  meeting.tick();
  atMix.tick();
  assert.is(atMix.camera.live, true);
  const watching = viewer();
  const direct = viewer();
  own.camera.watch(direct);
  own.receive(...own.frame(2));
  atMix.tick();
  atMix.camera.watch(watching);
  meeting.tick();
  direct.packets.length = 0;
  own.receive(...own.frame(3));
  atMix.tick();
  const plain = ({ camera: _camera, octets, ...rest }: VideoPacket) => ({ ...rest, octets: [...octets] });
  assert.is(watching.packets.length, 3);
  assert.equal(watching.packets.map(plain), direct.packets.map(plain));
  assert.ok(watching.packets.every(({ camera }) => camera === atMix.camera && camera.session === 71));
  atMix.camera.askKeyFrame();
  meeting.tick();
  assert.equal(own.told, ['206/1']);
  atMix.camera.unwatch(watching);
  meeting.tick();
  own.receive(...own.frame(1));
  clock.now += 10_000;
  meeting.tick();
  atMix.tick();
  assert.equal([watching.packets.length, atMix.camera.live], [3, false]);
});

test('a camera that is shown in several streams crosses once, and is asked for key frames from there', () => {
  const { other, shown, meeting, atMix } = piped(65_536);
  other.receive(...other.frame(1));
  atMix.show(0, other.camera);
  atMix.show(2, other.camera);
  meeting.tick();
  assert.is(shown[0], shown[2]);
  const watching = viewer();
  shown[0]!.watch(watching);
  atMix.tick();
  other.receive(...other.frame(2));
  meeting.tick();
  assert.equal(
    watching.packets.map(({ camera }) => camera.session),
    [2, 2],
  );
  shown[0]!.askKeyFrame();
  atMix.tick();
  assert.equal(other.told, ['206/1']);
  const [first] = shown;
  atMix.hide(other.camera);
  meeting.tick();
  // As a stream does that is to show nobody.
  first!.unwatch(watching);
  atMix.tick();
  assert.equal(
    [...shown].map((camera) => camera),
    [undefined, undefined, undefined],
  );
  other.receive(...other.frame(2));
  meeting.tick();
  assert.is(watching.packets.length, 2);
});

test('sizes of a picture are told apart on the other side, and key frames of one are asked for from there', () => {
  const { own, meeting, atMix, clock } = piped(65_536);
  const asked: (number | undefined)[] = [];
  own.camera.askKeyFrame = (layer) => void asked.push(layer);
  const watching = viewer();
  atMix.camera.watch(watching);
  for (const layer of [2, 3])
    own.camera.watch({ take: (packet) => meeting.take({ ...packet, layer }), takes: () => everything });
  for (let frame = 0; frame < 20; frame++) {
    own.receive(...own.frame(1));
    atMix.tick();
    clock.now += 100;
  }
  assert.equal(watching.packets.map(({ layer }) => layer).slice(0, 4), [2, 3, 2, 3]);
  const ranked = atMix.camera.layers?.ranked().map(({ layer }) => layer);
  assert.equal(ranked?.sort(), [2, 3]);
  atMix.camera.askKeyFrame(3);
  atMix.camera.askKeyFrame();
  meeting.tick();
  assert.equal(asked, [3, undefined]);
});

test('a camera goes on until its viewer releases it, and is forgotten then', () => {
  const { clock, other, shown, meeting, atMix } = piped(65_536);
  const third = new HandCamera(3, clock);
  const screen = handScreen(clock);
  const both = (): void => {
    meeting.tick();
    screen.shown.show(shown[0]);
    atMix.tick();
    meeting.tick();
  };
  const payloads = () => screen.sent.map((packet) => taken(packet).payload.at(-1));
  atMix.show(0, other.camera);
  both();
  const first = shown[0];
  other.receive(...other.frame(1));
  both();
  atMix.show(0, third.camera);
  both();
  // Not a key frame yet: the one before goes on.
  third.frame(1);
  third.receive(...third.frame(1));
  other.receive(...other.frame(1));
  both();
  assert.equal(payloads(), [2, 2]);
  assert.equal(third.told, ['206/1']);
  third.receive(...third.frame(1));
  both();
  other.receive(...other.frame(1));
  both();
  assert.equal(payloads(), [2, 2, 3]);
  atMix.show(0, other.camera);
  both();
  assert.is.not(shown[0], first);
  screen.shown.close();
  both();
});

test('a camera for a closed stream crosses threads when the stream opens, and again after it was closed', () => {
  const { other, shown, meeting, atMix } = piped(65_536);
  atMix.show(0, other.camera);
  meeting.tick();
  const watching = viewer();
  const pass = (): number => {
    atMix.tick();
    other.receive(...other.frame(1));
    meeting.tick();
    return watching.packets.length;
  };
  assert.is(pass(), 0);
  shown[0]!.watch(watching);
  assert.is(pass(), 1);
  shown[0]!.unwatch(watching);
  assert.is(pass(), 1);
  shown[0]!.watch(watching);
  assert.is(pass(), 2);
  // The camera is opened anew, under its number.
  const again = new HandCamera(2, { now: 0 });
  atMix.show(0, undefined);
  atMix.show(0, again.camera);
  atMix.tick();
  again.receive(...again.frame(1));
  meeting.tick();
  assert.is(watching.packets.length, 3);
  assert.is(pass(), 3);
  // The pipe ends: nobody watches any more.
  atMix.close();
  again.receive(...again.frame(1));
  meeting.tick();
  assert.is(watching.packets.length, 3);
});

test('what finds no room is lost, nobody waits, and a key frame is asked for', () => {
  const { other, shown, meeting, atMix, limits } = piped(1024);
  other.receive(...other.frame(1));
  atMix.show(0, other.camera);
  meeting.tick();
  const watching = viewer();
  shown[0]!.watch(watching);
  atMix.tick();
  for (let frame = 0; frame < 100; frame++) other.receive(...other.frame(1));
  assert.equal(other.told, ['206/1']);
  meeting.tick();
  const crossed = watching.packets.length;
  assert.ok(crossed > 3 && crossed < 30, `${crossed} crossed`);
  assert.equal(limits.figures(), { 'media.video.thread_backlog': 100 - crossed });
  other.receive(...other.frame(1));
  meeting.tick();
  assert.is(watching.packets.length, crossed + 1);
});

test.run();
