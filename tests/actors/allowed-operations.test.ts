import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyStateMachine } from 'xstate';
import {
  allowedOnBridge,
  allowedOnChannel,
  allowedOnPlayback,
  allowedOnRecording,
} from '../../src/actors/allowed-operations.ts';
import { bridgeMachine } from '../../src/machines/bridge.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { liveRecordingMachine } from '../../src/machines/live-recording.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import type { AllowedOperations } from '../../src/models/allowed-operations.ts';
import { AriError } from '../../src/models/errors.ts';
import { createCallControl, settled } from '../support/call-control.ts';

const allowed = suite('what may be done now');

/** The body of the answer to what is refused. */
function bodyOf(run: () => unknown): { message?: string; allowed?: object } {
  try {
    run();
  } catch (error) {
    if (error instanceof AriError) return error.toBody();
    throw error;
  }
  throw new Error('it was not refused');
}

const one = ({ operations }: AllowedOperations, name: string) => operations.find(({ operation }) => operation === name);

allowed('a channel of the dialplan may be hung up; the rest names the owner that would allow it', () => {
  const world = createCallControl();
  world.incoming('c1');
  const possible = world.operations.possible('c1');
  assert.equal(
    [possible.kind, possible.id, possible.states],
    ['channel', 'c1', { channel: 'ring', ownership: 'dialplan' }],
  );
  assert.equal(one(possible, 'hangup'), { operation: 'hangup', allowed: true });
  assert.equal(one(possible, 'answer'), {
    operation: 'answer',
    allowed: false,
    error: 'channelNotInStasis',
    status: 409,
    message: 'Channel not in Stasis application',
    reason:
      'The dialplan has it: it may be done once that has come to Stasis(application), and the application has told StasisStart',
    chart: 'ownership',
    allowed_in: ['application', 'leaving', 'moving'],
  });
  assert.equal(
    bodyOf(() => world.operations.answer('c1')),
    {
      message: 'Channel not in Stasis application',
      allowed: possible,
    },
  );
});

allowed('a channel of an application is asked for its life', async () => {
  const world = createCallControl({ contexts: { default: { s: ['Stasis(hello)'] } } });
  world.connect('hello');
  world.incoming('c1');
  await settled();
  const ringing = world.operations.possible('c1');
  assert.equal(one(ringing, 'answer'), { operation: 'answer', allowed: true });
  assert.equal(one(ringing, 'dial'), {
    operation: 'dial',
    allowed: false,
    error: 'channelNotDown',
    status: 409,
    message: "Channel is not in the 'Down' state",
    reason: 'This call came in: only a channel made by POST /channels/create is dialed, once',
    chart: 'channel',
    allowed_in: [],
  });
  void world.operations.answer('c1');
  const up = world.operations.possible('c1');
  assert.equal(up.states, { channel: 'up', ownership: 'application' });
  assert.equal(one(up, 'answer'), {
    operation: 'answer',
    allowed: true,
    without_effect: 'audio flows both ways already',
  });
});

allowed('an early operation names the states of the life that allow it', () => {
  const world = createCallControl();
  world.connect('hello');
  world.operations.create({ endpoint: 'Fake/phone', app: 'hello', channelId: 'c1' });
  const { allowed_in: states, ...mute } = one(world.operations.possible('c1'), 'mute') ?? {};
  assert.equal(mute, {
    operation: 'mute',
    allowed: false,
    error: 'channelInvalidState',
    status: 412,
    message: 'Channel in invalid state',
    reason: 'The channel was created but not dialed yet: dial it; this may be done once the far side has answered',
    chart: 'channel',
  });
  assert.equal(states, ['ring', 'busy', 'up']);
  assert.equal(one(world.operations.possible('c1'), 'dial'), { operation: 'dial', allowed: true });
});

