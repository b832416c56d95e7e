import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { initialTransition, transition } from 'xstate';
import {
  type OwnershipEvent,
  type OwnershipInput,
  ownershipMachine,
  refuseOwnershipOperation,
} from '../../src/machines/ownership.ts';
import { assertCovered, coverChart } from '../support/charts.ts';

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
  ]);
  const failed = after(bare, run, enter, accepted, move, refused);
  assert.is(failed.value, 'application');
  assert.equal(failed.told, [{ type: 'ApplicationMoveFailed', app: 'hello', destination: 'other', args: ['1'] }]);
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

chart('every state is reached and every transition taken by paths made from the chart', () => {
  const coverage = coverChart(ownershipMachine, {
    inputs: [bare, intoApplication, intoDialplan],
    events: [
      run,
      enter,
      { type: 'enter.soon', app: 'hello', args: ['x'], data: 'hello,x' },
      enterToStay,
      { type: 'continue', position },
      move,
      accepted,
      refused,
      lost,
      answered,
      ended,
      { type: 'leg.offered' },
      { type: 'dialplan.ended', cause: 16 },
    ],
    key: ({ context }) => [context.onAnswer?.type, context.resume !== undefined],
  });
  assertCovered(ownershipMachine, coverage);
});

chart.run();
