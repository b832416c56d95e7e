import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SourceLock } from '../../../src/media/rtp/source-lock.ts';

const signalled = { address: '10.0.0.9', port: 4000 };
const stranger = '192.0.2.7';

/** A lock on a clock of its own: each packet comes 20 ms after the one before. */
function listening({ searchMs = 10_000, expecting = true } = {}) {
  const lock = new SourceLock({ needed: 4, withinMs: 1000, searchMs });
  let now = 0;
  lock.signal(signalled, { expecting }, now);
  return {
    lock,
    wait: (ms: number) => {
      now += ms;
    },
    signal: (to = signalled, expected = true) => lock.signal(to, { expecting: expected }, now),
    /** Packets of one source with the given sequence numbers: which of them are used. */
    hear: (port: number, sequences: number[], { address = stranger, ssrc = 1 } = {}): boolean[] =>
      sequences.map((sequence) => {
        now += 20;
        return lock.admits(address, port, { ssrc, sequence }, now);
      }),
    hearSignalled: (sequences: number[]): boolean[] =>
      sequences.map((sequence) => {
        now += 20;
        return lock.admits(signalled.address, signalled.port, { ssrc: 2, sequence }, now);
      }),
  };
}

/** Another stream of the same far side was found at the stranger's address. */
const found = { from: signalled.address, to: stranger };

test('if another stream of the far side was found, packets go to the port of the SDP until its source is known', () => {
  const { lock, signal } = listening();
  lock.beside({ from: '10.9.9.9', to: stranger });
  assert.equal(lock.target, signalled, 'the SDP says something else of this one');
  lock.beside(found);
  const guessed = { address: stranger, port: signalled.port };
  assert.equal([lock.target, lock.locked, lock.displaced], [guessed, false, undefined]);
  lock.greeted('198.51.100.1', 7000);
  assert.equal(lock.target, guessed, 'whoever else sends something');
  lock.greeted(stranger, 7000);
  assert.equal([lock.target, lock.locked, lock.displaced], [{ address: stranger, port: 7000 }, true, found]);
  lock.greeted(stranger, 7002);
  assert.equal(lock.target, { address: stranger, port: 7000 }, 'it was found');
  signal({ address: '10.0.0.10', port: 4000 });
  assert.equal([lock.target, lock.locked], [{ address: '10.0.0.10', port: 4000 }, false]);
  lock.greeted(stranger, 7002);
  assert.is(lock.locked, false, 'the SDP tells another address');
});

test('a far side that is where its SDP says is sought nowhere else', () => {
  const { lock, hearSignalled } = listening();
  hearSignalled([1]);
  lock.beside(found);
  assert.equal([lock.target, lock.displaced], [signalled, undefined]);
});

test('the first packet from where another stream was found is used, also long after the SDP', () => {
  const { lock, wait, hear } = listening();
  lock.beside(found);
  wait(60_000);
  lock.greeted(stranger, 7000);
  assert.equal(hear(7000, [1]), [true]);
});

test('nobody is heard and nothing can be sent before a flow is known', () => {
  const lock = new SourceLock({ needed: 4, withinMs: 1000, searchMs: 10_000 });
  assert.equal(
    [1, 2, 3, 4].map((sequence) => lock.admits(stranger, 5000, { ssrc: 1, sequence }, sequence * 20)),
    [false, false, false, false],
  );
  assert.is(lock.target, undefined);
});

test('packets go to the signalled address until four in a row came from another one', () => {
  const { lock, hear } = listening();
  assert.equal(hear(5000, [1, 2, 3]), [false, false, false]);
  assert.equal([lock.locked, lock.target], [false, signalled]);
  assert.equal(hear(5000, [4, 5]), [true, true]);
  assert.equal([lock.locked, lock.target], [true, { address: stranger, port: 5000 }]);
});

test('once the signalled source was heard, nobody else ever is', () => {
  const { lock, hear, hearSignalled } = listening();
  assert.equal(hearSignalled([100]), [true]);
  assert.equal(hear(5000, [1, 2, 3, 4, 5, 6]), [false, false, false, false, false, false]);
  assert.equal([lock.locked, lock.target], [true, signalled]);
});

test('a stranger who sends first is given up as soon as the signalled source is heard', () => {
  const { lock, hear, hearSignalled } = listening();
  hear(5000, [1, 2, 3, 4]);
  assert.equal(hearSignalled([100, 101]), [true, true]);
  assert.equal([hear(5000, [5, 6, 7, 8, 9]).includes(true), lock.target], [false, signalled]);
});

test('once locked, every other source is ignored', () => {
  const { lock, hear } = listening();
  hear(5000, [1, 2, 3, 4]);
  assert.equal(hear(5002, [1, 2, 3, 4, 5, 6]), [false, false, false, false, false, false]);
  assert.equal(hear(5000, [5], { address: '192.0.2.8' }), [false]);
  assert.equal(hear(5000, [5]), [true]);
  assert.equal(lock.target, { address: stranger, port: 5000 });
});

