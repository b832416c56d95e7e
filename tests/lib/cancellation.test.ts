import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Cancellation } from '../../src/lib/cancellation.ts';

test('every listener hears of it once, those that were removed do not', () => {
  const cancellation = new Cancellation();
  const heard: string[] = [];
  const gone = () => heard.push('gone');
  cancellation.addEventListener('abort', () => heard.push('one'));
  cancellation.addEventListener('abort', gone);
  cancellation.addEventListener('abort', () => heard.push('two'));
  cancellation.removeEventListener('abort', gone);
  assert.is(cancellation.aborted, false);
  cancellation.abort();
  cancellation.abort();
  assert.is(cancellation.aborted, true);
  assert.equal(heard, ['one', 'two']);
});

test('it is already true for those who are told', () => {
  const cancellation = new Cancellation();
  let seen = false;
  cancellation.addEventListener('abort', () => {
    seen = cancellation.aborted;
  });
  cancellation.abort();
  assert.is(seen, true);
});

test.run();
