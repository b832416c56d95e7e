import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type DialEvent, type DialInput, dialMachine } from '../../src/machines/dial.ts';
import { Cause } from '../../src/telephony/causes.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

const position = { context: 'default', extension: '100', priority: 2 };
const visit = { position, args: [] };
const plain: DialInput = { id: 'd1', caller: 'c1', targets: ['Fake/a', 'Fake/b'], waiting: 'alert' };

const opened: DialEvent = {
  type: 'targets.opened',
  callees: [
    { channelId: 'a', number: '1' },
    { channelId: 'b', number: '2' },
  ],
  failures: [],
};
const answeredBy = (channelId: string): DialEvent => ({
  type: 'callee.answered',
  channelId,
  name: `Fake/${channelId}`,
});
const failed = (channelId: string, cause: number): DialEvent => ({ type: 'callee.failed', channelId, cause });
const stop = (hungUp: boolean): DialEvent => ({ type: 'stop', hungUp, elsewhere: false });
const joined = [
  answeredBy('a'),
  { type: 'caller.answered' },
  { type: 'parties.joined', bridge: 'b1', at: 1_000 },
] as const;
const left: DialEvent = { type: 'party.left', at: 3_500, hungUp: false };

type Recorded = { type: string; params?: { cause?: number; channelId?: string; id?: string; delay?: number } };

/** Takes a Dial through events; gives where it is, what the dialplan is told, and the effects and timers of the last event. */
function after(input: DialInput, ...events: DialEvent[]) {
  let [snapshot, actions] = initialTransition(dialMachine, input);
  for (const event of events) [snapshot, actions] = transition(dialMachine, snapshot, event);
  const effects = (actions as unknown as Recorded[])
    .filter(({ type }) => !type.startsWith('xstate.'))
    .map(({ type, params }) =>
      [type, params?.cause ?? params?.channelId].filter((part) => part !== undefined).join(' '),
    );
  const timers = (actions as unknown as Recorded[]).flatMap(({ type, params }) =>
    type === 'xstate.raise' && params?.delay !== undefined ? [[params.id, params.delay]] : [],
  );
  return { value: snapshot.value, context: snapshot.context, end: snapshot.context.end, effects, timers };
}

const chart = suite('dial chart');

chart('early media of who is called is heard, and that of another one when it fails; not with r or m', () => {
  const progressed: DialEvent = { type: 'callee.progressed', channelId: 'a' };
  assert.equal(after(plain, opened, progressed).effects, ['hearCallee a']);
  assert.equal(after(plain, opened, progressed, failed('a', Cause.userBusy)).effects, ['hearAnother a']);
  assert.equal(after({ ...plain, waiting: 'ring' }, opened, progressed).effects, []);
});

chart('the caller hears ringing as soon as a callee rings, unless it hears something else anyway', () => {
  const ringing: DialEvent = { type: 'callee.ringing', channelId: 'a' };
  assert.equal(after(plain, opened, ringing).effects, ['alertCaller']);
  assert.equal(after({ ...plain, waiting: { music: 'default' } }, opened, ringing).effects, []);
});

chart('targets are opened, prepared where that is asked for, and called', () => {
  assert.equal(after(plain).effects, ['heedCaller', 'beginWaiting', 'openTargets']);
  assert.equal(after(plain, opened).effects, ['dialTargets']);
  const prepared = { ...plain, preparation: visit };
  assert.equal(after(prepared, opened).effects, ['prepareTargets']);
  assert.is(after(prepared, opened).value, 'preparing');
  const ready = after(prepared, opened, { type: 'targets.prepared' });
  assert.equal([ready.value, ready.effects, ready.timers], ['calling', ['dialTargets'], []]);
});

chart('callees who are told that somebody else has the call are called for a limited time', () => {
  const told: DialInput = { ...plain, toldElsewhere: true, timeoutMs: 20_000 };
  const patience = [['patience', 20_000]];
  assert.equal(after(told, opened).timers, patience);
  const prepared = after({ ...told, preparation: visit }, opened, { type: 'targets.prepared' });
  assert.equal([prepared.value, prepared.timers], ['calling', patience]);
  const unlimited = after({ ...plain, toldElsewhere: true }, opened);
  assert.equal([unlimited.value, unlimited.timers], ['calling', []]);
  assert.equal(after({ ...plain, timeoutMs: 20_000 }, opened).timers, []);
});

chart('reports of a channel that is not called change nothing', () => {
  const replaced: DialEvent = { type: 'callee.replaced', channelId: 'z', by: 'd' };
  for (const input of [plain, { ...plain, subroutine: visit }])
    for (const event of [answeredBy('z'), failed('z', Cause.userBusy), replaced]) {
      const { value, context, effects } = after(input, opened, event);
      assert.equal([value, effects, context.failures], ['calling', [], []]);
    }
  for (const before of [joined.slice(0, 1), joined]) {
    const { context, effects } = after(plain, opened, ...before, replaced);
    assert.equal([context.peer?.channelId, effects], ['a', []]);
  }
});

