import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type Departure,
  type OwnershipEvent,
  type OwnershipInput,
  type OwnershipSnapshot,
  ownershipMachine,
  refuseOwnershipOperation,
} from '../../src/machines/ownership.ts';
import { afterDelay, assertCovered, coverChart, delaysIn, onward } from '../support/charts.ts';

const start = { context: 'default', extension: 's', priority: 1 };
const position = { context: 'default', extension: '100', priority: 2 };
const next = { ...position, priority: 3 };
const bare: OwnershipInput = { id: 'c1', start };
const intoApplication: OwnershipInput = { ...bare, onAnswer: { type: 'application', app: 'hello', args: ['a'] } };
const intoDialplan: OwnershipInput = { ...bare, onAnswer: { type: 'dialplan', position } };

const run = { type: 'run', position } as const;
const enter = { type: 'enter', app: 'hello', args: ['x'], resume: next } as const;
const enterToStay = { type: 'enter', app: 'hello', args: [] } as const;
const accepted = { type: 'application.accepted' } as const;
const refused = { type: 'application.refused' } as const;
const lost = { type: 'application.lost' } as const;
const answered = { type: 'leg.answered' } as const;
const ended = { type: 'leg.ended' } as const;
const move = { type: 'move', app: 'other', args: ['1'] } as const;

type Recorded = { type: string; params?: { event?: { type: string } } };

/** Takes an ownership through events; gives where it is and, of the last one, the facts and effects in order. */
function after(input: OwnershipInput, ...events: OwnershipEvent[]) {
  let [snapshot, actions] = initialTransition(ownershipMachine, input);
  for (const event of events) [snapshot, actions] = transition(ownershipMachine, snapshot, event);
  const told = (actions as unknown as Recorded[])
    .filter(({ type }) => type !== 'xstate.assign')
    .map(({ type, params }) => (type === 'xstate.emit' ? params?.event : { effect: type, ...params }));
  return { snapshot, value: snapshot.value, told };
}

const chart = suite('ownership chart');

chart('an answered call asks for the application it was made for, and enters it', () => {
  assert.equal(after(intoApplication, answered).told, [
    { effect: 'enterApplication', app: 'hello', args: ['a'], moved: false },
  ]);
  const { value, told } = after(intoApplication, answered, accepted);
  assert.is(value, 'application');
  assert.equal(told, [{ type: 'StasisStart', app: 'hello', args: ['a'], moved: false }]);
});

chart('an application that accepts under a name for this call has the call under that name', () => {
  const asInstance = { ...accepted, app: 'hello:PJSIP/alice-1' };
  assert.equal(after(intoApplication, answered, asInstance, ended).told, [
    { type: 'StasisEnd', app: 'hello:PJSIP/alice-1', moved: false },
    { effect: 'noteDeparture' },
  ]);
  assert.equal(after(intoApplication, answered, accepted, move, { ...accepted, app: 'other:1' }).told, [
    { type: 'StasisEnd', app: 'hello', moved: true },
    { type: 'StasisStart', app: 'other:1', args: ['1'], moved: true },
    { effect: 'releaseTurns' },
  ]);
});

chart('an answered call made for the dialplan runs it where it was asked to', () => {
  assert.equal(after(intoDialplan, answered).told, [{ effect: 'runDialplan', position }]);
});

chart('a call that is offered runs the dialplan from its start', () => {
  assert.equal(after(bare, { type: 'leg.offered' }).told, [{ effect: 'runDialplan', position: start }]);
});

chart('refused by its application, a call goes on in the dialplan or ends where it has none', () => {
  assert.equal(after(bare, run, enter, refused).told, [
    { effect: 'noteRefusal' },
    { effect: 'runDialplan', position: next },
  ]);
  const { value, told } = after(intoApplication, answered, refused);
  assert.is(value, 'nobody');
  assert.equal(told, [{ effect: 'noteRefusal' }, { effect: 'endChannel' }]);
});

