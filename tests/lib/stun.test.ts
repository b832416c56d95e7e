import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBindingResponse, writeBindingRequest, writeBindingResponse } from '../../src/lib/stun.ts';

const id = '0102030405060708090a0b0c';
const answer = (address: string, port: number) =>
  readBindingResponse(writeBindingResponse(writeBindingRequest(id), { address, port })!, id);

test('a STUN server cannot make us name an address that nobody has', () => {
  assert.equal(answer('203.0.113.7', 5060), { address: '203.0.113.7', port: 5060 });
  assert.is(answer('203.0.113.7', 0), undefined);
  for (const address of ['0.0.0.0', '224.0.0.1', '255.255.255.255', '::', 'ff02::1'])
    assert.is(answer(address, 5060), undefined, address);
});

test.run();
