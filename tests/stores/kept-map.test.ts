import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { nodeArguments } from '../../scripts/compiled.ts';
import { type KeptMap, openKeptMap } from '../../src/stores/kept-map.ts';
import { createRecordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

type Entry = { name: string; count: number };
type World = { directory: string; map: KeptMap<Entry>; undone: Entry[]; clock: ManualClock };

const file = 'entries.json';

function openEntries(directory: string, clock: ManualClock, undone: Entry[] = []): KeptMap<Entry> {
  return openKeptMap<Entry>({
    directory,
    name: file,
    clock,
    log: createRecordingLog().log,
    read: (element) => element as Entry,
    keyOf: ({ name }) => name,
    onUndone: (entry) => void undone.push(entry),
  });
}

const keeping = suite<World>('kept maps');

keeping.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  world.clock = new ManualClock();
  world.undone = [];
  world.map = openEntries(world.directory, world.clock, world.undone);
});
keeping.after.each(async ({ directory, map }) => {
  await map.close();
  rmSync(directory, { recursive: true, force: true });
});

const onDisk = (directory: string) => JSON.parse(readFileSync(join(directory, file), 'utf8')) as unknown;
const obstruct = (directory: string) => mkdirSync(join(directory, `${file}.new`));
const clear = (directory: string) => rmSync(join(directory, `${file}.new`), { recursive: true });
const entry = (name: string, count = 0): Entry => ({ name, count });
const outcome = (change: Promise<void>) =>
  change.then(
    () => 'kept',
    (error: { status: number }) => error.status,
  );

keeping('a change is seen at once and on the disk when it says so', async ({ directory, map, clock }) => {
  const setting = map.set('a', entry('a', 1));
  assert.equal(map.get('a'), entry('a', 1));
  await setting;
  assert.equal(onDisk(directory), [entry('a', 1)]);
  await Promise.all([map.set('b', entry('b')), map.set('a', entry('a', 2)), map.delete('b'), map.delete('nobody')]);
  assert.equal(onDisk(directory), [entry('a', 2)]);
  assert.equal(openEntries(directory, clock).values(), [entry('a', 2)]);
});

keeping('changes that cannot be kept are undone to what the disk holds, places included', async (world) => {
  const { directory, map, undone } = world;
  await Promise.all(['a', 'b', 'c'].map((name) => map.set(name, entry(name))));
  obstruct(directory);
  const outcomes = await Promise.all(
    [map.delete('a'), map.set('b', entry('b', 1)), map.set('d', entry('d')), map.set('b', entry('b', 2))].map(outcome),
  );
  assert.equal(outcomes, [507, 507, 507, 507]);
  assert.equal(map.values(), [entry('a'), entry('b'), entry('c')]);
  assert.equal(undone, [entry('b', 2), entry('d'), entry('b', 1), entry('a')]);
  assert.equal(map.values(), onDisk(directory));
});

keeping('what nobody waits for stands while others fail, and is kept as soon as the disk takes it', async (world) => {
  const { directory, map, clock } = world;
  await map.set('a', entry('a'));
  obstruct(directory);
  const setting = map.set('a', entry('a', 1));
  map.setSoon('a', entry('a', 2));
  assert.is(await outcome(setting), 507);
  assert.equal(map.values(), [entry('a', 2)]);
  clear(directory);
  clock.advance(1_000);
  await map.settled();
  assert.equal(onDisk(directory), [entry('a', 2)]);
  map.deleteSoon('a');
  await map.settled();
  assert.equal(onDisk(directory), []);
});

/* ---- Killed without warning -------------------------------------------------------------------------------------- */

const program = nodeArguments('tests/stores/kept-map-writer.ts');

/** Lets another process make changes, kills it after so many have been acknowledged, and says which those were. */
async function acknowledgedBefore(directory: string, count: number): Promise<Map<string, number>> {
  const child: ChildProcess = spawn(process.execPath, [...program, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const acknowledged = new Map<string, number>();
  let seen = 0;
  for await (const line of createInterface({ input: child.stdout! })) {
    const [name = '', value = ''] = line.split(' ');
    acknowledged.set(name, Number(value));
    if (++seen === count) child.kill('SIGKILL');
  }
  assert.ok(seen >= count, `the writer ended after ${seen} changes`);
  return acknowledged;
}

for (const count of [1, 7, 61, 402])
  keeping(
    `a process killed after ${count} acknowledged changes has lost none of them`,
    async ({ directory, clock }) => {
      const acknowledged = await acknowledgedBefore(directory, count);
      const after = openEntries(directory, clock);
      for (const [name, value] of acknowledged) {
        const kept = after.get(name)?.count ?? Number.NaN;
        assert.ok(kept >= value, `${name} was acknowledged as ${value} and is ${kept}`);
      }
    },
  );

keeping.run();
