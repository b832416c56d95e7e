import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallDetail } from '../../src/models/call.ts';
import { type CallFileSettings, openCallFiles } from '../../src/stores/call-files.ts';
import { recordingLog } from '../support/log.ts';
import { ManualClock } from '../support/manual-clock.ts';

const stored = suite('ended calls on the disk');

type World = ReturnType<typeof createWorld>;

function createWorld(changes: Partial<CallFileSettings>) {
  const directory = join(mkdtempSync(join(tmpdir(), 'hookswitch-calls-')), 'calls');
  const clock = new ManualClock();
  const log = recordingLog();
  const settings = { days: 7, size: 10, searched: 1_000, searches: 2, ...changes };
  const reopen = () => openCallFiles({ directory, clock: { ...clockOf(clock) }, log, settings: () => settings });
  return { directory, clock, lines: log.lines, settings, reopen, files: reopen() };
}

/** Others have their turn directly: nothing moves the clock during a search. */
const clockOf = (clock: ManualClock) =>
  Object.assign(Object.create(clock), { now: () => clock.now(), soon: (run: () => void) => void setImmediate(run) });

const test = (title: string, body: (world: World) => Promise<void>, changes: Partial<CallFileSettings> = {}) =>
  stored(title, async () => {
    const world = createWorld(changes);
    try {
      await body(world);
    } finally {
      await world.files.close();
      rmSync(join(world.directory, '..'), { recursive: true, force: true });
    }
  });

const callOf = (id: string, ended: number, entries = 1, channel = `${id}-leg`): CallDetail =>
  ({
    ...{ id, state: 'ended', began: ended - 1_000, ended, duration_ms: 1_000, applications: ['desk'] },
    ...{ channels: [{ id: channel }], bridges: [], stuck: [], entries, gone: 0, seq: 1 },
    outcome: { result: 'answered', reason: 'answered' },
    timeline: Array.from({ length: entries }, (_, seq) => ({ kind: 'media', seq, at: ended, object: id, report: {} })),
  }) as unknown as CallDetail;

const all = { fits: () => true, offset: 0, limit: 100 };
const idsOf = ({ calls }: { calls: readonly { id: string }[] }) => calls.map(({ id }) => id);
const filesIn = (directory: string, ending: string) => readdirSync(directory).filter((name) => name.endsWith(ending));

test('a call is found by its id and by that of a channel, by another process too', async ({ files, clock, reopen }) => {
  const call = callOf('a', clock.now(), 3);
  assert.ok(await files.append(call));
  await files.append(callOf('b', clock.now()));
  for (const each of [files, reopen()]) {
    assert.equal((await each.find('a'))?.call, call);
    assert.equal((await each.find('a-leg'))?.call, call);
    assert.is(await each.find('c'), undefined);
    assert.equal(idsOf(await each.search(all)), ['b', 'a']);
  }
});

test('a search gives one page of what fits, newest first, and says how many there are', async ({ files, clock }) => {
  for (let index = 0; index < 20; index++) await files.append(callOf(`call-${index}`, clock.now() + index));
  const even = await files.search({ fits: ({ ended = 0 }) => ended % 2 === clock.now() % 2, offset: 2, limit: 3 });
  assert.equal([idsOf(even), even.total], [['call-14', 'call-12', 'call-10'], 10]);
});

test(
  'a search ends after so many calls, and says where',
  async ({ files, clock }) => {
    for (let index = 0; index < 20; index++) await files.append(callOf(`call-${index}`, clock.now() + index));
    const found = await files.search({ ...all, fits: ({ id }) => id === 'call-3' });
    assert.equal(found, { calls: [], total: 0, unsearchedBefore: clock.now() + 9 });
  },
  { searched: 10 },
);

test(
  'a search of calls that began by a time goes on behind the place where another one ended',
  async ({ files, clock }) => {
    for (let index = 0; index < 20; index++) await files.append(callOf(`call-${index}`, clock.now() + index * 2_000));
    const first = await files.search({ ...all, fits: ({ id }) => id === 'call-3' });
    assert.equal(first, { calls: [], total: 0, unsearchedBefore: clock.now() + 9 * 2_000 });
    const behind = { ...all, begunBy: first.unsearchedBefore, fits: ({ id }: { id: string }) => id === 'call-3' };
    assert.equal(idsOf(await files.search(behind)), ['call-3']);
    // One that lasted longer than the others is not passed over.
    await files.append({ ...callOf('long', clock.now() + 90_000), began: clock.now() });
    assert.equal(idsOf(await files.search({ ...all, begunBy: clock.now() + 1_000 })), ['long', 'call-1', 'call-0']);
  },
  { searched: 10 },
);

test('a written call looks at the sizes of no other: the next search does', async ({ files, clock, directory }) => {
  await files.append(callOf('old', clock.now()));
  clock.advance(86_400_000);
  await files.append(callOf('new', clock.now()));
  const [old] = filesIn(directory, '.timelines');
  writeFileSync(join(directory, old ?? ''), Buffer.alloc(11_000_000));
  await files.append(callOf('newer', clock.now()));
  assert.is(filesIn(directory, '.timelines').length, 2);
  await files.search(all);
  assert.is(filesIn(directory, '.timelines').length, 1);
});

