import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  failureStatus,
  refuseTransferCommand,
  type TransferEvent,
  type TransferInput,
  transferCommands,
  transferMachine,
} from '../../src/machines/transfer.ts';
import { Cause } from '../../src/telephony/causes.ts';
import { chartSamples } from '../support/chart-samples.ts';
import { afterDelay, assertCovered, coverChart, delaysIn } from '../support/charts.ts';

const [blind, client, calledBack, consulting, attended, hasty, hastyAttended, elsewhere] = chartSamples.find(
  ({ machine }) => machine.id === 'transfer',
)!.inputs as TransferInput[];

type Recorded = {
  type: string;
  params?: { event?: { type: string; state?: string; result?: string }; status?: number };
};

/** Takes a transfer through events; gives where it ended, and what the last event told and asked for. */
function after(input: TransferInput | undefined, ...events: TransferEvent[]): [value: unknown, ...asked: string[]] {
  let [snapshot, actions] = initialTransition(transferMachine, input!);
  for (const event of events) [snapshot, actions] = transition(transferMachine, snapshot, event);
  const asked = (actions as unknown as Recorded[])
    .filter(({ type }) => !/^xstate\.(assign|raise|cancel)/.test(type))
    .map(({ type, params }) =>
      type === 'xstate.emit'
        ? [params?.event?.type, params?.event?.state ?? params?.event?.result].filter(Boolean).join(' ')
        : [type, params?.status].filter(Boolean).join(' '),
    );
  return [snapshot.value, ...asked];
}
const event = <T extends TransferEvent['type']>(type: T) => ({ type }) as Extract<TransferEvent, { type: T }>;
const busy: TransferEvent = { type: 'target.failed', status: 486, result: 'Fail' };
const patience = (state: string) => ({ type: `xstate.after.patience.transfer.${state}` }) as unknown as TransferEvent;

const chart = suite('transfer chart');

chart('a blind transfer calls the target, tells who asked of it, and puts its channel in that place', () => {
  assert.equal(after(blind), ['dialing', 'dialTarget']);
  assert.equal(after(blind, event('target.ringing')), ['ringing', 'tellTransferer 180']);
  const done = ['completed', 'BridgeBlindTransfer Success', 'tellTransferer 200', 'swapParticipant', 'endTransferer'];
  assert.equal(after(blind, event('target.ringing'), event('target.answered')), done);
  assert.equal(after(blind, event('target.answered')), done);
});

chart('a target that cannot be had leaves both parties with each other', () => {
  const lost = ['recovered', 'BridgeBlindTransfer Fail', 'tellTransferer 486'];
  assert.equal(after(blind, busy), lost);
  assert.equal(after(blind, event('target.ringing'), busy), lost);
  const late = ['recovered', 'BridgeBlindTransfer Fail', 'tellTransferer 408', 'abandonTarget'];
  assert.equal(after(blind, patience('dialing')), late);
  assert.equal(after(blind, event('target.ringing'), patience('ringing')), late);
});

chart('who hangs up before the target answers has handed the call over; whoever waits hears it ring', () => {
  const [left] = [event('transferer.left')];
  assert.equal(after(blind, left), ['handedOver', 'swapParticipant', 'alertTransferees']);
  assert.equal(after(blind, left, event('target.answered')), [
    'completed',
    'BridgeBlindTransfer Success',
    'calmTransferees',
  ]);
  assert.equal(after(blind, left, busy), ['failed', 'BridgeBlindTransfer Fail', 'calmTransferees']);
  assert.equal(after(blind, left, patience('handedOver')), [
    ...['failed', 'BridgeBlindTransfer Fail', 'calmTransferees', 'abandonTarget'],
  ]);
});

chart('who has hung up is called back when the target cannot be had, where that is wanted', () => {
  const left = event('transferer.left');
  const failed = ['callingBack', 'BridgeBlindTransfer Fail', 'callBack'];
  assert.equal(after(calledBack, left, busy), failed);
  assert.equal(after(calledBack, left, patience('handedOver')), [...failed, 'abandonTarget']);
  const back = (...events: TransferEvent[]) => after(calledBack, left, busy, ...events);
  assert.equal(back(event('transferer.returned')), ['recovered', 'calmTransferees']);
  assert.equal(back(event('transferer.lost')), ['failed', 'calmTransferees']);
  assert.equal(back(event('transferees.left')), ['failed', 'abandonCallBack']);
  assert.equal(back(patience('callingBack')), ['failed', 'calmTransferees', 'abandonCallBack']);
  // Who is still there needs no call.
  assert.equal(after(calledBack, busy), ['recovered', 'BridgeBlindTransfer Fail', 'tellTransferer 486']);
  const [dialing] = initialTransition(transferMachine, calledBack!);
  const [, actions] = transition(transferMachine, dialing, busy);
  assert.not.match(JSON.stringify(actions.map(({ params }) => params)), 'hangupTime');
});

