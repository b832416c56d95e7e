import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Scope } from '../../src/lib/scope.ts';

test('what was opened last is released first, and only once', async () => {
  const scope = new Scope();
  const released: string[] = [];
  scope.defer(() => void released.push('first'));
  scope.defer(async () => void released.push('second'));
  await scope.close();
  await scope.close();
  assert.equal(released, ['second', 'first']);
});

test('a release waits for the one before it', async () => {
  const scope = new Scope();
  const steps: string[] = [];
  scope.defer(() => void steps.push('opened first'));
  scope.defer(async () => {
    await Promise.resolve();
    steps.push('opened last');
  });
  await scope.close();
  assert.equal(steps, ['opened last', 'opened first']);
});

test('a release that fails keeps none of the others from being released', async () => {
  const scope = new Scope();
  const released: string[] = [];
  const failure = new Error('port is stuck');
  scope.defer(() => void released.push('first'));
  scope.defer(() => {
    throw failure;
  });
  scope.defer(() => Promise.reject(new Error('so is this')));
  try {
    await scope.close();
    assert.unreachable('close should tell of the failures');
  } catch (error) {
    assert.instance(error, AggregateError);
    assert.equal(
      (error as AggregateError).errors.map((each: Error) => each.message),
      ['so is this', 'port is stuck'],
    );
  }
  assert.equal(released, ['first']);
});

test('what is registered on a closed scope is released at once', async () => {
  const scope = new Scope();
  await scope.close();
  let released = false;
  scope.defer(() => {
    released = true;
  });
  assert.ok(released);
});

test.run();