chart('the first that answers is joined with the caller; the others are told that somebody has the call', () => {
  const answered = after(plain, opened, answeredBy('a'));
  assert.is(answered.value, 'joining');
  assert.equal(answered.effects, ['ignoreCaller', 'keepPeer', 'endWaiting', 'releaseTargets 26', 'answerCaller']);
  assert.equal(answered.context.callees, []);
  const both = after(plain, opened, ...joined);
  assert.equal([both.value, both.effects], ['together', ['watchParties']]);
  const { end, effects } = after(plain, opened, ...joined, left);
  assert.equal(end, { status: 'ANSWER', peer: { name: 'Fake/a', number: '1' }, answeredMs: 2_500 });
  assert.equal(effects, ['hangUpPeer', 'destroyBridge', 'leaveParties']);
});

chart('when nobody is left the most telling reason is told', () => {
  const { userBusy, noAnswer, unallocated, subscriberAbsent } = Cause;
  const { end, value } = after(plain, opened, failed('a', noAnswer), failed('b', userBusy));
  assert.equal([value, end], ['over', { status: 'NOANSWER', cause: userBusy }]);
  const refused = after(plain, opened, failed('a', userBusy), failed('b', unallocated));
  assert.equal(refused.end, { status: 'BUSY', cause: unallocated });
  const nobody = after(plain, { type: 'targets.opened', callees: [], failures: [] });
  assert.equal(nobody.end, { status: 'CHANUNAVAIL', cause: subscriberAbsent });
  const prepared = after({ ...plain, preparation: visit }, opened, failed('a', userBusy), failed('b', noAnswer));
  assert.is(prepared.value, 'preparing');
});

chart('the caller may give up, by hanging up or by a key; time may be over for all', () => {
  assert.equal(after(plain, opened, stop(true)).effects, ['ignoreCaller', 'endWaiting', 'releaseTargets 16']);
  assert.equal(after(plain, opened, { type: 'stop', hungUp: true, elsewhere: true }).effects[2], 'releaseTargets 26');
  const gone = after(plain, opened, { type: 'caller.left', digit: '5' });
  assert.equal([gone.value, gone.end], ['over', { status: 'CANCEL', left: '5' }]);
  const told: DialInput = { ...plain, toldElsewhere: true, timeoutMs: 20_000 };
  const expired = after(told, opened, { type: 'patience.over' });
  assert.equal([expired.value, expired.end], ['over', { status: 'NOANSWER', cause: 19 }]);
  assert.equal(after(told, opened, { type: 'patience.over' }).effects[2], 'releaseTargets 26');
});

chart('who answered is screened while the caller waits on', () => {
  const screened = { ...plain, subroutine: visit };
  const answered = [opened, answeredBy('a')];
  assert.equal(after(screened, ...answered).effects, ['ignoreCaller', 'keepPeer', 'releaseTargets 26', 'screenPeer']);
  assert.equal(after(screened, ...answered, { type: 'peer.accepted' }).effects, ['endWaiting', 'answerCaller']);
  const declined = after(screened, ...answered, { type: 'peer.declined', status: 'BUSY', goesOn: true });
  assert.equal(declined.effects, ['endWaiting', 'hangUpPeer']);
  assert.equal(declined.end, {
    ...{ status: 'BUSY', peer: { name: 'Fake/a', number: '1' }, answeredMs: 0, goesOn: true },
  });
  assert.equal(after(screened, ...answered, stop(true)).effects, ['endWaiting', 'hangUpPeer']);
  // Whoever takes the caller away stops its Dial; a party that goes elsewhere is not hung up.
  assert.is(after(screened, ...answered, { type: 'party.departed', channelId: 'c1' }).value, 'answered');
  assert.equal(after(screened, ...answered, { type: 'party.departed', channelId: 'a' }).effects, ['endWaiting']);
});

chart('when the caller has hung up, who answered may go on by itself; when it goes elsewhere, not', () => {
  const input = { ...plain, afterwards: position };
  assert.equal(after(input, opened, ...joined, stop(true)).effects, ['sendPeerOn', 'destroyBridge', 'leaveParties']);
  const over = [after(input, opened, ...joined, stop(false)), after(plain, opened, ...joined, stop(true))];
  for (const { effects } of over) assert.equal(effects, ['hangUpPeer', 'destroyBridge', 'leaveParties']);
  // The dialplan has ended too: it is told no duration.
  for (const { end } of over) assert.is(end.answeredMs, 0);
  for (const hungUp of [true, false]) assert.is(after(input, opened, ...joined, stop(hungUp)).value, 'over');
});