chart('the application that did not take a call, or stayed away, is kept until another one takes it', () => {
  const refusedBy = (...events: OwnershipEvent[]) => after(bare, ...events).snapshot.context.refusedBy;
  assert.is(refusedBy(run, enter, refused), 'hello');
  assert.is(refusedBy(run, enter, refused, enter, accepted), undefined);
  assert.is(refusedBy(run, enter, accepted, lost), 'hello');
  assert.is(refusedBy(run, enter, accepted, move, refused), undefined);
});

chart('continue leaves the application and runs the dialplan from the place asked for', () => {
  assert.equal(after(bare, run, enter, accepted, { type: 'continue', position }).told, [
    { type: 'StasisEnd', app: 'hello', moved: false },
    { effect: 'noteDeparture' },
    { effect: 'runDialplan', position },
  ]);
});

chart('a move ends in the one application and starts in the other, or stays and says so', () => {
  assert.equal(after(bare, run, enter, accepted, move).told, [
    { effect: 'enterApplication', app: 'other', args: ['1'], moved: true },
  ]);
  assert.equal(after(bare, run, enter, accepted, move, accepted).told, [
    { type: 'StasisEnd', app: 'hello', moved: true },
    { type: 'StasisStart', app: 'other', args: ['1'], moved: true },
    { effect: 'releaseTurns' },
  ]);
  const failed = after(bare, run, enter, accepted, move, refused);
  assert.is(failed.value, 'application');
  assert.equal(failed.told, [
    { type: 'ApplicationMoveFailed', app: 'hello', destination: 'other', args: ['1'] },
    { effect: 'releaseTurns' },
  ]);
});

const inTurn = (departure: Departure) => ({ type: 'leave', departure }) as const;
const leave = inTurn({ type: 'continue', position });
const turn = { type: 'turn' } as const;
const inApplication = [run, enter, accepted];

chart('what is asked of a channel on which something sounds waits for its turn', () => {
  const behind = { kind: 'playback', id: 'p1' } as const;
  const { value, told, snapshot } = after(bare, ...inApplication, { ...leave, behind });
  assert.is(value, 'leaving');
  assert.equal(told, [{ effect: 'queueTurn' }]);
  assert.equal(snapshot.context.departures, [{ type: 'continue', position, behind }]);
  assert.is(refuseOwnershipOperation(snapshot, 'play'), undefined);
  assert.equal(after(bare, ...inApplication, leave, turn).told, [
    { effect: 'leaveBridge' },
    { effect: 'continueAt', position },
    { effect: 'releaseTurns' },
  ]);
  assert.equal(after(bare, ...inApplication, leave, turn, { type: 'continue', position }).told, [
    { type: 'StasisEnd', app: 'hello', moved: false },
    { effect: 'noteDeparture' },
    { effect: 'runDialplan', position },
  ]);
});

chart('a move keeps its turn until it is decided; what was asked meanwhile comes then', () => {
  const moving = [...inApplication, inTurn(move), leave, turn];
  assert.equal(after(bare, ...moving).told, [{ effect: 'enterApplication', app: 'other', args: ['1'], moved: true }]);
  const moved = after(bare, ...moving, accepted);
  assert.is(moved.value, 'leaving');
  assert.equal(moved.told.at(-1), { effect: 'releaseTurns' });
  assert.equal(moved.snapshot.context.departures, [{ type: 'continue', position }]);
  assert.is(after(bare, ...moving, refused).value, 'leaving');
  assert.is(after(bare, ...moving, refused, turn).value, 'departing');
  assert.is(after(bare, ...inApplication, inTurn(move), turn, leave, accepted).value, 'leaving');
});

chart('a turn that comes while a channel is moved at once counts when that is decided', () => {
  const moved = [...inApplication, leave, move, turn];
  assert.is(after(bare, ...moved).value, 'moving');
  assert.is(after(bare, ...moved, accepted).value, 'departing');
  assert.is(after(bare, ...moved, refused).value, 'departing');
});

chart('a channel that leaves at once, or ends, waits for no turn', () => {
  const { told, snapshot } = after(bare, ...inApplication, leave, inTurn(move), { type: 'continue', position });
  assert.equal(told.slice(1), [
    { effect: 'noteDeparture' },
    { effect: 'releaseTurns' },
    { effect: 'runDialplan', position },
  ]);
  assert.is(snapshot.context.departures, undefined);
  assert.is(after(bare, ...inApplication, leave, ended).value, 'ended');
});

