import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SourceLock } from '../../../src/media/rtp/source-lock.ts';

const signalled = { address: '10.0.0.9', port: 4000 };

/** Packets of one source with the given sequence numbers: which of them are used. */
function hear(lock: SourceLock, port: number, sequences: number[], ssrc = 1): boolean[] {
  return sequences.map((sequence) => lock.admits('192.0.2.7', port, ssrc, sequence));
}

function listening(): SourceLock {
  const lock = new SourceLock(4);
  lock.relock(signalled);
  return lock;
}

test('nobody is heard and nothing can be sent before a flow is known', () => {
  const lock = new SourceLock();
  assert.equal(hear(lock, 5000, [1, 2, 3, 4]), [false, false, false, false]);
  assert.is(lock.target, undefined);
});

test('packets go to the signalled address until four in a row came from elsewhere', () => {
  const lock = listening();
  assert.equal(hear(lock, 5000, [1, 2, 3]), [true, true, true]);
  assert.equal([lock.locked, lock.target], [false, signalled]);
  hear(lock, 5000, [4]);
  assert.equal([lock.locked, lock.target], [true, { address: '192.0.2.7', port: 5000 }]);
});

test('once locked, every other source is ignored', () => {
  const lock = listening();
  hear(lock, 5000, [1, 2, 3, 4]);
  assert.equal(hear(lock, 5002, [1, 2, 3, 4, 5, 6]), [false, false, false, false, false, false]);
  assert.equal(lock.admits('192.0.2.8', 5000, 1, 5), false);
  assert.equal(hear(lock, 5000, [5]), [true]);
});

test('random packets in between do not decide: only numbers that follow one another count', () => {
  const lock = listening();
  hear(lock, 6000, [9, 30_000, 77, 12_345, 5]);
  assert.is(lock.locked, false);
  hear(lock, 5000, [1, 2, 4, 5]);
  assert.equal(lock.target, { address: '192.0.2.7', port: 5000 });
});

test('repeating one packet is no row', () => {
  const lock = listening();
  hear(lock, 5000, [1, 1, 1, 1, 1]);
  assert.is(lock.locked, false);
});

test('the signalled source is heard rather than one that merely came first', () => {
  const lock = listening();
  assert.equal(hear(lock, 6000, [1]), [true]);
  assert.is(lock.admits(signalled.address, signalled.port, 2, 100), true);
  assert.equal(hear(lock, 6000, [2]), [false]);
});

test('after a new offer with the same address the far side is looked for again, and sent to where it was', () => {
  const lock = listening();
  hear(lock, 5000, [1, 2, 3, 4]);
  lock.relock(signalled);
  assert.equal(lock.target, { address: '192.0.2.7', port: 5000 });
  hear(lock, 5004, [1, 2, 3, 4]);
  assert.equal(lock.target, { address: '192.0.2.7', port: 5004 });
});

test('after a new offer with another address packets go there', () => {
  const lock = listening();
  hear(lock, 5000, [1, 2, 3, 4]);
  lock.relock({ address: '10.0.0.10', port: 7000 });
  assert.equal([lock.locked, lock.target], [false, { address: '10.0.0.10', port: 7000 }]);
});

test('a crowd of sources takes no more memory than eight', () => {
  const lock = listening();
  for (let port = 1; port <= 100; port++) hear(lock, port, [1]);
  assert.equal(hear(lock, 101, [1, 2, 3, 4, 5]), [false, false, false, false, false]);
  hear(lock, 3, [2, 3, 4]);
  assert.equal(lock.target, { address: '192.0.2.7', port: 3 });
});

test.run();
