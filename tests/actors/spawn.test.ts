import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ActorRefLike, type AnyActorRef, setup } from 'xstate';
import { createRuntime, spawn } from '../../src/actors/spawn.ts';
import type { Step } from '../../src/actors/step.ts';
import { effect } from '../../src/machines/effect.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const lampSetup = setup({
  types: {
    input: {} as { id: string },
    context: {} as { id: string; turned: number },
    events: {} as { type: 'turn' } | { type: 'break' } | { type: 'remove' },
    emitted: {} as { type: 'Lit' } | { type: 'Dark' } | { type: 'Removed' },
  },
  actions: { explode: effect('explode') },
  delays: { burnTime: 1_000 },
});
const lampMachine = lampSetup.createMachine({
  id: 'lamp',
  context: ({ input }) => ({ id: input.id, turned: 0 }),
  initial: 'dark',
  on: { remove: '.removed', break: { actions: 'explode' } },
  states: {
    dark: { entry: lampSetup.emit({ type: 'Dark' }), on: { turn: 'lit' } },
    lit: {
      entry: [lampSetup.assign({ turned: ({ context }) => context.turned + 1 }), lampSetup.emit({ type: 'Lit' })],
      on: { turn: 'dark' },
      after: { burnTime: 'dark' },
    },
    removed: { type: 'final', entry: lampSetup.emit({ type: 'Removed' }) },
  },
});

function world() {
  const { log, lines } = createRecordingLog();
  const clock = new ManualClock();
  const runtime = createRuntime(clock, log);
  return { lines, clock, runtime };
}

const spawning = suite('spawn');

spawning('facts of the first state, of every later one and of the last are heard after the commit', () => {
  const { runtime, clock, lines } = world();
  const heard: unknown[] = [];
  const actor = spawn(lampMachine, {
    id: 'a',
    input: { id: 'a' },
    runtime,
    onEmitted: (fact, snapshot) => heard.push([fact.type, snapshot.value, snapshot.context.turned]),
    onEnded: (error) => heard.push(['ended', error]),
  });
  actor.send({ type: 'turn' });
  clock.advance(999);
  assert.is(actor.getSnapshot().value, 'lit');
  clock.advance(1);
  actor.send({ type: 'remove' });
  actor.send({ type: 'turn' });
  assert.equal(heard, [
    ['Dark', 'dark', 0],
    ['Lit', 'lit', 1],
    ['Dark', 'dark', 1],
    ['Removed', 'removed', 1],
    ['ended', undefined],
  ]);
  assert.equal(lines, []);
  assert.is(clock.pending, 0);
});

spawning('the creator has the actor before its first fact', () => {
  const { runtime } = world();
  const order: string[] = [];
  const actor = spawn(lampMachine, {
    id: 'a',
    input: { id: 'a' },
    runtime,
    onCreated: (created) => order.push(`created ${created.id}`),
    onEmitted: (fact) => order.push(fact.type),
    onEnded: () => undefined,
  });
  assert.equal(order, ['created a', 'Dark']);
  actor.send({ type: 'remove' });
});

spawning('a listener that throws is logged and the actor goes on', () => {
  const { runtime, lines } = world();
  const failure = new Error('no listener today');
  const actor = spawn(lampMachine, {
    id: 'a',
    input: { id: 'a' },
    runtime,
    onEmitted: (fact) => {
      if (fact.type === 'Lit') throw failure;
    },
    onEnded: () => undefined,
  });
  actor.send({ type: 'turn' });
  assert.is(actor.getSnapshot().value, 'lit');
  assert.equal(lines, [
    { level: 'error', message: 'publishing a fact failed', fields: { id: 'a', fact: 'Lit', error: failure } },
  ]);
  actor.send({ type: 'remove' });
});

spawning('an actor that crashes is logged, ends once with its error, and hears nothing more', () => {
  const { runtime, lines, clock } = world();
  const ends: unknown[] = [];
  const actor = spawn(lampMachine, { id: 'a', input: { id: 'a' }, runtime, onEnded: (error) => ends.push(error) });
  actor.send({ type: 'turn' });
  actor.send({ type: 'break' });
  actor.send({ type: 'remove' });
  assert.is(ends.length, 1);
  assert.match(String(ends[0]), "effect 'explode' was not provided");
  assert.equal(
    lines.map(({ level, message, fields }) => [level, message, fields['id'], fields['machine']]),
    [['error', 'an actor crashed', 'a', 'lamp']],
  );
  clock.advance(5_000);
  assert.is(actor.getSnapshot().status, 'error');
});

