import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { paced } from '../../page/core/paced.ts';
import { ManualClock } from '../support/manual-clock.ts';

const pace = suite('the pace of messages on the page');

function world() {
  const clock = new ManualClock(0);
  const taken: string[] = [];
  const messages = paced<number>((message) => void taken.push(`${message} at ${clock.now()}`), {
    now: () => clock.now(),
    later: (run, ms) => clock.setTimeout(run, ms),
    cancel: (timer) => clock.clearTimeout(timer),
  });
  return { clock, taken, messages };
}

pace('while very much comes messages are taken once in two seconds, else at once', async () => {
  const { clock, taken, messages } = world();
  for (let count = 0; count < 6; count++) {
    messages.hear(count, 100_000);
    await clock.run(250);
  }
  assert.equal(taken, ['0 at 0']);
  messages.hear(6, 100);
  await clock.run(2_000);
  assert.equal(
    taken.slice(1),
    [1, 2, 3, 4, 5, 6].map((each) => `${each} at 2000`),
  );
  for (const count of [7, 8, 9]) messages.hear(count, 100);
  assert.equal(taken.slice(7), ['7 at 3500', '8 at 3500', '9 at 3500']);
  assert.is(clock.pending, 0);
});

pace('what follows one large message, as the first one of a view, waits a second at most', async () => {
  const { clock, taken, messages } = world();
  messages.hear(0, 500_000);
  await clock.run(250);
  messages.hear(1, 100);
  await clock.run(1_000);
  messages.hear(2, 100);
  assert.equal(taken, ['0 at 0', '1 at 1000', '2 at 1250']);
});

pace('while much comes, in many messages that are not large, they are taken once a second', async () => {
  const { clock, taken, messages } = world();
  for (let count = 0; count < 12; count++) {
    messages.hear(count, 3_000);
    await clock.run(250);
  }
  const times = new Set(taken.map((each) => each.replace(/.* at /, '')));
  assert.equal([...times], ['0', '250', '1250', '2250']);
});

pace('those that wait are given up when nobody looks any more', async () => {
  const { clock, taken, messages } = world();
  messages.hear(1, 100_000);
  messages.hear(2, 100_000);
  messages.close();
  await clock.run(5_000);
  assert.equal([taken, clock.pending], [['1 at 0'], 0]);
});

pace.run();
