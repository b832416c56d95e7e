import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type ChannelContext,
  type ChannelEvent,
  type ChannelInput,
  type ChannelSnapshot,
  channelMachine,
  channelModel,
  channelOperations,
  channelState,
  lifeOf,
  refuseChannelOperation,
} from '../../src/machines/channel.ts';
import { noTimeout } from '../../src/machines/channel-setup.ts';
import { formatTimestamp } from '../../src/models/timestamp.ts';
import { afterDelay, assertCovered, coverChart, delaysIn, onward } from '../support/charts.ts';

const outbound: ChannelInput = {
  id: 'c1',
  name: 'PJSIP/alice-00000001',
  technology: 'PJSIP',
  endpoint: ['PJSIP', 'alice'],
  protocolId: 'call-1',
  origin: 'originated',
  caller: { name: '', number: '' },
  connected: { name: '', number: '' },
  accountCode: '',
  language: 'en',
  creationTime: 0,
  dialplan: { context: 'default', exten: 's', priority: 1, appName: '', appData: '' },
  variables: {},
  inheritance: {},
  reported: [],
  dialString: 'alice',
};
const created: ChannelInput = { ...outbound, origin: 'created' };
const incoming: ChannelInput = { ...outbound, origin: 'incoming' };
const attached: ChannelInput = { ...outbound, origin: 'attached', linked: { id: 'c0', since: 5 } };
const position = { context: 'default', extension: '100', priority: 2 };

const dial = { type: 'dial', timeoutMs: 30_000 } as const;
const answered = { type: 'leg.answered' } as const;
const hangup = { type: 'hangup', cause: 16 } as const;
const ended = { type: 'leg.ended' } as const;

type Recorded = { type: string; params?: { event?: { type: string } } };

/** Takes a channel through events; gives where it is and, of the last one, the facts and effects in order. */
function after(input: ChannelInput, ...events: ChannelEvent[]) {
  let [snapshot, actions] = initialTransition(channelMachine, input);
  for (const event of events) [snapshot, actions] = transition(channelMachine, snapshot, event);
  const told = (actions as unknown as Recorded[])
    .filter(({ type }) => !['xstate.assign', 'xstate.raise', 'xstate.cancel'].includes(type))
    .map(({ type, params }) =>
      type === 'xstate.emit' ? params?.event : params ? { effect: type, ...params } : { effect: type },
    );
  return { snapshot, told, life: lifeOf(snapshot), state: channelState(snapshot) };
}

const chart = suite('channel chart');

chart('is first seen in the state its origin gives it', () => {
  const seen = [outbound, created, incoming].map((input) => after(input)).map(({ state, told }) => [state, told]);
  const told = [{ type: 'ChannelCreated' }];
  assert.equal(seen, [
    ['Down', told],
    ['Down', told],
    ['Ring', told],
  ]);
});

chart('its cause is 0 until one is known', () => {
  for (const input of [outbound, created, incoming]) assert.is(after(input).snapshot.context.cause, 0);
});

chart('an originated call that is answered tells of its state and of its dialing', () => {
  const { told, state } = after(outbound, dial, { type: 'leg.ringing' }, answered);
  assert.is(state, 'Up');
  assert.equal(told, [
    { type: 'ChannelStateChange' },
    { type: 'Dial', dialstatus: 'ANSWER', dialstring: 'alice', forward: '' },
  ]);
});

chart('a far side that alerts in its early media is Ringing, and its Dial tells PROGRESS alone', () => {
  const progress = { type: 'Dial', dialstatus: 'PROGRESS', dialstring: 'alice', forward: '' };
  assert.equal(after(outbound, dial, { type: 'leg.progressed' }).told, [progress]);
  const ringing = after(outbound, dial, { type: 'leg.progressed' }, { type: 'leg.ringing', inMedia: true });
  assert.equal([ringing.state, ringing.told], ['Ringing', [{ type: 'ChannelStateChange' }]]);
  const plain = after(outbound, dial, { type: 'leg.ringing' });
  assert.equal(
    [plain.life, plain.told],
    ['ringing', [{ type: 'ChannelStateChange' }, { ...progress, dialstatus: 'RINGING' }]],
  );
});

