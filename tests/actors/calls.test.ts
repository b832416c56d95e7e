import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CallControl, createCallControl, type FakeLeg } from '../support/call-control.ts';

/** With which codec callers are answered: that of whom they will meet. */
const test = suite('channels of one call');

const legOf = (w: CallControl, id: string): FakeLeg => w.channels.get(id).leg as FakeLeg;

/** Calls somebody for a channel, who answers with that format. */
function called(w: CallControl, originator: string, id: string, format: string): void {
  w.operations.originate({ endpoint: 'Fake/phone', extension: 's', channelId: id, originator });
  w.clock.advance(0);
  legOf(w, id).formats = [format];
  legOf(w, id).report({ type: 'leg.answered' });
}

/** What the caller of a world is answered with. */
function answered(w: CallControl): readonly string[] | undefined {
  w.channels.tell(w.channels.get('a'), { type: 'answer' });
  return legOf(w, 'a').prefers;
}

/** Call control with a caller who rings, however often it is answered. */
function world(): CallControl {
  const w = createCallControl();
  w.incoming('a');
  legOf(w, 'a').answers = false;
  return w;
}

test('who calls is answered with the format of the last of its call that is Up', () => {
  const w = world();
  called(w, 'a', 'b', 'alaw');
  called(w, 'a', 'c', 'g722');
  w.operations.originate({ endpoint: 'Fake/phone', extension: 's', channelId: 'rings', originator: 'a' });
  assert.equal(answered(w), ['g722']);
});

test('who has gone, and who is of another call, does not count', () => {
  const w = world();
  called(w, 'a', 'b', 'alaw');
  called(w, 'a', 'c', 'g722');
  w.operations.hangup('c', {});
  w.incoming('other');
  called(w, 'other', 'd', 'opus');
  assert.equal(answered(w), ['alaw']);
  w.operations.hangup('b', {});
  assert.is(answered(w), undefined);
});

test('who meets in a bridge is of one call from then on', () => {
  const w = world();
  w.clock.advance(1);
  w.incoming('b');
  legOf(w, 'b').formats = ['g722'];
  w.channels.tell(w.channels.get('b'), { type: 'answer' });
  assert.is(answered(w), undefined);
  w.channels.tell(w.channels.get('b'), { type: 'linked.set', linked: { id: 'a', since: 0 } });
  assert.equal(answered(w), ['g722']);
});

/** Makes a channel that is no part of anybody's call, and dials it for somebody. */
function dialedFor(w: CallControl, caller: string, id: string): FakeLeg {
  w.connect(['desk']);
  w.operations.create({ endpoint: 'Fake/phone', app: 'desk', channelId: id });
  w.clock.advance(0);
  w.operations.dial(id, { caller });
  return legOf(w, id);
}

test('a channel that is dialed for another is called with its formats, and decides those of the answer', () => {
  const w = world();
  legOf(w, 'a').formats = ['g722'];
  const called = dialedFor(w, 'a', 'b');
  assert.equal(called.dialed?.prefers, ['g722']);
  called.formats = ['alaw'];
  assert.is(answered(w), undefined, 'it rings yet');
  called.report({ type: 'leg.answered' });
  assert.equal(answered(w), ['alaw']);
  w.operations.hangup('b', {});
  assert.is(answered(w), undefined);
});

test('who is dialed for somebody that is not there, or has gone, knows of no formats', () => {
  const w = world();
  assert.equal(dialedFor(w, 'nobody', 'b').dialed, { caller: { name: '', number: '' } });
  dialedFor(w, 'a', 'c');
  w.operations.hangup('a', {});
  legOf(w, 'c').report({ type: 'leg.answered' });
  w.operations.hangup('c', {});
  assert.equal(
    w.channels.all().map(({ id }) => id),
    ['b'],
  );
});

test('early audio is opened with it, too', () => {
  const w = world();
  called(w, 'a', 'b', 'alaw');
  w.channels.tell(w.channels.get('a'), { type: 'progress' });
  assert.equal(legOf(w, 'a').prefers, ['alaw']);
});

test.run();
