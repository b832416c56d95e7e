import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Logger } from '../../src/lib/log.ts';
import { StorageError } from '../../src/stores/durable-file.ts';
import { openJsonFile } from '../../src/stores/json-file.ts';
import { createRecordingLog, type LoggedLine } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

type World = { directory: string; lines: LoggedLine[]; log: Logger; clock: ManualClock };

const keeping = suite<World>('JSON files');

keeping.before.each((world) => {
  world.directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  world.clock = new ManualClock();
  Object.assign(world, createRecordingLog());
});
keeping.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

const readNumber = (element: unknown): number => {
  if (typeof element !== 'number') throw new TypeError(`not a number: ${JSON.stringify(element)}`);
  return element;
};

function open(world: World, write: () => unknown[] = () => [], directory = world.directory) {
  return openJsonFile({ directory, name: 'n.json', clock: world.clock, log: world.log, read: readNumber, write });
}
const textOf = (directory: string, name = 'n.json') => readFileSync(join(directory, name), 'utf8');
/** Makes every writing fail: where the new file would be made there is a directory. */
const obstruct = (directory: string) => mkdirSync(join(directory, 'n.json.new'));
const clear = (directory: string) => rmSync(join(directory, 'n.json.new'), { recursive: true });
const sentences = (lines: LoggedLine[]) => lines.map(({ message }) => message);

const unwritten = 'a file of the data directory could not be written';
const damaged = 'a file of the data directory is damaged: it was renamed, and its readable part was kept';

keeping('changes are on the disk when it says so, and those of a moment go together', async (world) => {
  const directory = join(world.directory, 'new');
  let last = 0;
  let asked = 0;
  const { elements, file } = open(
    world,
    () => {
      asked++;
      return [last];
    },
    directory,
  );
  assert.equal(elements, []);
  const kept = [];
  for (let n = 1; n <= 100; n++) {
    last = n;
    kept.push(file.keep(() => assert.unreachable()));
  }
  await Promise.all(kept);
  assert.equal(JSON.parse(textOf(directory)), [100]);
  assert.ok(asked < 100, `written ${asked} times`);
  assert.equal(readdirSync(directory), ['n.json']);
  await file.settled();
  await file.close();
  assert.equal(open(world, undefined, directory).elements, [100]);
  assert.equal(world.lines, []);
});

keeping('when it cannot be written all that stands on it is undone, the last first, and told so', async (world) => {
  const numbers = [1];
  const { file } = open(world, () => numbers);
  await file.keep(() => assert.unreachable());
  obstruct(world.directory);
  const told: string[] = [];
  const add = (n: number): Promise<unknown> => {
    numbers.push(n);
    const undo = () => {
      assert.is(numbers.pop(), n);
      told.push(`undone ${n}`);
    };
    return file.keep(undo).catch((error: { status: number; message: string }) => {
      told.push(`${error.status} ${error.message}`);
    });
  };
  await Promise.all([add(2), add(3)]);
  assert.equal(numbers, [1]);
  assert.equal(told, [
    'undone 3',
    'undone 2',
    '507 The change was undone: it could not be written to disk',
    '507 The change was undone: it could not be written to disk',
  ]);
  await add(9);
  const errors = () => sentences(world.lines.filter(({ level }) => level === 'error'));
  assert.equal(errors(), [unwritten], 'a full disk is told of once');
  clear(world.directory);
  await add(4);
  assert.equal(JSON.parse(textOf(world.directory)), [1, 4]);
  await file.close();
  assert.is(world.clock.pending, 0);
});

keeping('what nobody waits for is tried again until it holds, and taken along by others', async (world) => {
  const numbers: number[] = [];
  const { file } = open(world, () => numbers);
  obstruct(world.directory);
  numbers.push(1);
  file.keepSoon();
  await file.settled().catch(() => {});
  assert.equal(numbers, [1]);
  assert.is(world.clock.pending, 1);
  clear(world.directory);
  world.clock.advance(1_000);
  await file.settled();
  assert.equal(JSON.parse(textOf(world.directory)), [1]);
  assert.is(world.clock.pending, 0);
  await file.close();
});

keeping('closing tries what did not hold yet once more, and no more after that', async (world) => {
  const { file } = open(world, () => [7]);
  obstruct(world.directory);
  file.keepSoon();
  await file.settled().catch(() => {});
  clear(world.directory);
  await file.close();
  assert.equal(JSON.parse(textOf(world.directory)), [7]);
  assert.is(world.clock.pending, 0);
});

const damages: readonly [what: string, text: string, good: number[], problems: number][] = [
  ['an element that makes no sense drops only itself', '[1, "two", 3]', [1, 3], 1],
  ['no JSON at all leaves nothing', 'not JSON', [], 1],
  ['no list leaves nothing', '{"a": 1}', [], 1],
];
for (const [what, text, good, problems] of damages)
  keeping(`a damaged file is set aside and told: ${what}`, (world) => {
    writeFileSync(join(world.directory, 'n.json'), text);
    assert.equal(open(world).elements, good);
    assert.is(textOf(world.directory, 'n.json.bad'), text);
    assert.equal(JSON.parse(textOf(world.directory)), good);
    assert.equal(
      world.lines.map(({ message, fields }) => [
        message,
        fields['aside'],
        fields['kept'],
        (fields['problems'] as unknown[]).length,
      ]),
      [[damaged, 'n.json.bad', good.length, problems]],
    );
    // Mended: nothing is told again.
    assert.equal(open(world).elements, good);
    assert.is(world.lines.length, 1);
  });

keeping('of a list that was cut off or damaged in the middle every whole object lives', (world) => {
  const whole = JSON.stringify([{ n: '}]"\\' }, { n: [{ deep: 1 }] }, { n: 'last' }], undefined, 2);
  const read = (element: unknown) => element;
  const options = { directory: world.directory, name: 'n.json', clock: world.clock, log: world.log, read };
  const readBack = (text: string) => {
    writeFileSync(join(world.directory, 'n.json'), text);
    return openJsonFile({ ...options, write: () => [] }).elements;
  };
  assert.equal(readBack(whole.slice(0, -8)), [{ n: '}]"\\' }, { n: [{ deep: 1 }] }]);
  assert.equal(readBack(whole.replace('"deep": 1', '"deep" 1')), [{ n: '}]"\\' }, { n: 'last' }]);
  for (let length = 0; length < whole.length; length++) readBack(whole.slice(0, length));
});

keeping('a file that cannot be read is no reason to lose it: the start is refused in one line', (world) => {
  mkdirSync(join(world.directory, 'n.json'));
  assert.throws(
    () => open(world),
    (error: unknown) =>
      error instanceof StorageError &&
      error.message === `${join(world.directory, 'n.json')} is a directory where a file should be`,
  );
});

keeping.run();
