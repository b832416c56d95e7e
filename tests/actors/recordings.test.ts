import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl, inShort, settled } from '../support/call-control.ts';
import type { FakeRecorder } from '../support/fake-audio.ts';
import { refusal } from '../support/refusal.ts';

const test = suite('recordings');

const contexts = { default: { s: ['Wait(60)'], app: ['Stasis(app)', 'Wait(60)'] } };

/** A call `a` in the application `app`, answered unless asked otherwise. */
async function world(options: Parameters<typeof createCallControl>[0] & { answered?: boolean } = {}) {
  const { answered = true, ...rest } = options;
  const control = createCallControl({ contexts, ...rest });
  const { events } = control.connect('app');
  const leg = control.incoming('a', 'app');
  await settled();
  if (answered) control.operations.answer('a');
  events.splice(0);
  const recorder = (at = -1): FakeRecorder => leg.media.recorders.at(at)!;
  const said = (): string[] => events.splice(0).map(inShort);
  const record = (request: Parameters<typeof control.recordingOperations.recordOnChannel>[1] = {}) =>
    control.recordingOperations.recordOnChannel('a', { name: 'r1', format: 'wav', ...request });
  return { ...control, live: control.recordingOperations, events, leg, recorder, said, record };
}

test('a channel is recorded as it was asked, and its end is told', async () => {
  const w = await world();
  const made = w.record({
    maxDurationSeconds: 60,
    maxSilenceSeconds: 2,
    ifExists: 'OVERWRITE',
    terminateOn: '#',
    beep: true,
  });
  assert.equal(made, { name: 'r1', format: 'wav', target_uri: 'channel:a', state: 'recording' });
  assert.equal(w.recorder().request, {
    path: '/recordings/r1.wav',
    format: 'wav',
    ifExists: 'overwrite',
    terminateOn: '#',
    beep: true,
    channels: 1,
    maxDurationMs: 60_000,
    maxSilenceMs: 2_000,
  });
  assert.equal(w.live.get('r1'), made);
  w.recorder().finish('silence', 4_500);
  const [started, finished] = w.events;
  assert.equal('recording' in started! && started.recording, made);
  assert.equal('recording' in finished! && finished.recording, {
    ...made,
    state: 'done',
    duration: 4,
    talking_duration: 4,
    silence_duration: 0,
  });
  assert.equal(
    refusal(() => w.live.get('r1')),
    [404, 'Recording not found'],
  );
  assert.is(w.recordings.size, 0);
});

test('controls are idempotent, and reach the recorder once', async () => {
  const w = await world();
  w.record();
  for (const control of ['unpause', 'pause', 'pause', 'mute', 'mute', 'unpause', 'unmute', 'unmute', 'stop'] as const)
    w.live[control]('r1');
  assert.equal(w.recorder().calls, ['pause', 'mute', 'resume', 'unmute', 'stop']);
  assert.equal(w.said(), ['RecordingStarted', 'RecordingFinished done']);
  for (const control of ['stop', 'cancel', 'pause', 'unpause', 'mute', 'unmute'] as const)
    assert.equal(
      refusal(() => w.live[control]('r1')),
      [404, 'Recording not found'],
    );
});

test('what is being completed takes its end again, and nothing else', async () => {
  const w = await world();
  w.record();
  w.recorder().obeys = false;
  w.live.stop('r1');
  w.live.stop('r1');
  assert.is(w.live.get('r1').state, 'done');
  assert.equal(
    refusal(() => w.live.pause('r1')),
    [409, 'Recording not in session'],
  );
  w.live.cancel('r1');
  assert.is(w.live.get('r1').state, 'canceled');
  // The file was complete before the recorder heard of it.
  w.recorder().finish();
  assert.equal(w.stored.discarded, ['/recordings/r1.wav']);
  assert.equal(w.said(), ['RecordingStarted', 'RecordingFinished canceled']);
});

test('recordings, playbacks and other commands on a channel wait for one another', async () => {
  const w = await world();
  w.operations.play('a', { media: ['sound:a'] });
  assert.is(w.record().state, 'queued');
  assert.is(w.record({ name: 'r2' }).state, 'queued');
  w.operations.play('a', { media: ['sound:b'] });
  assert.equal(
    refusal(() => w.live.pause('r1')),
    [409, 'Recording not in session'],
  );
  w.live.cancel('r2');
  w.leg.media.finish();
  w.live.stop('r1');
  w.leg.media.finish();
  assert.equal(w.said(), [
    'PlaybackStarted',
    'RecordingFinished canceled',
    'PlaybackFinished done',
    'RecordingStarted',
    'RecordingFinished done',
    'PlaybackStarted',
    'PlaybackFinished done',
  ]);
  assert.is(w.leg.media.recorders.length, 1);
});

test('who hangs up while recorded: the recording is completed before the call is over', async () => {
  const w = await world();
  w.record();
  w.record({ name: 'waits' });
  w.recorder().obeys = false;
  w.events.splice(0);
  w.operations.hangup('a', {});
  assert.equal(w.said(), ['ChannelHangupRequest 16 soft']);
  w.recorder().finish('sourceGone');
  assert.equal(w.said(), ['RecordingFinished done', 'StasisEnd']);
  assert.is(w.recordings.size, 0);
  assert.is(w.channels.size, 0);
});

test('who has been hung up, and only waits for its recording, is neither bridged nor recorded', async () => {
  const w = await world();
  w.record();
  w.recorder().obeys = false;
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.operations.hangup('a', {});
  assert.equal(
    refusal(() => w.bridgeOperations.addChannel('b1', { channel: ['a'] })),
    [400, 'Channel not found'],
  );
  assert.equal(
    refusal(() => w.record({ name: 'r2' })),
    [404, 'Channel not found'],
  );
  w.recorder().finish();
  assert.is(w.channels.size, 0);
});

