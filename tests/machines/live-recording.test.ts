import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  liveRecordingMachine,
  type RecordingCommand,
  type RecordingEvent,
  recordingCommands,
  recordingModel,
  refuseRecordingCommand,
} from '../../src/machines/live-recording.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const test = suite('live recording chart');

const input = { name: 'greeting', format: 'wav', targetUri: 'channel:c1', measuresSilence: true };
const turn = { type: 'turn' } as const;
const ready = { type: 'target.ready' } as const;
const started = { type: 'record.started' } as const;
const finished = {
  type: 'record.finished',
  reason: 'stopped',
  durationMs: 5_900,
  talkingMs: 3_200,
  silenceMs: 2_700,
} as const;
const discarded = { type: 'record.discarded' } as const;
const failed = { type: 'record.failed', reason: 'the disk is full' } as const;
const gone = { type: 'target.gone' } as const;
const refused = { type: 'target.refused', reason: 'Failed to answer channel' } as const;
const command = (type: RecordingCommand['type']): RecordingCommand => ({ type });

type Action = { type: string; params?: { event?: { type: string } } };

/** Takes a recording through events; gives where it is and what the last one made. */
function after(...events: RecordingEvent[]) {
  let [snapshot, actions] = initialTransition(liveRecordingMachine, input);
  for (const event of events) [snapshot, actions] = transition(liveRecordingMachine, snapshot, event);
  const last = (actions as unknown as Action[]).map(({ type, params }) =>
    type === 'xstate.emit' ? params?.event?.type : type,
  );
  return { snapshot, last, value: snapshot.value, model: recordingModel(snapshot) };
}

test('it waits for its turn, begins, and tells its lengths when it is done', () => {
  assert.is(after().model.state, 'queued');
  assert.equal(after(turn).last, ['prepareTarget']);
  assert.is(after(turn).model.state, 'queued');
  assert.equal(after(turn, ready).last, ['startRecorder']);
  assert.equal(after(turn, ready, started).last, ['RecordingStarted']);
  assert.equal(after(turn, ready, started).model, {
    name: 'greeting',
    format: 'wav',
    target_uri: 'channel:c1',
    state: 'recording',
  });
  const done = after(turn, ready, started, finished);
  assert.equal(done.last, ['RecordingFinished']);
  assert.equal(done.model, {
    name: 'greeting',
    format: 'wav',
    target_uri: 'channel:c1',
    state: 'done',
    duration: 5,
    talking_duration: 3,
    silence_duration: 2,
  });
  const whole = { ...finished, durationMs: 60_000, talkingMs: 20_000, silenceMs: 40_000 };
  assert.equal(
    [after(turn, ready, started, whole).model].map(({ duration, talking_duration, silence_duration }) => [
      ...[duration, talking_duration, silence_duration],
    ]),
    [[60, 20, 40]],
  );
  let [unmeasured] = initialTransition(liveRecordingMachine, { ...input, measuresSilence: false });
  for (const event of [turn, ready, finished]) [unmeasured] = transition(liveRecordingMachine, unmeasured, event);
  assert.equal(Object.keys(recordingModel(unmeasured)), ['name', 'format', 'target_uri', 'state', 'duration']);
});

test('what was asked to end is completed first, and what was asked to go is thrown away', () => {
  assert.equal(after(turn, ready, started, command('stop')).last, ['stopRecorder']);
  assert.is(after(turn, ready, started, command('stop')).model.state, 'done');
  assert.equal(after(turn, ready, started, command('stop'), finished).last, ['RecordingFinished']);
  assert.equal(after(turn, ready, started, command('cancel')).last, ['discardRecorder']);
  const canceled = after(turn, ready, started, command('cancel'), discarded);
  assert.equal(canceled.last, ['RecordingFinished']);
  assert.is(canceled.model.state, 'canceled');
  // The recorder was done before it heard of it.
  assert.equal(after(turn, ready, started, command('cancel'), finished).last, ['deleteFile', 'RecordingFinished']);
  assert.equal(after(turn, ready, command('stop'), started).last, ['RecordingStarted']);
});

test('one that waits is cancelled at once, and vanishes with its target', () => {
  for (const end of [command('stop'), command('cancel')]) {
    assert.equal(after(end).last, ['RecordingFinished']);
    assert.is(after(end).model.state, 'canceled');
  }
  assert.equal(after(gone).last, []);
});

test('while its target is prepared there is no recorder: it is cancelled at once, also with its target', () => {
  for (const end of [command('stop'), command('cancel'), gone]) {
    assert.equal(after(turn, end).last, ['RecordingFinished']);
    assert.is(after(turn, end).model.state, 'canceled');
  }
  assert.equal(
    recordingCommands.filter((type) => refuseRecordingCommand(after(turn).snapshot, command(type))),
    [...['pause', 'unpause', 'mute', 'unmute']],
  );
});

