import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Registry } from '../../src/actors/registry.ts';
import { AriError } from '../../src/models/errors.ts';

test('objects are found by id and listed in the order of adding', () => {
  const registry = new Registry<string>('channelNotFound');
  registry.add('b', 'second letter');
  registry.add('a', 'first letter');
  assert.equal(registry.all(), ['second letter', 'first letter']);
  assert.is(registry.get('a'), 'first letter');
  assert.is(registry.find('c'), undefined);
  assert.ok(registry.has('a'));
  registry.remove('b');
  registry.remove('b');
  assert.is(registry.size, 1);
});

test('a missing one is the refusal of its kind', () => {
  const registry = new Registry<string>('playbackNotFound');
  try {
    registry.get('x');
    assert.unreachable();
  } catch (error) {
    assert.ok(error instanceof AriError);
    assert.equal([error.code, error.status, error.message], ['playbackNotFound', 404, 'Playback not found']);
  }
});

test('an id is taken once', () => {
  const registry = new Registry<string>('channelNotFound');
  registry.add('a', 'one');
  assert.throws(() => registry.add('a', 'two'), /the id 'a' is already registered/);
  assert.is(registry.get('a'), 'one');
});

test.run();
