import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { intraRequest, missing, pictureLoss, readFeedback } from '../../../src/media/video/feedback.ts';

const report = [0x80, 201, 0, 1, 0, 0, 0, 9];

function read(packet: readonly number[], { last = -1, most = 100 } = {}) {
  const told: (number | 'key frame')[] = [];
  const intra = { last };
  const listener = { keyFrameAsked: () => told.push('key frame'), missed: (number: number) => told.push(number) };
  readFeedback(Uint8Array.from(packet), 0x01020304, intra, listener as never, most);
  return told;
}

test('a picture loss indication about our stream asks for a key frame, behind a report or alone', () => {
  const loss = [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4];
  assert.equal(read([...report, ...loss]), ['key frame']);
  assert.equal(read(loss), ['key frame']);
  assert.equal(read([0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 5]), []);
});

test('a full intra request counts once, however often it is repeated', () => {
  const intra = [0x84, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 4, 7, 0, 0, 0];
  assert.equal(read([...intra, ...intra]), ['key frame']);
  assert.equal(read(intra, { last: 7 }), []);
  assert.equal(read([0x84, 206, 0, 4, 0, 0, 0, 9, 0, 0, 0, 0, 1, 2, 3, 5, 7, 0, 0, 0]), []);
});

test('missed packets are told one by one, as many as may be', () => {
  const nack = [0x81, 205, 0, 4, 0, 0, 0, 9, 1, 2, 3, 4, 0xff, 0xff, 0x80, 0x01, 0, 20, 0, 0];
  assert.equal(read(nack), [0xffff, 0, 15, 20]);
  assert.equal(read(nack, { most: 2 }), [0xffff, 0]);
});

test('what makes no sense ends it', () => {
  const loss = [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4];
  assert.equal(read([0x81, 206, 0xff, 0xff, 0, 0, 0, 9, 1, 2, 3, 4, ...loss]), []);
  assert.equal(read([0x01, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]), []);
  assert.equal(read([0x81, 206, 0, 1, 0, 0, 0, 9, ...loss]), ['key frame']);
  for (let length = 0; length < loss.length; length++) assert.equal(read(loss.slice(0, length)), []);
  // Another format of either type.
  assert.equal(read([0x8f, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]), []);
});

test('what we tell is as the RFCs draw it', () => {
  assert.equal([...pictureLoss(9, 0x01020304)], [0x81, 206, 0, 2, 0, 0, 0, 9, 1, 2, 3, 4]);
  assert.equal([...intraRequest(9, 0x01020304, 7)].slice(0, 4), [0x84, 206, 0, 4]);
  assert.equal(read([...intraRequest(9, 0x01020304, 7)]), ['key frame']);
  const lost = [0xfffe, 0xffff, 3, 14, 15, 400];
  assert.equal(
    [...missing(9, 0x01020304, lost)],
    [0x81, 205, 0, 5, 0, 0, 0, 9, 1, 2, 3, 4, 0xff, 0xfe, 0x80, 0x11, 0, 15, 0, 0, 1, 0x90, 0, 0],
  );
  assert.equal(read([...missing(9, 0x01020304, lost)]), lost);
});

test.run();
