import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultVideoConfig } from '../../../src/media/config.ts';
import type { EngineReport } from '../../../src/media/protocol.ts';
import type { Camera, VideoMember } from '../../../src/media/video/camera.ts';
import { Forwarder } from '../../../src/media/video/forwarder.ts';

/** A member that knows whom it is shown. */
class HandMember implements VideoMember {
  readonly camera: Camera & { live: boolean };
  readonly shown: (Camera | undefined)[] = [];

  constructor(session: number, live: boolean) {
    const nothing = () => {};
    this.camera = {
      ...{ session, live, layers: undefined, watch: nothing, unwatch: nothing, askKeyFrame: nothing },
      takesChanged: nothing,
    };
  }

  show(stream: number, camera: Camera | undefined): void {
    this.shown[stream] = camera;
  }

  showNoneFrom(stream: number): void {
    this.shown.length = Math.min(this.shown.length, stream);
  }

  hide(camera: Camera): void {
    for (const [stream, shown] of this.shown.entries()) if (shown === camera) this.shown[stream] = undefined;
  }
}

/** A forwarder whose members all send, but for those that `silent` names. */
function begin(sessions: readonly number[], silent: readonly number[] = []) {
  const members = new Map(sessions.map((session) => [session, new HandMember(session, !silent.includes(session))]));
  const reports: EngineReport[] = [];
  const forwarder = new Forwarder({
    mix: 9,
    config: { ...defaultVideoConfig, talkerAfterMs: 100, talkerHoldMs: 100, sourceTimeoutMs: 1000 },
    memberOf: (session) => members.get(session),
    report: (report) => reports.push(report),
  });
  for (const session of sessions) forwarder.join(session);
  return {
    forwarder,
    members,
    /** Whom each is shown, by stream. */
    seen: () => [...members.values()].map(({ shown }) => [...shown].map((camera) => camera?.session)),
    /** Whom all were said to be shown since this was last asked. */
    told: () => reports.splice(0).map((report) => (report.type === 'videoSource' ? report.session : report.type)),
  };
}

test('nobody is shown anybody before a mode is chosen, nor after it is given up', () => {
  const { forwarder, seen, told } = begin([1, 2]);
  forwarder.tick(1, 0);
  assert.equal(seen(), [[], []]);
  forwarder.apply({ type: 'video', mode: 'talker' }, 0);
  forwarder.tick(undefined, 0);
  assert.equal(seen(), [[2], [1]]);
  forwarder.apply({ type: 'video', mode: 'none' }, 0);
  assert.equal(seen(), [[], []]);
  assert.equal(told(), [1]);
});

test('one source is shown to all, itself too; what it was asked for is not told again', () => {
  const { forwarder, members, seen, told } = begin([1, 2, 3]);
  forwarder.apply({ type: 'video', mode: 'single', source: 2 }, 0);
  forwarder.tick(3, 20);
  assert.equal(seen(), [[2], [2], [2]]);
  assert.equal(told(), []);
  members.get(2)!.camera.live = false;
  forwarder.tick(3, 900);
  assert.equal(told(), [], 'it may still begin to send');
  forwarder.tick(3, 1000);
  assert.equal([seen(), told()], [[[3], [3], [1]], [3]]);
  members.get(2)!.camera.live = true;
  forwarder.tick(3, 1020);
  assert.equal([seen(), told()], [[[2], [2], [2]], [2]]);
  forwarder.leave(2);
  forwarder.tick(3, 1040);
  assert.is(told().length, 1);
});

test('a source that is no member (yet) is not shown', () => {
  const { forwarder, members, seen } = begin([1, 2]);
  members.set(3, new HandMember(3, true));
  forwarder.apply({ type: 'video', mode: 'single', source: 3 }, 0);
  forwarder.tick(undefined, 20);
  assert.equal(seen().slice(0, 2), [[2], [1]]);
  forwarder.join(3);
  forwarder.tick(undefined, 40);
  assert.equal(seen(), [[3], [3], [3]]);
});

test('each is shown whom call control says, in as many streams; who leaves is shown nowhere', () => {
  const { forwarder, seen } = begin([1, 2, 3]);
  forwarder.apply({ type: 'show', session: 1, sources: [2, undefined, 3] }, 0);
  assert.equal(seen(), [[], [], []], 'in another mode nothing is shown by that');
  forwarder.apply({ type: 'video', mode: 'sfu' }, 0);
  forwarder.apply({ type: 'show', session: 2, sources: [1, 3, 77] }, 0);
  forwarder.apply({ type: 'show', session: 77, sources: [1] }, 0);
  forwarder.tick(undefined, 20);
  assert.equal(seen(), [[2, undefined, 3], [1, 3, undefined], []]);
  forwarder.apply({ type: 'show', session: 1, sources: [3] }, 0);
  assert.equal(seen()[0], [3]);
  forwarder.leave(3);
  assert.equal(seen(), [[undefined], [1, undefined, undefined], []]);
});

test('what may go on goes on when the mode changes', () => {
  const { forwarder, seen } = begin([1, 2, 3]);
  forwarder.apply({ type: 'video', mode: 'sfu' }, 0);
  forwarder.apply({ type: 'show', session: 1, sources: [2, 3] }, 0);
  forwarder.apply({ type: 'video', mode: 'single', source: 3 }, 0);
  assert.equal(seen(), [[2], [], []]);
  forwarder.tick(undefined, 20);
  assert.equal(seen(), [[3], [3], [3]]);
  forwarder.apply({ type: 'video', mode: 'sfu' }, 40);
  assert.equal(seen(), [[3], [], []]);
  forwarder.tick(undefined, 60);
  assert.equal(seen(), [[2, 3], [], []]);
});

test('members without video, or that send none, are shown and show nothing', () => {
  const { forwarder, seen, told } = begin([1, 2], [1, 2]);
  forwarder.join(4);
  forwarder.apply({ type: 'video', mode: 'talker' }, 0);
  forwarder.tick(4, 20);
  assert.equal([seen(), told()], [[[undefined], [undefined]], []]);
});

test.run();
