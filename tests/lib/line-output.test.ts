import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLineOutput, type LineStream } from '../../src/lib/line-output.ts';
import { ManualClock } from '../support/manual-clock.ts';

type Trouble = 'none' | 'told later' | 'thrown';

/** A stream whose reader comes and goes. */
function createStream() {
  const written: string[] = [];
  let trouble: Trouble = 'none';
  const listeners: ((error: Error) => void)[] = [];
  const stream: LineStream = {
    write(line, done) {
      const error = new Error('EPIPE');
      if (trouble === 'thrown') throw error;
      if (trouble === 'none') written.push(line);
      done(trouble === 'none' ? null : error);
      if (trouble === 'told later') {
        assert.ok(listeners.length > 0, 'nobody hears the error');
        for (const listener of listeners) listener(error);
      }
    },
    on: (_event, listener) => void listeners.push(listener),
  };
  const become = (next: Trouble) => {
    trouble = next;
  };
  return { stream, written, become };
}

const clock = new ManualClock();
const toldAs = { tellLost: (lost: number) => `${lost} lost`, clock };

test('lines that nobody takes are counted, and told of when somebody does again', () => {
  const { stream, written, become } = createStream();
  const output = createLineOutput(stream, { ...toldAs, delayMs: 0 });
  output.write('one');
  become('told later');
  output.write('two');
  become('thrown');
  output.write('three');
  assert.is(output.lost, 2);
  become('none');
  output.write('four');
  output.write('five');
  assert.equal(written, ['one', 'four', '2 lost', 'five']);
  assert.is(output.lost, 2);
});

test('lines that may wait are written together, in their order, when their time is up', () => {
  const { stream, written } = createStream();
  const output = createLineOutput(stream, { ...toldAs, delayMs: 20 });
  output.write('one ', true);
  clock.advance(19);
  output.write('two ', true);
  assert.equal(written, []);
  clock.advance(1);
  assert.equal(written, ['one two ']);
  clock.advance(100);
  assert.equal([written.length, clock.pending], [1, 0]);
});

test('one that may not wait is written at once, behind those that wait; so is all when the process ends', () => {
  const { stream, written } = createStream();
  const output = createLineOutput(stream, { ...toldAs, delayMs: 20 });
  output.write('one ', true);
  output.write('two!');
  assert.equal([written, clock.pending], [['one two!'], 0]);
  output.write('three', true);
  output.flush();
  output.flush();
  assert.equal([written, clock.pending], [['one two!', 'three'], 0]);
});

test('more than 64 KB never wait, and where nothing is to wait nothing does', () => {
  const { stream, written } = createStream();
  const output = createLineOutput(stream, { ...toldAs, delayMs: 20 });
  const line = 'x'.repeat(1_000);
  for (let count = 0; count < 66; count++) output.write(line, true);
  assert.equal(
    written.map(({ length }) => length),
    [66_000],
  );
  const prompt = createLineOutput(stream, { ...toldAs, delayMs: 0 });
  prompt.write('now', true);
  assert.equal([written.at(-1), clock.pending], ['now', 0]);
});

test('of lines that were to be written together each one is counted when nobody takes them', () => {
  const { stream, written, become } = createStream();
  const output = createLineOutput(stream, { ...toldAs, delayMs: 20 });
  become('told later');
  output.write('one', true);
  output.write('two', true);
  clock.advance(20);
  become('none');
  output.write('three');
  assert.equal([written, output.lost], [['three', '2 lost'], 2]);
});

test.run();
