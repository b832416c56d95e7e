import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { addressMatcher, sourceNetwork } from '../../src/lib/addresses.ts';

test('addresses match literally and by network, IPv4, IPv6 and IPv4 inside IPv6', () => {
  const matches = (pattern: string, ...addresses: string[]) => addresses.map(addressMatcher(pattern));
  assert.equal(matches('127.0.0.1', '127.0.0.1', '127.0.0.2', '::1', '::ffff:127.0.0.1'), [true, false, false, true]);
  assert.equal(matches('10.1.0.0/16', '10.1.255.3', '10.2.0.1', 'x'), [true, false, false]);
  assert.equal(matches('0.0.0.0/0', '10.1.255.3', '::1'), [true, false]);
  assert.equal(matches('2001:db8::/32', '2001:db8:1::5', '2001:db9::'), [true, false]);
  assert.equal(matches('::1', '0:0:0:0:0:0:0:1', '::'), [true, false]);
  for (const wrong of ['', '10.0.0', '10.0.0.256', '10.0.0.0/33', '10.0.0.0/x', '1::2::3', ':::', 'host'])
    assert.equal(matches(wrong, '10.0.0.0', '::', wrong), [false, false, false], wrong);
});

test('a prefix may end within a word', () => {
  const matches = (pattern: string, ...addresses: string[]) => addresses.map(addressMatcher(pattern));
  assert.equal(matches('10.1.128.0/17', '10.1.128.1', '10.1.127.255', '10.1.255.255'), [true, false, true]);
  assert.equal(matches('192.0.2.4/31', '192.0.2.5', '192.0.2.6'), [true, false]);
  assert.equal(matches('2001:db8::/29', '2001:dbf::1', '2001:dc0::1'), [true, false]);
});

test('an IPv4 address is a source of its own, an IPv6 address stands for its network', () => {
  assert.equal(
    ['192.0.2.7', '::ffff:192.0.2.7', '2001:db8:0:1:2:3:4:5', '2001:db8::1', '::1', 'fe80::1', 'a:0:b:0::1', 'x:y'].map(
      sourceNetwork,
    ),
    ['192.0.2.7', '192.0.2.7', '2001:db8:0:1::/64', '2001:db8::/64', '::/64', 'fe80::/64', 'a:0:b::/64', 'x:y'],
  );
});

test.run();
