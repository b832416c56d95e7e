/**
 * What it costs the server to tell who watches its calls on the page: calls come and go on simulated time, and the CPU time
 * of each message is added up, from looking for what has changed to its JSON.
 *
 *   npx tsx bench/live-watch.ts [calls a second] [seconds of a call] [rounds]
 */
import type { Clock } from '../src/lib/clock.ts';
import { createCalls } from '../src/recorder/calls.ts';
import { createLive, type LiveScope } from '../src/recorder/live.ts';
import { createStuck } from '../src/recorder/stuck.ts';
import { createCallControl } from '../tests/support/call-control.ts';
import { createTestRecorder, liveSettings } from '../tests/support/recorder.ts';

const [rate = 500, callSeconds = 4, rounds = 3] = process.argv.slice(2).map(Number);
const warmUp = 15;
const measured = 15;

/** CPU time in ms and octets of the messages of a second. */
function run(scope: LiveScope): { cpu: number; octets: number } {
  const world = createCallControl();
  const { clock, log, operations } = world;
  const recorder = createTestRecorder(world.runtime, clock, { octets: 64_000_000, keepEndedMs: 300_000 });
  const stuck = createStuck({ recorder, lagging: () => [] });
  const calls = createCalls(recorder, stuck, { versions: {}, config: () => ({}) });
  const desk = { name: 'desk', connected: true, state: 'active', events: 0, missed: 0 };
  let [octets, made, cpu] = [0, 0, 0];
  const timed: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    soon: (act) => clock.soon(act),
    clearTimeout: (timer) => clock.clearTimeout(timer),
    setTimeout: (act, ms) =>
      clock.setTimeout(() => {
        const before = process.cpuUsage();
        act();
        const { user, system } = process.cpuUsage(before);
        cpu += (user + system) / 1_000;
      }, ms),
  };
  const live = createLive({
    ...{ recorder, clock: timed, log, calls },
    applications: () => [desk],
    application: () => desk,
    refused: () => [],
    stuck: () => stuck.all(),
    settings: () => liveSettings,
  });
  world.connect('desk');
  live.watch(scope, (json) => void (octets += json.length));
  const second = (): void => {
    for (let ms = 0; ms < 1_000; ms += 10) {
      for (let each = 0; each < rate / 100; each++) {
        made++;
        operations.originate({ channelId: `c${made}`, endpoint: 'Fake/phone', app: 'desk', timeout: 20 });
        world.report(`c${made}`, { type: 'leg.answered' });
        if (made > rate * callSeconds) operations.hangup(`c${made - rate * callSeconds}`, {});
      }
      clock.advance(10);
    }
  };
  for (let each = 0; each < warmUp; each++) second();
  [octets, cpu] = [0, 0];
  for (let each = 0; each < measured; each++) second();
  live.close();
  return { cpu: cpu / measured, octets: octets / measured };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
const scopes: readonly [string, LiveScope][] = [
  ['all calls', { kind: 'overview' }],
  ['an application', { kind: 'application', name: 'desk' }],
];
run({ kind: 'overview' });
for (const [name, scope] of scopes) {
  const mine = Array.from({ length: rounds }, () => run(scope));
  console.log(
    `${rate} calls/s, ${rate * callSeconds} live, watched: ${name}: ${(median(mine.map(({ cpu }) => cpu)) / 10).toFixed(2)} % of a core, ` +
      `${Math.round(median(mine.map(({ octets }) => octets)) / 1_000)} kB a second`,
  );
}
