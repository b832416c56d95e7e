import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openEntries } from '../../src/stores/open-entries.ts';
import { ManualClock } from '../support/manual-clock.ts';

type World = { directory: string; path: string; failed: unknown[] };
const journal = suite<World>('a journal of what is open');

journal.before.each((world) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-open-'));
  Object.assign(world, { directory, path: join(directory, 'open'), failed: [] });
});
journal.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

const clock = new ManualClock();
const open = ({ path, failed }: World, maximumOctets = 1_000_000) =>
  openEntries<{ name: string }>({
    ...{ path, clock, maximumOctets, aliveMs: 10_000 },
    onFailed: (error) => void failed.push(error),
  });
const left = (world: World) => open(world).left.map(({ key, entry }) => [key, entry.name]);

journal('the next process finds what was not closed, as it was last', async (world) => {
  const before = open(world);
  assert.equal(before.left, []);
  before.set('a', { name: 'one' });
  before.set('b', { name: 'two' });
  before.set('a', { name: 'changed' });
  before.delete('b');
  before.delete('unknown');
  await before.close();
  assert.is(statSync(world.path).mode & 0o777, 0o600);
  assert.equal(left(world), [['a', 'changed']]);
});

journal('half a line of a process that was killed, and what is no line of it, are passed over', async (world) => {
  const before = open(world);
  before.set('a', { name: 'one' });
  await before.close();
  appendFileSync(
    world.path,
    'null\n[]\n{"at":"x","key":"b","entry":{}}\n{"at":1,"key":"c","entry":7}\n{"at":1,"key":"d","en',
  );
  assert.equal(left(world), [['a', 'one']]);
});

journal('it stays small however many come and go, and keeps what is open', async (world) => {
  const first = open(world, 1_000);
  first.set('old', { name: 'stays' });
  for (let number = 0; number < 1_000; number++) {
    first.set(`${number}`, { name: 'goes' });
    first.delete(`${number}`);
  }
  await first.close();
  assert.ok(readFileSync(world.path).length <= 1_000);
  assert.ok(!existsSync(`${world.path}.2`));
  assert.equal(left(world), [['old', 'stays']]);
  assert.equal(world.failed, []);
});

journal.run();
