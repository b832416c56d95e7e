import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { shownText, shownUrl } from '../../src/lib/shown-url.ts';

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
      'ws://me:se/cret@h',
      'ws://me:se?cret@h/x',
      'ws://me:se#cret@h',
    ].map(shownUrl),
    [
      'wss://***@example.org/ari?token=***&x=***&flag',
      'ws://127.0.0.1:8088/events',
      'https://***@h',
      'http://h?k=***',
      'http://h/@p',
      'sip:alice@h',
      'words with = and ?a=b',
      'ws://***@h',
      'ws://***@h/x',
      'ws://***@h',
    ],
  );
});

addresses('a text that is no address is shown without what could be a log-in', () => {
  assert.equal(
    [
      'http:/me:secret@h',
      'me:secret@h:1',
      'wss//me:secret@h',
      'sip:alice@h',
      'sip:alice:secret@h',
      'a@b',
      'plain?',
      'h:1?k=v',
      'wss://me:se?cret@h',
      'me:se?cret@h',
      'wss://me:se/cret@h',
    ].map(shownText),
    [
      'http:/***@h',
      'me:***@h:1',
      '***@h',
      'sip:alice@h',
      'sip:***@h',
      '***@b',
      'plain?',
      'h:1?k=***',
      'wss://***@h',
      'me:***@h',
      'wss://***@h',
    ],
  );
});

addresses.run();
