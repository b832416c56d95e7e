import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type BridgeVideoEvent,
  type BridgeVideoInput,
  bridgeVideoMachine,
  untouchedVideo,
  videoModeOf,
} from '../../src/machines/bridge-video.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const test = suite('chart of the video of a bridge');

type Mode = BridgeVideoInput['mode'];
const modes: readonly Mode[] = ['none', 'talker', 'single', 'sfu'];
const source = (channelId: string): BridgeVideoEvent => ({ type: 'setVideoSource', channelId });
const clear: BridgeVideoEvent = { type: 'clearVideoSource' };
const mixShows = (channelId?: string): BridgeVideoEvent => ({ type: 'mix.videoSource', channelId });
const leaving = (channelId: string): BridgeVideoEvent => ({ type: 'member.leaving', channelId });

type Action = { type: string; params?: { event?: object } };

/** Takes the video of a bridge through events; gives where it is and the facts and effects of the last one. */
function after(mode: Mode, events: readonly BridgeVideoEvent[]) {
  let [snapshot, actions] = initialTransition(bridgeVideoMachine, { id: 'b1', mode });
  for (const event of events) [snapshot, actions] = transition(bridgeVideoMachine, snapshot, event);
  const last = (actions as unknown as Action[]).map((action) =>
    action.type === 'xstate.emit' ? action.params?.event : action.type,
  );
  const { value, context } = snapshot;
  return { snapshot, last, at: [value, context.source, context.chosen], mode: videoModeOf(snapshot) };
}

const changed = (old: string | undefined, left?: string) => ({
  type: 'BridgeVideoSourceChanged',
  old,
  ...(left === undefined ? {} : { leaving: left }),
});

test('it ends with its bridge in every mode, whoever was shown', () => {
  for (const mode of modes)
    for (const events of [[], [source('a')], [source('a'), leaving('a')]])
      assert.is(after(mode, [...events, { type: 'bridge.gone' }]).snapshot.status, 'done');
});

test('it follows who talks also where the one that was asked for sends nothing', () => {
  const hidden = after('single', [source('a'), mixShows(undefined), clear]);
  assert.equal([hidden.at, hidden.mode], [['talker', undefined, undefined], 'talker']);
});

test('it begins in the mode of its bridge, and tells nobody', () => {
  for (const mode of modes) {
    const begun = after(mode, []);
    assert.equal([begun.at, begun.mode, begun.last], [[mode, undefined, undefined], mode, []]);
    const untouched = untouchedVideo('b1', mode);
    assert.equal([untouched.value, untouched.context], [begun.snapshot.value, begun.snapshot.context]);
  }
});

test('a source that is asked for is shown, told when it changes, and lost when it leaves', () => {
  const set = after('talker', [source('a')]);
  assert.equal(set.last, [changed(undefined), 'showVideo']);
  assert.equal([set.at, set.mode], [['chosen', 'a', 'a'], 'single']);
  assert.equal(after('talker', [source('a'), source('a')]).last, []);
  assert.equal(after('talker', [source('a'), source('b')]).last, [changed('a'), 'showVideo']);
  const gone = after('talker', [source('a'), leaving('a')]);
  assert.equal(gone.last, [changed('a', 'a')]);
  assert.equal([gone.at, gone.mode], [['single', undefined, undefined], 'single']);
  assert.equal(after('talker', [source('a'), leaving('b')]).last, []);
});

test('without a source it follows who talks, once it is cleared', () => {
  const cleared = after('talker', [source('a'), clear]);
  assert.equal(
    [cleared.last, cleared.at],
    [
      [changed('a'), 'showVideo'],
      ['talker', undefined, undefined],
    ],
  );
  assert.equal(after('talker', [source('a'), clear, clear]).last, []);
  for (const mode of ['single', 'sfu'] as const) {
    const { last, at } = after(mode, [clear]);
    assert.equal([last, at], [['showVideo'], ['talker', undefined, undefined]]);
  }
});

test('who talks is the source as soon as the mix shows it', () => {
  for (const mode of ['talker', 'single'] as const) {
    const talks = after(mode, [mixShows('a')]);
    assert.equal([talks.last, talks.at], [[changed(undefined)], [mode, 'a', undefined]]);
    assert.equal(after(mode, [mixShows('a'), mixShows('a')]).last, []);
    assert.equal(after(mode, [mixShows('a'), mixShows('b')]).last, [changed('a')]);
    assert.equal(after(mode, [mixShows('a'), mixShows()]).last, [changed('a')]);
    assert.equal(after(mode, [mixShows('a'), leaving('a')]).last, [changed('a', 'a')]);
    assert.equal(after(mode, [mixShows('a'), leaving('b')]).last, []);
  }
  for (const mode of ['none', 'sfu'] as const) assert.equal(after(mode, [mixShows('a'), leaving('a')]).last, []);
});

test('a source that was asked for is the one again when it sends, and one that talks can be made it', () => {
  const lost = after('talker', [source('a'), mixShows('b')]);
  assert.equal([lost.last, lost.at], [[changed('a')], ['chosen', 'b', 'a']]);
  const back = after('talker', [source('a'), mixShows('b'), mixShows('a')]);
  assert.equal([back.last, back.at], [[changed('b')], ['chosen', 'a', 'a']]);
  const asked = after('talker', [mixShows('a'), source('a')]);
  assert.equal([asked.last, asked.at], [['showVideo'], ['chosen', 'a', 'a']]);
  // Whoever was asked for leaves while another is shown: the wish goes with it.
  const left = after('talker', [source('a'), mixShows('b'), leaving('a')]);
  assert.equal([left.last, left.at], [[], ['single', 'b', undefined]]);
  // Whoever is shown instead leaves: the wish stays.
  const instead = after('talker', [source('a'), mixShows('b'), leaving('b')]);
  assert.equal([instead.last, instead.at], [[changed('b', 'b')], ['chosen', undefined, 'a']]);
});

test('whoever comes, goes or agrees on other video is arranged for in every mode', () => {
  for (const events of [[], [source('a')]] as const)
    for (const mode of modes) {
      assert.equal(after(mode, [...events, { type: 'members.changed' }]).last, ['arrangeVideo']);
      assert.equal(after(mode, [...events, { type: 'member.videoChanged', channelId: 'a' }]).last, ['arrangeVideo']);
    }
});

test('every state and transition is reached', () => {
  const coverage = coverChart(bridgeVideoMachine, {
    inputs: modes.map((mode) => ({ id: 'b1', mode })),
    events: [
      ...['a', 'b'].flatMap((id) => [source(id), mixShows(id), leaving(id)]),
      mixShows(),
      clear,
      { type: 'members.changed' },
      { type: 'member.videoChanged', channelId: 'a' },
      { type: 'bridge.gone' },
    ],
    key: ({ context }) => [context.source, context.chosen],
  });
  assertCovered(bridgeVideoMachine, coverage);
});

test.run();