chart('a phone that hangs up because it was told of the failure is called back too', () => {
  const refused: TransferEvent = { type: 'parties.refused', status: 481, result: 'Fail' };
  assert.equal(after(hasty, busy), ['settling', 'BridgeBlindTransfer Fail', 'tellTransferer 486']);
  assert.equal(after(hastyAttended, refused), ['settling', 'BridgeAttendedTransfer Fail', 'tellTransferer 481']);
  assert.equal(after(hasty, patience('dialing')), [
    ...['settling', 'BridgeBlindTransfer Fail', 'tellTransferer 408', 'abandonTarget'],
  ]);
  // Without a channel to call back there is nothing to wait for.
  const { callBack: _, ...unreachable } = hasty!;
  assert.is(after(unreachable, busy)[0], 'recovered');
  const then = (event: TransferEvent) => after(hasty, busy, event);
  assert.equal(then({ type: 'transferer.left', hungUp: true }), ['callingBack', 'callBack', 'alertTransferees']);
  // By an application, or an administrator: they know what they do.
  assert.equal(then(event('transferer.left')), ['recovered']);
  assert.equal(then(event('transferer.asksAgain')), ['recovered']);
  assert.equal(then(event('transferees.left')), ['recovered']);
  const late = { type: 'xstate.after.hangupTime.transfer.settling' } as unknown as TransferEvent;
  assert.equal(then(late), ['recovered']);
});

chart('when nobody is left to be put through the target is called no more', () => {
  const gone = event('transferees.left');
  assert.equal(after(blind, gone), ['failed', 'BridgeBlindTransfer Fail', 'tellTransferer 487', 'abandonTarget']);
  assert.equal(after(blind, event('transferer.left'), gone), ['failed', 'BridgeBlindTransfer Fail', 'abandonTarget']);
});

chart('a transfer that is left to the application is told, and goes as that says', () => {
  assert.equal(after(client), ['offered', 'ChannelTransfer']);
  const progress = ['progressing', 'ChannelTransfer channel_progress', 'tellTransferer 100'];
  assert.equal(after(client, event('client.progress')), progress);
  assert.equal(after(client, event('client.progress'), event('client.progress')), progress);
  for (const before of [[], [event('client.progress')]]) {
    const said = (type: TransferEvent['type']) => after(client, ...before, event(type));
    assert.equal(said('client.answered'), ['completed', 'ChannelTransfer channel_answered', 'tellTransferer 200']);
    assert.equal(said('client.unavailable'), ['failed', 'ChannelTransfer channel_unavailable', 'tellTransferer 503']);
    assert.equal(said('client.declined'), ['failed', 'ChannelTransfer channel_declined', 'tellTransferer 603']);
    assert.equal(said('transferer.left'), ['failed']);
  }
  assert.equal(after(client, patience('offered')), ['failed', 'tellTransferer 408']);
});

chart('an attended transfer joins the parties, or leaves them where they are', () => {
  assert.equal(after(attended), ['joining', 'joinParties']);
  assert.equal(after(attended, event('parties.joined')), [
    ...['completed', 'BridgeAttendedTransfer Success', 'tellTransferer 200', 'endTransferer'],
  ]);
  assert.equal(after(attended, { type: 'parties.refused', status: 481, result: 'Fail' }), [
    ...['recovered', 'BridgeAttendedTransfer Fail', 'tellTransferer 481'],
  ]);
});

const talking = [event('target.ringing'), event('target.answered')] as const;

chart('a transferor that consults the target first completes the transfer by hanging up or by a key', () => {
  assert.equal(after(consulting, ...talking), ['consulting', 'tellTransferer 183', 'beginTalk']);
  assert.equal(after(consulting, event('target.answered')), ['consulting', 'tellTransferer 183', 'beginTalk']);
  for (const way of ['transferer.left', 'transferer.completes'] as const) {
    assert.equal(after(consulting, ...talking, event(way)), ['joining', 'joinParties']);
    assert.equal(after(consulting, ...talking, event(way), event('parties.joined')), [
      ...['completed', 'BridgeAttendedTransfer Success', 'tellTransferer 200', 'endTransferer'],
    ]);
    assert.equal(after(consulting, ...talking, event(way), { type: 'parties.refused', status: 480, result: 'Fail' }), [
      'recovered',
      'BridgeAttendedTransfer Fail',
      'tellTransferer 480',
      'endTalk',
      'abandonTarget',
    ]);
  }
});

chart('a talk that leads to nothing leads back to the others', () => {
  const back = (event: TransferEvent) => after(consulting, ...talking, event);
  const failed = 'BridgeAttendedTransfer Fail';
  assert.equal(back(event('transferer.aborts')), [
    ...['recovered', failed, 'tellTransferer 487', 'endTalk', 'abandonTarget'],
  ]);
  assert.equal(back({ type: 'target.failed', status: 480, result: 'Fail' }), [
    ...['recovered', failed, 'tellTransferer 480', 'endTalk', 'abandonTarget'],
  ]);
  assert.equal(back(event('transferees.left')), ['failed', failed, 'tellTransferer 487', 'endTalk', 'abandonTarget']);
});