test('a recorder that never tells does not keep a call', async () => {
  const w = await world();
  w.record();
  w.recorder().obeys = false;
  w.operations.hangup('a', {});
  w.events.splice(0);
  w.clock.advance(5_000);
  assert.equal(w.said(), ['StasisEnd']);
  assert.is(w.channels.size, 0);
  assert.is(w.recordings.size, 0);
});

test('a failure is told with its reason, and the call goes on', async () => {
  const w = await world();
  w.record();
  w.recorder().fail('the disk is full');
  assert.equal(w.said(), ['RecordingStarted', 'RecordingFailed the disk is full']);
  assert.is(w.operations.get('a').state, 'Up');
  w.record();
  assert.equal(w.said(), ['RecordingStarted']);
});

test('a call that is not answered is answered first', async () => {
  const w = await world({ answered: false });
  assert.is(w.record().state, 'queued');
  assert.equal(w.said(), ['ChannelStateChange Up']);
  await settled();
  assert.equal(w.said(), ['RecordingStarted']);
});

test('a call that ends instead of being answered fails its recording', async () => {
  const w = await world({ answered: false });
  w.leg.answers = false;
  w.record();
  w.leg.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal(w.said(), ['ChannelHangupRequest 16', 'RecordingFinished canceled', 'StasisEnd']);
  assert.is(w.recordings.size, 0);
  assert.is(w.channels.size, 0);
});

test('requests are refused for the first fault of several', async () => {
  const w = await world();
  w.incoming('free');
  const refused = (id: string, request: object) => refusal(() => w.live.recordOnChannel(id, request));
  assert.equal(refused('nobody', { maxDurationSeconds: -1 }), [400, 'max_duration_seconds cannot be negative']);
  assert.equal(refused('nobody', { maxSilenceSeconds: -1 }), [400, 'max_silence_seconds cannot be negative']);
  assert.equal(refused('nobody', { terminateOn: 'x' }), [404, 'Channel not found']);
  assert.equal(refused('free', {}), [409, 'Channel not in Stasis application']);
  assert.equal(refused('a', { terminateOn: 'x', ifExists: 'x' }), [400, 'terminateOn invalid']);
  assert.equal(refused('a', { ifExists: 'x', format: 'x' }), [400, 'ifExists invalid']);
  assert.equal(refused('a', { format: 'x' }), [422, 'specified format is unknown on this system']);
  assert.equal(refused('a', {}), [422, 'specified format is unknown on this system']);
  assert.equal(refused('a', { format: 'wav' }), [400, 'Invalid recording name']);
  assert.equal(refused('a', { format: 'wav', name: '../x' }), [400, 'Invalid recording name']);
  w.stored.names.add('old');
  const exists = "Recording 'old' already exists and can not be overwritten";
  assert.equal(refused('a', { format: 'wav', name: 'old' }), [422, exists]);
  w.record({ name: 'old', ifExists: 'append' });
  assert.equal(refused('a', { format: 'wav', name: 'old', ifExists: 'overwrite' }), [422, exists]);
});

test('as in Asterisk, who is in a bridge is not recorded, and who is recorded enters none', async () => {
  const w = await world({ compatibility: 'asterisk' });
  w.record();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  assert.equal(
    refusal(() => w.bridgeOperations.addChannel('b1', { channel: ['a'] })),
    [409, 'Channel a currently recording'],
  );
  w.live.stop('r1');
  w.bridgeOperations.addChannel('b1', { channel: ['a'] });
  w.events.splice(0);
  assert.is(w.record().state, 'queued');
  await settled();
  assert.equal(w.said(), ['RecordingFailed Cannot record channel while in bridge']);
});

test('who is in a bridge is recorded, and who is recorded may enter one', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.record();
  w.bridgeOperations.addChannel('b1', { channel: ['a'] });
  w.live.stop('r1');
  w.record({ name: 'r2' });
  w.live.stop('r2');
  assert.equal(w.said(), [
    'RecordingStarted',
    'ChannelEnteredBridge',
    'RecordingFinished done',
    'RecordingStarted',
    'RecordingFinished done',
  ]);
});

test('several recordings of a bridge run beside each other', async () => {
  const w = await world();
  w.bridgeOperations.create({ bridgeId: 'b1' });
  w.bridgeOperations.addChannel('b1', { channel: ['a'] });
  w.events.splice(0);
  const made = w.bridgeOperations.record('b1', { name: 'one', format: 'wav', recorder_format: 'slin16' });
  assert.equal([made.target_uri, made.state], ['bridge:b1', 'recording']);
  w.bridgeOperations.record('b1', { name: 'two', format: 'ulaw' });
  assert.is(w.bridgeOperations.get('b1').technology, 'softmix');
  w.live.stop('two');
  w.live.stop('one');
  assert.equal(w.said(), ['RecordingStarted', 'RecordingStarted', 'RecordingFinished done', 'RecordingFinished done']);
  assert.is(w.bridgeOperations.get('b1').technology, 'simple_bridge');
});

test('a recording whose chart crashes tells its end', async () => {
  const w = await world();
  w.leg.media.record = () => {
    throw new Error('the plane is broken');
  };
  w.record();
  assert.equal(w.said(), ['RecordingFailed Internal error']);
  assert.is(w.recordings.size, 0);
  w.operations.play('a', { media: ['sound:a'] });
  assert.equal(w.said(), ['PlaybackStarted']);
});

test.run();
