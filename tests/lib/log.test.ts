import { writeFileSync } from 'node:fs';
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

test('a part may have a level of its own, which all its children have', () => {
  const { lines, destination } = record();
  const log = createLogger({ level: 'warn', parts: { sip: 'debug' }, destination });
  const sip = log.child({ part: 'sip' }).child({ call: '1' });
  const media = log.child({ part: 'media' });
  assert.equal([sip.enabled('debug'), sip.enabled('trace'), media.enabled('info')], [true, false, false]);
  sip.debug({}, 'heard');
  media.info({}, 'quiet');
  const heard: unknown[] = [];
  log.onLevels(() => heard.push(log.levels));
  log.setLevels({ level: 'error', parts: { media: 'info' } });
  sip.warn({}, 'quiet');
  media.info({}, 'heard, too');
  assert.equal(
    lines.map(({ part, msg }) => [part, msg]),
    [
      ['sip', 'heard'],
      ['media', 'heard, too'],
    ],
  );
  assert.equal(heard, [{ level: 'error', parts: { media: 'info' } }]);
});

test('a line about a channel or a bridge names its call, unless it does so itself or nobody knows', () => {
  const { lines, destination } = record();
  const log = createLogger({ level: 'info', destination });
  log.nameCalls((kind, id) => (({ 'channel c2': 'c1', 'bridge b1': 'c9' }) as Record<string, string>)[`${kind} ${id}`]);
  log.child({ part: 'sip' }).info({ channel: 'c2' }, 'known');
  log.info({ channel: 'c3' }, 'unknown');
  log.info({ channel: 'c2', call: 'c0' }, 'named');
  log.info({ bridge: 'b1' }, 'in a bridge');
  log.info({ channel: 'c2', bridge: 'b1' }, 'of both');
  assert.equal(
    lines.map(({ call, msg }) => [call, msg]),
    [
      ['c1', 'known'],
      [undefined, 'unknown'],
      ['c0', 'named'],
      ['c9', 'in a bridge'],
      ['c1', 'of both'],
    ],
  );
});

test('what the system refused is written without a stack, in causes, too', () => {
  const { lines, destination } = record();
  const refusal = () => {
    try {
      writeFileSync('/dev/full', 'x');
    } catch (error) {
      return error as Error;
    }
    throw new Error('/dev/full has room');
  };
  const log = createLogger({ level: 'info', destination });
  log.error({ error: refusal() }, 'a file could not be written');
  log.error({ error: new Error('not stored', { cause: refusal() }) }, 'a change was lost');
  const written = lines.map(({ error }) => error as { message: string; code?: string; cause?: { code: string } });
  assert.equal(
    written.map(({ message, code, cause }) => [message, code, cause?.code]),
    [
      ['ENOSPC: no space left on device, write', 'ENOSPC', undefined],
      ['not stored', undefined, 'ENOSPC'],
    ],
  );
  assert.not.match(JSON.stringify(lines), /stack|log\.test/);
});

test.run();