test('a failure is told with its reason, whenever it comes', () => {
  const full = after(turn, ready, started, failed);
  assert.equal(full.last, ['RecordingFailed']);
  assert.is(full.model.cause, 'the disk is full');
  assert.equal(after(turn, ready, failed).last, ['RecordingFailed']);
  assert.is(after(turn, refused).model.cause, 'Failed to answer channel');
  assert.equal(after(turn, ready, started, command('stop'), failed).last, ['RecordingFailed']);
  assert.is(after(turn, ready, started, command('cancel'), failed).model.state, 'canceled');
});

test('pausing and muting are independent of each other', () => {
  const way = [turn, ready, started];
  assert.equal(after(...way, command('pause')).last, ['pauseRecorder']);
  assert.is(after(...way, command('pause')).model.state, 'paused');
  assert.equal(after(...way, command('mute')).last, ['muteRecorder']);
  assert.is(after(...way, command('mute')).model.state, 'recording');
  assert.is(after(...way, command('mute'), command('pause'), command('unmute')).value, 'paused');
  assert.is(after(...way, command('pause'), command('mute'), command('unpause')).value, 'muted');
  assert.equal(after(...way, command('mute'), command('mute')).last, []);
});

test('its commands are idempotent while it is in session, and refused outside of it', () => {
  const refusals = (...events: RecordingEvent[]) =>
    recordingCommands.filter((type) => refuseRecordingCommand(after(...events).snapshot, command(type)) !== undefined);
  const controls = ['pause', 'unpause', 'mute', 'unmute'];
  assert.equal(refusals(), controls);
  assert.equal(refusals(turn, ready), controls);
  for (const ways of [[], [command('pause')], [command('mute')], [command('mute'), command('pause')]])
    assert.equal(refusals(turn, ready, started, ...ways), []);
  assert.equal(refusals(turn, ready, started, command('stop')), controls);
  assert.equal(refusals(turn, ready, started, command('cancel')), controls);
  for (const way of [[turn, ready, finished], [turn, ready, failed], [command('cancel')], [gone]])
    assert.equal(refusals(...way), [...recordingCommands]);
});

const running: readonly RecordingEvent[][] = [
  [turn, ready],
  [turn, ready, started],
  [turn, ready, started, command('mute')],
  [turn, ready, started, command('pause')],
  [turn, ready, started, command('mute'), command('pause')],
];

test('from each state in which the recorder runs, it ends as it is asked to, and as the recorder tells', () => {
  for (const way of running) {
    const to = (event: RecordingEvent) => after(...way, event).value;
    assert.equal([command('stop'), command('cancel'), gone, finished, discarded, failed].map(to), [
      'finishing',
      'discarding',
      'finishing',
      'done',
      'canceled',
      'failed',
    ]);
  }
});

test('once its end was asked for, nothing but the recorder, or a cancel, decides what becomes of it', () => {
  const [stopped, canceled] = [command('stop'), command('cancel')];
  const to = (asked: RecordingEvent) => (event: RecordingEvent) => after(turn, ready, started, asked, event).value;
  const told = [finished, discarded, failed, stopped, gone, canceled, command('pause'), command('mute')];
  const stays = (state: string) => [state, state];
  assert.equal(told.slice(0, 6).map(to(stopped)), ['done', 'canceled', 'failed', ...stays('finishing'), 'discarding']);
  assert.equal(told.slice(0, 6).map(to(canceled)), [
    'canceled',
    'canceled',
    'canceled',
    ...stays('discarding'),
    'discarding',
  ]);
});

test('it is heard again after a pause, and after being muted, in any order', () => {
  const [pause, unpause, mute, unmute] = (['pause', 'unpause', 'mute', 'unmute'] as const).map(command) as [
    ...RecordingCommand[],
  ] as [RecordingCommand, RecordingCommand, RecordingCommand, RecordingCommand];
  const states = (...events: RecordingEvent[]) => after(turn, ready, started, ...events).value;
  assert.equal([states(pause, unpause), states(mute, unmute)], ['recording', 'recording']);
  assert.equal([states(mute, pause, unpause), states(mute, pause, unmute)], ['muted', 'paused']);
  assert.equal(
    [states(pause, mute, unmute, unpause), states(pause, mute, unpause, unmute)],
    ['recording', 'recording'],
  );
});

test('every state and transition is reached', () => {
  const coverage = coverChart(liveRecordingMachine, {
    inputs: [input],
    events: [turn, ready, started, finished, discarded, failed, gone, refused, ...recordingCommands.map(command)],
  });
  assertCovered(liveRecordingMachine, coverage);
});

test.run();
