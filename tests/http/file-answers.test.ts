import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { isFresh, readRange } from '../../src/http/file-answers.ts';
import { authorization, createFakes, createTestApp, storedFile } from './fakes.ts';

const test = suite('files as answers');

const ten = { size: 10, etag: '"v1"' };
const range = (value: string, more: Record<string, string> = {}) =>
  readRange(new Headers({ range: value, ...more }), ten);

test('a range of bytes is read as RFC 9110 writes it', () => {
  assert.equal(range('bytes=0-3'), { start: 0, end: 3 });
  assert.equal(range('bytes=4-'), { start: 4, end: 9 });
  assert.equal(range('bytes=4-100'), { start: 4, end: 9 });
  assert.equal(range('bytes=-3'), { start: 7, end: 9 });
  assert.equal(range('bytes=-100'), { start: 0, end: 9 });
  for (const beyond of ['bytes=10-', 'bytes=10-20', 'bytes=-0']) assert.is(range(beyond), 'unsatisfiable', beyond);
  for (const other of ['', 'bytes=', 'bytes=-', 'bytes=5-3', 'bytes=0-1,4-5', 'lines=0-1', 'bytes=a-b'])
    assert.is(range(other), 'whole', other);
  assert.is(readRange(new Headers(), ten), 'whole');
});

test('a range is of the version that the client knows, or the whole is sent', () => {
  assert.equal(range('bytes=0-3', { 'if-range': '"v1"' }), { start: 0, end: 3 });
  assert.is(range('bytes=0-3', { 'if-range': '"v0"' }), 'whole');
  assert.is(range('bytes=0-3', { 'if-range': 'Sat, 01 Jan 2026 00:00:00 GMT' }), 'whole');
});

test('a version that the client has is not sent again', () => {
  const fresh = (value: string) => isFresh(new Headers({ 'if-none-match': value }), '"v1"');
  for (const value of ['"v1"', 'W/"v1"', '*', '"v0", "v1"']) assert.is(fresh(value), true, value);
  assert.is(fresh('"v0"'), false);
  assert.is(isFresh(new Headers(), '"v1"'), false);
});

const ask = async (text: string, headers: Record<string, string> = {}) => {
  const fakes = createFakes();
  fakes.instead = () => Promise.resolve(storedFile(text));
  const { ask: request } = createTestApp(fakes.owners);
  const answer = await request('GET /ari/recordings/stored/a%2Fb/file', { headers: { authorization, ...headers } });
  const shown = ['content-type', 'content-length', 'content-range', 'etag', 'accept-ranges'];
  const found = shown.map((name) => answer.headers.get(name));
  return { status: answer.status, text: await answer.text(), headers: found, calls: fakes.calls };
};

test('a file is sent whole, in part, or not again', async () => {
  const whole = await ask('0123456789');
  assert.equal(whole, {
    status: 200,
    text: '0123456789',
    headers: ['audio/wav', '10', null, '"v1"', 'bytes'],
    calls: [['storedRecordings.file', 'a/b']],
  });
  const part = await ask('0123456789', { range: 'bytes=2-4' });
  assert.equal(
    [part.status, part.text, part.headers],
    [206, '234', ['audio/wav', '3', 'bytes 2-4/10', '"v1"', 'bytes']],
  );
  const fresh = await ask('0123456789', { 'if-none-match': '"v1"' });
  assert.equal([fresh.status, fresh.text], [304, '']);
  const beyond = await ask('0123456789', { range: 'bytes=10-' });
  assert.equal(
    [beyond.status, JSON.parse(beyond.text)],
    [416, { message: 'The range is not within the file of 10 bytes' }],
  );
  const empty = await ask('');
  assert.equal([empty.status, empty.text, empty.headers[1]], [200, '', '0']);
});

test.run();