chart('an originated call that the far side refuses tells of the hang-up, and the status of its cause', () => {
  const { told, life } = after(outbound, dial, { type: 'leg.hungUp', cause: 17, techCause: 486 });
  assert.is(life, 'hangingUp');
  assert.equal(told, [
    { type: 'ChannelHangupRequest', cause: 17, techCause: 486 },
    { type: 'Dial', dialstatus: 'BUSY', dialstring: 'alice', forward: '' },
    { effect: 'stopDialplan' },
    { effect: 'hangupLeg', cause: 17 },
  ]);
  const over = after(outbound, dial, { type: 'leg.hungUp', cause: 17, techCause: 486 }, ended);
  assert.equal(over.told, [{ type: 'ChannelDestroyed', cause: 17, techCause: 486 }]);
  assert.is(over.snapshot.status, 'done');
});

chart('the cause of a failed dial is noted until the call is ended', () => {
  const noted = { type: 'cause.set', cause: 17 } as const;
  assert.is(after(incoming, noted).snapshot.context.cause, 17);
  assert.is(after(incoming, { type: 'hangup', cause: 21 }, noted).snapshot.context.cause, 21);
  const refused = { type: 'leg.hungUp', cause: 34 } as const;
  assert.is(after(outbound, dial, refused, noted).snapshot.context.cause, 34);
});

chart('each cause of a refusal has its dial status', () => {
  const status = (cause: number) =>
    (after(outbound, dial, { type: 'leg.hungUp', cause }).told[1] as unknown as { dialstatus: string }).dialstatus;
  assert.equal([17, 34, 3, 20, 21].map(status), ['BUSY', 'CONGESTION', 'CHANUNAVAIL', 'CHANUNAVAIL', 'NOANSWER']);
});

chart('an originated call that a client hangs up has a Dial event of its end; a created one has none', () => {
  const dialEnded = { type: 'Dial', dialstatus: 'NOANSWER', dialstring: 'alice', forward: '' };
  const asked = { type: 'ChannelHangupRequest', cause: 16, soft: true };
  const last = [{ effect: 'stopDialplan' }, { effect: 'hangupLeg', cause: 16 }];
  for (const events of [[dial], [dial, { type: 'leg.ringing' } as const]]) {
    assert.equal(after(outbound, ...events, hangup).told, [asked, dialEnded, ...last]);
    assert.equal(after(created, ...events, hangup).told, [asked, ...last]);
  }
});

chart('only the first Dial of a created call names what is dialed', () => {
  assert.equal(after(created, dial).told[0], { type: 'Dial', dialstatus: '', dialstring: 'alice', forward: '' });
  const { told } = after(created, dial, answered);
  assert.equal(told[1], { type: 'Dial', dialstatus: 'ANSWER', dialstring: '', forward: '' });
});

chart('an application that is entered is shown, as the dialplan would write it unless the dialplan did', () => {
  const entered = { type: 'application.entered', app: 'hello', args: ['a', 'b,c'] } as const;
  const { snapshot, told } = after(outbound, dial, answered, entered);
  assert.equal(told, [{ type: 'ChannelVarset', variable: 'STASISSTATUS', value: '' }]);
  const { app_name, app_data } = channelModel(snapshot).dialplan;
  assert.equal([app_name, app_data], ['Stasis', 'hello,a,"b,c"']);
  const written = { type: 'dialplan.entered', position, app: 'Stasis', data: 'hello, a' } as const;
  assert.is(channelModel(after(incoming, written, entered).snapshot).dialplan.app_data, 'hello, a');
});

chart('a created call is told as a hang-up that its dialing ended', () => {
  const { told } = after(created, dial, { type: 'leg.hungUp', cause: 17 });
  assert.equal(told[0], { type: 'ChannelHangupRequest', cause: 17 });
});

chart('a leg that never says it ended makes no zombie', () => {
  const { snapshot, life } = after(incoming, hangup, { type: 'leg.lingers' });
  assert.is(life, 'lingering');
  const [late, actions] = transition(channelMachine, snapshot, {
    type: 'xstate.after.hangupTimeout.channel.lingering',
  } as never);
  assert.equal(
    actions.map(({ type }) => type),
    ['giveUpLeg'],
  );
  const [over] = transition(channelMachine, late, ended);
  assert.is(over.status, 'done');
});

