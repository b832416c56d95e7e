import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { policiesOf } from '../../src/compatibility.ts';
import { AriError } from '../../src/models/errors.ts';
import { authorization, createFakes, createTestApp } from './fakes.ts';

const refusedWith = async (compatibility: 'hookswitch' | 'asterisk', path: string, error: () => AriError) => {
  const fakes = createFakes();
  const { app } = createTestApp(fakes.owners, {
    refusalForm: policiesOf({ compatibility }).refusalForm,
  });
  fakes.instead = (method) => {
    if (method.endsWith('.get')) return undefined;
    throw error();
  };
  const response = await app.request(`/ari${path}`, { method: 'POST', headers: { Authorization: authorization } });
  return [response.status, await response.json()];
};

const allocation = () => new AriError('allocationFailed', { reason: 'unknown technology XY' });
const exists = () => new AriError('recordingExists', { name: 'r' });
const record = '/channels/c1/record?name=r&format=wav';
const originate = '/channels?endpoint=XY/1&app=a';
const external = '/channels/externalMedia?app=a&external_host=127.0.0.1:9&format=ulaw';
const taken = { message: "Recording 'r' already exists and can not be overwritten" };

test('errors that say more than Asterisk leave as they are', async () => {
  assert.equal(await refusedWith('hookswitch', record, exists), [422, taken]);
  assert.equal((await refusedWith('hookswitch', originate, allocation))[1], allocation().toBody());
});

test('with compatibility: asterisk each operation answers with its own error of Asterisk', async () => {
  assert.equal(await refusedWith('asterisk', record, exists), [409, taken]);
  assert.equal(await refusedWith('asterisk', originate, allocation), [500, { error: 'Allocation failed' }]);
  assert.equal(await refusedWith('asterisk', external, allocation), [
    500,
    { message: 'An internal error prevented this request from being handled' },
  ]);
});

test('other errors are the same in both', async () => {
  assert.is((await refusedWith('asterisk', record, () => new AriError('channelNotFound')))[0], 404);
});

test.run();
