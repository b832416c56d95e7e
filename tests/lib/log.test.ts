import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../src/lib/log.ts';

const record = () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { lines, destination };
};

test('a line is JSON with level, fields, time and a sentence', () => {
  const { lines, destination } = record();
  createLogger({ level: 'info', destination }).info({ channel: 'c1' }, 'a call came in');
  assert.is(lines.length, 1);
  const { time, ...rest } = lines[0]!;
  assert.type(time, 'number');
  assert.equal(rest, { level: 30, channel: 'c1', msg: 'a call came in' });
});

test('what is less serious than the level is not written, and a child adds its fields', () => {
  const { lines, destination } = record();
  const log = createLogger({ level: 'warn', destination }).child({ part: 'sip' });
  log.info({}, 'quiet');
  log.warn({}, 'loud');
  assert.equal(
    lines.map(({ msg, part }) => [part, msg]),
    [['sip', 'loud']],
  );
});

test('an error is written with its stack and its cause', () => {
  const { lines, destination } = record();
  const error = new Error('no answer', { cause: new Error('port closed') });
  createLogger({ level: 'info', destination }).error({ error }, 'a call failed');
  const written = lines[0]?.['error'] as { message: string; stack: string; cause: { message: string } };
  assert.is(written.message, 'no answer');
  assert.match(written.stack, /log\.test/);
  assert.is(written.cause.message, 'port closed');
});

test('a level that is changed holds for every child at once', () => {
  const { lines, destination } = record();
  const log = createLogger({ level: 'warn', destination });
  const child = log.child({ part: 'sip' }).child({ call: '1' });
  child.info({}, 'quiet');
  log.setLevel('debug');
  child.debug({}, 'now heard');
  log.setLevel('silent');
  child.error({}, 'quiet');
  assert.equal(
    lines.map(({ msg, part, call }) => [part, call, msg]),
    [['sip', '1', 'now heard']],
  );
});

test.run();