chart('a leg that breaks while it is hung up is waited for like one that says nothing', () => {
  assert.is(after(incoming, hangup, { type: 'effect.failed' }).life, 'lingering');
});

chart('variables: set, reported, inherited, removed; removing what is not there tells nothing', () => {
  const set = (name: string, value: string | undefined, report?: boolean) =>
    ({ type: 'variable.set', name, value, ...(report === undefined ? {} : { report }) }) as const;
  const { snapshot, told } = after(incoming, set('A', '1'), set('__B', '2', true));
  assert.equal(snapshot.context.variables, { A: '1', B: '2' });
  assert.equal(snapshot.context.inheritance, { B: 'always' });
  assert.equal(snapshot.context.reported, ['B']);
  assert.equal(told, [{ type: 'ChannelVarset', variable: '__B', value: '2' }]);
  assert.equal(after(incoming, set('A', '1'), set('A', undefined)).snapshot.context.variables, {});
  assert.equal(after(incoming, set('A', undefined)).told, []);
});

chart('the model shows every field, and the last state after the end', () => {
  const { snapshot } = after(incoming, {
    type: 'caller.set',
    caller: { number: '100', redirection: { from: { name: '', number: '200' } } },
  });
  assert.equal(channelModel(snapshot, { X: 'y' }), {
    id: 'c1',
    name: 'PJSIP/alice-00000001',
    state: 'Ring',
    protocol_id: 'call-1',
    caller: { name: '', number: '100' },
    connected: { name: '', number: '' },
    accountcode: '',
    dialplan: { context: 'default', exten: 's', priority: 1, app_name: '', app_data: '' },
    creationtime: formatTimestamp(0),
    language: 'en',
    caller_rdnis: '200',
    channelvars: { X: 'y' },
  });
  assert.is(after(incoming, answered, hangup, ended).state, 'Up');
  assert.is(after(incoming, hangup, ended).state, 'Ring');
});

chart('an outbound call that is not answered, or one that is over, refuses what needs an answer', () => {
  const refusals = (snapshot: ChannelSnapshot) =>
    channelOperations.map((operation) => refuseChannelOperation(snapshot, operation));
  const each = (others: string | undefined, dialing: string | undefined) => [
    ...new Array(channelOperations.length - 1).fill(others),
    dialing,
  ];
  assert.equal(refusals(after(created).snapshot), each('channelInvalidState', undefined));
  assert.equal(refusals(after(outbound).snapshot), each('channelInvalidState', 'channelNotCreated'));
  assert.equal(refusals(after(created, dial).snapshot), each('channelInvalidState', 'channelNotDown'));
  assert.equal(refusals(after(incoming).snapshot), each(undefined, 'channelNotDown'));
  assert.equal(refusals(after(created, dial, answered).snapshot), each(undefined, 'channelNotDown'));
  assert.equal(refusals(after(incoming, hangup).snapshot), each('channelInvalidState', 'channelNotDown'));
});

chart('whatever ends a channel hangs its leg up, from each state that it lives in', () => {
  const ringing = { type: 'leg.ringing' } as const;
  const ways: [ChannelInput, ...ChannelEvent[]][] = [
    ...[[outbound], [outbound, dial], [outbound, dial, ringing], [outbound, dial, answered]],
    ...[[created], [created, dial], [created, dial, ringing], [created, { type: 'dial.soon', timeoutMs: 1_000 }]],
    ...[[incoming], [incoming, { type: 'busy' }], [incoming, answered], [attached]],
  ] as [ChannelInput, ...ChannelEvent[]][];
  const ends = ['hangup', 'leg.hungUp', 'dialplan.ended', 'finish'] as const;
  for (const [input, ...way] of ways)
    for (const type of ends) {
      const { told, life, snapshot } = after(input, ...way, { type, cause: 16 });
      assert.equal(
        [life, snapshot.context.cause, told.slice(-1)],
        ['hangingUp', 16, [{ effect: 'hangupLeg', cause: 16 }]],
      );
    }
});

