import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { snapshotOf } from '../../src/actors/channel-entry.ts';
import { createCallControl, settled } from '../support/call-control.ts';

const test = suite('options of Dial');

type Contexts = Record<string, Record<string, string[]>>;

/** One who calls 202, an application that hears everything. */
function world(step: string, places: Contexts = {}) {
  const { default: more = {}, ...others } = places;
  const control = createCallControl({ contexts: { default: { '202': [step, 'Wait(60)'], ...more }, ...others } });
  const { events } = control.connect('all', true);
  /** The channels that were made to call somebody, in their order. */
  const called = (): string[] => [...control.legs.keys()];
  const place = (id: string) => {
    const { context, exten, app_name: app } = control.operations.get(id).dialplan;
    return [context, exten, app].join();
  };
  const variable = (id: string, name: string) => snapshotOf(control.channels.get(id)).context.variables[name];
  return { ...control, events, called, place, variable };
}

const hangups = (calls: readonly string[]) => calls.filter((call) => call.startsWith('hangup'));

for (const [options, cause] of [
  ['', 16],
  ['c', 26],
] as const) {
  test(`with "${options}" those who are called hear cause ${cause} when the caller hangs up`, async () => {
    const w = world(`Dial(Fake/bob&Fake/eve,20,${options})`);
    const caller = w.incoming('a', '202');
    caller.report({ type: 'leg.hungUp', cause: 16 });
    await settled();
    const legs = w.called().map((id) => w.legs.get(id)!);
    assert.equal(
      legs.map(({ calls }) => hangups(calls)),
      [[`hangup ${cause}`], [`hangup ${cause}`]],
    );
    assert.equal([w.channels.size, w.clock.pending], [0, 0]);
  });

  test(`with "${options}" they hear cause ${options === 'c' ? 26 : 19} when nobody answers in time`, async () => {
    const w = world(`Dial(Fake/bob,20,${options})`);
    w.incoming('a', '202');
    w.clock.advance(19_999);
    const [bob] = w.called().map((id) => w.legs.get(id)!);
    assert.equal(hangups(bob!.calls), []);
    w.clock.advance(1);
    await settled();
    assert.equal(hangups(bob!.calls), [options === 'c' ? 'hangup 26' : 'hangup 19']);
    assert.equal([w.variable('a', 'DIALSTATUS'), w.place('a')], ['NOANSWER', 'default,202,Wait']);
  });
}

test('a caller whose call somebody else has takes that along to those who are called for it', async () => {
  const w = world('Dial(Fake/bob,20)');
  w.incoming('a', '202').report({ type: 'leg.hungUp', cause: 26 });
  await settled();
  const [bob] = w.called().map((id) => w.legs.get(id)!);
  assert.equal(hangups(bob!.calls), ['hangup 26']);
});

test('with c an answer is the end of the time limit', async () => {
  const w = world('Dial(Fake/bob,20,c)');
  w.incoming('a', '202');
  w.report(w.called()[0]!, { type: 'leg.answered' });
  await settled();
  w.clock.advance(30_000);
  await settled();
  assert.equal([w.channels.size, w.bridges.size], [2, 1]);
});

