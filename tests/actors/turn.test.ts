import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setup } from 'xstate';
import { type Actor, createRuntime, spawn } from '../../src/actors/spawn.ts';
import { effect } from '../../src/machines/effect.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** One turn for all actors of a process. */

const bellSetup = setup({
  types: {
    input: {} as { id: string },
    context: {} as { id: string },
    events: {} as { type: 'ring' } | { type: 'hush' },
    emitted: {} as { type: 'First' } | { type: 'Second' },
  },
  actions: { strike: effect('strike'), fade: effect('fade') },
});
const bellMachine = bellSetup.createMachine({
  id: 'bell',
  context: ({ input }) => input,
  initial: 'silent',
  states: {
    silent: {
      on: {
        ring: {
          target: 'ringing',
          actions: [bellSetup.emit({ type: 'First' }), 'strike', bellSetup.emit({ type: 'Second' }), 'fade'],
        },
      },
    },
    ringing: { on: { hush: 'silent' } },
  },
});

type Bell = Actor<typeof bellMachine>;
type Deed = 'strike' | 'fade' | 'First' | 'Second' | 'created';

/** Bells that note what happens; `when` says what else is done at that moment. */
function world(when: (what: string, bells: Record<string, Bell>) => void = () => {}) {
  const { log, lines } = createRecordingLog();
  const runtime = createRuntime(new ManualClock(), log);
  const seen: string[] = [];
  const bells: Record<string, Bell> = {};
  const note = (id: string, deed: Deed): void => {
    const what = `${id} ${deed}`;
    seen.push(what);
    when(what, bells);
  };
  const machine = bellMachine.provide({
    actions: { strike: ({ context }) => note(context.id, 'strike'), fade: ({ context }) => note(context.id, 'fade') },
  });
  const hang = (id: string): Bell => {
    const bell = spawn(machine, {
      id,
      input: { id },
      runtime,
      onCreated: () => note(id, 'created'),
      onEmitted: ({ type }) => note(id, type),
      onEnded: () => undefined,
    });
    bells[id] = bell;
    return bell;
  };
  hang('a');
  hang('b');
  seen.length = 0;
  return { seen, bells, hang, runtime, lines };
}

const turns = suite('turn');

turns('facts come before effects, and an effect that sends has its answer when send returns', () => {
  const { seen, bells } = world((what, { b }) => {
    if (what !== 'a strike') return;
    b?.send({ type: 'ring' });
    assert.is(b?.getSnapshot().value, 'ringing');
  });
  bells['a']?.send({ type: 'ring' });
  assert.equal(seen, ['a First', 'a Second', 'a strike', 'b First', 'b Second', 'b strike', 'b fade', 'a fade']);
});

turns('what a listener of facts sends waits until the step is over, so facts come in the order of commits', () => {
  const { seen, bells } = world((what, { a, b }) => {
    if (what !== 'a First') return;
    b?.send({ type: 'ring' });
    assert.is(b?.getSnapshot().value, 'silent');
    a?.send({ type: 'hush' });
    assert.is(a?.getSnapshot().value, 'ringing');
  });
  bells['a']?.send({ type: 'ring' });
  assert.equal(seen, ['a First', 'a Second', 'a strike', 'a fade', 'b First', 'b Second', 'b strike', 'b fade']);
  assert.is(bells['a']?.getSnapshot().value, 'silent');
});

turns('an actor made by a listener of facts is there at once', () => {
  const { seen, bells, hang } = world((what) => {
    if (what === 'a First') assert.is(hang('c').getSnapshot().value, 'silent');
  });
  bells['a']?.send({ type: 'ring' });
  assert.equal(seen, ['a First', 'c created', 'a Second', 'a strike', 'a fade']);
});

turns('afterwards is when no step is under way any more, in the order of asking', () => {
  const { seen, bells, runtime } = world((what, { b }) => {
    const again = () => runtime.turn.afterwards(() => seen.push(`after ${what}`));
    if (what === 'a strike') b?.send({ type: 'ring' });
    if (what.endsWith('fade')) again();
  });
  bells['a']?.send({ type: 'ring' });
  assert.equal(seen.slice(-3), ['a fade', 'after b fade', 'after a fade']);
  runtime.turn.afterwards(() => seen.push('at once'));
  assert.is(seen.at(-1), 'at once');
});

turns('a step knows which step, or which cause from outside, led to it', () => {
  const { bells, runtime } = world((what, { b }) => {
    if (what === 'a strike') b?.send({ type: 'ring' });
    if (what === 'b First') b?.send({ type: 'hush' });
  });
  const causes: unknown[] = [];
  runtime.turn.listen(({ seq, object, event, causedBy }) => causes.push([seq, object, event.type, causedBy]));
  runtime.turn.because('request 7', () => bells['a']?.send({ type: 'ring' }));
  bells['a']?.send({ type: 'hush' });
  assert.equal(causes, [
    [3, 'a', 'ring', 'request 7'],
    [4, 'b', 'ring', 3],
    [5, 'b', 'hush', 4],
    [6, 'a', 'hush', undefined],
  ]);
});

turns('a listener of steps that throws is logged and holds nobody up', () => {
  const { seen, bells, runtime, lines } = world();
  const failure = new Error('no room');
  const unlisten = runtime.turn.listen(() => {
    throw failure;
  });
  bells['a']?.send({ type: 'ring' });
  unlisten();
  bells['a']?.send({ type: 'hush' });
  assert.equal(seen, ['a First', 'a Second', 'a strike', 'a fade']);
  assert.is(bells['a']?.getSnapshot().value, 'silent');
  assert.equal(lines, [{ level: 'error', message: 'a listener of steps failed', fields: { id: 'a', error: failure } }]);
});

turns.run();