chart('a call that nobody answers is given up after the time it was dialed for, as not answered', () => {
  const times = (...way: ChannelEvent[]) => delaysIn(channelMachine, after(created, ...way).snapshot);
  const ringing = { type: 'leg.ringing' } as const;
  assert.equal([times(dial), times(dial, ringing)], [{ dialTimeout: 30_000 }, { dialTimeout: 30_000 }]);
  for (const way of [[dial], [dial, ringing]]) {
    const given = (input: ChannelInput) => {
      const type = `xstate.after.dialTimeout.channel.${after(input, ...way).life}`;
      const { told, life, snapshot } = after(input, ...way, { type } as never);
      return [life, snapshot.context.cause, told[0]];
    };
    assert.equal(given(outbound), ['hangingUp', 19, { effect: 'stopDialplan' }]);
    assert.equal(given(created), ['hangingUp', 19, { type: 'ChannelHangupRequest', cause: 19, soft: true }]);
  }
});

chart('what is dialed by a request is dialed behind its answer; a leg has five seconds to end', () => {
  const { snapshot } = after(created, { type: 'dial.soon', timeoutMs: 1_000 });
  assert.equal(delaysIn(channelMachine, snapshot), { soon: 0 });
  const dialing = afterDelay(channelMachine, snapshot, 'soon');
  assert.equal([lifeOf(dialing), delaysIn(channelMachine, dialing)], ['dialing', { dialTimeout: 1_000 }]);
  const lingering = after(incoming, hangup, { type: 'leg.lingers' }).snapshot;
  assert.equal(delaysIn(channelMachine, lingering), { hangupTimeout: 5_000 });
  assert.is(lifeOf(onward(channelMachine, lingering, ended)), 'destroyed');
});

chart('a caller who is told that it is busy, and a call that breaks, keep their causes', () => {
  const busy = after(incoming, { type: 'busy' });
  assert.equal([busy.life, busy.snapshot.context.cause, busy.told], ['busy', 17, [{ type: 'ChannelStateChange' }]]);
  const broken = after(incoming, answered, { type: 'effect.failed' });
  assert.equal(
    [broken.life, broken.snapshot.context.cause, broken.snapshot.context.endedBy],
    ['hangingUp', 41, 'fault'],
  );
});

chart('a forwarded call whose way nobody may follow ends, also that of an originate', () => {
  const { told, life, snapshot } = after(outbound, dial, { type: 'leg.forwarded', target: 'PJSIP/bob' });
  assert.equal([life, snapshot.context.cause, told.length], ['hangingUp', 22, 3]);
});

chart('clients hear of changes alone: of a party, and of a variable that was there', () => {
  const types = (...events: ChannelEvent[]) => after(incoming, ...events).told.map((each) => Object.values(each!)[0]);
  const a = { type: 'caller.set', caller: { name: 'A' } } as const;
  assert.equal([types(a), types(a, a)], [['ChannelCallerId'], []]);
  const b = { type: 'connected.set', party: { name: 'B' } } as const;
  assert.equal([types(b), types(b, b)], [['ChannelConnectedLine', 'presentParty'], []]);
  assert.equal(types({ ...b, quietly: true }), ['ChannelConnectedLine']);
  const set = { type: 'variable.set', name: 'A', value: '1' } as const;
  assert.equal(types(set, { ...set, value: undefined }), ['ChannelVarset']);
  assert.equal(types({ ...set, value: undefined }), []);
});

chart('a hold is told to the peer, unless the channel only tells of it', () => {
  const held = (on: boolean, ...events: ChannelEvent[]) =>
    after(incoming, answered, { type: 'holdIntercept.set', on }, ...events).told.map((each) => Object.values(each!)[0]);
  const [hold, unhold] = [{ type: 'leg.held' }, { type: 'leg.unheld' }] as const;
  assert.equal([held(false, hold), held(true, hold)], [['ChannelHold', 'holdPeer'], ['ChannelHold']]);
  assert.equal(
    [held(false, hold, unhold), held(true, hold, unhold)],
    [['ChannelUnhold', 'holdPeer'], ['ChannelUnhold']],
  );
});

