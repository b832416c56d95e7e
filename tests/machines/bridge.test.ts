import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type BridgeEvent,
  type BridgeInput,
  type BridgeMember,
  bridgeMachine,
  bridgeModel,
  bridgeOperations,
  isOpen,
  memberOf,
  refuseBridgeOperation,
} from '../../src/machines/bridge.ts';
import { untouchedVideo } from '../../src/machines/bridge-video.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { afterDelay, assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const test = suite('bridge chart');

const input: BridgeInput = {
  id: 'b1',
  name: 'room',
  type: 'mixing',
  flags: [],
  features: { mute: false, suppressDtmf: false },
  class: 'stasis',
  creationTime: 1_000,
  variables: {},
  reported: [],
};
const member = (channelId: string, role = ''): BridgeMember => ({
  channelId,
  role,
  muted: false,
  absorbsDigits: false,
  inhibitsConnectedLine: false,
});
const enter = (channelId: string): BridgeEvent => ({ type: 'enter', member: member(channelId) });
const leave = (channelId: string): BridgeEvent => ({ type: 'leave', channelId });
const destroy: BridgeEvent = { type: 'destroy' };

type Action = { type: string; params?: { event?: { type: string } } };

/** Takes a bridge through events; gives where it is and the facts and effects of the last one. */
function after(events: readonly BridgeEvent[], change: Partial<BridgeInput> = {}) {
  let [snapshot, actions] = initialTransition(bridgeMachine, { ...input, ...change });
  for (const event of events) [snapshot, actions] = transition(bridgeMachine, snapshot, event);
  const last = (actions as unknown as Action[])
    .filter(({ type }) => !['xstate.raise', 'xstate.cancel'].includes(type))
    .map((action) =>
      action.type === 'xstate.emit' ? action.params?.event : [action.type, action.params].filter(Boolean),
    );
  return { snapshot, last, value: snapshot.value };
}

test('it is told once that it was made, and stays empty until somebody enters', () => {
  const made = after([]);
  assert.is(made.value, 'empty');
  assert.equal(made.last, [{ type: 'BridgeCreated' }]);
  assert.equal(bridgeModel(made.snapshot), {
    id: 'b1',
    technology: 'simple_bridge',
    bridge_type: 'mixing',
    bridge_class: 'stasis',
    creator: 'Stasis',
    name: 'room',
    channels: [],
    video_mode: 'talker',
    creationtime: formatTimestamp(1_000),
    creation: formatTimestamp(1_000),
  });
});

test('members enter and leave in their order; the last one leaves it empty, not destroyed', () => {
  const two = after([enter('a'), enter('b')]);
  assert.equal(two.last, [{ type: 'ChannelEnteredBridge', channelId: 'b' }, ['joinMix', { member: member('b') }]]);
  assert.equal(bridgeModel(two.snapshot).channels, ['a', 'b']);
  assert.equal(memberOf(two.snapshot, 'a'), member('a'));
  assert.is(memberOf(two.snapshot, 'c'), undefined);
  const one = after([enter('a'), enter('b'), leave('a')]);
  assert.is(one.value, 'occupied');
  assert.equal(one.last, [{ type: 'ChannelLeftBridge', channelId: 'a' }, ['leaveMix', { channelId: 'a' }]]);
  assert.is(after([enter('a'), leave('a')]).value, 'empty');
});

test('one that is destroyed empties first, then waits for what plays and records', () => {
  const emptying = after([enter('a'), enter('b'), destroy]);
  assert.is(emptying.value, 'emptying');
  assert.equal(emptying.last, [['removeMembers']]);
  assert.is(isOpen(emptying.snapshot), false);
  const events = [enter('a'), enter('b'), destroy, leave('a')];
  assert.is(after(events).value, 'emptying');
  const closing = after([...events, leave('b')]);
  assert.is(closing.value, 'closing');
  assert.equal(closing.last, [
    { type: 'ChannelLeftBridge', channelId: 'b' },
    ['leaveMix', { channelId: 'b' }],
    ['endWorks'],
  ]);
  const over = after([...events, leave('b'), { type: 'works.ended' }]);
  assert.is(over.value, 'destroyed');
  assert.equal(over.last, [{ type: 'BridgeDestroyed' }]);
});

test('the technology is the one Asterisk would use for so many', () => {
  const technology = (events: BridgeEvent[], unseen: number, change: Partial<BridgeInput> = {}) =>
    bridgeModel(after(events, change).snapshot, { unseen }).technology;
  assert.is(technology([enter('a'), enter('b')], 0), 'simple_bridge');
  assert.is(technology([enter('a'), enter('b')], 1), 'softmix');
  assert.is(technology([enter('a'), enter('b'), { type: 'startMoh', musicClass: 'x' }], 0), 'softmix');
  assert.is(technology([enter('a'), enter('b'), enter('c')], 0), 'softmix');
  assert.is(technology([], 0, { flags: ['video_sfu'] }), 'softmix');
  assert.is(technology([enter('a'), enter('b'), enter('c')], 0, { type: 'holding' }), 'holding_bridge');
});

