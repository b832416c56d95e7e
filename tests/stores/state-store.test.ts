import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../src/lib/log.ts';
import { openStateStore, type StateStore } from '../../src/stores/state-store.ts';

const store = suite<{ directory: string; logged: string[]; open(changes?: object): StateStore }>('state store');

store.before.each((context) => {
  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-'));
  const logged: string[] = [];
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
  });
  Object.assign(context, {
    directory,
    logged,
    open: (changes = {}) =>
      openStateStore({
        directory,
        log,
        version: 1,
        compactAbove: 1e9,
        mostEvents: 3,
        retryMs: 1_000,
        longestWriteMs: 500,
        mostEventCharacters: 1e6,
        keepEventsMs: 3_600_000,
        wallClock: () => 0,
        now: () => 0,
        ...changes,
      }),
  });
});
store.after.each(({ directory }) => rmSync(directory, { recursive: true, force: true }));

const file = (directory: string): string => join(directory, 'state.log');

store('gives the next process what was written, in the order of the first writing', ({ open }) => {
  const first = open();
  first.commit([
    ['b', '1'],
    ['a é', '{"x":"é\\n"}'],
  ]);
  first.commit([
    ['b', '2'],
    ['c', '3'],
  ]);
  first.commit([['c', undefined]]);
  // It is killed: nothing closes it.
  assert.equal(
    [...open().left],
    [
      ['b', '2'],
      ['a é', '{"x":"é\\n"}'],
    ],
  );
});

store('drops what is damaged, and says so', ({ open, directory, logged }) => {
  const first = open();
  first.commit([['a', '1']]);
  const whole = statSync(file(directory)).size;
  first.commit([
    ['a', '2'],
    ['b', '"a longer value"'],
  ]);
  const bytes = readFileSync(file(directory));
  for (let length = whole + 1; length < bytes.length; length++) {
    writeFileSync(file(directory), bytes.subarray(0, length));
    assert.equal([...open().left], [['a', '1']], `${length}`);
    assert.is(logged.pop(), 'dropped the damaged end of the state');
  }
  for (let at = whole; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 0x41;
    writeFileSync(file(directory), changed);
    assert.equal([...open().left], [['a', '1']], `${at}`);
  }
});

store('begins anew behind what it dropped', ({ open, directory }) => {
  open().commit([['a', '1']]);
  appendFileSync(file(directory), 'damage');
  open().commit([['b', '2']]);
  assert.equal(Object.fromEntries(open().left), { a: '1', b: '2' });
});

store('sets aside the file of another version', ({ open, directory, logged }) => {
  open().commit([['a', '1']]);
  assert.is(open({ version: 2 }).left.size, 0);
  assert.ok(logged[0]?.includes('another version'));
  assert.equal(readdirSync(directory).sort(), ['state.log', 'state.log.bad']);
});

store('sets aside a file that is none of its own', ({ open, directory }) => {
  writeFileSync(file(directory), 'hello');
  assert.is(open().left.size, 0);
  assert.equal(readdirSync(directory).sort(), ['state.log', 'state.log.bad']);
});

store('writes the file anew when most of it is outdated', ({ open, directory }) => {
  const first = open({ compactAbove: 1_000 });
  for (let n = 0; n < 1_000; n++) first.commit([['a', `"${n}"`]]);
  assert.ok(first.size <= 1_100, `${first.size}`);
  assert.is(statSync(file(directory)).size, first.size);
  assert.equal([...open().left], [['a', '"999"']]);
});

store('keeps events as long as their number, size and age allow, also in the next process', ({ open }) => {
  let now = 0;
  const options = { mostEvents: 5, mostEventCharacters: 200, keepEventsMs: 60_000, wallClock: () => now };
  const json = (text: string, at = now): string => JSON.stringify({ text, timestamp: new Date(at).toISOString() });
  const first = open(options);
  const seqs = (store: StateStore, number = 0, made = 9) => {
    const { events, lost } = store.eventsAfter('app', number, made);
    return [events.length, lost];
  };
  for (let seq = 1; seq <= 9; seq++) first.commit([], [['app', seq, json('')]]);
  assert.equal(seqs(first), [4, 5], 'size');
  assert.equal(seqs(open(options)), [4, 5]);
  assert.equal(seqs(open({ ...options, mostEvents: 3 })), [3, 6], 'number');
  const second = open(options);
  now = 30_000;
  second.commit([], [['app', 10, json('"timestamp":"1970-01-01')]]);
  now = 60_001;
  assert.equal(seqs(second, 8, 10), [1, 1], 'age');
  now = 90_001;
  assert.equal(seqs(second, 8, 10), [0, 2]);
  assert.equal(open(options).leftEvents.get('app')?.length, 0);
  assert.equal(seqs(second, 12, 11), [0, undefined]);
});

