import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRuntime } from '../../src/actors/spawn.ts';
import { createWatchers } from '../../src/actors/watchers.ts';
import type { WatcherAnswer, WatcherDetails } from '../../src/telephony/watchers.ts';
import { anyDeed } from '../support/deeds.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const lamp = (id: string, rest: Partial<WatcherDetails> = {}): WatcherDetails => ({
  id,
  technology: 'Fake',
  endpoint: 'alice',
  topics: ['device:bob'],
  expiresMs: 300_000,
  intervalMs: 1_000,
  ...rest,
});

/** Watchers of a technology that shows a number, and what their phones were told of it. */
function world(answers: (id: string) => WatcherAnswer = () => ({ type: 'answered' })) {
  const clock = new ManualClock(0);
  const { log } = createRecordingLog();
  const watchers = createWatchers({ runtime: createRuntime(clock, log), log });
  const told: { id: string; at: number; value: number; end?: string }[] = [];
  const last = new Map<string, number>();
  const ended: string[] = [];
  const state = { value: 0 };
  watchers.attach({
    technology: 'Fake',
    async tellWatcher(id, end) {
      if (end === undefined && last.get(id) === state.value) return { type: 'unneeded' };
      last.set(id, state.value);
      told.push({ id, at: clock.monotonic(), value: state.value, ...(end && { end }) });
      return answers(id);
    },
    watcherEnded: (id) => void ended.push(id),
  });
  /** Lets answers arrive. */
  const settle = async () => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  const set = (value: number) => {
    state.value = value;
    watchers.changed('device:bob');
  };
  const subscribe = (watcher: WatcherDetails) => {
    last.delete(watcher.id);
    watchers.subscribed(watcher);
  };
  return { clock, watchers, told, ended, state, settle, pass, set, subscribe };
}

const watchers = suite('watchers');

watchers('each hears of what it watches, and of nothing else', async () => {
  const { watchers: all, told, settle, pass, set, subscribe } = world();
  subscribe(lamp('a'));
  subscribe(lamp('b', { topics: ['mailbox:b', 'device:carol'] }));
  await settle();
  assert.equal(all.list(), [
    { endpoint: 'Fake/alice', topics: ['device:bob'], state: 'resting', told: 1 },
    { endpoint: 'Fake/alice', topics: ['mailbox:b', 'device:carol'], state: 'resting', told: 1 },
  ]);
  await pass(1_000);
  set(1);
  await settle();
  all.changed('device:nobody');
  assert.equal(
    told.map(({ id, value }) => [id, value]),
    [
      ['a', 0],
      ['b', 0],
      ['a', 1],
    ],
  );
  all.moved('b', ['device:bob']);
  await settle();
  await pass(1_000);
  set(2);
  await settle();
  assert.equal(
    told.slice(3).map(({ id, value }) => [id, value]),
    [
      ['b', 1],
      ['a', 2],
      ['b', 2],
    ],
  );
});

watchers('its time runs out, unless it is renewed', async () => {
  const { watchers: all, told, ended, settle, pass, subscribe } = world();
  subscribe(lamp('a', { expiresMs: 10_000 }));
  await settle();
  await pass(9_000);
  subscribe(lamp('a', { expiresMs: 10_000 }));
  await settle();
  await pass(9_999);
  assert.equal([all.size, ended], [1, []]);
  await pass(1);
  assert.equal([all.size, ended, told.at(-1)], [0, ['a'], { id: 'a', at: 19_000, value: 0, end: 'timeout' }]);
});

watchers('one that is lost is told nothing more', async () => {
  const { watchers: all, told, ended, settle, set, subscribe } = world(() => ({ type: 'lost', reason: '481' }));
  subscribe(lamp('a'));
  await settle();
  set(1);
  await settle();
  assert.equal([all.size, ended, told.length], [0, ['a'], 1]);
});

watchers('when the system stops all are told, and those that do not answer are waited for 2 s', async () => {
  const { watchers: all, told, settle, pass, subscribe } = world();
  subscribe(lamp('a'));
  subscribe(lamp('b'));
  await settle();
  let closed = false;
  const over = all.close().then(() => {
    closed = true;
  });
  await settle();
  await over;
  assert.equal(
    [closed, told.slice(2).map(({ id, end }) => [id, end])],
    [
      true,
      [
        ['a', 'probation'],
        ['b', 'probation'],
      ],
    ],
  );
  const silent = world();
  silent.watchers.attach({ technology: 'Fake', tellWatcher: () => new Promise(() => {}), watcherEnded() {} });
  silent.watchers.subscribed(lamp('a'));
  const waited = silent.watchers.close();
  await silent.pass(1_999);
  assert.is(silent.watchers.size, 1);
  await silent.pass(1);
  await waited;
  assert.is(silent.watchers.size, 0);
  await pass(0);
});

watchers('a watcher goes on in another process where it was', async () => {
  const first = world();
  first.subscribe(lamp('a', { expiresMs: 20_000 }));
  await first.settle();
  await first.pass(5_000);
  const dump = JSON.parse(JSON.stringify(first.watchers.dump()));
  const second = world();
  second.clock.advance(5_000);
  second.watchers.restore(dump);
  assert.equal([second.watchers.size, second.told], [1, []]);
  second.set(7);
  await second.settle();
  assert.equal(second.told, [{ id: 'a', at: 5_000, value: 7 }]);
  await second.pass(15_000);
  assert.equal([second.watchers.size, second.told.at(-1)?.end], [0, 'timeout']);
});

const act = anyDeed({
  set: [1, { value: fc.integer({ min: 0, max: 3 }) }],
  pass: [1, { ms: fc.integer({ min: 0, max: 1_500 }) }],
  renew: [1, {}],
});

watchers('whatever happens, a phone knows how things stand an interval later, and is not told more often', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (sequence) => {
      const { watchers: all, told, settle, pass, set, state, subscribe } = world();
      subscribe(lamp('a'));
      await settle();
      /** Times at which it asked to be told. */
      const asked = new Set([0]);
      let now = 0;
      for (const act of sequence) {
        if (act.kind === 'set') set(act.value);
        else if (act.kind === 'renew') {
          subscribe(lamp('a'));
          asked.add(now);
        } else {
          await pass(act.ms);
          now += act.ms;
        }
        await settle();
      }
      await pass(1_000);
      assert.is(told.at(-1)!.value, state.value, 'it knows in the end');
      const unasked = told.filter(({ at }) => !asked.has(at));
      for (const telling of unasked) {
        const before = told[told.indexOf(telling) - 1]!;
        assert.ok(telling.at - before.at >= 1_000, `told at ${before.at} and at ${telling.at}`);
        assert.is.not(telling.value, before.value, 'only what has changed is told');
      }
      const close = all.close();
      await settle();
      await close;
      assert.is(all.size, 0);
    }),
    { numRuns: 200 },
  );
});

watchers.run();
