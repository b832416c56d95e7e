import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { verdicts } from '../../src/machines/allowed.ts';
import {
  liveRecordingIgnores,
  liveRecordingMachine,
  type RecordingCommand,
  refuseRecordingCommand,
} from '../../src/machines/live-recording.ts';
import {
  type PlaybackCommand,
  playbackIgnores,
  playbackMachine,
  refusePlaybackCommand,
} from '../../src/machines/playback.ts';

const allowed = suite('what a chart allows');

const playback = { refuse: refusePlaybackCommand, ignores: playbackIgnores };
const queued = initialTransition(playbackMachine, {
  ...{ id: 'p1', media: ['sound:a'], targetUri: 'channel:c1', language: 'en', offsetMs: 0, skipMs: 3_000 },
})[0];
const playing = transition(playbackMachine, queued, { type: 'turn' })[0];
const command = (type: PlaybackCommand['type']): PlaybackCommand => ({ type });

allowed('what is refused now comes with the states in which it would not be', () => {
  const verdict = verdicts(playbackMachine, queued, playback);
  assert.equal(verdict(command('pause')), {
    allowed: false,
    error: 'playbackNotPlaying',
    allowedIn: ['playing', 'paused', 'continuing', 'itemFailed'],
  });
  assert.equal(verdict(command('forward')), {
    allowed: false,
    error: 'playbackNotPlaying',
    allowedIn: ['playing', 'continuing', 'itemFailed'],
  });
  assert.equal(verdict(command('stop')), { allowed: true });
});

allowed('what would change nothing comes with the reason', () => {
  assert.equal(verdicts(playbackMachine, queued, playback)(command('restart')), {
    allowed: true,
    withoutEffect: 'it starts with the call',
  });
  assert.equal(verdicts(playbackMachine, playing, playback)(command('pause')), { allowed: true });
  assert.equal(verdicts(playbackMachine, playing, playback)(command('unpause')), {
    allowed: true,
    withoutEffect: 'it is not paused',
  });
});

allowed('a refusal that looks at the context sees the one there is', () => {
  const recording = initialTransition(liveRecordingMachine, {
    ...{ name: 'r', format: 'wav', targetUri: 'channel:c1', measuresSilence: false },
  })[0];
  const verdict = verdicts(liveRecordingMachine, recording, {
    refuse: (snapshot, { type }: RecordingCommand) => {
      assert.equal(snapshot.context, recording.context);
      return refuseRecordingCommand(snapshot, { type });
    },
    ignores: liveRecordingIgnores,
  });
  assert.equal(verdict({ type: 'mute' }), {
    allowed: false,
    error: 'recordingNotInSession',
    allowedIn: ['recording', 'muted', 'paused', 'pausedMuted'],
  });
});

allowed.run();
