import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { setup } from 'xstate';
import { assertCovered, coverChart, declaredTransitions, describeTransition } from './charts.ts';

type Event = { type: 'open' } | { type: 'close' } | { type: 'lock'; code: string } | { type: 'unlock'; code: string };

const door = setup({
  types: { context: {} as { code: string; tries: number }, input: {} as { code: string }, events: {} as Event },
  guards: {
    isRight: ({ context, event }) => 'code' in event && event.code === context.code,
    isThird: ({ context }) => context.tries >= 2,
  },
  delays: { closeTimeout: 1_000 },
});

const machine = door.createMachine({
  id: 'door',
  context: ({ input }) => ({ code: input.code, tries: 0 }),
  type: 'parallel',
  states: {
    light: { initial: 'off', states: { off: { on: { open: 'on' } }, on: { on: { close: 'off' } } } },
    leaf: {
      initial: 'fitted',
      states: {
        fitted: { always: 'closed' },
        closed: { on: { open: 'open', lock: { target: 'locked', actions: door.assign({ tries: 0 }) } } },
        open: { on: { close: 'closed', open: {} }, after: { closeTimeout: 'closed' } },
        locked: {
          on: {
            unlock: [
              { guard: 'isRight', target: 'closed' },
              { guard: 'isThird', target: 'blocked' },
              { actions: door.assign({ tries: ({ context }) => context.tries + 1 }) },
            ],
          },
        },
        blocked: {},
      },
    },
  },
});

const events: readonly Event[] = [
  { type: 'open' },
  { type: 'close' },
  { type: 'lock', code: '1' },
  { type: 'unlock', code: '1' },
  { type: 'unlock', code: '2' },
];

test('a full walk reaches every state and takes every transition, delays and passing states included', () => {
  const coverage = coverChart(machine, { inputs: [{ code: '1' }], events, key: ({ context }) => context.tries });
  assertCovered(machine, coverage);
  assert.equal(coverage.states.get('door.leaf.blocked'), {
    input: { code: '1' },
    events: ['lock', 'unlock', 'unlock', 'unlock'],
  });
  assert.equal(coverage.states.get('door.leaf.fitted')?.events, []);
  assert.is(coverage.transitions.size, declaredTransitions(machine).length);
});

test('a key that leaves out what matters is shown by what was never reached', () => {
  const coverage = coverChart(machine, { inputs: [{ code: '1' }], events });
  assert.throws(
    () => assertCovered(machine, coverage),
    (error: Error) =>
      error.message ===
      [
        'door: 2 gaps',
        '  never reached: state door.leaf.blocked',
        '  never reached: door.leaf.locked on unlock #2 [isThird] -> door.leaf.blocked',
      ].join('\n'),
  );
});

test('an event without a sample leaves its transitions untaken', () => {
  const coverage = coverChart(machine, {
    inputs: [{ code: '1' }],
    events: events.filter(({ type }) => type !== 'close'),
    key: ({ context }) => context.tries,
  });
  const missed = declaredTransitions(machine).filter((transition) => !coverage.transitions.has(transition));
  assert.equal(missed.map(describeTransition), [
    'door.light.on on close -> door.light.off',
    'door.leaf.open on close -> door.leaf.closed',
  ]);
});

test('what cannot be reached is excepted with a reason, and an exception that is not needed fails', () => {
  const coverage = coverChart(machine, { inputs: [{ code: '1' }], events });
  const except = {
    'state door.leaf.blocked': 'not in this walk',
    'door.leaf.locked on unlock #2 [isThird] -> door.leaf.blocked': 'not in this walk',
  };
  assertCovered(machine, coverage, { except });
  const needless = { ...except, 'state door.leaf.open': 'wrong' };
  assert.throws(
    () => assertCovered(machine, coverage, { except: needless }),
    /excepted, but reached: state door.leaf.open/,
  );
});

test('a walk that would never end is given up', () => {
  let next = 0;
  const walk = () => coverChart(machine, { inputs: [{ code: '1' }], events, key: () => next++, limit: 500 });
  assert.throws(walk, /more than 500 transitions/);
});

test('an error in a guard fails the walk with the way to it', () => {
  const broken = machine.provide({
    guards: {
      isThird: () => {
        throw new Error('no such thing');
      },
    },
  });
  assert.throws(
    () => coverChart(broken, { inputs: [{ code: '1' }], events }),
    /with \{"code":"1"\} after \[lock\], on unlock: .*no such thing/s,
  );
});

test.run();