spawning('a release that throws is logged and does not escape', () => {
  const { runtime, lines } = world();
  const actor = spawn(lampMachine, {
    id: 'a',
    input: { id: 'a' },
    runtime,
    onEnded: () => {
      throw new Error('cannot release');
    },
  });
  actor.send({ type: 'remove' });
  assert.equal(
    lines.map((line) => line.message),
    ['releasing an ended actor failed'],
  );
});

spawning('a step is told when it is committed, with all that it did, to whoever listens', () => {
  const { runtime, clock } = world();
  const steps: Step[] = [];
  const unlisten = runtime.turn.listen((step) => void steps.push(step));
  const actor = spawn(lampMachine, { id: 'a', input: { id: 'a' }, runtime, onEnded: () => undefined });
  runtime.turn.because('request 1', () => actor.send({ type: 'turn' }));
  clock.advance(1_000);
  unlisten();
  actor.send({ type: 'remove' });
  const at = clock.now() - 1_000;
  const burn = 'xstate.after.burnTime.lamp.lit';
  const deadline = { at: at + 1_000, event: { type: burn } };
  const lamp = { object: 'a', chart: 'lamp', effects: [] };
  assert.equal(steps, [
    {
      ...lamp,
      seq: 1,
      at,
      event: { type: 'xstate.init', input: { id: 'a' } },
      from: undefined,
      to: 'dark',
      facts: [{ type: 'Dark' }],
      causedBy: undefined,
      change: { value: 'dark', set: { id: 'a', turned: 0 } },
    },
    {
      ...lamp,
      seq: 2,
      at,
      event: { type: 'turn' },
      from: 'dark',
      to: 'lit',
      facts: [{ type: 'Lit' }],
      causedBy: 'request 1',
      change: { value: 'lit', set: { turned: 1, deadlines: { [burn]: deadline } } },
    },
    {
      ...lamp,
      seq: 3,
      at: at + 1_000,
      event: { type: burn },
      from: 'lit',
      to: 'dark',
      facts: [{ type: 'Dark' }],
      causedBy: 'clock',
      change: { value: 'dark', set: { deadlines: {} } },
    },
  ]);
});

spawning('actors belong to one xstate system: an inspector sees their events and snapshots', () => {
  const seen: unknown[] = [];
  const ids = (ref: ActorRefLike) => (ref as AnyActorRef).id;
  const runtime = createRuntime(new ManualClock(), createRecordingLog().log, (event) => {
    if (event.type === '@xstate.actor') seen.push(['actor', ids(event.actorRef)]);
    if (event.type === '@xstate.event') seen.push(['event', ids(event.actorRef), event.event.type]);
    if (event.type === '@xstate.snapshot' && 'value' in event.snapshot)
      seen.push(['snapshot', ids(event.actorRef), event.snapshot.value, event.snapshot.status]);
  });
  seen.length = 0;
  const actor = spawn(lampMachine, { id: 'a', input: { id: 'a' }, runtime, onEnded: () => {} });
  actor.send({ type: 'turn' });
  actor.send({ type: 'remove' });
  assert.equal(seen, [
    ['actor', 'a'],
    ['event', 'a', 'xstate.init'],
    ['snapshot', 'a', 'dark', 'active'],
    ['event', 'a', 'turn'],
    ['snapshot', 'a', 'lit', 'active'],
    ['event', 'a', 'remove'],
    ['event', 'hookswitch', 'xstate.done.actor.a'],
    ['snapshot', 'a', 'removed', 'done'],
  ]);
});

spawning('an inspector is told of the end of a delay and of a crash like of any event', () => {
  const seen: unknown[] = [];
  const clock = new ManualClock();
  const runtime = createRuntime(clock, createRecordingLog().log, (event) => {
    if (event.type === '@xstate.snapshot' && (event.actorRef as AnyActorRef).id === 'a')
      seen.push([event.event.type, (event.snapshot as { value?: unknown }).value, event.snapshot.status]);
  });
  const broken = lampMachine.provide({
    actions: {
      explode: () => {
        throw new Error('broken');
      },
    },
  });
  const actor = spawn(broken, { id: 'a', input: { id: 'a' }, runtime, onEnded: () => {} });
  actor.send({ type: 'turn' });
  clock.advance(1_000);
  actor.send({ type: 'break' });
  assert.equal(seen, [
    ['xstate.init', 'dark', 'active'],
    ['turn', 'lit', 'active'],
    ['xstate.after.burnTime.lamp.lit', 'dark', 'active'],
    ['break', 'dark', 'active'],
    ['effect.failed', 'dark', 'error'],
  ]);
});

spawning.run();
