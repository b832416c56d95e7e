import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Reception } from '../../../src/media/rtp/reception.ts';
import { received } from '../support.ts';

/** Receives packets 20 ms apart with the given sequence numbers. */
function receiveAll(reception: Reception, sequences: number[], ssrc = 7): boolean[] {
  return sequences.map((sequence, index) => reception.receive(received(ssrc, sequence, index * 160, 160), index * 160));
}

test('packets in order are counted over the wrap of their numbers', () => {
  const reception = new Reception();
  receiveAll(reception, [65_534, 65_535, 0, 1]);
  assert.equal([reception.packets, reception.octets, reception.lost, reception.jitter], [4, 640, 0, 0]);
  assert.is(reception.extendedHighestSequence, 65_537);
});

test('a gap counts as loss, in total and as a share of the interval since the last report', () => {
  const reception = new Reception();
  receiveAll(reception, [1, 2, 4]);
  assert.equal(reception.report(), {
    ssrc: 7,
    fractionLost: 64,
    lost: 1,
    cumulativeLost: 1,
    extendedHighestSequence: 4,
    jitter: 0,
  });
  receiveAll(reception, [5, 6]);
  assert.equal([reception.report()?.fractionLost, reception.report()?.cumulativeLost], [0, 1]);
});

test('a packet that comes out of order is no loss, a duplicate never makes the loss negative', () => {
  const reception = new Reception();
  receiveAll(reception, [1, 3, 2, 2, 2]);
  assert.is(reception.lost, 0);
  assert.is(reception.report()?.cumulativeLost, -2);
});

test('a jump is only believed when the next packet confirms it, and is then no loss', () => {
  const reception = new Reception();
  assert.equal(receiveAll(reception, [10, 11, 20_000, 12]), [true, true, false, true]);
  assert.equal(receiveAll(reception, [40_000, 40_001, 40_002]), [false, true, true]);
  assert.equal([reception.packets, reception.lost], [5, 0]);
});

test('another source starts anew and keeps the losses of the first', () => {
  const reception = new Reception();
  receiveAll(reception, [1, 4]);
  receiveAll(reception, [500, 502], 8);
  assert.equal([reception.ssrc, reception.packets, reception.lost], [8, 4, 3]);
  assert.is(reception.report()?.cumulativeLost, 1);
});

test('jitter follows the estimate of RFC 3550 A.8', () => {
  const reception = new Reception();
  reception.receive(received(7, 1, 0, 160), 1000);
  reception.receive(received(7, 2, 160, 160), 1160 + 80);
  assert.is(reception.jitter, 80 / 16);
  reception.receive(received(7, 3, 320, 160), 1320);
  assert.is(reception.jitter, 5 + (80 - 5) / 16);
  reception.receive(received(7, 4, 320, 4), undefined);
  assert.is(reception.jitter, 5 + (80 - 5) / 16, 'telephone events say nothing about jitter');
});

test('nothing is reported before the first packet', () => {
  assert.is(new Reception().report(), undefined);
});

test.run();
