import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shownUrl } from '../../src/lib/shown-url.ts';

const addresses = suite('addresses as they are shown');

addresses('passwords and the values of a query are not shown; all else is', () => {
  assert.equal(
    [
      'wss://me:secret@example.org/ari?token=a&x=b&flag',
      'ws://127.0.0.1:8088/events',
      'https://u@h',
      'http://h?k=v',
      'http://h/@p',
      'sip:alice@h',
      'words with = and ?a=b',
    ].map(shownUrl),
    [
      'wss://***@example.org/ari?token=***&x=***&flag',
      'ws://127.0.0.1:8088/events',
      'https://***@h',
      'http://h?k=***',
      'http://h/@p',
      'sip:alice@h',
      'words with = and ?a=b',
    ],
  );
});

addresses.run();
