import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Module } from '../../src/models/system.ts';
import { createModules } from '../../src/stores/modules.ts';
import { refusal } from '../support/refusal.ts';

const listing = suite('modules');

listing('modules are listed and cannot be changed', () => {
  const sip: Module = {
    name: 'sip',
    description: 'SIP phones and trunks',
    use_count: 3,
    status: 'Running',
    support_level: 'core',
  };
  const modules = createModules(() => [sip]);
  assert.equal(modules.list(), [sip]);
  assert.equal(modules.get('sip'), sip);
  assert.equal(
    refusal(() => modules.get('x')),
    [404, 'Module could not be found in running modules'],
  );
  assert.equal(
    refusal(() => modules.load('sip')),
    [409, 'Module is already loaded'],
  );
  assert.equal(
    refusal(() => modules.load('x')),
    [409, 'Module could not be loaded properly'],
  );
  assert.equal(
    refusal(() => modules.unload('sip')),
    [409, 'Module could not be unloaded'],
  );
  assert.equal(
    refusal(() => modules.unload('x')),
    [404, 'Module not found in running modules'],
  );
  assert.equal(
    refusal(() => modules.reload('sip')),
    [409, 'Module does not support reloading'],
  );
  assert.equal(
    refusal(() => modules.reload('x')),
    [404, 'Module not found in running modules'],
  );
});

listing.run();