test('random packets in between do not decide: only numbers that follow one another count', () => {
  const { lock, hear } = listening();
  hear(6000, [9, 30_000, 77, 12_345, 5]);
  assert.is(lock.locked, false);
  hear(5000, [1, 2, 4, 5]);
  assert.equal(lock.target, { address: stranger, port: 5000 });
});

test('repeating one packet is no row, nor are packets of several streams, nor ones far apart in time', () => {
  const { lock, hear, wait } = listening();
  hear(5000, [1, 1, 1, 1, 1]);
  for (const ssrc of [1, 2, 3, 4]) hear(5002, [10 + ssrc], { ssrc });
  for (const sequence of [1, 2, 3, 4]) {
    wait(500);
    hear(5004, [sequence]);
  }
  assert.is(lock.locked, false);
});

test('while two sources send rows nobody is taken; when one has fallen silent the other is', () => {
  const { lock, hear, wait } = listening();
  for (const sequence of [1, 2, 3, 4, 5, 6]) {
    hear(5000, [sequence]);
    hear(6000, [sequence]);
  }
  assert.equal([lock.locked, lock.target], [false, signalled]);
  wait(1000);
  hear(5000, [7, 8, 9, 10]);
  assert.equal(lock.target, { address: stranger, port: 5000 });
});

test('another source is looked for only for a while, and never when that is switched off', () => {
  const late = listening();
  late.wait(10_000);
  late.hear(5000, [1, 2, 3, 4, 5]);
  assert.is(late.lock.locked, false);
  assert.equal(late.hearSignalled([1]), [true]);
  const never = listening({ searchMs: 0 });
  never.hear(5000, [1, 2, 3, 4, 5]);
  assert.is(never.lock.locked, false);
});

test('a new offer with the same address changes nothing for who was found', () => {
  const { lock, hear, signal } = listening();
  hear(5000, [1, 2, 3, 4]);
  signal();
  hear(5004, [1, 2, 3, 4, 5]);
  assert.equal(lock.target, { address: stranger, port: 5000 });
});

test('audio that is expected again lets a far side be found that was not found before', () => {
  const { lock, hear, signal, wait } = listening({ expecting: false });
  wait(60_000);
  signal();
  hear(5000, [1, 2, 3, 4]);
  assert.equal(lock.target, { address: stranger, port: 5000 });
});

test('after a new offer with another address packets go there, and the far side is looked for anew', () => {
  const { lock, hear, signal } = listening();
  hear(5000, [1, 2, 3, 4]);
  signal({ address: '10.0.0.10', port: 7000 });
  assert.equal([lock.locked, lock.target], [false, { address: '10.0.0.10', port: 7000 }]);
  assert.equal(hear(5000, [5, 6, 7, 8]), [false, false, false, true]);
});

test('who was found before a restart is gone on with', () => {
  const found = { address: stranger, port: 5000 };
  const lock = new SourceLock({ needed: 4, withinMs: 1000, searchMs: 10_000 });
  lock.resume(found);
  lock.signal(signalled, { expecting: true }, 0);
  assert.equal([lock.target, lock.admits(stranger, 5000, { ssrc: 1, sequence: 77 }, 20)], [found, true]);
  const others = [1, 2, 3, 4, 5].map((sequence) => lock.admits(stranger, 5002, { ssrc: 1, sequence }, 20 + sequence));
  assert.equal([others.includes(true), lock.target], [false, found]);
  assert.equal(
    [lock.admits(signalled.address, signalled.port, { ssrc: 2, sequence: 1 }, 40), lock.target],
    [true, signalled],
  );
});

test('a crowd of sources takes no more memory than eight, and keeps nobody out who comes after it', () => {
  const { lock, hear } = listening();
  for (let port = 1; port <= 100; port++) hear(port, [1]);
  hear(101, [1, 2, 3, 4]);
  assert.equal(lock.target, { address: stranger, port: 101 });
});

test('a fixed target gets the packets whoever sends, and its host may begin to send at any time', () => {
  const lock = new SourceLock({ needed: 4, withinMs: 1000, searchMs: 10_000 });
  lock.signal(signalled, { expecting: true, isFixed: true }, 0);
  const late = (address: string) =>
    [1, 2, 3, 4].map((sequence) => lock.admits(address, 7000, { ssrc: 1, sequence }, 60_000 + sequence * 20));
  assert.equal(late(stranger), [false, false, false, false]);
  assert.equal(late(signalled.address), [false, false, false, true]);
  assert.equal([lock.target, lock.source], [signalled, { address: signalled.address, port: 7000 }]);
  assert.is(lock.displaced, undefined);
  lock.signal(signalled, { expecting: true }, 70_000);
  assert.equal(lock.target, { address: signalled.address, port: 7000 }, 'not fixed any more');
});

test.run();
