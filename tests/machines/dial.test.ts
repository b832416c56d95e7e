import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import { type DialEvent, type DialInput, dialMachine, dialOutcomeOf } from '../../src/machines/dial.ts';
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
const failed = (channelId: string, outcome: 'BUSY' | 'NOANSWER'): DialEvent => ({
  ...{ type: 'callee.failed', channelId, outcome },
});
const stop = (hungUp: boolean): DialEvent => ({ type: 'stop', hungUp, elsewhere: false });
const joined = [
  answeredBy('a'),
  { type: 'caller.answered' },
  { type: 'parties.joined', bridge: 'b1', at: 1_000 },
] as const;
const left: DialEvent = { type: 'party.left', at: 3_500, hungUp: false };

type Recorded = { type: string; params?: { cause?: number; channelId?: string } };

/** Takes a Dial through events; gives where it is, what the dialplan is told, and the effects of the last event. */
function after(input: DialInput, ...events: DialEvent[]) {
  let [snapshot, actions] = initialTransition(dialMachine, input);
  for (const event of events) [snapshot, actions] = transition(dialMachine, snapshot, event);
  const effects = (actions as unknown as Recorded[])
    .filter(({ type }) => !type.startsWith('xstate.'))
    .map(({ type, params }) =>
      [type, params?.cause ?? params?.channelId].filter((part) => part !== undefined).join(' '),
    );
  return { value: snapshot.value, context: snapshot.context, end: snapshot.context.end, effects };
}

const chart = suite('dial chart');

chart('early media of who is called is heard, and that of another one when it fails; not with r or m', () => {
  const progressed: DialEvent = { type: 'callee.progressed', channelId: 'a' };
  assert.equal(after(plain, opened, progressed).effects, ['hearCallee a']);
  assert.equal(after(plain, opened, progressed, failed('a', 'BUSY')).effects, ['hearAnother a']);
  assert.equal(after({ ...plain, waiting: 'ring' }, opened, progressed).effects, []);
});

chart('targets are opened, prepared where that is asked for, and called', () => {
  assert.equal(after(plain).effects, ['heedCaller', 'beginWaiting', 'openTargets']);
  assert.equal(after(plain, opened).effects, ['dialTargets']);
  const prepared = { ...plain, preparation: visit };
  assert.equal(after(prepared, opened).effects, ['prepareTargets']);
  assert.is(after(prepared, opened).value, 'preparing');
  assert.equal(after(prepared, opened, { type: 'targets.prepared' }).effects, ['dialTargets']);
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
  const { end, value } = after(plain, opened, failed('a', 'BUSY'), failed('b', 'NOANSWER'));
  assert.equal([value, end], ['over', { status: 'BUSY' }]);
  assert.equal(after(plain, { type: 'targets.opened', callees: [], failures: [] }).end, { status: 'CHANUNAVAIL' });
});

chart('the caller may give up, by hanging up or by a key; time may be over for all', () => {
  assert.equal(after(plain, opened, stop(true)).effects, ['ignoreCaller', 'endWaiting', 'releaseTargets 16']);
  assert.equal(after(plain, opened, { type: 'stop', hungUp: true, elsewhere: true }).effects[2], 'releaseTargets 26');
  assert.equal(after(plain, opened, { type: 'caller.left', digit: '5' }).end, { status: 'CANCEL', left: '5' });
  const told: DialInput = { ...plain, toldElsewhere: true, timeoutMs: 20_000 };
  assert.equal(after(told, opened, { type: 'patience.over' }).end, { status: 'NOANSWER' });
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
  assert.equal(after(input, opened, ...joined, stop(false)).effects, ['hangUpPeer', 'destroyBridge', 'leaveParties']);
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
    assert.equal(after(plain, ...over, left).effects, ['leaveParties']);
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

chart('why a call failed is told by its cause', () => {
  const { userBusy, congestion, subscriberAbsent, noAnswer } = Cause;
  assert.equal([userBusy, congestion, subscriberAbsent, noAnswer].map(dialOutcomeOf), [
    ...['BUSY', 'CONGESTION', 'CHANUNAVAIL', 'NOANSWER'],
  ]);
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