chart('a tone leads elsewhere when it was heard so often as is set, in its direction', () => {
  const tones = { type: 'tones.set', tones: { times: 2, to: { in: position }, heard: { in: 0, out: 0 } } } as const;
  const heard = (...directions: ('in' | 'out')[]) =>
    after(
      ...([incoming, answered, tones] as const),
      ...directions.map((direction) => ({ type: 'leg.toneDetected', direction }) as const),
    );
  const told = { type: 'ChannelToneDetected' };
  assert.equal(heard('in').told, [told]);
  assert.equal(heard('in', 'in').told, [{ effect: 'goOnAt', position }, told]);
  assert.equal(heard('out', 'in').told, [told]);
  assert.equal(heard('out', 'out').told, [told]);
  assert.equal(heard('in', 'out').snapshot.context.tones?.heard, { in: 1, out: 1 });
});

chart('every state is reached and every transition taken by paths made from the chart', () => {
  const coverage = coverChart(channelMachine, {
    inputs: [outbound, created, incoming, attached],
    events: [
      dial,
      { type: 'dial.soon', timeoutMs: 30_000 },
      answered,
      hangup,
      ended,
      { type: 'answer' },
      { type: 'ring' },
      { type: 'ringStop' },
      { type: 'progress' },
      { type: 'busy' },
      { type: 'dtmf', sequence: { digits: '1', beforeMs: 0, betweenMs: 100, durationMs: 100, afterMs: 0 } },
      { type: 'variable.set', name: 'X', value: '1' },
      { type: 'variable.set', name: 'Y', value: undefined },
      { type: 'variable.preset', variables: { Z: '1' }, inheritance: {} },
      { type: 'caller.set', caller: { name: 'A' } },
      { type: 'caller.set', caller: { presentation: 0x20 } },
      { type: 'connected.set', party: { name: 'B' } },
      { type: 'connected.set', party: { name: 'C' }, quietly: true },
      { type: 'connected.set', party: { ani: '1' } },
      { type: 'language.set', language: 'de' },
      { type: 'accountCode.set', accountCode: '7' },
      { type: 'cause.set', cause: 17 },
      { type: 'tenantId.set', tenantId: 't' },
      { type: 'musicClass.set', musicClass: 'jazz' },
      { type: 'peerAccount.set', peerAccount: '8' },
      { type: 'hangupSource.set', source: 'dialplan/builtin' },
      { type: 'timeLimit.set', limit: { ms: 1_000, at: 2_000 } },
      { type: 'timeLimit.set', limit: undefined },
      { type: 'timeLimit.over' },
      { type: 'holdIntercept.set', on: true },
      { type: 'transferHandling.set', handling: 'client' },
      {
        type: 'leg.transferAsked',
        transfer: { id: '2', extension: '1', context: 'default', target: 'sip:1@x', handling: 'core' },
      },
      { type: 'linked.set', linked: { id: 'c0', since: 5 } },
      { type: 'bridge.entered', bridgeId: 'b1' },
      { type: 'bridge.left' },
      { type: 'userEvent', name: 'E', fields: {} },
      { type: 'finish', cause: 16 },
      { type: 'effect.failed' },
      { type: 'dialplan.entered', position, app: 'Wait', data: '1' },
      { type: 'dialplan.ended', cause: 16 },
      { type: 'application.entered', app: 'hello', args: [] },
      { type: 'leg.lingers' },
      { type: 'leg.offered' },
      { type: 'leg.proceeding' },
      { type: 'leg.forwarding' },
      { type: 'leg.ringing' },
      { type: 'leg.progressed' },
      { type: 'leg.hungUp', cause: 17 },
      { type: 'leg.digit', digit: '1', durationMs: 100 },
      { type: 'leg.talkingStarted' },
      { type: 'leg.talkingFinished', durationMs: 900 },
      { type: 'tones.set', tones: { times: 1, to: { in: position }, heard: { in: 0, out: 0 } } },
      { type: 'leg.toneDetected', direction: 'in' },
      { type: 'leg.toneDetected', direction: 'out' },
      { type: 'leg.ringing', inMedia: true },
      { type: 'leg.held' },
      { type: 'leg.unheld' },
      { type: 'leg.connectedLine', party: { name: 'C', number: '3' } },
      { type: 'leg.forwarded', target: 'PJSIP/bob' },
      {
        type: 'leg.forwarded',
        target: 'Local/300@default',
        redirection: { from: { name: '', number: '200' }, count: 1, followed: ['Local/300@default'] },
      },
      { type: 'forwarded', target: 'Local/300@default', successor: 'c2' },
    ],
    key: ({ context }) => `${context.origin} ${context.interceptsHold} ${context.tones !== undefined}`,
  });
  assertCovered(channelMachine, coverage);
});