test('a call that is written again has one version, and nothing of the earlier one is left', async (world) => {
  const { files, clock, directory } = world;
  const secret = callOf('a', clock.now());
  const place = await files.append({ ...secret, applications: ['PLANTED-APPLICATION'] });
  await files.append(callOf('b', clock.now()));
  await files.append(callOf('a', clock.now(), 2), place);
  assert.equal(idsOf(await files.search(all)), ['a', 'b']);
  assert.is((await files.find('a'))?.call.timeline.length, 2);
  const [lines = ''] = filesIn(directory, '.calls');
  assert.not.match(readFileSync(join(directory, lines), 'utf8'), /PLANTED/);
  const [timelines = ''] = filesIn(directory, '.timelines');
  const octets = readFileSync(join(directory, timelines));
  assert.equal(octets.subarray(place!.at, place!.at + place!.octets), Buffer.alloc(place!.octets));
});

test('calls go when they are too old', async ({ files, clock, directory }) => {
  const day = 86_400_000;
  for (let index = 0; index < 12; index++) {
    await files.append(callOf(`day-${index}`, clock.now()));
    clock.advance(day);
  }
  await files.append(callOf('now', clock.now()));
  const found = idsOf(await files.search(all));
  assert.equal(found, ['now', 'day-11', 'day-10', 'day-9', 'day-8', 'day-7', 'day-6', 'day-5']);
  assert.is(filesIn(directory, '.calls').length, filesIn(directory, '.timelines').length);
});

test(
  'the oldest go when all together are too large',
  async ({ files, clock, directory }) => {
    const sizes: number[] = [];
    for (let index = 0; index < 400; index++) {
      const long = callOf(`call-${index}`, clock.now());
      await files.append({ ...long, applications: [Array.from({ length: 5_000 }, () => Math.random()).join()] });
      clock.advance(1_000);
      const octets = readdirSync(directory).map((name) => statSync(join(directory, name)).size);
      sizes.push(octets.reduce((sum, size) => sum + size, 0));
    }
    assert.ok(Math.max(...sizes) < 1_300_000, `${Math.max(...sizes)} octets`);
    const found = idsOf(await files.search(all));
    assert.is(found[0], 'call-399');
    assert.ok(found.length >= 5, `${found.length} calls are left`);
  },
  { size: 1 },
);

test('half a line of a process that was killed costs no other call', async ({ files, clock, directory, reopen }) => {
  await files.append(callOf('a', clock.now()));
  const [name = ''] = filesIn(directory, '.calls');
  writeFileSync(join(directory, name), '{"at":0,"octets":12,"call":{"id":"torn', { flag: 'a' });
  const next = reopen();
  await next.append(callOf('b', clock.now()));
  assert.equal(idsOf(await next.search(all)), ['b', 'a']);
  assert.is((await next.find('b'))?.call.id, 'b');
});

test('files that are damaged or gone are left out', async ({ files, clock, directory }) => {
  await files.append(callOf('a', clock.now()));
  const [name = ''] = filesIn(directory, '.calls');
  writeFileSync(join(directory, name), 'no JSON\n\n  \n{}\n', { flag: 'a' });
  rmSync(join(directory, filesIn(directory, '.timelines')[0] ?? ''));
  assert.equal(idsOf(await files.search(all)), ['a']);
  assert.is(await files.find('a'), undefined);
});

test('a disk that fails costs calls, one line in the log, and nothing else', async ({
  files,
  clock,
  directory,
  lines,
}) => {
  writeFileSync(directory, 'a file is in the way');
  assert.is(await files.append(callOf('a', clock.now())), undefined);
  assert.is(await files.append(callOf('b', clock.now())), undefined);
  assert.is(files.lost, 2);
  assert.is(lines.length, 1);
  rmSync(directory);
  assert.ok(await files.append(callOf('c', clock.now())));
  assert.equal(idsOf(await files.search(all)), ['c']);
});

test('only the owner of the process may read them', async ({ files, clock, directory }) => {
  await files.append(callOf('a', clock.now()));
  assert.is(statSync(directory).mode & 0o777, 0o700);
  for (const name of readdirSync(directory)) assert.is(statSync(join(directory, name)).mode & 0o777, 0o600);
});

test('more searches at the same time than allowed are refused', async ({ files, clock }) => {
  await files.append(callOf('a', clock.now()));
  const searches = [files.search(all), files.find('a'), files.search(all)];
  const settled = await Promise.allSettled(searches);
  assert.equal(
    settled.map((each) => (each.status === 'rejected' ? each.reason.code : 'found')),
    ['found', 'found', 'tooManySearches'],
  );
  assert.equal(idsOf(await files.search(all)), ['a']);
});

stored.run();
