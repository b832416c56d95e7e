import type { Socket } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { WebSocket } from 'ws';
import { createMessageWriters } from '../../src/http/message-writer.ts';
import { TurnChanges } from '../../src/lib/changes.ts';

const writers = suite('message writers');

/** A clock whose turns are ended by hand, and a WebSocket that notes what is written and how it is closed. */
function world(leave?: TurnChanges['leave']) {
  let later: (() => void)[] = [];
  const noted: (Buffer | string)[] = [];
  const turn = (): void => {
    const tasks = later;
    later = [];
    for (const task of tasks) task();
  };
  const raw = { OPEN: 1, readyState: 1, close: (code: number) => noted.push(`close ${code}`) };
  const socket = { write: (octets: Buffer) => noted.push(octets) };
  const writer = createMessageWriters({ soon: (task) => later.push(task) }, leave).ofServer(
    raw as unknown as WebSocket,
    socket as unknown as Socket,
  );
  const turns = (): void => {
    for (let left = 10; left > 0; left--) turn();
  };
  return { writer, raw, noted, turn, turns };
}

/** The texts of unmasked frames (RFC 6455 5.2), each of whose lengths is written as briefly as it can be. */
function textsOf(octets: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < octets.length; ) {
    assert.is(octets[at], 0x81, 'a whole text message');
    const brief = octets[at + 1] as number;
    const head = brief < 126 ? 2 : brief === 126 ? 4 : 10;
    const length =
      head === 2 ? brief : head === 4 ? octets.readUInt16BE(at + 2) : Number(octets.readBigUInt64BE(at + 2));
    assert.is(head, length < 126 ? 2 : length < 65_536 ? 4 : 10, `head of ${length} octets`);
    texts.push(octets.toString('utf8', at + head, at + head + length));
    at += head + length;
  }
  return texts;
}

writers('give each message its frame, whatever its length and characters', () => {
  const lengths = [0, 1, 41, 42, 125, 126, 127, 21_845, 21_846, 65_535, 65_536, 200_000];
  const messages = lengths.flatMap((length) => ['x'.repeat(length), 'é'.repeat(length), '€'.repeat(length)]);
  const { writer, noted, turns } = world();
  for (const message of messages) writer.send(message);
  turns();
  assert.equal(textsOf(Buffer.concat(noted as Buffer[])), messages);
  assert.is(writer.waiting, 0);
});

writers('write the messages of a turn as one piece, and wait a bounded time for more', () => {
  const { writer, noted, turn, turns } = world();
  writer.send('one');
  writer.send('two');
  assert.is(writer.waiting, 6);
  turns();
  assert.equal(
    noted.map((octets) => textsOf(octets as Buffer)),
    [['one', 'two']],
  );
  for (let count = 0; count < 20 && noted.length === 1; count++) {
    writer.send('more');
    turn();
  }
  assert.is(noted.length, 2, 'what is sent again and again does not hold the first message back for ever');
});

writers('write what was sent before they close, and nothing to a WebSocket that is not open', () => {
  const { writer, raw, noted, turns } = world();
  writer.send('last');
  writer.close(1001, 'over');
  assert.equal([textsOf(noted[0] as Buffer), noted[1]], [['last'], 'close 1001']);
  writer.send('waits');
  raw.readyState = 2;
  writer.send('never');
  turns();
  assert.is(noted.length, 2);
  assert.is(writer.waiting, 0);
});

writers('hold messages back until what they tell of is written, however many there are', () => {
  const changes = new TurnChanges({ soon: () => undefined });
  changes.writeWith(() => undefined);
  const { writer, noted, turns } = world(changes.leave);
  changes.mark('event', 'a');
  writer.send('first');
  writer.send('x'.repeat(100_000));
  turns();
  writer.close(1001, 'over');
  assert.equal(noted, []);
  changes.commit();
  assert.equal(textsOf(noted[0] as Buffer), ['first', 'x'.repeat(100_000)]);
  assert.equal(noted.slice(1), ['close 1001']);
});

writers.run();