chart('a channel begins a call of its own unless it was made for one; it is told of its bridge', () => {
  assert.equal(after(outbound).snapshot.context.linked, { id: 'c1', since: 0 });
  const there = after(attached, { type: 'bridge.entered', bridgeId: 'b1' });
  assert.is(channelState(there.snapshot), 'Up');
  assert.equal([there.snapshot.context.linked.id, there.snapshot.context.bridgeId], ['c0', 'b1']);
});

chart('the first that is named as the source of the hang-up stays', () => {
  const named = (source: string) => ({ type: 'hangupSource.set', source }) as const;
  const { snapshot } = after(incoming, named('PJSIP/bob-1'), named('dialplan/builtin'));
  assert.is(snapshot.context.hangupSource, 'PJSIP/bob-1');
});

chart('a limit of time replaces the one before, and none ends it', () => {
  const { snapshot } = after(outbound);
  const timers = (limit: ChannelContext['timeLimit']) => {
    const [, actions] = transition(channelMachine, snapshot, { type: 'timeLimit.set', limit });
    const planned = actions as unknown as { type: string; params: { delay?: number; sendId?: string } }[];
    return planned
      .filter(({ type }) => type === 'xstate.raise' || type === 'xstate.cancel')
      .map(({ params }) => params.delay ?? params.sendId);
  };
  assert.equal(timers({ ms: 5_000, at: 6_000 }), ['timeLimit', 5_000]);
  assert.equal(timers(undefined), ['timeLimit']);
});

chart('a channel whose time is over goes on or ends, unless it is ending', () => {
  const limit = { ms: 5_000, at: 6_000 };
  const over = { type: 'timeLimit.over' } as const;
  const effects = (...events: ChannelEvent[]) =>
    after(outbound, { type: 'timeLimit.set', limit }, ...events).told.filter(
      (each) => each !== undefined && 'effect' in each,
    );
  assert.equal(after(outbound, { type: 'timeLimit.set', limit }).snapshot.context.timeLimit, limit);
  assert.equal(effects(over), [{ effect: 'endOvertime' }]);
  assert.is(after(outbound, { type: 'timeLimit.set', limit }, over).snapshot.context.timeLimit, undefined);
  assert.equal(effects(hangup, over), []);
  assert.is(after(outbound, hangup, { type: 'timeLimit.set', limit }, over).snapshot.context.timeLimit, limit);
});

chart('a forwarded call goes on by another channel where that is wanted, which is told before it ends', () => {
  const redirection = { from: { name: '', number: '200' }, count: 1 };
  const forward = { type: 'leg.forwarded', target: 'Local/3@x', redirection } as const;
  const followed = after(outbound, dial, forward);
  const effect = { effect: 'followForward', forward: { target: 'Local/3@x', redirection } };
  assert.equal([followed.told, followed.life], [[effect], 'dialing']);
  const told = { type: 'Dial', dialstatus: 'CANCEL', dialstring: '', forward: 'Local/3@x' };
  const gone = after(outbound, dial, forward, { type: 'forwarded', target: 'Local/3@x', successor: 'c2' });
  assert.equal([gone.told, gone.life], [[{ ...told, forwarded: 'c2' }], 'dialing']);
  // Who dials by itself is told, and does what it likes.
  const own = after(created, dial, forward);
  assert.equal([own.told[0], own.life, own.snapshot.context.cause], [told, 'hangingUp', 22]);
});

chart('without a timeout an unanswered call may ring for as long as a timer can run', () => {
  assert.is(after(created, { type: 'dial', timeoutMs: noTimeout }).snapshot.context.dialTimeoutMs, 2_147_483_647);
});

chart.run();