chart('two that are being joined part again when one is lost, and nobody is called instead', () => {
  const joining = [opened, answeredBy('a')];
  for (const [event, effects] of [
    [{ type: 'caller.lost' }, ['hangUpPeer']],
    [{ type: 'joining.failed' }, ['hangUpPeer']],
    [stop(true), ['hangUpPeer']],
    [{ type: 'party.departed', channelId: 'a' }, []],
  ] as [DialEvent, string[]][]) {
    const end = after(plain, ...joining, event);
    assert.equal([end.value, end.effects], ['over', effects], event.type);
  }
  assert.is(after(plain, ...joining, { type: 'party.departed', channelId: 'c1' }).value, 'joining');
});

chart('a call of limited length ends when its time is over; a party that ends it ends it for both', () => {
  const limited: DialInput = { ...plain, limitMs: 60_000, afterwards: position };
  assert.equal(after(limited, opened, ...joined).timers, [['limit', 60_000]]);
  assert.equal(after(plain, opened, ...joined).timers, []);
  const over = after(limited, opened, ...joined, { type: 'limit.over' });
  assert.equal([over.value, over.end.answeredMs], ['over', 60_000]);
  assert.equal(over.effects, ['hangUpPeer', 'destroyBridge', 'leaveParties']);
  const ended = after(limited, opened, ...joined, { type: 'party.ends', channelId: 'a', at: 3_000 });
  assert.equal([ended.value, ended.end.answeredMs], ['over', 2_000]);
  assert.equal(ended.effects, ['hangUpPeer', 'destroyBridge', 'leaveParties']);
});

chart('a party that is expected back has not left', () => {
  const absent = (absent: boolean): DialEvent => ({ type: 'party.absent', absent });
  assert.is(after(plain, opened, ...joined, absent(true), left).value, 'together');
  assert.equal(after(plain, opened, ...joined, absent(true), absent(false)).effects, ['reviewParties']);
  assert.is(after(plain, opened, ...joined, absent(true), absent(false), left).value, 'over');
});

chart('a call of which one was put through is no longer decided here, but by the keys of who is left', () => {
  for (const channelId of ['a', 'c1']) {
    const over = [opened, ...joined, { type: 'party.departed', channelId } as const];
    assert.is(after(plain, ...over).value, 'handedOver');
    assert.equal(after(plain, ...over, stop(true)).effects, []);
    const ends: DialEvent = { type: 'party.ends', channelId: 'b', at: 2_000 };
    assert.equal(after(plain, ...over, ends).effects, ['hangUpParty b']);
    const last = after(plain, ...over, left);
    assert.equal([last.value, last.effects], ['over', ['leaveParties']]);
  }
  assert.is(after(plain, opened, ...joined, { type: 'party.departed', channelId: 'b' }).value, 'together');
});

chart('another channel may take the place of a callee, and of who has answered', () => {
  const replaced: DialEvent = { type: 'callee.replaced', channelId: 'a', by: 'd' };
  assert.equal(after(plain, opened, replaced).context.callees[0], { channelId: 'd', number: '1' });
  assert.equal(after(plain, opened, replaced).effects, ['followReplacement a']);
  assert.equal(after(plain, opened, ...joined, replaced).context.peer, {
    ...{ channelId: 'd', number: '1', name: 'Fake/a' },
  });
});

chart('a call that failed is told by its cause', () => {
  const { userBusy, congestion, noAnswer, normalClearing, unallocated, callRejected, noUserResponse } = Cause;
  const absent: DialEvent = { type: 'targets.opened', callees: [], failures: [Cause.subscriberAbsent] };
  assert.equal(after(plain, absent).end, { status: 'CHANUNAVAIL', cause: Cause.subscriberAbsent });
  const status = (cause: number) => after(plain, opened, failed('a', cause), failed('b', cause)).end.status;
  assert.equal([userBusy, congestion, noAnswer, normalClearing].map(status), [
    ...['BUSY', 'CONGESTION', 'NOANSWER', 'NOANSWER'],
  ]);
  for (const cause of [unallocated, callRejected, noUserResponse, Cause.noRouteDestination, Cause.networkOutOfOrder])
    assert.is(status(cause), 'CHANUNAVAIL');
});

chart('every state and every transition is reached', () => {
  const { inputs, events } = chartSamples.find(({ machine }) => machine === dialMachine)!;
  const coverage = coverChart(dialMachine, {
    inputs: inputs as DialInput[],
    events: events as DialEvent[],
    key: ({ context }) => [
      ...[context.preparation, context.subroutine, context.announcement, context.toldElsewhere, context.afterwards],
      ...[context.limitMs, context.callees, context.peer?.channelId, context.absent, context.failures.length > 0],
    ],
  });
  assertCovered(dialMachine, coverage);
});

chart.run();
