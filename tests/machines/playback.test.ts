import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type PlaybackCommand,
  type PlaybackEvent,
  type PlaybackSnapshot,
  playbackMachine,
  playbackModel,
  refusePlaybackCommand,
} from '../../src/machines/playback.ts';
import { playbackOperations } from '../../src/models/playback.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const input = {
  id: 'p1',
  media: ['sound:a', 'sound:b', 'sound:c'],
  targetUri: 'channel:c1',
  language: 'en',
  offsetMs: 250,
  skipMs: 3_000,
};

const turn = { type: 'turn' } as const;
const finished = { type: 'media.finished' } as const;
const failed = { type: 'media.failed', reason: 'no such file' } as const;
const gone = { type: 'target.gone' } as const;
const command = (type: PlaybackCommand['type']): PlaybackCommand => ({ type });

type Effect = { type: string; params?: unknown; event?: { type: string } };

/** Takes a playback through events; gives where it ended and the effects and facts of the last one. */
function after(events: readonly PlaybackEvent[], media: readonly string[] = input.media) {
  let [snapshot] = initialTransition(playbackMachine, { ...input, media });
  let effects: unknown[] = [];
  for (const event of events) {
    const [next, actions] = transition(playbackMachine, snapshot, event);
    snapshot = next;
    effects = (actions as unknown as (Effect & { params: { event?: { type: string } } })[]).map((action) =>
      action.type === 'xstate.emit' ? action.params.event?.type : [action.type, action.params].filter(Boolean),
    );
  }
  return { snapshot, effects, value: snapshot.value };
}

const playback = suite('playback chart');

playback('plays each item when its turn comes, the offset only for the first', () => {
  assert.equal(after([]).value, 'queued');
  const first = after([turn]);
  assert.is(first.value, 'playing');
  assert.equal(first.effects, [['startItem', { index: 0, offsetMs: 250 }], 'PlaybackStarted']);
  const between = after([turn, finished]);
  assert.is(between.value, 'continuing');
  assert.equal(between.effects, ['PlaybackContinuing', ['requestTurn']]);
  const second = after([turn, finished, turn]);
  assert.is(second.value, 'playing');
  assert.equal(second.effects, [['startItem', { index: 1, offsetMs: 0 }], 'PlaybackStarted']);
  const last = after([turn, finished, turn, finished, turn, finished]);
  assert.is(last.value, 'done');
  assert.equal(last.effects, ['PlaybackFinished']);
});

playback('an item that fails before the last is skipped and remembered', () => {
  const skipped = after([turn, failed]);
  assert.is(skipped.value, 'itemFailed');
  assert.equal(skipped.effects, ['PlaybackContinuing', ['requestTurn']]);
  assert.equal(playbackModel(skipped.snapshot), {
    id: 'p1',
    media_uri: 'sound:a',
    next_media_uri: 'sound:b',
    target_uri: 'channel:c1',
    language: 'en',
    state: 'continuing',
    failed_media_uris: ['sound:a'],
  });
  const end = after([turn, failed, turn, finished, turn, finished]);
  assert.is(end.value, 'done');
  assert.equal(playbackModel(end.snapshot).failed_media_uris, ['sound:a']);
});

playback('the last item that fails fails the list', () => {
  const end = after([turn, finished, turn, finished, turn, failed]);
  assert.is(end.value, 'failed');
  assert.equal(end.effects, ['PlaybackFinished']);
  assert.equal(playbackModel(end.snapshot), {
    id: 'p1',
    media_uri: 'sound:c',
    target_uri: 'channel:c1',
    language: 'en',
    state: 'failed',
    failed_media_uris: ['sound:c'],
  });
});

playback('a pause that is lifted starts again with an event, and an item may run out meanwhile', () => {
  assert.equal(after([turn, command('pause')]).effects, [['pauseItem']]);
  const resumed = after([turn, command('pause'), command('unpause')]);
  assert.is(resumed.value, 'playing');
  assert.equal(resumed.effects, [['resumeItem'], 'PlaybackStarted']);
  assert.is(after([turn, command('pause'), finished]).value, 'continuing');
  assert.is(after([turn, command('pause'), failed]).value, 'itemFailed');
  assert.is(after([turn, command('pause'), finished], ['sound:a']).value, 'done');
  assert.is(after([turn, command('pause'), failed], ['sound:a']).value, 'failed');
});

