import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { indexSounds } from '../../../src/media/file/index-sounds.ts';
import { readWav } from '../../../src/media/file/wav.ts';
import { characterSounds, digitSounds, numberSounds } from '../../../src/media/say.ts';

const own = fileURLToPath(new URL('../../../sounds', import.meta.url));

test('sounds of all languages and formats are listed by name, with their English text', async () => {
  const base = await mkdtemp(join(tmpdir(), 'index-'));
  const files = {
    'en/digits/1.wav': '',
    'en/digits/1.ulaw': '',
    'de/digits/1.pcm': '',
    'de/nur-hier.al': '',
    'en/readme.md': '',
    'en/texts.yaml': '# what they say\ndigits/1: "one"\n',
    'de/texts.yaml': 'digits/1: eins\nnur-hier: nur hier\n',
    'de/core-sounds-de.txt': '; Liste\nnur-hier: anders\n',
    'stray.wav': '',
    'not a language/x.wav': '',
  };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(base, name)), { recursive: true });
    await writeFile(join(base, name), content);
  }
  assert.equal(await indexSounds([base, join(base, 'missing')]), [
    {
      id: 'digits/1',
      formats: [
        { language: 'de', format: 'ulaw' },
        { language: 'en', format: 'ulaw' },
        { language: 'en', format: 'wav' },
      ],
      text: 'one',
    },
    { id: 'nur-hier', formats: [{ language: 'de', format: 'alaw' }], text: 'nur hier' },
  ]);
  await rm(base, { recursive: true });
});

test('every sound of our own has a text, every text a sound, and every sound can be played', async () => {
  const sounds = await indexSounds([own]);
  const texts = (await readFile(join(own, 'en/texts.yaml'), 'utf8')).split('\n').filter((line) => /^[^#\s]/.test(line));
  assert.equal(
    sounds.map(({ id }) => id),
    texts.map((line) => line.split(': ')[0]!).sort(),
  );
  for (const { id, text, formats } of sounds) {
    assert.ok(text, id);
    assert.equal(formats, [{ language: 'en', format: 'wav' }], id);
    assert.ok(readWav(await readFile(join(own, 'en', `${id}.wav`))).length >= 1600, id);
  }
});

test('all that numbers, digits and characters are said with is there', async () => {
  const names = new Set((await indexSounds([own])).map(({ id }) => id));
  const needed = [
    ...Array.from({ length: 100 }, (_, number) => numberSounds(String(number), 'en')!).flat(),
    ...numberSounds('-123456789', 'en')!,
    ...digitSounds('0123456789*#-'),
    ...characterSounds('abcdefghijklmnopqrstuvwxyz0123456789*#!@$-.=+/ '),
  ];
  assert.equal(
    needed.filter((name) => !names.has(name)),
    [],
  );
});

test.run();
