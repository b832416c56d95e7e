import { scryptSync } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hashPassword, parsePasswordHash } from '../../src/config/password-hash.ts';

test('a hash is checked with the parameters and the salt it names', () => {
  const hash = parsePasswordHash(hashPassword('correct horse'));
  assert.ok(hash);
  const { cost, blockSize, parallelization, salt, key } = hash;
  const again = (password: string) =>
    scryptSync(password, salt, key.length, { cost, blockSize, parallelization, maxmem: 64 * 1024 * 1024 });
  assert.ok(again('correct horse').equals(key));
  assert.not.ok(again('wrong horse').equals(key));
});

test('one password has another hash each time', () => {
  assert.is.not(hashPassword('same'), hashPassword('same'));
});

const key = 'A'.repeat(43);
for (const [what, text] of [
  ['another scheme', `bcrypt$2$1$1$AAAA$${key}=`],
  ['a cost that is no power of two', `scrypt$3$1$1$AAAA$${key}=`],
  ['a cost of one', `scrypt$1$1$1$AAAA$${key}=`],
  ['no block size', `scrypt$2$0$1$AAAA$${key}=`],
  ['a short key', 'scrypt$2$1$1$AAAA$AAAA'],
  ['a missing part', `scrypt$2$1$AAAA$${key}=`],
] as const)
  test(`${what} is no hash`, () => {
    assert.is(parsePasswordHash(text), undefined);
  });

test.run();
