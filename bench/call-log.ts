import { openSync, writeSync } from 'node:fs';
import type { CallLeg } from '../src/actors/call-leg.ts';
import { createLogger, type LogLevel } from '../src/lib/log.ts';
import { createCallLog } from '../src/watch/call-log.ts';

/**
 * What the log of calls costs: the four lines of a leg that comes in, enters an application, is answered and ends, written
 * to /dev/null at `info`, and not written at `warn`. In time of processors, so that it counts what it costs on a busy machine.
 *
 *   npx tsx bench/call-log.ts
 */

const legs = 20_000;
const rounds = 9;
const sink = openSync('/dev/null', 'w');

const legOf = (number: number): CallLeg => ({
  channel: `1767225600.${number}`,
  call: `1767225600.${number}`,
  name: `PJSIP/alice-${number.toString(16).padStart(8, '0')}`,
  technology: 'PJSIP',
  endpoint: 'alice',
  direction: 'in',
  from: { number: '100', name: 'Alice' },
  to: '201',
  protocolId: `d7f1bfda-80dd-485e-8e75-${number}`,
  accountCode: '',
  context: 'default',
  startedAt: 1_767_225_600_000,
  answeredAt: 1_767_225_601_000,
  source: '10.0.0.2:5060',
  codec: 'ulaw',
  applications: ['desk'],
  recordings: [],
});

/** µs a leg. */
function measure(level: LogLevel): number {
  const log = createLogger({ level, destination: { write: (line) => void writeSync(sink, line) } });
  const listener = createCallLog(log.child({ part: 'calls' }));
  const begun = process.cpuUsage();
  for (let number = 0; number < legs; number++) {
    const leg = legOf(number);
    listener.began?.(leg);
    listener.entered?.(leg, 'desk');
    listener.answered?.(leg, undefined as never);
    listener.ended?.(leg, {
      ...{ at: 1_767_225_700_000, by: 'farSide', cause: 16, techCause: undefined, quality: undefined },
      outcome: { result: 'answered', reason: 'answered', by: 'caller' },
      last: undefined as never,
    });
  }
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / legs;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

const costs = { info: [] as number[], warn: [] as number[] };
for (let round = 0; round < rounds; round++)
  for (const level of ['info', 'warn'] as const) costs[level].push(measure(level));
const [info, warn] = [median(costs.info), median(costs.warn)];
console.log(`a leg's four lines: ${info.toFixed(1)} µs at info, ${warn.toFixed(2)} µs at warn (median of ${rounds})`);
