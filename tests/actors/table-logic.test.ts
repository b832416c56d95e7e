import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AnyStateMachine,
  and,
  assign,
  cancel,
  createActor,
  createMachine,
  emit,
  enqueueActions,
  fromPromise,
  raise,
} from 'xstate';
import { fastLogic } from '../../src/actors/table-logic.ts';
import { applicationMachine } from '../../src/machines/application.ts';
import { channelMachine } from '../../src/machines/channel.ts';
import { channelAudioMachine } from '../../src/machines/channel-audio.ts';
import { contactMachine } from '../../src/machines/contact.ts';
import { dialMachine } from '../../src/machines/dial.ts';
import { outboundConnectionMachine } from '../../src/machines/outbound-connection.ts';
import { ownershipMachine } from '../../src/machines/ownership.ts';
import { playbackMachine } from '../../src/machines/playback.ts';
import { ManualClock } from '../support/manual-clock.ts';

const tables = suite('charts as tables');

const isTable = (machine: AnyStateMachine): boolean => fastLogic(machine) !== machine;

tables('the charts that every call needs are tables', () => {
  const flat = [applicationMachine, channelMachine, dialMachine, ownershipMachine, playbackMachine];
  for (const machine of flat) assert.ok(isTable(machine), machine.id);
  for (const machine of [channelAudioMachine, contactMachine, outboundConnectionMachine])
    assert.not(isTable(machine), machine.id);
  assert.is(fastLogic(channelMachine), fastLogic(channelMachine), 'written out once');
});

const nowhere = { on: { go: {} } };
const untabular: Readonly<Record<string, Parameters<typeof createMachine>[0]>> = {
  'nested states': { initial: 'a', states: { a: { initial: 'b', states: { b: nowhere } } } },
  'parallel states': { type: 'parallel', states: { a: nowhere, b: nowhere } },
  'no states': { on: { go: {} } },
  tags: { initial: 'a', states: { a: { tags: ['x'] } } },
  'a history': { initial: 'a', states: { a: {}, h: { type: 'history' } } },
  'an output': { initial: 'a', output: 1, states: { a: { type: 'final' } } },
  'an output of a state': { initial: 'a', states: { a: { type: 'final', output: 1 } } },
  'an actor': { initial: 'a', states: { a: { invoke: { src: fromPromise(() => Promise.resolve()) } } } },
  'an always at the root': { initial: 'a', always: { guard: () => false, target: '.a' }, states: { a: {} } },
  'an always that leads nowhere': { initial: 'a', states: { a: { always: { actions: () => {} } } } },
  'a wildcard': { initial: 'a', states: { a: { on: { '*': {} } } } },
  'a partial wildcard': { initial: 'a', states: { a: { on: { 'x.*': {} } } } },
  'a combined guard': { initial: 'a', states: { a: { on: { go: { guard: and([() => true]) } } } } },
  'a guard that is not there': { initial: 'a', states: { a: { on: { go: { guard: 'missing' } } } } },
  'an action that is not there': { initial: 'a', states: { a: { on: { go: { actions: 'missing' } } } } },
  'an action that makes actions': { initial: 'a', states: { a: { entry: enqueueActions(() => {}) } } },
  'a root that is entered again': { initial: 'a', on: { go: { target: '.a', reenter: true } }, states: { a: {} } },
  'a limit of iterations': { initial: 'a', states: { a: {} }, options: { maxIterations: 5 } },
};
for (const [what, config] of Object.entries(untabular))
  tables(`a chart with ${what} runs as xstate runs it`, () => {
    assert.not(isTable(createMachine(config)));
  });

tables('a snapshot that nothing changed stays the very same', () => {
  const heard: string[] = [];
  const machine = createMachine({
    initial: 'a',
    context: { count: 0 },
    states: { a: { on: { look: { actions: () => heard.push('looked') }, again: { target: 'a', reenter: true } } } },
  });
  const actor = createActor(fastLogic(machine)).start();
  const before = actor.getSnapshot();
  for (const type of ['look', 'again', 'unheard of']) actor.send({ type });
  assert.is(actor.getSnapshot(), before);
  assert.equal(heard, ['looked']);
});