allowed('bridges, playbacks and recordings tell it, and their refusals too', async () => {
  const world = createCallControl({ contexts: { default: { s: ['Stasis(hello)'] } } });
  world.connect('hello');
  world.incoming('c1');
  await settled();
  world.bridgeOperations.create({ bridgeId: 'b1' });
  const bridge = world.bridgeOperations.possible('b1');
  assert.equal(bridge.states, { bridge: 'empty', bridgeVideo: 'talker' });
  assert.equal(one(bridge, 'clearVideoSource'), {
    operation: 'clearVideoSource',
    allowed: true,
    without_effect: 'it follows the talker',
  });
  assert.equal(one(bridge, 'stopMoh'), {
    operation: 'stopMoh',
    allowed: false,
    error: 'bridgeNotPlayingMusic',
    status: 409,
    message: "Bridge isn't playing music",
    reason: 'No music plays on it: startMoh begins some',
    chart: 'bridge',
    allowed_in: [],
  });
  assert.equal(bodyOf(() => world.bridgeOperations.stopMoh('b1')).allowed, bridge);

  world.operations.play('c1', { media: ['sound:a'], playbackId: 'p1' });
  world.operations.play('c1', { media: ['sound:b'], playbackId: 'p2' });
  const queued = world.playbacks.possible('p2');
  assert.equal([queued.kind, queued.states], ['playback', { playback: 'queued' }]);
  assert.is(one(queued, 'pause')?.message, 'Can only pause while media is playing');
  assert.equal(bodyOf(() => world.playbacks.control('p2', { operation: 'pause' })).allowed, queued);

  world.recordingOperations.recordOnChannel('c1', { name: 'r1', format: 'wav' });
  const waiting = world.recordingOperations.possible('r1');
  assert.equal([waiting.kind, waiting.id, waiting.states], ['recording', 'r1', { liveRecording: 'queued' }]);
  assert.equal(bodyOf(() => world.recordingOperations.pause('r1')).allowed, waiting);
});

/** The reasons of everything that is refused in any state of a chart, each once. */
function reasonsIn(
  machine: AnyStateMachine,
  context: object,
  possible: (snapshot: never) => AllowedOperations,
): Record<string, string[]> {
  const reasons: Record<string, string[]> = {};
  for (const value of Object.keys(machine.states)) {
    const snapshot = machine.resolveState({ value, context } as never);
    const refused = possible({ ...snapshot, matches: (state: string) => state === value } as never).operations;
    const said = refused.flatMap(({ allowed: is, reason }) => (is ? [] : [String(reason)]));
    if (said.length > 0) reasons[value] = [...new Set(said)];
  }
  return reasons;
}

const ended = 'It is being hung up and accepts no more operations';
const later = 'this may be done once the far side has answered';
const cameIn = 'This call came in: only a channel made by POST /channels/create is dialed, once';
const isDialed = 'It is being dialed: wait for the answer, or hang it up';

allowed('what is refused to a channel has a reason in every state of its life, and of who controls it', () => {
  const world = createCallControl();
  world.incoming('c1');
  const { actor, ownership } = world.channels.get('c1');
  const life = actor.getSnapshot();
  const owned = ownershipMachine.resolveState({ value: 'application', context: ownership.getSnapshot().context });
  const ofLife = (origin: 'incoming' | 'created') =>
    reasonsIn(channelMachine, { ...life.context, origin }, (snapshot) =>
      allowedOnChannel('c1', { life: snapshot, ownership: owned }),
    );
  const goes = { hangingUp: [ended], lingering: [ended], destroyed: [ended] };
  const again = 'It was dialed before, which may be done once: make another channel to call again';
  assert.equal(ofLife('created'), {
    new: [again],
    down: [`The channel was created but not dialed yet: dial it; ${later}`],
    aboutToDial: [`The far side is about to be called: ${later}`],
    dialing: [`The far side is being called: ${later}`, isDialed],
    ringing: [`The far side rings: ${later}`, isDialed],
    ...{ ring: [again], busy: [again], up: [again] },
    ...goes,
  });
  assert.equal([ofLife('incoming').ring, ofLife('incoming').up], [[cameIn], [cameIn]]);
  const entering = 'It is entering the application desk: wait for its StasisStart';
  const ofOwner = reasonsIn(ownershipMachine, { ...ownership.getSnapshot().context, app: 'desk' }, (snapshot) =>
    allowedOnChannel('c1', { life, ownership: snapshot }),
  );
  const { application, leaving, moving, ...uncontrolled } = ofOwner;
  assert.equal([application, leaving, moving], [[cameIn], [cameIn], [cameIn]]);
  assert.equal(uncontrolled, {
    nobody: ['No application has it: only its creator, or the Dial that calls it, controls it'],
    aboutToEnter: ['It is about to enter the application desk: wait for its StasisStart'],
    dialplan: [
      'The dialplan has it: it may be done once that has come to Stasis(application), and the application has told StasisStart',
    ],
    departing: ['It is leaving the application desk for the dialplan'],
    entering: [entering],
    ended: [ended],
  });
});