chart('a channel without a call behind it ends where it would leave its application', () => {
  assert.equal(after({ ...bare, attached: true }, ...inApplication, leave, turn).told, [
    { effect: 'leaveBridge' },
    { effect: 'endChannel' },
    { effect: 'releaseTurns' },
  ]);
  assert.is(after({ ...bare, attached: true }, ...inApplication, inTurn(move), turn).value, 'moving');
});

chart('a channel that ends leaves its application, also while it is being moved', () => {
  const left = [{ type: 'StasisEnd', app: 'hello', moved: false }, { effect: 'noteDeparture' }];
  assert.equal(after(bare, run, enter, accepted, ended).told, left);
  assert.equal(after(bare, run, enter, accepted, move, ended).told, left);
});

chart('only a channel that an application controls may be operated on', () => {
  const refusal = (...events: OwnershipEvent[]) => refuseOwnershipOperation(after(bare, ...events).snapshot, 'play');
  assert.is(refusal(), 'channelNotInStasis');
  assert.is(refusal(run), 'channelNotInStasis');
  assert.is(refusal(run, enter), 'channelNotInStasis');
  assert.is(refusal(run, enter, accepted), undefined);
  assert.is(refusal(run, enter, accepted, move), undefined);
  assert.is(refusal(run, enter, accepted, ended), 'channelNotInStasis');
});

const inputs = [bare, intoApplication, intoDialplan, { ...bare, attached: true }] as const;
const open: OwnershipSnapshot[] = [];
coverChart(ownershipMachine, {
  inputs,
  each: (snapshot) => open.push(snapshot),
  events: [run, enter, { type: 'enter.soon', app: 'hello', args: ['x'], data: 'hello,x' }, accepted, move, leave, turn],
});

chart('the end of its leg ends it, wherever it is', () => {
  assert.is(new Set(open.map(({ value }) => value)).size, 8);
  for (const snapshot of open) assert.is(onward(ownershipMachine, snapshot, ended).value, 'ended');
});

chart('who enters behind the answer to a request enters in the same turn of the event loop', () => {
  const { snapshot } = after(bare, { type: 'enter.soon', app: 'hello', args: ['x'], data: 'hello,x' });
  assert.equal([snapshot.value, delaysIn(ownershipMachine, snapshot)], ['aboutToEnter', { soon: 0 }]);
  assert.is(afterDelay(ownershipMachine, snapshot, 'soon').value, 'entering');
});

chart('the dialplan has a channel until it ends, or is sent elsewhere; a bare one waits for nobody', () => {
  const elsewhere = { ...position, priority: 9 };
  assert.equal(after(bare, run).told, [{ effect: 'runDialplan', position }]);
  assert.equal(after(bare, run, { ...run, position: elsewhere }).told, [
    { effect: 'runDialplan', position: elsewhere },
  ]);
  assert.is(after(bare, run, { type: 'dialplan.ended', cause: 16 }).value, 'nobody');
  assert.equal([after(bare, answered).value, after(bare, enter).value], ['nobody', 'entering']);
  assert.is(after(bare, ...inApplication, move, accepted).value, 'application');
});

chart('every state is reached and every transition taken by paths made from the chart', () => {
  const coverage = coverChart(ownershipMachine, {
    inputs: [bare, intoApplication, intoDialplan, { ...bare, attached: true }],
    events: [
      run,
      enter,
      { type: 'enter.soon', app: 'hello', args: ['x'], data: 'hello,x' },
      enterToStay,
      { type: 'continue', position },
      move,
      leave,
      inTurn(move),
      turn,
      accepted,
      refused,
      lost,
      answered,
      ended,
      { type: 'leg.offered' },
      { type: 'dialplan.ended', cause: 16 },
    ],
    key: ({ context: { onAnswer, resume, attached, due, departures = [] } }) => [
      ...[onAnswer?.type, resume !== undefined, attached, due],
      departures.slice(0, 2).map(({ type }) => type),
    ],
  });
  assertCovered(ownershipMachine, coverage);
});

chart.run();
