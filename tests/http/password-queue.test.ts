import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createPasswordQueue } from '../../src/http/password-queue.ts';

/** A queue, what is checked in which order, and what came of each. */
function createWorld(limit: number) {
  const queue = createPasswordQueue(limit);
  const started: string[] = [];
  const outcomes: Record<string, boolean | string> = {};
  const gone = new Set<string>();
  let finish: (fits: boolean) => void = () => {};
  const settled: Promise<void>[] = [];
  return {
    queue,
    started,
    outcomes,
    gone,
    add(address: string, name: string) {
      const check = {
        address,
        gone: () => gone.has(name),
        run: () => {
          started.push(name);
          return new Promise<boolean>((resolve) => {
            finish = resolve;
          });
        },
      };
      settled.push(
        queue.check(check).then(
          (fits) => {
            outcomes[name] = fits;
          },
          (error: { code: string }) => {
            outcomes[name] = error.code;
          },
        ),
      );
    },
    /** Finishes what is being checked; what came of it is known when this resolves. */
    async finish(fits: boolean) {
      finish(fits);
      await new Promise((resolve) => setImmediate(resolve));
    },
    all: () => Promise.all(settled),
  };
}

const queue = suite('password queue');

queue('checks one after another, and tells each what came of it', async () => {
  const world = createWorld(10);
  world.add('a', 'one');
  world.add('a', 'two');
  assert.equal([world.started, world.queue.size], [['one'], 2]);
  await world.finish(true);
  assert.equal([world.started, world.outcomes, world.queue.size], [['one', 'two'], { one: true }, 1]);
  await world.finish(false);
  assert.equal([world.outcomes, world.queue.size], [{ one: true, two: false }, 0]);
});

queue('addresses take turns: nobody stands behind all that another sent', async () => {
  const world = createWorld(10);
  for (const name of ['a1', 'a2', 'a3', 'a4']) world.add('a', name);
  world.add('b', 'b1');
  for (let at = 0; at < 5; at++) await world.finish(false);
  assert.equal(world.started, ['a1', 'a2', 'b1', 'a3', 'a4']);
});

queue('what nobody waits for any more is not checked', async () => {
  const world = createWorld(10);
  for (const name of ['first', 'left', 'last']) world.add('a', name);
  world.gone.add('left');
  await world.finish(true);
  await world.finish(true);
  await world.all();
  assert.equal([world.started, world.outcomes], [['first', 'last'], { first: true, left: false, last: true }]);
});

queue('a full queue refuses the address that fills it, and makes room for others', async () => {
  const world = createWorld(3);
  for (const name of ['a0', 'a1', 'a2', 'a3', 'a4']) world.add('a', name);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(world.outcomes, { a4: 'tooManyLogIns' });
  world.add('b', 'b1');
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(world.outcomes, { a4: 'tooManyLogIns', a3: 'tooManyLogIns' });
  world.add('c', 'c1');
  for (let at = 0; at < 4; at++) await world.finish(true);
  assert.equal(world.started, ['a0', 'a1', 'b1', 'c1']);
  assert.is(world.queue.size, 0);
});

queue('those who left make room first', async () => {
  const world = createWorld(2);
  for (const name of ['now', 'left', 'stays']) world.add('a', name);
  world.gone.add('left');
  world.add('a', 'new');
  for (let at = 0; at < 3; at++) await world.finish(true);
  assert.equal(world.outcomes, { now: true, left: false, stays: true, new: true });
});

queue('a check that fails is told to whoever waits for it, and the next one is made', async () => {
  const world = createWorld(2);
  const broken = world.queue.check({ address: 'a', gone: () => false, run: () => Promise.reject(new Error('broken')) });
  world.add('a', 'next');
  await broken.then(
    () => assert.unreachable(),
    (error: Error) => assert.is(error.message, 'broken'),
  );
  await world.finish(true);
  assert.equal(world.outcomes, { next: true });
});

queue.run();
