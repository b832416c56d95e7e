import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '../../src/lib/log.ts';
import { defaultRecordingLimits, openRecording } from '../../src/media/file/recording-writer.ts';
import { readWav } from '../../src/media/file/wav.ts';
import { openKeptMap } from '../../src/stores/kept-map.ts';
import { createLogChannels } from '../../src/stores/log-channels.ts';
import { openEntries } from '../../src/stores/open-entries.ts';
import { openRotatedFile } from '../../src/stores/rotated-file.ts';
import { openSpool } from '../../src/stores/spool.ts';
import { ManualClock } from '../support/manual-clock.ts';

/**
 * What keeps things on the disk, on one that becomes full and has room again. Run in a name space of its own, where a small
 * file system is mounted in the directory that is given; tells as JSON what came of it.
 */
const [, , directory = ''] = process.argv;
const clock = new ManualClock();
const told: string[] = [];
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};
const textOf = (name: string): string => readFileSync(join(directory, name), 'utf8');
/** Longer than a page of memory, so that the disk takes a part of it. */
const record = (id: number): string => `${JSON.stringify({ id, text: 'x'.repeat(9_000) })}\n`;

const records = openRotatedFile({
  ...{ path: join(directory, 'calls.jsonl'), clock, maximumOctets: 10_000_000, keep: 1 },
  tellLost: (lost) => `${JSON.stringify({ lost })}\n`,
  onStuck: () => told.push('stuck'),
  onFailed: (error) => told.push(`records: ${(error as NodeJS.ErrnoException).code}`),
});
const spool = openSpool({
  ...{ directory: join(directory, 'spool'), maximumOctets: 10_000_000, batch: 100 },
  onFailed: (error, lost) => told.push(`spool: ${(error as NodeJS.ErrnoException).code} ${lost}`),
});
const channels = createLogChannels({
  directory: join(directory, 'log'),
  console: { write() {} },
  consoleLevels: [],
  clock,
});
const log = createLogger({ level: 'info', destination: channels.destination });
channels.add('all', '*');
const loggedErrors: string[] = [];
const variables = openKeptMap<{ name: string; text: string }>({
  ...{ directory, name: 'variables.json', clock, keyOf: ({ name }) => name, read: (element) => element as never },
  log: createLogger({ level: 'error', destination: { write: (line: string) => void loggedErrors.push(line) } }),
  onUndone: ({ name }) => told.push(`undone: ${name}`),
});
await variables.set('before', { name: 'before', text: 'x' });
const journal = openEntries<{ id: number }>({
  ...{ path: join(directory, 'open-calls.jsonl'), clock, maximumOctets: 1_000_000 },
  onFailed: (error) => told.push(`journal: ${(error as NodeJS.ErrnoException).code}`),
});
journal.set('first', { id: 1 });
/** Small: three lines fill a file. */
const rotated = openRotatedFile({
  ...{ path: join(directory, 'audit.jsonl'), clock, maximumOctets: 30_000, keep: 2 },
  tellLost: (lost) => `${JSON.stringify({ lost })}\n`,
  onStuck: () => told.push('audit: stuck'),
  onFailed: (error) => told.push(`audit: ${(error as NodeJS.ErrnoException).code}`),
});
for (const id of [1, 2, 3, 4]) rotated.write(record(id));
const writer = await openRecording(
  {
    ...defaultRecordingLimits,
    ...{ path: join(directory, 'said.wav'), format: 'wav', channels: 1, ifExists: 'fail', serial: 1 },
  },
  (error) => told.push(`recording: ${error.code}, ${error.message}`),
);

records.write(record(1));
spool.put(record(1));
log.info({ id: 1, text: 'x'.repeat(9_000) }, 'before');
for (let frame = 0; frame < 50; frame++) writer.write(new Int16Array(writer.sampleRate / 50).fill(500));
await until(() => readFileSync(join(directory, 'said.wav.part')).length > 16_000);
await until(() =>
  [textOf('calls.jsonl'), textOf('log/all'), textOf('audit.jsonl')].every((text) => text.endsWith('\n')),
);
for (let size = 65_536; size >= 1_024; size /= 2)
  for (let number = 0; ; number++)
    try {
      writeFileSync(join(directory, `ballast-${size}-${number}`), Buffer.alloc(size));
    } catch {
      break;
    }

const big = 'x'.repeat(20_000);
const refused = await Promise.all(
  ['one', 'two'].map((name) =>
    variables.set(name, { name, text: big }).then(
      () => 'kept',
      (error: { code?: string }) => error.code,
    ),
  ),
);
variables.setSoon('soon', { name: 'soon', text: big });
for (let number = 0; number < 3; number++) variables.setSoon('again', { name: 'again', text: big + number });
for (let number = 2; number < 6; number++) journal.set(`call ${number}`, { id: number, ...{ text: big } });
// A line is lost, the file is opened again, and the next one is lost: for an hour.
for (let time = 0; time < 60; time++) {
  rotated.write(record(100));
  await until(() => rotated.failed);
  clock.advance(60_000);
}
for (const id of [2, 3]) {
  records.write(record(id));
  spool.put(record(id));
  log.info({ id, text: 'x'.repeat(9_000) }, 'full');
}
for (let frame = 0; frame < 3_000; frame++) writer.write(new Int16Array(writer.sampleRate / 50).fill(500));
await until(
  () =>
    records.failed &&
    channels.list()[1]?.status === 'Disabled' &&
    ['spool', 'recording'].every((what) => told.some((line) => line.startsWith(what))),
);
records.write(record(4));

for (let size = 65_536; size >= 1_024; size /= 2)
  for (let number = 0; number < 1_000; number++) rmSync(join(directory, `ballast-${size}-${number}`), { force: true });
const said = readWav(readFileSync(join(directory, 'said.wav')));
rmSync(join(directory, 'said.wav'));
// What was tried again meanwhile waits for longer.
clock.advance(60_000);
await until(() => textOf('variables.json').includes('"soon"'));
records.write(record(5));
rotated.write(record(5));
journal.set('last', { id: 9 });
spool.put(record(4));
log.info({ id: 5 }, 'after');
const kept = await spool.oldest();
await variables.set('after', { name: 'after', text: 'x' });
await Promise.all([
  records.close(),
  spool.close(),
  channels.close(),
  rotated.close(),
  journal.close(),
  variables.close(),
]);

type Line = { id?: number; lost?: number };
/** The ids of the lines in a file, and how many were lost; `torn` where the disk took but a part of one. */
const linesOf = (name: string): (number | string)[] =>
  textOf(name)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      try {
        const { id, lost } = JSON.parse(line) as Line;
        return id ?? `${lost} lost`;
      } catch {
        return 'torn';
      }
    });
process.stdout.write(
  JSON.stringify({
    told: told.toSorted(),
    said: said.length >= 8_000 && said.every((sample) => sample === 500),
    refused,
    variables: (JSON.parse(textOf('variables.json')) as { name: string }[]).map(({ name }) => name),
    logged: loggedErrors.length,
    audit: ['audit.jsonl.1', 'audit.jsonl'].flatMap(linesOf),
    calls: openEntries({
      path: join(directory, 'open-calls.jsonl'),
      clock,
      maximumOctets: 20_000,
      onFailed() {},
    }).left.map(({ key }) => key),
    records: linesOf('calls.jsonl'),
    log: linesOf('log/all'),
    waiting: kept?.lines.map((line) => (JSON.parse(line) as Line).id),
    spool: linesOf('spool/0000000001.jsonl'),
  }),
);
