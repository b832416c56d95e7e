import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createSounds } from '../../src/stores/sounds.ts';
import { refusal } from '../support/refusal.ts';

const listing = suite('sounds');

listing('sounds are filtered by language and format, and none is a refusal', () => {
  const beep = { id: 'beep', formats: [{ language: 'en', format: 'wav' }] };
  const hello = {
    id: 'hello-world',
    text: 'Hello world',
    formats: [
      { language: 'en', format: 'wav' },
      { language: 'en', format: 'ulaw' },
      { language: 'de', format: 'wav' },
    ],
  };
  const sounds = createSounds(() => [beep, hello]);
  assert.equal(sounds.list({}), [beep, hello]);
  assert.equal(sounds.list({ lang: 'de' }), [{ ...hello, formats: [{ language: 'de', format: 'wav' }] }]);
  assert.equal(sounds.list({ lang: 'en', format: 'ulaw' }), [
    { ...hello, formats: [{ language: 'en', format: 'ulaw' }] },
  ]);
  assert.equal(
    refusal(() => sounds.list({ lang: 'de', format: 'ulaw' })),
    [404, 'No sounds found that matched the query'],
  );
  assert.equal(sounds.get('hello-world'), hello);
  assert.equal(
    refusal(() => sounds.get('nothing')),
    [404, 'Sound not found'],
  );
  const unread = createSounds(() => undefined);
  assert.equal(
    refusal(() => unread.list({})),
    [500, 'Sounds index not available'],
  );
  assert.equal(
    refusal(() => unread.get('beep')),
    [500, 'Sounds index not available'],
  );
});

listing.run();
