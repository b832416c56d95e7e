/** A program for `kept-map.test.ts`: changes entries without end, several at once, and prints each when it is kept. */
import { writeSync } from 'node:fs';
import { systemClock } from '../../src/lib/clock.ts';
import { openKeptMap } from '../../src/stores/kept-map.ts';
import { createRecordingLog } from '../support/log.ts';

type Entry = { name: string; count: number };

const map = openKeptMap<Entry>({
  directory: process.argv[2]!,
  name: 'entries.json',
  clock: systemClock,
  log: createRecordingLog().log,
  read: (element) => element as Entry,
  keyOf: ({ name }) => name,
  onUndone: () => {},
});

async function count(name: string): Promise<never> {
  for (let value = 1; ; value++) {
    await map.set(name, { name, count: value });
    writeSync(1, `${name} ${value}\n`);
  }
}

for (const name of ['a', 'b', 'c', 'd', 'e']) void count(name);