tables('snapshots answer as those of the chart do', () => {
  const machine = createMachine({ initial: 'a', states: { a: { on: { go: 'b' }, meta: { x: 1 } }, b: {} } });
  const actor = createActor(fastLogic(machine)).start();
  assert.ok(actor.getSnapshot().can({ type: 'go' }));
  assert.equal(actor.getSnapshot().getMeta(), { '(machine).a': { x: 1 } });
  actor.send({ type: 'go' });
  assert.ok(actor.getSnapshot().matches('b'));
  assert.not(actor.getSnapshot().can({ type: 'go' }));
  assert.is(actor.getSnapshot().machine, machine);
  const restored = createActor(fastLogic(machine), { snapshot: actor.getPersistedSnapshot() }).start();
  assert.is(restored.getSnapshot().value, 'b');
});

tables('an actor can be stopped from outside', () => {
  const actor = createActor(fastLogic(createMachine({ initial: 'a', states: { a: {} } }))).start();
  actor.stop();
  assert.is(actor.getSnapshot().status, 'stopped');
});

const crashes: Readonly<Record<string, Parameters<typeof createMachine>[0]>> = {
  'a guard that throws': { initial: 'a', states: { a: { on: { go: { guard: fail } } } } },
  'an effect that throws': { initial: 'a', states: { a: { on: { go: { actions: fail } } } } },
  'a first effect that throws': { initial: 'a', states: { a: { entry: fail } } },
  'a context that throws': { initial: 'a', context: fail, states: { a: {} } },
  'a chart that makes actors': {
    initial: 'a',
    states: { a: { entry: assign(({ spawn }) => spawn(fromPromise(fail)) as never) } },
  },
};
function fail(): never {
  throw new Error('broken');
}
for (const [what, config] of Object.entries(crashes))
  tables(`${what} ends the actor with its error`, () => {
    const machine = createMachine(config);
    assert.ok(isTable(machine));
    const actor = createActor(fastLogic(machine));
    let error: Error | undefined;
    actor.subscribe({ error: (failure) => (error = failure as Error) });
    actor.start();
    actor.send({ type: 'go' });
    assert.is(actor.getSnapshot().status, 'error');
    assert.match(error?.message ?? '', /broken|makes no actors/);
  });

/* ---- Any flat chart does the same by table as by xstate --------------------------------------------------------- */

const names = ['a', 'b', 'c', 'd'];
const types = ['e0', 'e1', 'e2', 'e3'];
const index = fc.nat({ max: 3 });

/** What is done, as data, so that a failure shows the chart. */
const deed = fc.oneof(
  fc.record({ effect: index }),
  fc.record({ fact: index }),
  fc.record({ add: index }),
  fc.record({ double: fc.constant(true) }),
);
const later = fc.oneof(deed, fc.record({ raise: index }), fc.record({ soon: index }), fc.record({ cancel: index }));
const condition = fc.option(fc.record({ atLeast: index, of: fc.constantFrom('count', 'event') }), { nil: undefined });
const way = fc.record({
  condition,
  target: fc.option(index, { nil: undefined }),
  reenter: fc.boolean(),
  deeds: fc.array(later, { maxLength: 3 }),
});
const state = fc.record({
  final: fc.boolean(),
  entry: fc.array(deed, { maxLength: 2 }),
  exit: fc.array(deed, { maxLength: 2 }),
  on: fc.array(fc.record({ event: index, way }), { maxLength: 4 }),
  always: fc.array(fc.record({ condition, by: fc.integer({ min: 1, max: 3 }) }), { maxLength: 1 }),
  after: fc.option(fc.record({ ms: fc.integer({ min: 1, max: 3 }), way }), { nil: undefined }),
});
const chart = fc.record({
  states: fc.array(state, { minLength: 4, maxLength: 4 }),
  entry: fc.array(deed, { maxLength: 1 }),
  exit: fc.array(deed, { maxLength: 1 }),
  on: fc.array(fc.record({ event: index, way }), { maxLength: 2 }),
  first: fc.array(deed, { maxLength: 1 }),
});
type Chart = typeof chart extends fc.Arbitrary<infer T> ? T : never;
type Deed = typeof later extends fc.Arbitrary<infer T> ? T : never;
type Way = typeof way extends fc.Arbitrary<infer T> ? T : never;

type Seen = { context: { count: number } };

