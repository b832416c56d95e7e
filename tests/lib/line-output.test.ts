import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLineOutput, type LineStream } from '../../src/lib/line-output.ts';

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

test('lines that nobody takes are counted, and told of when somebody does again', () => {
  const { stream, written, become } = createStream();
  const output = createLineOutput(stream, (lost) => `${lost} lost`);
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

test.run();
