import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { defaultMediaConfig } from '../../src/media/config.ts';
import { SoundLibrary } from '../../src/media/file/sound-library.ts';
import { ItemLoader } from '../../src/media/item-loader.ts';

const sounds = fileURLToPath(new URL('../../sounds', import.meta.url));
const library = new SoundLibrary({ ...defaultMediaConfig, soundsDirectories: [sounds] });
const loader = new ItemLoader(library, 'us', () => ({ read: () => 0, close: () => {} }));
const load = (uri: string, language = 'en') => loader.load({ uri, language, offsetMs: 0 }, 'ulaw');
const reason = (uri: string) =>
  load(uri).then(
    () => 'played',
    (error: Error) => error.message,
  );

test('a number is its sounds one after another', async () => {
  const { segments, seekable } = await load('number:-21');
  const parts = await Promise.all(['minus', '20', '1'].map((name) => library.sound(`digits/${name}`, 'en', 'ulaw')));
  assert.equal(
    segments.map(({ payload, samples }) => [payload === parts.shift(), samples === payload.length]),
    new Array(3).fill([true, true]),
  );
  assert.is(seekable, true);
});

test('digits and characters are said one by one', async () => {
  assert.is((await load('digits:12#')).segments.length, 3);
  assert.is((await load('characters:a-1!')).segments.length, 4);
});

test('whole seconds of silence need no file', async () => {
  assert.is((await load('sound:silence/7')).segments[0]?.samples, 56_000);
  assert.match(await reason('sound:silence/x'), /no sound file/);
});

test('a tone is one of the zone, of another zone, or a list', async () => {
  const lengths = async (uri: string) => (await load(uri)).segments.map(({ samples }) => samples);
  assert.equal(await lengths('tone:busy'), [4000, 4000]);
  assert.equal(await lengths('tone:busy;tonezone=de'), [3840, 3840]);
  assert.equal(await lengths('tone:440+480/2000,0/4000'), [16_000, 32_000]);
  assert.equal((await load('tone:ring')).repeatFrom, 0);
});

test('what cannot be played says why', async () => {
  const reasons: Record<string, string> = {
    'http://example.com/x.wav': "'http://example.com/x.wav' has no scheme that can be played",
    'hello-world': "'hello-world' has no scheme that can be played",
    '': "'' has no scheme that can be played",
    'number:abc': "'number:abc' cannot be said",
    'number:1000000000': "'number:1000000000' cannot be said",
    'digits:': "'digits:' cannot be said",
    'tone:busy;tonezone=xx': "the tone zone 'xx' is not known",
    'tone:busy;loud=1': "'loud=1' is no option of a tone",
    'tone:noise': "'noise' is neither a tone of zone 'us' nor a list of tones",
    'recording:nothing': "no recording 'nothing'",
  };
  for (const [uri, words] of Object.entries(reasons)) assert.is(await reason(uri), words);
  assert.match(await reason(`digits:${'1'.repeat(2000)}`), /too long to be said/);
});

test.run();