/** Effects append to `seen`. Raised events have a higher number than their cause, so that no chart runs for ever. */
function build({ states, entry, exit, on, first }: Chart, seen: unknown[]) {
  const action = (item: Deed, cause: number): never => {
    if ('effect' in item)
      return {
        type: 'note',
        params: ({ context }: Seen) => [item.effect, context.count],
      } as never;
    if ('fact' in item) return emit(({ context, event }) => ({ type: `fact${item.fact}`, context, event })) as never;
    if ('add' in item) return assign(({ context }: Seen) => ({ count: context.count + item.add })) as never;
    if ('double' in item)
      return assign({
        count: ({ context }: Seen) => context.count * 2,
        doubled: true,
      } as never) as never;
    if ('cancel' in item) return cancel(`timer${item.cancel}`) as never;
    if ('soon' in item)
      return raise({ type: types[item.soon]! }, { delay: 'moment' as never, id: `timer${item.soon}` }) as never;
    return (item.raise > cause ? raise({ type: types[item.raise]! }) : 'note') as never;
  };
  const actions = (items: readonly Deed[], cause: number) => items.map((item) => action(item, cause));
  const guard = (of: Way['condition']) => (of ? { guard: { type: 'holds', params: of } } : {});
  const transition = ({ condition: met, target, reenter, deeds }: Way, cause: number, prefix: string) => ({
    ...guard(met),
    ...(target === undefined ? {} : { target: `${prefix}${names[target]}`, reenter: reenter && prefix === '' }),
    actions: actions(deeds, cause),
  });
  const transitions = (list: Chart['on'], prefix: string) => {
    const events: Record<string, unknown[]> = {};
    for (const { event, way: taken } of list) (events[types[event]!] ??= []).push(transition(taken, event, prefix));
    return events;
  };
  const config = {
    id: 'any',
    context: ({ input }: { input: { count: number } }) => ({ ...input, doubled: false }),
    entry: actions(entry, 3),
    exit: actions(exit, 3),
    on: transitions(on, '.'),
    initial: { target: 'a', actions: actions(first, 3) },
    states: Object.fromEntries(
      states.map((item, position) => [
        names[position],
        item.final && position > 0
          ? { type: 'final', entry: actions(item.entry, 3), exit: actions(item.exit, 3) }
          : {
              entry: actions(item.entry, 3),
              exit: actions(item.exit, 3),
              on: transitions(item.on, ''),
              always: item.always
                .filter(({ by }) => position + by < names.length)
                .map(({ condition: met, by }) => ({ ...guard(met), target: names[position + by] })),
              ...(item.after ? { after: { [item.after.ms]: transition(item.after.way, 3, '') } } : {}),
            },
      ]),
    ),
  };
  return createMachine(
    config as never,
    {
      actions: { note: (_: unknown, params: unknown) => seen.push(['effect', params]) },
      guards: {
        holds: ({ context, event }: never, { atLeast, of }: NonNullable<Way['condition']>) =>
          (of === 'count' ? (context as { count: number }).count : ((event as { size?: number }).size ?? 0)) >= atLeast,
      },
      delays: { moment: 2 },
    } as never,
  ) as AnyStateMachine;
}

const input = fc.array(
  fc.oneof(fc.record({ type: fc.constantFrom(...types), size: index }), fc.record({ wait: index })),
  { maxLength: 12 },
);

/** Everything that can be seen of an actor that gets these events. */
function run(plan: Chart, events: typeof input extends fc.Arbitrary<infer T> ? T : never, fast: boolean): unknown[] {
  const seen: unknown[] = [];
  const machine = build(plan, seen);
  if (fast) assert.ok(isTable(machine));
  const clock = new ManualClock();
  const actor = createActor(fast ? fastLogic(machine) : machine, { input: { count: 1 }, clock } as never);
  actor.on('*', (fact) => seen.push(fact));
  actor.subscribe({
    next: ({ value, context, status, _nodes }) =>
      seen.push([value, context, status, _nodes.map(({ id }: { id: string }) => id).sort()]),
    complete: () => seen.push('complete'),
  });
  actor.start();
  for (const event of events) {
    if ('wait' in event) clock.advance(event.wait);
    else actor.send(event);
  }
  return seen;
}

tables('any flat chart does the same by table as by xstate', () => {
  fc.assert(
    fc.property(chart, input, (plan, events) => {
      assert.equal(run(plan, events, true), run(plan, events, false));
    }),
    { numRuns: 2_000 },
  );
});

tables.run();