/** What a caller may have done before Dial, and whether its far side is on hold. */
const callers: Readonly<Record<string, { steps: readonly string[]; held?: boolean }>> = {
  'that is not answered': { steps: [] },
  'that hears ringing': { steps: ['Ringing'] },
  'with early media': { steps: ['Progress'] },
  'that is answered': { steps: ['Answer'] },
  'that is answered and on hold': { steps: ['Answer'], held: true },
};
const targets: Readonly<Record<string, (w: ReturnType<typeof world>) => void>> = {
  'Fake/bob': (w) => w.report(w.called()[0]!, { type: 'leg.answered' }),
  'Local/300@default': () => {},
  'Local/301@default': (w) => w.report(w.called().at(-1)!, { type: 'leg.answered' }),
};
for (const [which, { steps, held }] of Object.entries(callers))
  for (const [target, answer] of Object.entries(targets))
    test(`a caller ${which} and ${target}, who answers, stay together until one of them goes`, async () => {
      const lines = { '300': ['Answer', 'Wait(600)'], '301': ['Dial(Fake/eve)'] };
      const w = world('NoOp()', { default: { ...lines, '400': [...steps, `Dial(${target},20)`, 'Wait(60)'] } });
      const caller = w.incoming('a', '400');
      await settled();
      if (held) caller.report({ type: 'leg.held' });
      answer(w);
      await settled();
      w.clock.advance(300_000);
      await settled();
      const { bridge_ids: bridges = [] } = { bridge_ids: w.bridges.list().map(({ channels }) => channels) };
      assert.ok(
        bridges.some((members) => members.length === 2 && members.includes('a')),
        'the caller is with somebody',
      );
      assert.equal([w.variable('a', 'DIALSTATUS'), w.place('a')], [undefined, 'default,400,Dial']);
      caller.report({ type: 'leg.hungUp', cause: 16 });
      await settled();
      w.clock.advance(1_000);
      await settled();
      assert.equal([w.channels.size, w.bridges.size], [0, 0]);
    });

const press = (digit: string) => ({ type: 'leg.digit', digit, durationMs: 100 }) as const;

test('with d the caller leaves by a key while it rings, to the extension of that name', async () => {
  const w = world('Dial(Fake/bob,20,d)', { default: { '1': ['Wait(60)'] } });
  const caller = w.incoming('a', '202');
  const [bob = ''] = w.called();
  w.report(bob, { type: 'leg.ringing' });
  caller.report(press('2'));
  await settled();
  assert.equal([w.channels.find(bob) !== undefined, w.place('a')], [true, 'default,202,Dial']);
  caller.report(press('1'));
  await settled();
  assert.equal([w.channels.find(bob) !== undefined, w.place('a')], [false, 'default,1,Wait']);
  assert.equal([w.variable('a', 'DIALSTATUS'), w.channelFacts.size], ['CANCEL', 0]);
});

test('EXITCONTEXT says where the key leads', async () => {
  const w = world('Dial(Fake/bob,20,d)', { menu: { '0': ['Wait(60)'] } });
  const caller = w.incoming('a', '202', 'default', { variables: { EXITCONTEXT: 'menu' } });
  caller.report(press('0'));
  await settled();
  assert.is(w.place('a'), 'menu,0,Wait');
});

test('once somebody has answered no key leads elsewhere, and none does without d', async () => {
  for (const options of ['d', '']) {
    const w = world(`Dial(Fake/bob,20,${options})`, { default: { '1': ['Wait(60)'] } });
    const caller = w.incoming('a', '202');
    if (options) w.report(w.called()[0]!, { type: 'leg.answered' });
    await settled();
    caller.report(press('1'));
    await settled();
    assert.is(w.place('a'), 'default,202,Dial', options);
  }
});

for (const options of ['', 'e'])
  test(`with "${options}" the extension h of the caller's context is ${options ? '' : 'not '}run for who was called`, async () => {
    const w = world(`Dial(Fake/bob,20,${options}g)`, { default: { h: ['UserEvent(Over)'] } });
    w.incoming('a', '202');
    const [bob = ''] = w.called();
    w.report(bob, { type: 'leg.answered' });
    await settled();
    w.report(bob, { type: 'leg.hungUp', cause: 16 });
    await settled();
    const over = w.events.filter(({ type }) => type === 'ChannelUserevent');
    assert.equal(
      over.map((event) => (event as { channel?: { id: string } }).channel?.id),
      options ? [bob] : [],
    );
    assert.is(w.place('a'), 'default,202,Wait');
  });

test('with e nothing of it is run for who was called and did not answer', async () => {
  const w = world('Dial(Fake/bob,20,e)', { default: { h: ['UserEvent(Over)'] } });
  w.incoming('a', '202');
  w.report(w.called()[0]!, { type: 'leg.hungUp', cause: 17 });
  await settled();
  assert.equal(
    w.events.filter(({ type }) => type === 'ChannelUserevent'),
    [],
  );
});

test.run();
