import { suite, test } from 'uvu';
import * as assert from 'uvu/assert';
import { need } from './need.ts';

test('a program in PATH is found and handed to the test', () => {
  const node = need('node');
  assert.match(node.path ?? '', /node$/);
  const registered: string[] = [];
  const fake = Object.assign((title: string, run: (context: object) => void) => {
    run({});
    registered.push(title);
  }, suite('fake'));
  node.test(fake as never, 'runs node', (program) => {
    assert.is(program, node.path);
  });
  assert.equal(registered, ['runs node']);
});

test('a test whose program is missing is skipped, not run, and said to be', () => {
  const said: string[] = [];
  const missing = need('no-such-program', '/nowhere', (line) => said.push(line));

  assert.is(missing.path, undefined);
  const skipped: unknown[] = [];
  const fake = Object.assign(() => assert.unreachable('the test ran'), {
    skip: (title: string) => skipped.push(title),
  });
  missing.test(fake as never, 'calls it', () => assert.unreachable());
  assert.equal(skipped, ['calls it']);
  assert.equal(said, ['skipped: needs no-such-program: calls it']);
});

test.run();