chart('before the answer a target may be given up, or the others put through to it while it rings', () => {
  for (const before of [[], [event('target.ringing')]]) {
    const then = (event: TransferEvent) => after(consulting, ...before, event);
    assert.equal(then(event('transferer.aborts')), [
      ...['recovered', 'BridgeAttendedTransfer Fail', 'tellTransferer 487', 'abandonTarget'],
    ]);
    assert.equal(then(event('transferer.completes')), [
      ...['handedOver', 'swapParticipant', 'alertTransferees', 'endTransferer'],
    ]);
    assert.equal(then(busy), ['recovered', 'BridgeAttendedTransfer Fail', 'tellTransferer 486']);
  }
  const handedOver = [event('transferer.completes'), event('target.answered')] as const;
  assert.equal(after(consulting, ...handedOver), [
    ...['completed', 'BridgeAttendedTransfer Success', 'calmTransferees'],
  ]);
});

chart('a second call that is not answered yet is made once more for whoever is put through', () => {
  const early: TransferEvent = { type: 'parties.early', context: 'inside', extension: '300' };
  assert.equal(after(attended, early), ['dialing', 'dialTarget']);
  const [joining] = initialTransition(transferMachine, attended!);
  const { context, extension } = transition(transferMachine, joining, early)[0].context;
  assert.equal({ context, extension }, { context: 'inside', extension: '300' });
});

chart('an application may speak of a transfer that it was offered, and of no other', () => {
  const allowed = (value: Parameters<typeof refuseTransferCommand>[0]['value']) =>
    transferCommands.map((command) => refuseTransferCommand({ value }, command)).every((each) => each === undefined);
  assert.ok(allowed('offered') && allowed('progressing'));
  for (const value of ['joining', 'dialing', 'ringing', 'consulting', 'handedOver', 'callingBack'] as const)
    assert.is(refuseTransferCommand({ value }, 'client.answered'), 'channelInvalidState');
});

chart('why a target cannot be had is told as a status', () => {
  const { userBusy, callRejected, unallocated, noRouteDestination, congestion, noAnswer } = Cause;
  const causes = [userBusy, callRejected, unallocated, noRouteDestination, congestion, noAnswer];
  assert.equal(causes.map(failureStatus), [486, 603, 404, 404, 503, 480]);
});

chart('the application, or the target, has the time that is set; then who asked is told 408', () => {
  const at = (input: TransferInput | undefined, ...events: TransferEvent[]) => {
    let [snapshot] = initialTransition(transferMachine, input!);
    for (const each of events) [snapshot] = transition(transferMachine, snapshot, each);
    return snapshot;
  };
  const waits = [at(client), at(client, event('client.progress')), at(blind), at(blind, event('target.ringing'))];
  for (const snapshot of waits) assert.equal(delaysIn(transferMachine, snapshot), { patience: 60_000 });
  for (const state of ['offered', 'progressing']) {
    const way = state === 'offered' ? [] : [event('client.progress')];
    assert.equal(after(client, ...way, patience(state)), ['failed', 'tellTransferer 408']);
  }
  assert.equal(delaysIn(transferMachine, at(hasty, busy)), { hangupTime: 500 });
  assert.is(afterDelay(transferMachine, at(hasty, busy), 'hangupTime').value, 'recovered');
});

chart('two calls are not joined whose parties have gone', () => {
  assert.equal(after(attended, event('transferees.left')), ['failed', 'tellTransferer 487']);
  assert.equal(after(attended, event('transferer.left')), ['failed']);
});

chart('a call of another node is joined though the transferor has hung up meanwhile', () => {
  assert.equal(after(elsewhere), ['joining', 'joinParties']);
  const left = event('transferer.left');
  assert.equal(after(elsewhere, left), ['joining']);
  assert.equal(after(elsewhere, left, event('parties.joined')), [
    ...['completed', 'BridgeAttendedTransfer Success', 'tellTransferer 200', 'endTransferer'],
  ]);
  assert.equal(after(elsewhere, left, event('transferees.left')), ['failed', 'tellTransferer 487']);
  // Without another call there is nothing to wait for.
  assert.equal(after(consulting, event('target.answered'), left), ['joining', 'joinParties']);
  assert.equal(after(consulting, event('target.answered'), left, left), ['failed']);
});

chart('every state and every transition is reached', () => {
  const { inputs, events } = chartSamples.find(({ machine }) => machine === transferMachine)!;
  const coverage = coverChart(transferMachine, {
    inputs: inputs as TransferInput[],
    events: events as TransferEvent[],
    key: ({ context: { handling, extension, callBack, consults, hangupTimeMs, request } }) => [
      ...[handling, extension, callBack?.channelId, consults?.bridgeId, hangupTimeMs, request.replaces?.channelId],
    ],
  });
  assertCovered(transferMachine, coverage);
});

chart.run();
