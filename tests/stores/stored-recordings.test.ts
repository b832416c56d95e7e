import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isRecordingName } from '../../src/stores/recording-names.ts';
import { createStoredRecordings, type StoredRecordings } from '../../src/stores/stored-recordings.ts';
import { anyCodePoint } from '../support/any-text.ts';
import { createRecordingLog } from '../support/log.ts';
import { refusal } from '../support/refusal.ts';

const test = suite<{ directory: string; outside: string; stored: StoredRecordings }>('stored recordings');

test.before.each((context) => {
  const root = mkdtempSync(join(tmpdir(), 'hookswitch-recordings-'));
  context.directory = join(root, 'recordings');
  context.outside = join(root, 'outside');
  mkdirSync(context.directory);
  mkdirSync(context.outside);
  context.stored = createStoredRecordings({ directory: context.directory, log: createRecordingLog().log });
});
test.after.each(({ directory }) => rmSync(join(directory, '..'), { recursive: true, force: true }));

/** What a promise is refused with. */
const refused = async (promise: Promise<unknown>): Promise<unknown> => {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  return refusal(() => {
    if (outcome !== undefined) throw outcome;
  });
};
const read = async (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

test('recordings are listed by name, whatever their directory, in known formats only', async ({
  directory,
  stored,
}) => {
  assert.equal(await stored.list(), []);
  mkdirSync(join(directory, 'mail', 'box'), { recursive: true });
  for (const file of ['b.wav', 'b.ulaw', 'a.g722', 'mail/box/1.ogg', 'notes.txt', '.b.wav.part', 'wav', '.wav'])
    writeFileSync(join(directory, file), 'x');
  symlinkSync(join(directory, 'b.wav'), join(directory, 'link.wav'));
  const list = await stored.list();
  assert.equal(
    list.map(({ name }) => name),
    ['a', 'b', 'mail/box/1'],
  );
  assert.equal(list[2], { name: 'mail/box/1', format: 'ogg' });
  assert.equal(await stored.get('mail/box/1'), { name: 'mail/box/1', format: 'ogg' });
  assert.equal([list[1], await stored.get('b')], Array(2).fill({ name: 'b', format: 'wav' }), 'the same of several');
  assert.is((await stored.file('b')).type, 'audio/wav');
  assert.is(stored.has('b'), true);
  assert.is(stored.has('c'), false);
});

test('a file is read whole and in part, and tells when it is another', async ({ directory, stored }) => {
  writeFileSync(join(directory, 'a.wav'), '0123456789');
  const file = await stored.file('a');
  assert.equal([file.type, file.size], ['audio/wav', 10]);
  assert.is(await read(file.read(0, 9)), '0123456789');
  assert.is(await read(file.read(2, 4)), '234');
  writeFileSync(join(directory, 'a.wav'), '01234567890');
  assert.is.not((await stored.file('a')).etag, file.etag);
  assert.equal(await refused(stored.file('nobody')), [404, 'Recording not found']);
});

test('a recording is copied and deleted, its format kept', async ({ directory, stored }) => {
  writeFileSync(join(directory, 'a.ulaw'), 'sound');
  const copy = (name: string, destinationRecordingName?: string) => stored.copy(name, { destinationRecordingName });
  assert.equal(await copy('a', 'mail/box/new.ulaw'), { name: 'mail/box/new', format: 'ulaw' });
  assert.is(readFileSync(join(directory, 'mail/box/new.ulaw'), 'utf8'), 'sound');
  assert.equal(readdirSync(join(directory, 'mail/box')), ['new.ulaw']);
  assert.equal(await refused(copy('nobody', 'x')), [404, 'Recording not found']);
  assert.equal(await refused(copy('a')), [400, 'Invalid destination recording name']);
  assert.equal(await refused(copy('a', '../x')), [403, 'Destination file path is forbidden']);
  assert.equal(await refused(copy('a', 'a')), [409, 'A recording with the same name already exists on the system']);
  writeFileSync(join(directory, 'blocked'), '');
  assert.equal(await refused(copy('a', 'blocked/x')), [500, 'Copy failed']);
  await stored.delete('a');
  assert.equal(await refused(stored.delete('a')), [404, 'Recording not found']);
  assert.is(stored.has('a'), false);
});

const outsiders = [
  '',
  '.',
  '..',
  '../x',
  'a/../../x',
  'a/..',
  '/etc/passwd',
  'a//b',
  'a/',
  'a\0b',
  'a\nb',
  'a\\b',
  '..%2fx',
  '%2E%2E/x',
  '.hidden',
  'a/.hidden',
  ' a',
  'a ',
  'a\u202eb',
  '\uff0e\uff0e/x',
  '\u2025/x',
  'e\u0301',
  '\ud800',
  'x'.repeat(201),
  'a/b/c/d/e/f/g/h/i',
];

test('names that lead elsewhere, or hide what they are, are refused and nothing is made', async ({
  directory,
  stored,
}) => {
  for (const name of outsiders) {
    assert.is(isRecordingName(name), false, JSON.stringify(name));
    assert.equal(
      refusal(() => stored.placeFor(name, 'wav')),
      [400, 'Invalid recording name'],
      JSON.stringify(name),
    );
    assert.is(stored.has(name), false);
    for (const way of [stored.get(name), stored.file(name), stored.delete(name)])
      assert.equal(await refused(way), [404, 'Recording not found'], JSON.stringify(name));
  }
  assert.equal(readdirSync(directory), []);
  for (const name of ['a', 'Grüße', 'mail/box/1', '1700000000.7', 'a b', '日本', 'x'.repeat(200)])
    assert.is(isRecordingName(name), true, name);
});

test('links that lead out of the directory are not followed', async ({ directory, outside, stored }) => {
  writeFileSync(join(outside, 'secret.wav'), 'secret');
  symlinkSync(join(outside, 'secret.wav'), join(directory, 'a.wav'));
  symlinkSync(outside, join(directory, 'mail'));
  for (const name of ['a', 'mail/secret']) {
    assert.equal(await refused(stored.file(name)), [404, 'Recording not found']);
    assert.equal(await refused(stored.delete(name)), [404, 'Recording not found']);
    assert.equal(
      refusal(() => stored.placeFor(name, 'wav')),
      [400, 'Invalid recording name'],
    );
  }
  assert.equal(
    refusal(() => stored.placeFor('mail/new/x', 'wav')),
    [400, 'Invalid recording name'],
  );
  assert.equal(await stored.list(), []);
  assert.equal(readdirSync(outside), ['secret.wav']);
});

test('no name whatever leads out of the directory', ({ directory, stored }) => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', 'a', '%2e', '\0', '．．'),
    fc.string({ unit: anyCodePoint, maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      let place: string;
      try {
        place = stored.placeFor(parts.join('/'), 'wav');
      } catch {
        return;
      }
      assert.ok(place.startsWith(`${directory}/`) && !place.includes('/../') && !place.includes('\0'), place);
    }),
  );
});

test('the place of a new recording has its directories, and what is not wanted is gone', async ({
  directory,
  stored,
}) => {
  const place = stored.placeFor('mail/box/1', 'wav');
  assert.is(place, join(directory, 'mail/box/1.wav'));
  writeFileSync(place, 'x');
  await stored.discard(place);
  await stored.discard(place);
  await stored.discard(join(directory, '..', 'outside'));
  assert.equal(readdirSync(join(directory, 'mail/box')), []);
});

test.run();