store('is written for the owner alone', ({ open, directory }) => {
  open();
  assert.is(statSync(file(directory)).mode & 0o777, 0o600);
});

store('is written anew when somebody has removed it', ({ open, directory, logged }) => {
  const first = open();
  first.commit([['a', '1']]);
  rmSync(file(directory));
  first.check();
  assert.equal(logged, ['the state file was removed; writing a new one']);
  assert.equal([...open().left], [['a', '1']]);
});

store('a directory that is gone never throws, and is tried again', ({ open, directory, logged }) => {
  let now = 0;
  const first = open({ now: () => now });
  rmSync(directory, { recursive: true });
  first.check();
  first.commit([['a', '1']]);
  assert.is(logged.filter((line) => line.includes('cannot write the state store')).length, 1);
  now = 1_000;
  first.commit([['b', '2']]);
  assert.is(logged.filter((line) => line.includes('cannot write the state store')).length, 1);
  mkdirSync(directory);
  now = 2_000;
  first.commit([['c', '3']]);
  assert.is(logged.at(-1), 'the state store can be written again');
  assert.equal(Object.fromEntries(open().left), { a: '1', b: '2', c: '3' });
});

store('a disk that takes a second for a write is left alone between two tries', ({ open, directory, logged }) => {
  let now = 0;
  let writes = 0;
  let tookMs = 0;
  const slow = open({
    now: () => now,
    write: (descriptor: number, octets: Buffer, position: number) => {
      writes++;
      now += tookMs;
      return writeSync(descriptor, octets, 0, octets.length, position);
    },
  });
  slow.commit([['a', '1']]);
  tookMs = 1_000;
  slow.commit([['a', '2']]);
  const before = writes;
  for (let more = 0; more < 100; more++) slow.commit([['a', `${more}`]]);
  assert.is(writes, before, 'nothing waits for the disk');
  assert.is(statSync(file(directory)).size, 0, 'a kill now finds no old state');
  tookMs = 1;
  now += 1_000;
  slow.commit([['a', 'last']]);
  assert.equal(
    logged.filter((line) => line.includes('state store')),
    ['cannot write the state store; a crash now would end all calls', 'the state store can be written again'],
  );
  slow.close();
  assert.equal([...open().left], [['a', 'last']]);
});

store('a disk that takes a part of a write, or takes too long for it, is logged without a stack', ({ open }) => {
  for (const [part, tookMs, code] of [
    [0.5, 0, 'ENOSPC'],
    [1, 1_000, 'ETIMEDOUT'],
  ] as const) {
    const lines: string[] = [];
    let now = 0;
    let isPoor = false;
    const log = createLogger({ level: 'error', destination: { write: (line) => void lines.push(line) } });
    const poor = open({
      ...{ log, now: () => now },
      write(_descriptor: number, octets: Buffer) {
        if (isPoor) now += tookMs;
        return isPoor ? octets.length * part : octets.length;
      },
    });
    isPoor = true;
    poor.commit([['a', '1']]);
    const [{ error }] = lines.map((line) => JSON.parse(line));
    assert.equal([error.code, error.stack], [code, undefined]);
    poor.close();
  }
});

store('keeps the last events of each application, in their order', ({ open }) => {
  const first = open();
  for (let seq = 1; seq <= 5; seq++) first.commit([], [['a b', seq, `{"seq":${seq}}`]]);
  first.commit([['k', '1']], [['other', 7, '{}']]);
  first.commit([], [['gone', 1, '{}']]);
  first.forgetEvents('gone');
  const kept = [
    ['a b', [3, 4, 5].map((seq) => [seq, `{"seq":${seq}}`])],
    ['other', [[7, '{}']]],
  ];
  assert.equal([...open().leftEvents], kept);
  // The file was written anew.
  const last = open();
  assert.equal([...last.leftEvents], kept);
  assert.equal([...last.left], [['k', '1']]);
});

store('is written anew for the next process where most of it is outdated, and only there', ({ open, directory }) => {
  const first = open();
  for (let value = 0; value < 100; value++) first.commit([['a', JSON.stringify('x'.repeat(200) + value)]]);
  const long = statSync(file(directory)).size;
  first.compact();
  const short = statSync(file(directory)).size;
  assert.ok(short < long / 10, `${short} of ${long}`);
  const inode = statSync(file(directory)).ino;
  first.compact();
  assert.is(statSync(file(directory)).ino, inode);
  first.commit([['b', '1']]);
  assert.equal(Object.fromEntries(open().left), { a: JSON.stringify('x'.repeat(200) + 99), b: '1' });
});

store.run();
