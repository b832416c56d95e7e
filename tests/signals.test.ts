import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createStopSignals } from '../src/signals.ts';
import { createRecordingLog } from './support/log.ts';
import { ManualClock } from './support/manual-clock.ts';

const signals = suite('signals that stop the server');

function world(channels: number) {
  const clock = new ManualClock();
  const { log, lines } = createRecordingLog();
  const did: string[] = [];
  let drained = () => {};
  const server = {
    channels: () => channels,
    drain: () => {
      did.push('drain');
      return new Promise<void>((resolve) => {
        drained = resolve;
      });
    },
    hangupAll: () => {
      did.push('hang up');
      drained();
    },
    close: () => {
      did.push('close');
      return Promise.resolve();
    },
  };
  let finished = (_error: unknown) => {};
  const done = new Promise<unknown>((resolve) => {
    finished = resolve;
  });
  const say = (line: string) => void did.push(`say ${line}`);
  const stop = createStopSignals(server, { clock, log, say, drainTimeoutMs: 10_000 }, (error) => finished(error));
  return { clock, lines, did, done, stop, drained: () => drained() };
}

const waiting = 'stopping: no new calls; waiting at most 10 s for 2 channels, another signal hangs up';

signals('two within a second are one, whichever they are: the calls keep their time', async () => {
  const { clock, lines, did, done, stop, drained } = world(2);
  stop('SIGINT');
  clock.advance(4);
  stop('SIGINT');
  clock.advance(995);
  stop('SIGTERM');
  assert.equal(did, [`say ${waiting}`, 'drain']);
  drained();
  assert.is(await done, undefined);
  assert.equal(did.slice(2), ['close']);
  assert.equal(
    lines.map(({ level, message, fields }) => [level, message, fields]),
    [['info', waiting, { signal: 'SIGINT', channels: 2 }]],
  );
});

signals('the second hangs up what is left, so that nobody is left talking to nobody', async () => {
  const { clock, did, done, stop } = world(1);
  stop('SIGTERM');
  clock.advance(1_000);
  stop('SIGTERM');
  assert.is(await done, undefined);
  assert.equal(did, [
    'say stopping: no new calls; waiting at most 10 s for 1 channel, another signal hangs up',
    'drain',
    'say stopping now: calls are hung up, another signal drops them',
    'hang up',
    'close',
  ]);
});

signals('the third waits for nobody', async () => {
  const { clock, did, done, stop } = world(0);
  for (const signal of ['SIGTERM', 'SIGTERM', 'SIGINT']) {
    stop(signal);
    clock.advance(1_000);
  }
  await done;
  assert.equal(did.slice(0, 2), ['say stopping: no new calls', 'drain']);
  assert.is(did.at(-1), 'close');
  assert.ok(did.includes('say stopping without a word to anybody'));
});

signals.run();
