import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { plain, plainJson, plainTexts } from '../../src/lib/plain-text.ts';

const texts = suite('texts for a terminal');

const evil = 'a\u001b[2Jb\u009b31mc\u007fd\u0085e\tf';

texts('no control character of a stranger reaches a terminal', () => {
  assert.is(plain(evil), 'a?[2Jb?31mc?d?e?f');
  const json = JSON.stringify({ text: evil });
  assert.not.match(plainJson(json), /\p{Cc}/u);
  assert.equal(JSON.parse(plainJson(json)), { text: evil });
  assert.equal(JSON.parse(plainTexts(json)), { text: 'a?[2Jb?31mc?d?e\tf' });
});

texts.run();
