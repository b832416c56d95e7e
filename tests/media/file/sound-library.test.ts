import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decode, encode } from '../../../src/media/codec/codecs.ts';
import { G722Encoder } from '../../../src/media/codec/g722.ts';
import { extensionsFor } from '../../../src/media/file/formats.ts';
import { PayloadCache } from '../../../src/media/file/payload-cache.ts';
import { SoundLibrary } from '../../../src/media/file/sound-library.ts';
import { level, speech } from '../signal.ts';
import { wavFile } from './wav-file.ts';

const test = suite('sound library');
let root = '';

test.before(async () => {
  root = await mkdtemp(join(tmpdir(), 'sounds-'));
});
test.after(() => rm(root, { recursive: true, force: true }));

/** A library over fresh directories `first`, `second` and `recordings` with the given files. */
async function library(files: Record<string, Uint8Array | string>) {
  const base = await mkdtemp(join(root, 'case-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(base, name)), { recursive: true });
    await writeFile(join(base, name), content);
  }
  const sounds = new SoundLibrary({
    soundsDirectories: [join(base, 'first'), join(base, 'second')],
    recordingsDirectory: join(base, 'recordings'),
    defaultLanguage: 'en',
    cacheBytes: 1000,
  });
  const text = (payload: Uint8Array) => Buffer.from(payload).toString();
  const failed = (error: Error) => `${error.name}: ${error.message}`;
  return {
    base,
    sounds,
    sound: (name: string, language = 'en') => sounds.sound(name, language, 'ulaw').then(text, failed),
    recording: (name: string) => sounds.recording(name, 'ulaw').then(text, failed),
  };
}

test('a sound is searched in its language, without country, in the default language, then without language', async () => {
  const { sound } = await library({
    'first/de_AT/a.ulaw': 'austrian',
    'first/de/a.ulaw': 'german',
    'first/de/b.ulaw': 'german b',
    'first/en/b.ulaw': 'english b',
    'first/en/c.ulaw': 'english c',
    'first/d.ulaw': 'no language',
  });
  const found = [await sound('a', 'de_AT'), await sound('b', 'de_AT'), await sound('c', 'de'), await sound('d', 'fr')];
  assert.equal(found, ['austrian', 'german b', 'english c', 'no language']);
});

test('directories are searched in their order, but a language in any of them comes before a fallback', async () => {
  const { sound } = await library({
    'first/en/a.ulaw': 'first',
    'second/en/a.ulaw': 'second',
    'first/en/b.ulaw': 'english',
    'second/fr/b.ulaw': 'french',
  });
  assert.equal([await sound('a'), await sound('b', 'fr')], ['first', 'french']);
});

test('a recording is not played through a link, neither of the file nor of a directory on the way', async () => {
  const { base, recording } = await library({
    'recordings/real.ulaw': 'real',
    'recordings/below/real.ulaw': 'below',
    'elsewhere/secret.ulaw': 'secret',
  });
  const recordings = join(base, 'recordings');
  await symlink('../elsewhere/secret.ulaw', join(recordings, 'file.ulaw'));
  await symlink('../elsewhere', join(recordings, 'directory'));
  await symlink('below', join(recordings, 'inside'));
  assert.equal(
    [await recording('file'), await recording('directory/secret')],
    ["SoundError: no recording 'file'", "SoundError: no recording 'directory/secret'"],
  );
  assert.equal(
    [await recording('real'), await recording('below/real'), await recording('inside/real')],
    ['real', 'below', 'below'],
  );
});

test('what was a recording and has become a link is not played any more', async () => {
  const { base, recording } = await library({ 'recordings/a.ulaw': 'mine', 'elsewhere/a.ulaw': 'secret' });
  assert.is(await recording('a'), 'mine');
  await rm(join(base, 'recordings/a.ulaw'));
  await symlink('../elsewhere/a.ulaw', join(base, 'recordings/a.ulaw'));
  assert.is(await recording('a'), "SoundError: no recording 'a'");
});

test('a directory of recordings may itself be a link', async () => {
  const { base, recording } = await library({ 'disk/a.ulaw': 'mine' });
  await symlink('disk', join(base, 'recordings'));
  assert.is(await recording('a'), 'mine');
});

test('names have sub-paths as in the sound packages of Asterisk', async () => {
  const { sound } = await library({ 'first/en/digits/1.pcm': 'one', 'first/en/letters/a.ul': 'a' });
  assert.equal([await sound('digits/1'), await sound('letters/a')], ['one', 'a']);
});

test('every format becomes payload of the codec asked for, the one in that codec first', async () => {
  const samples = Int16Array.from([0, 1000, -1000, 32_000]);
  const linear = new Uint8Array(samples.buffer);
  const { sounds, sound } = await library({
    'first/en/w.wav': wavFile(samples),
    'first/en/s.sln': linear,
    'first/en/l.al': encode('alaw', samples),
    'first/en/both.wav': wavFile(samples),
    'first/en/both.ulaw': 'ulaw wins',
  });
  for (const name of ['w', 's']) {
    assert.equal([...(await sounds.sound(name, 'en', 'ulaw'))], [...encode('ulaw', samples)]);
    assert.equal([...(await sounds.sound(name, 'en', 'alaw'))], [...encode('alaw', samples)]);
  }
  assert.equal([...(await sounds.sound('l', 'en', 'alaw'))], [...encode('alaw', samples)]);
  assert.is(await sound('both'), 'ulaw wins');
});

test('wide-band files and those of other codecs are heard too, at their length and level', async () => {
  const wide = speech(16_000, 1);
  const g722 = new Uint8Array(wide.length / 2);
  new G722Encoder().encode(wide, g722);
  const { sounds } = await library({
    'first/en/a.wav16': wavFile(wide, { rate: 16_000 }),
    'first/en/b.sln16': new Uint8Array(wide.buffer),
    'first/en/c.g722': g722,
    'first/en/d.wav': wavFile(speech(44_100, 1), { rate: 44_100 }),
  });
  for (const name of ['a', 'b', 'c', 'd']) {
    const heard = decode('ulaw', await sounds.sound(name, 'en', 'ulaw'));
    assert.is(heard.length, 8000, name);
    assert.ok(Math.abs(level(heard) / level(wide) - 1) < 0.1, `${name}: ${level(heard)} of ${level(wide)}`);
  }
});

test('what has all that the codec carries is looked for before what has less', () => {
  assert.equal(extensionsFor('ulaw').slice(0, 8), ['ulaw', 'ul', 'mu', 'pcm', 'sln', 'slin', 'raw', 'wav']);
  assert.is(extensionsFor('ulaw').at(-1), 'gsm');
  assert.equal(extensionsFor('slin16').slice(0, 4), ['sln16', 'wav16', 'sln24', 'sln32']);
  assert.ok(extensionsFor('slin16').indexOf('g722') < extensionsFor('slin16').indexOf('sln'));
});

test('what is missing or cannot be read says so in words', async () => {
  const { sound, recording } = await library({
    'first/en/wide.wav': wavFile(new Int16Array(4), { rate: 96_000, channels: 2 }),
    'first/en/text.wav': 'this is no sound',
    'first/en/folder.ulaw/x': '',
  });
  assert.is(await sound('nothing', 'de'), "SoundError: no sound file for 'nothing' in language 'de'");
  assert.match(await sound('wide'), /wide\.wav: a WAV file of PCM 96000 Hz 16 bit 2 channels cannot be played/);
  assert.match(await sound('text'), /text\.wav: not a WAV file/);
  assert.is(await sound('folder'), "SoundError: no sound file for 'folder' in language 'en'");
  assert.is(await recording('nothing'), "SoundError: no recording 'nothing'");
});

test('recordings are read from their own directory, and from nowhere else', async () => {
  const { recording, sound } = await library({ 'recordings/calls/1.ulaw': 'hello', 'first/en/secret.ulaw': 'x' });
  assert.is(await recording('calls/1'), 'hello');
  assert.match(await sound('calls/1'), /no sound file/);
  assert.match(await recording('../first/en/secret'), /is not the name of a sound/);
});

test('a name that tries to leave its directory is refused', async () => {
  const { sound, base } = await library({ 'outside.ulaw': 'secret', 'first/en/a.ulaw': 'a' });
  const names = [
    '../../outside',
    'x/../../../outside',
    `${base}/outside`,
    '..',
    '',
    'a\0b',
    '..\\outside',
    '/etc/passwd',
  ];
  for (const name of names) assert.match(await sound(name), /^SoundError/, name);
  assert.match(await sound('outside', '../..'), /no sound file/, 'a language is no path');
});

test('no name and language ever give anything but a sound of the directories or a SoundError', async () => {
  const { sounds } = await library({ 'outside.ulaw': 'secret', 'first/en/a.ulaw': 'a' });
  const part = fc.constantFrom('..', '.', 'en', 'first', 'outside', '/', '\\', 'a', '\0', '%2e', '~');
  const path = fc.array(part).map((parts) => parts.join('/'));
  await fc.assert(
    fc.asyncProperty(fc.oneof(path, fc.string()), fc.oneof(path, fc.string()), async (name, language) => {
      const got = await sounds.sound(name, language, 'ulaw').then(
        (payload) => Buffer.from(payload).toString(),
        (error: Error) => error.name,
      );
      assert.ok(got === 'a' || got === 'SoundError', got);
    }),
  );
});

test('a file that was played is kept until it changes', async () => {
  const { sounds, base } = await library({ 'first/en/a.ulaw': 'old' });
  const path = join(base, 'first/en/a.ulaw');
  const first = await sounds.sound('a', 'en', 'ulaw');
  assert.is(await sounds.sound('a', 'en', 'ulaw'), first);
  await writeFile(path, 'changed');
  await utimes(path, 1, 1);
  assert.is(Buffer.from(await sounds.sound('a', 'en', 'ulaw')).toString(), 'changed');
});

test('a file that is removed after it was played is missed, and one that comes in its place is found', async () => {
  const { sound, base } = await library({ 'first/en/a.ulaw': 'one', 'second/en/a.ulaw': 'two' });
  assert.equal([await sound('a'), await sound('a')], ['one', 'one']);
  await rm(join(base, 'first/en/a.ulaw'));
  assert.is(await sound('a'), 'two');
  await writeFile(join(base, 'first/en/a.sln'), '');
  assert.is(await sound('a'), '');
});

test('the cache keeps what was used last, up to its bound', () => {
  const cache = new PayloadCache(10);
  const payload = (size: number) => new Uint8Array(size);
  for (const name of ['a', 'b']) cache.set(name, '1', payload(4));
  assert.is(cache.get('a', '1')?.length, 4);
  cache.set('c', '1', payload(4));
  assert.equal([cache.get('b', '1'), cache.octets], [undefined, 8]);
  cache.set('huge', '1', payload(11));
  assert.equal([cache.get('huge', '1'), cache.octets], [undefined, 8]);
  assert.equal([cache.get('a', '2'), cache.octets], [undefined, 4], 'another version is not what was kept');
  cache.set('c', '2', payload(6));
  assert.equal([cache.get('c', '2')?.length, cache.octets], [6, 6]);
});

test.run();
