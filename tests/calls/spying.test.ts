import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createCallControl, settled } from '../support/call-control.ts';

const test = suite('ChanSpy');

const contexts = {
  default: {
    s: ['Wait(60)'],
    talk: ['Answer', 'Wait(600)'],
    listen: ['ChanSpy(Fake/phone)', 'Set(AFTER=1)', 'Wait(600)'],
    coach: ['ChanSpy(a,w)'],
    barge: ['ChanSpy(a,B)'],
    party: ['ChanSpy(a,o)'],
    talker: ['ChanSpy(a,W)'],
    other: ['ChanSpy(nobody)', 'Set(AFTER=1)', 'Wait(600)'],
    self: ['ChanSpy(me)', 'Set(AFTER=1)', 'Wait(600)'],
  },
};

/** A channel that talks, and one that runs ChanSpy in an extension. */
async function world(extension: string, id = 'me') {
  const control = createCallControl({ contexts });
  control.incoming('a', 'talk');
  await settled();
  const listener = control.incoming(id, extension);
  await settled();
  const snoop = () => [...control.operations.list()].find(({ name }) => name.startsWith('Snoop/'));
  const variable = (name: string) => control.operations.getVariable(id, { variable: name }).value;
  return { ...control, listener, snoop, variable };
}

const sides: readonly (readonly [extension: string, spy: string, whisper: string])[] = [
  ['coach', 'both', 'out'],
  ['barge', 'both', 'both'],
  ['party', 'in', 'none'],
  ['talker', 'none', 'out'],
];
for (const [extension, spy, whisper] of sides)
  test(`${contexts.default[extension as 'coach'].join()}: hears ${spy}, is heard by ${whisper}`, async () => {
    const w = await world(extension);
    assert.equal(
      w.meeting.snoops.map(({ session: _session, ...asked }) => asked),
      [{ target: 'a', spy, whisper }],
    );
    assert.equal(w.bridges.list()[0]?.channels, ['me', w.snoop()!.id]);
  });

test('a channel is found by the beginning of its name; when it ends, the listener goes on in the dialplan', async () => {
  const w = await world('listen');
  const name = w.operations.get('a').name;
  assert.ok(name.startsWith('Fake/phone'), name);
  assert.equal(w.meeting.snoops[0]?.target, 'a');
  assert.ok(w.listener.calls.includes('answer'), w.listener.calls.join());
  w.operations.hangup('a', {});
  await settled();
  assert.is(w.variable('AFTER'), '1');
  assert.equal([w.bridges.size, w.snoop()], [0, undefined]);
});

test('a listener that hangs up takes its snoop channel and bridge with it, and nothing of the call', async () => {
  const w = await world('coach');
  w.listener.report({ type: 'leg.hungUp', cause: 16 });
  await settled();
  assert.equal([w.channels.size, w.bridges.size], [1, 0]);
  assert.is(w.operations.get('a').state, 'Up');
});

for (const extension of ['other', 'self'])
  test(`${contexts.default[extension as 'self'][0]}: without such a channel the dialplan goes on`, async () => {
    const w = await world(extension);
    assert.is(w.variable('AFTER'), '1');
    assert.equal([w.snoop(), w.bridges.size], [undefined, 0]);
  });

test.run();
