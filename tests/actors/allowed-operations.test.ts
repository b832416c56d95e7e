import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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
    chart: 'ownership',
    allowed_in: ['application', 'moving'],
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
    without_effect: 'it follows who talks',
  });
  assert.equal(one(bridge, 'stopMoh'), {
    operation: 'stopMoh',
    allowed: false,
    error: 'bridgeNotPlayingMusic',
    status: 409,
    message: "Bridge isn't playing music",
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
