import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyStateMachine } from 'xstate';
import { dueAt, guardNow } from '../../page/core/guards.ts';
import type { SnapshotImage } from '../../src/actors/step.ts';
import { bridgeMachine } from '../../src/machines/bridge.ts';
import { bridgeVideoMachine } from '../../src/machines/bridge-video.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { channelAudioMachine } from '../../src/machines/channel-audio.ts';
import { consultationMachine } from '../../src/machines/consultation.ts';
import { dialMachine } from '../../src/machines/dial.ts';
import { earlyAudioMachine } from '../../src/machines/early-audio.ts';
import { externalConnectionMachine } from '../../src/machines/external-connection.ts';
import { featureKeysMachine } from '../../src/machines/feature-keys.ts';
import { legMachine } from '../../src/machines/leg.ts';
import { liveRecordingMachine } from '../../src/machines/live-recording.ts';
import { localLegMachine } from '../../src/machines/local-leg.ts';
import { mediaQueueMachine } from '../../src/machines/media-queue.ts';
import { memberMusicMachine } from '../../src/machines/member-music.ts';
import { ownRefersMachine } from '../../src/machines/own-refers.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { pendingMediaSessionMachine } from '../../src/machines/pending-media-session.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import { receivedRefersMachine } from '../../src/machines/received-refers.ts';
import { transferMachine } from '../../src/machines/transfer.ts';
import { webrtcLegMachine } from '../../src/machines/webrtc-leg.ts';

const guards = suite('what decides the next transitions of a chart');
const image = (context: object) => ({ status: 'active', value: 'x', context }) as unknown as SnapshotImage;

guards('a guard says what it would say of this object now', () => {
  const playing = (index: number) => image({ index, media: ['a', 'b'] });
  assert.is(guardNow('playback', 'hasNextItem', 'media.finished', playing(0)), true);
  assert.is(guardNow('playback', 'hasNextItem', 'media.finished', playing(1)), false);
  assert.is(guardNow('playback', 'not(hasNextItem)', 'media.finished', playing(1)), true);
  const dial = image({ callees: [], waiting: 'alert' });
  assert.is(guardNow('dial', 'and(nobodyIsLeft, alerts)', 'x', dial), true);
  assert.is(guardNow('dial', 'and(nobodyIsLeft, hasPreparation)', 'x', dial), false);
  assert.is(guardNow('dial', 'or(hasPreparation, alerts)', 'x', dial), true);
});

guards('what depends on the event says so, and what is hidden or of another chart is not known', () => {
  const bridge = image({ members: [{ channelId: 'a' }] });
  assert.is(guardNow('bridge', 'isLast', 'leave', bridge), 'event');
  assert.is(guardNow('bridge', 'isLast', 'destroy', bridge), false);
  assert.is(guardNow('bridge', 'isLast', 'leave', image({})), 'unknown');
  assert.is(guardNow('bridge', 'not(isLast)', 'leave', bridge), 'event');
  assert.is(guardNow('dial', 'isCallee', 'callee.left', image({ callees: [] })), 'event');
  assert.is(guardNow('dial', 'and(isCallee, nobodyIsLeft)', 'x', image({ callees: [] })), 'event');
  assert.is(guardNow('playback', 'none', 'x', bridge), 'unknown');
  assert.is(guardNow('toString', 'isLast', 'leave', bridge), 'unknown');
});

guards('each guard of each chart of a call has an answer', () => {
  const recorded: readonly AnyStateMachine[] = [
    ...[bridgeMachine, bridgeVideoMachine, channelMachine, channelAudioMachine, consultationMachine, dialMachine],
    ...[featureKeysMachine, liveRecordingMachine, ownershipMachine, playbackMachine, transferMachine],
    ...[externalConnectionMachine, legMachine, localLegMachine, mediaQueueMachine, memberMusicMachine],
    ...[earlyAudioMachine, ownRefersMachine, receivedRefersMachine, pendingMediaSessionMachine, webrtcLegMachine],
  ];
  for (const machine of recorded)
    for (const guard of Object.keys(machine.implementations.guards)) {
      // A guard that only looks at the type of its event is decided; one that reads an empty context is not known.
      const says = guardNow(machine.id, guard, 'none', image(new Proxy({}, { get: () => [] })));
      assert.is.not(says, 'unknown', `${machine.id}: ${guard}`);
    }
});

guards('a deadline is known by the name of its transition', () => {
  const event = { type: 'xstate.after.dialTimeout.channel.dialing' };
  const dialing = image({ deadlines: { a: { at: 5_000, event }, b: { at: 7_000, event: { type: 'other' } } } });
  assert.equal(
    [dueAt('after dialTimeout', dialing), dueAt('after lingering', dialing), dueAt('after dialTimeout', image({}))],
    [5_000, undefined, undefined],
  );
});

guards.run();