test('its video mode is as its type says, and none where no application has made it', () => {
  const seen = (change: Partial<BridgeInput>) => bridgeModel(after([], change).snapshot).video_mode;
  assert.is(seen({}), 'talker');
  assert.is(seen({ flags: ['video_single'] }), 'single');
  assert.is(seen({ flags: ['video_sfu', 'video_single'] }), 'sfu');
  assert.is(seen({ class: 'basic', flags: ['video_single'] }), 'none');
});

test('whom it shows is told by its video, and one that is leaving is in it no more', () => {
  const { snapshot } = after([enter('a'), enter('b'), enter('c')]);
  const video = { ...untouchedVideo('b1', 'single'), context: { id: 'b1', mode: 'single', source: 'a' } } as const;
  const { video_mode, video_source_id, channels, technology } = bridgeModel(snapshot, {
    video: video as unknown as ReturnType<typeof untouchedVideo>,
    leaving: 'b',
  });
  assert.equal([video_mode, video_source_id, channels, technology], ['single', 'a', ['a', 'c'], 'simple_bridge']);
});

test('variables are shown when that was asked for, and no longer once they are removed', () => {
  const set = (name: string, value: string | undefined, report?: boolean): BridgeEvent => ({
    type: 'variable.set',
    name,
    value,
    ...(report === undefined ? {} : { report }),
  });
  const shown = (events: BridgeEvent[]) => bridgeModel(after(events).snapshot).bridgevars;
  assert.equal(shown([set('A', '1')]), undefined);
  assert.equal(shown([set('A', '1', true), set('A', '2')]), { A: '2' });
  assert.equal(shown([set('A', '1', true), set('A', '2', false)]), undefined);
  assert.equal(shown([set('A', '1', true), set('A', undefined)]), undefined);
});

test('music is on until it is off, and only then it is refused to turn it off', () => {
  const on = after([{ type: 'startMoh', musicClass: 'jazz' }]);
  assert.equal(on.last, [['playMusic', { musicClass: 'jazz' }]]);
  assert.is(refuseBridgeOperation(on.snapshot, 'stopMoh'), undefined);
  const off = after([{ type: 'startMoh', musicClass: 'jazz' }, { type: 'stopMoh' }]);
  assert.equal(off.last, [['playMusic', { musicClass: undefined }]]);
  assert.is(refuseBridgeOperation(off.snapshot, 'stopMoh'), 'bridgeNotPlayingMusic');
  assert.equal(after([{ type: 'stopMoh' }]).last, []);
  // The music counts as one that is heard: it needs no mixing with one member.
  const music: BridgeEvent = { type: 'startMoh', musicClass: 'jazz' };
  assert.is(bridgeModel(after([enter('a'), music]).snapshot).technology, 'simple_bridge');
  assert.is(bridgeModel(after([enter('a'), enter('b'), music]).snapshot).technology, 'softmix');
});

test('every operation is refused on a bridge that is going, and on one that is not of applications', () => {
  const going = after([enter('a'), destroy]).snapshot;
  const basic = after([], { class: 'basic' }).snapshot;
  for (const operation of bridgeOperations) {
    assert.is(refuseBridgeOperation(going, operation), 'bridgeNotFound', operation);
    assert.is(refuseBridgeOperation(basic, operation), 'bridgeNotInStasis', operation);
  }
  const others = bridgeOperations.filter((operation) => operation !== 'stopMoh');
  for (const operation of others) assert.is(refuseBridgeOperation(after([]).snapshot, operation), undefined, operation);
});

test('an empty bridge that is destroyed waits five seconds for what plays and records, and no longer', () => {
  const closing = after([destroy]);
  assert.equal([closing.value, closing.last], ['closing', [['endWorks']]]);
  assert.equal(delaysIn(bridgeMachine, closing.snapshot), { worksTimeout: 5_000 });
  assert.is(afterDelay(bridgeMachine, closing.snapshot, 'worksTimeout').status, 'done');
});

test('every state and transition is reached', () => {
  const coverage = coverChart(bridgeMachine, {
    inputs: [input],
    events: (snapshot): BridgeEvent[] => {
      const { members } = snapshot.context;
      return [
        ...['a', 'b', 'c'].filter((id) => members.every(({ channelId }) => channelId !== id)).map(enter),
        ...members.map(({ channelId }) => leave(channelId)),
        { type: 'member.change', channelId: 'a', absorbsDigits: true },
        { type: 'startMoh', musicClass: 'jazz' },
        { type: 'stopMoh' },
        { type: 'variable.set', name: 'A', value: '1', report: true },
        destroy,
        { type: 'works.ended' },
        { type: 'mix.lost' },
      ];
    },
    key: ({ context }) => [context.members.map(({ channelId }) => channelId), context.musicClass !== undefined],
  });
  assertCovered(bridgeMachine, coverage);
});

test.run();