allowed('what is refused to playbacks, recordings and bridges has a reason in every state', () => {
  const queued = 'this may be done once it records (RecordingStarted); stop and cancel may be asked for now';
  assert.equal(reasonsIn(liveRecordingMachine, { name: 'r' }, allowedOnRecording), {
    queued: [`It waits for an earlier playback or recording: ${queued}`],
    preparing: [`Its target gets ready to be recorded: ${queued}`],
    starting: [
      'It is about to record: this may be done once it does (RecordingStarted); stop and cancel may be asked for now',
    ],
    finishing: ['It is being completed: its file is there with RecordingFinished'],
    discarding: ['It is being thrown away'],
    ...{
      done: ['It has ended: record anew under another name'],
      canceled: ['It has ended: record anew under another name'],
      failed: ['It has ended: record anew under another name'],
      dropped: ['It has ended: record anew under another name'],
    },
  });
  const over = ['It has ended: play it anew'];
  assert.equal(reasonsIn(playbackMachine, { id: 'p' }, allowedOnPlayback), {
    queued: [
      'It waits for an earlier playback. This may be done once it plays (PlaybackStarted); stopping is possible now',
    ],
    cancelled: ['It was stopped before its turn came'],
    paused: ['It is paused: unpause it first'],
    ...{ done: over, failed: over, dropped: over },
  });
  const silent = ['No music plays on it: startMoh begins some'];
  const gone = ['It is being destroyed and accepts no more operations'];
  const context = { id: 'b', name: '', type: 'mixing', flags: [], members: [], class: 'stasis' };
  assert.equal(reasonsIn(bridgeMachine, context, allowedOnBridge), {
    ...{ new: silent, empty: silent, occupied: silent },
    ...{ emptying: gone, closing: gone, destroyed: gone },
  });
  const ofDialplan = (name: string) =>
    reasonsIn(bridgeMachine, { ...context, name, class: 'basic' }, allowedOnBridge)['occupied'];
  assert.equal(ofDialplan(''), [
    'The dialplan has made it for a Dial or Bridge: applications can look at it, not change it',
  ]);
  assert.equal(ofDialplan('team'), [
    'The dialplan has made it as the conference team: applications can look at it, not change it',
  ]);
});

allowed('what is not there may not be asked about', () => {
  const world = createCallControl();
  assert.equal(
    bodyOf(() => world.operations.possible('x')),
    { message: 'Channel not found' },
  );
  assert.equal(
    bodyOf(() => world.bridgeOperations.possible('x')),
    { message: 'Bridge not found' },
  );
  assert.equal(
    bodyOf(() => world.playbacks.possible('x')),
    { message: 'Playback not found' },
  );
  assert.equal(
    bodyOf(() => world.recordingOperations.possible('x')),
    { message: 'Recording not found' },
  );
});

allowed.run();
