import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openSpool, type SpoolOptions } from '../../src/stores/spool.ts';

type World = { directory: string; failures: boolean[] };
const spooling = suite<World>('a spool');

spooling.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-spool-'));
  world.failures = [];
});
spooling.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

const open = ({ directory, failures }: World, changes: Partial<SpoolOptions> = {}) =>
  openSpool({
    directory,
    maximumOctets: 10_000,
    batch: 3,
    onFailed: (_error, lost) => void failures.push(lost),
    ...changes,
  });
const line = (id: number) => `${JSON.stringify({ id })}\n`;
const lines = (...ids: number[]) => ids.map(line);
const filesIn = ({ directory }: World) =>
  readdirSync(directory)
    .toSorted()
    .map((name) => [name, readFileSync(join(directory, name), 'utf8')]);

spooling('is readable by its own user alone', async (world) => {
  world.directory = join(world.directory, 'made');
  const spool = open(world);
  assert.ok(spool.put(line(1)));
  await spool.close();
  const [name = ''] = readdirSync(world.directory);
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  assert.equal([modeOf(world.directory), modeOf(join(world.directory, name))], [0o700, 0o600]);
});

spooling('gives lines in their order, so many at a time, until they are dropped', async (world) => {
  const spool = open(world);
  for (const id of [1, 2, 3, 4]) assert.ok(spool.put(line(id)));
  const first = await spool.oldest();
  assert.equal([first, await spool.oldest()], [first, { number: 1, lines: lines(1, 2, 3) }]);
  if (first) spool.drop(first);
  assert.ok(spool.put(line(5)));
  const second = await spool.oldest();
  assert.equal(second, { number: 2, lines: lines(4, 5) });
  // What is delivered now does not grow any more.
  assert.ok(spool.put(line(6)));
  if (second) spool.drop(second);
  await spool.close();
  assert.equal(filesIn(world), [['0000000003.jsonl', line(6)]]);
  assert.is(spool.octets, Buffer.byteLength(line(6)));
});

spooling('what waits is there for the next process, but for a line that was torn', async (world) => {
  const before = open(world);
  for (const id of [1, 2, 3, 4]) before.put(line(id));
  await before.close();
  appendFileSync(join(world.directory, '0000000002.jsonl'), '{"id":');
  const spool = open(world);
  assert.is(spool.octets, 4 * Buffer.byteLength(line(1)) + 6);
  spool.put(line(5));
  const read: unknown[] = [];
  for (let batch = await spool.oldest(); batch; batch = await spool.oldest()) {
    read.push(batch);
    spool.drop(batch);
  }
  assert.equal(read, [
    { number: 1, lines: lines(1, 2, 3) },
    { number: 2, lines: lines(4) },
    { number: 3, lines: lines(5) },
  ]);
  await spool.close();
  assert.equal([filesIn(world), spool.octets, world.failures], [[], 0, []]);
});

spooling('takes no more than its bound, that which was put aside included', async (world) => {
  const size = Buffer.byteLength(line(1));
  const spool = open(world, { maximumOctets: 3 * size });
  assert.equal([spool.put(line(1)), spool.put(line(2))], [true, true]);
  const batch = await spool.oldest();
  assert.is(batch && spool.setAside(batch), '0000000001.refused');
  assert.equal([spool.put(line(3)), spool.put(line(4)), spool.octets], [true, false, 3 * size]);
  await spool.close();
  const again = open(world, { maximumOctets: 3 * size });
  assert.equal([again.octets, again.put(line(5))], [3 * size, false]);
  assert.equal(await again.oldest(), { number: 2, lines: lines(3) });
  await again.close();
  assert.equal(filesIn(world), [
    ['0000000001.refused', line(1) + line(2)],
    ['0000000002.jsonl', line(3)],
  ]);
});

spooling(
  'a disk that takes nothing is told, and lines stay in memory; it has them when it is there again',
  async (world) => {
    const spool = open(world);
    rmSync(world.directory, { recursive: true });
    writeFileSync(world.directory, 'a file where a directory was');
    for (const id of [1, 2, 3, 4]) assert.ok(spool.put(line(id)));
    const batch = await spool.oldest();
    assert.equal(batch, { number: 1, lines: lines(1, 2, 3) });
    if (batch) spool.drop(batch);
    await spool.close();
    assert.ok(world.failures.length > 0 && !world.failures.includes(true));

    rmSync(world.directory);
    const second = open(world);
    assert.is(await second.oldest(), undefined);
    rmSync(world.directory, { recursive: true });
    second.put(line(5));
    await second.oldest();
    await new Promise<void>((resolve) => setImmediate(resolve));
    open(world);
    await second.close();
    assert.equal(filesIn(world), [['0000000001.jsonl', line(5)]]);
  },
);

spooling('what was on a disk that is read no more is told as lost, and the rest goes on', async (world) => {
  const before = open(world);
  for (const id of [1, 2, 3, 4]) before.put(line(id));
  await before.close();
  const spool = open(world);
  rmSync(join(world.directory, '0000000001.jsonl'));
  assert.equal(await spool.oldest(), { number: 2, lines: lines(4) });
  assert.equal([world.failures, spool.octets], [[true], Buffer.byteLength(line(4))]);
  await spool.close();
});

spooling.run();
