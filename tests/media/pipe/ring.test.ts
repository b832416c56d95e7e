import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { newRing, Ring } from '../../../src/media/pipe/ring.ts';

const octets = (length: number, first: number) => Uint8Array.from({ length }, (_, index) => first + index);

test('records come out whole and in order, round and round', () => {
  const memory = newRing(256);
  const [writer, reader] = [new Ring(memory), new Ring(memory)];
  for (let round = 0; round < 1000; round++) {
    // One or two at a time, so that they lie at every place of the ring.
    const lengths = round % 3 === 0 ? [round % 61, (round * 7) % 61] : [round % 61];
    for (const length of lengths) assert.ok(writer.write(1 + (round % 4), round % 2 === 0, octets(length, round)));
    for (const length of lengths)
      assert.equal(
        { ...reader.read() },
        { kind: 1 + (round % 4), flag: round % 2 === 0, octets: octets(length, round) },
      );
    assert.ok(reader.empty);
  }
  for (const [kind, flag, length] of [
    [3, true, 0],
    [1, false, 1],
    [2, true, 50],
    [255, false, 3],
  ] as const) {
    assert.ok(writer.write(kind, flag, octets(length, 7)));
    const record = reader.read();
    assert.equal([record?.kind, record?.flag, record?.octets], [kind, flag, octets(length, 7)]);
  }
});

test('what does not fit is left out and counted, and what was written before stays', () => {
  const memory = newRing(64);
  const [writer, reader] = [new Ring(memory), new Ring(memory)];
  assert.ok(writer.write(1, false, octets(28, 1)));
  assert.ok(writer.write(2, false, octets(28, 2)));
  assert.not(writer.write(3, false, octets(1, 3)));
  assert.is(writer.leftOut, 1);
  assert.is(reader.read()?.kind, 1);
  assert.ok(writer.write(4, false, octets(28, 4)));
  assert.equal(reader.read()?.octets, octets(28, 2));
  assert.equal(reader.read()?.octets, octets(28, 4));
  assert.is(reader.read(), undefined);
});

test.run();