playback('forward, reverse and restart work on the current item', () => {
  assert.equal(after([turn, command('forward')]).effects, [['seekItem', { ms: 3_000 }]]);
  assert.equal(after([turn, command('reverse')]).effects, [['seekItem', { ms: -3_000 }]]);
  assert.equal(after([turn, command('restart')]).effects, [['restartItem']]);
});

playback('stop ends the whole list, wherever it is', () => {
  for (const events of [[turn], [turn, command('pause')]]) {
    const stopped = after([...events, command('stop')]);
    assert.is(stopped.value, 'done');
    assert.equal(stopped.effects, [['stopItem'], 'PlaybackFinished']);
    assert.is(playbackModel(stopped.snapshot).next_media_uri, 'sound:b');
  }
  for (const event of [finished, failed]) {
    const stopped = after([turn, event, command('stop')]);
    assert.is(stopped.value, 'done');
    assert.equal(stopped.effects, ['PlaybackFinished']);
  }
});

playback('one that is stopped while queued tells so when its turn comes', () => {
  const cancelled = after([command('stop')]);
  assert.equal(cancelled.effects, []);
  assert.is(playbackModel(cancelled.snapshot).state, 'done');
  const end = after([command('stop'), turn]);
  assert.is(end.value, 'done');
  assert.equal(end.effects, ['PlaybackFinished']);
});

playback('a target that goes fails what plays and silently drops what waits', () => {
  assert.equal(after([turn, gone]).effects, [['stopItem'], 'PlaybackFinished']);
  assert.is(after([turn, gone]).value, 'failed');
  assert.is(after([turn, command('pause'), gone]).value, 'failed');
  assert.is(after([turn, finished, gone]).value, 'failed');
  assert.is(after([turn, failed, gone]).value, 'failed');
  for (const events of [[gone], [command('stop'), gone]]) {
    const dropped = after(events);
    assert.is(dropped.value, 'dropped');
    assert.equal(dropped.effects, []);
  }
});

const refused = '409';
const states: [
  name: string,
  snapshot: PlaybackSnapshot,
  restart: string,
  pause: string,
  unpause: string,
  seek: string,
][] = [
  ['queued', after([]).snapshot, 'nothing', refused, refused, refused],
  ['cancelled', after([command('stop')]).snapshot, refused, refused, refused, refused],
  ['playing', after([turn]).snapshot, 'done', 'done', 'nothing', 'done'],
  ['continuing', after([turn, finished]).snapshot, 'nothing', 'nothing', 'nothing', 'nothing'],
  ['itemFailed', after([turn, failed]).snapshot, 'nothing', 'nothing', 'nothing', 'nothing'],
  ['paused', after([turn, command('pause')]).snapshot, refused, 'nothing', 'done', refused],
  ['done', after([turn, command('stop')]).snapshot, refused, refused, refused, refused],
  ['failed', after([turn, gone]).snapshot, refused, refused, refused, refused],
  ['dropped', after([gone]).snapshot, refused, refused, refused, refused],
];

for (const [name, snapshot, restart, pause, unpause, seek] of states)
  playback(`every command is decided while ${name}`, () => {
    assert.is(snapshot.value, name);
    const decide = (type: PlaybackCommand['type']): string => {
      if (refusePlaybackCommand(snapshot, { type })) return refused;
      return snapshot.can({ type }) ? 'done' : 'nothing';
    };
    assert.equal(
      [decide('restart'), decide('pause'), decide('unpause'), decide('forward'), decide('reverse')],
      [restart, pause, unpause, seek, seek],
    );
    assert.is(refusePlaybackCommand(snapshot, { type: 'stop' }), undefined);
  });

playback('the states of the table are the states of the chart', () => {
  assert.equal(Object.keys(playbackMachine.states).sort(), states.map(([name]) => name).sort());
});

playback('every state is reached and every transition taken', () => {
  const coverage = coverChart(playbackMachine, {
    inputs: [input],
    events: [
      turn,
      finished,
      failed,
      gone,
      ...['stop', ...playbackOperations].map((type) => ({ type }) as PlaybackCommand),
    ],
    key: ({ context }) => context.index,
  });
  assertCovered(playbackMachine, coverage);
});

playback.run();
