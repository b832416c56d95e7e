import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { digestResponse } from '../../../src/sip/auth/digest.ts';
import { formatDigest, parseDigest } from '../../../src/sip/auth/header.ts';

const rfc7616 = {
  username: 'Mufasa',
  realm: 'http-auth@example.org',
  secret: { password: 'Circle of Life' },
  method: 'GET',
  uri: '/dir/index.html',
  nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
  qop: { value: 'auth', nc: '00000001', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ' },
} as const;

test('the MD5 response is the one of RFC 7616 3.9.1', () => {
  assert.is(digestResponse({ ...rfc7616, algorithm: 'MD5' }), '8ca523f5e9506fed4657c9700eebdbec');
});

test('the SHA-256 response is the one of RFC 7616 3.9.1', () => {
  const expected = '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1';
  assert.is(digestResponse({ ...rfc7616, algorithm: 'SHA-256' }), expected);
});

test('the response without qop is the corrected one of RFC 2069', () => {
  const input = {
    algorithm: 'MD5',
    username: 'Mufasa',
    realm: 'testrealm@host.com',
    secret: { password: 'CircleOfLife' },
    method: 'GET',
    uri: '/dir/index.html',
    nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093',
  } as const;
  assert.is(digestResponse(input), '1949323746fe6a43ef61f9606e7febea');
});

test('a stored hash gives the same response as the password it was made of', () => {
  const ha1 = '939e7578ed9e3c518a452acee763bce9';
  const input = {
    algorithm: 'MD5',
    username: 'Mufasa',
    realm: 'testrealm@host.com',
    secret: { ha1 },
    method: 'GET',
    uri: '/dir/index.html',
    nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093',
    qop: { value: 'auth', nc: '00000001', cnonce: '0a4f113b' },
  } as const;
  assert.is(digestResponse(input), '6629fae49393a05397450978507c4ef1');
  assert.is(digestResponse({ ...input, algorithm: 'SHA-256' }), undefined);
});

test('header values are read whatever their spacing, case and quoting', () => {
  const parameters = parseDigest('DIGEST  Realm="a \\"b\\", c" ,nonce=abc,QOP="auth,auth-int"');
  assert.equal(
    [...parameters!],
    [
      ['realm', 'a "b", c'],
      ['nonce', 'abc'],
      ['qop', 'auth,auth-int'],
    ],
  );
});

test('what is no Digest header is not read', () => {
  for (const value of ['', 'Basic abc', 'Digest', 'Digest realm="a', 'Digest realm="a" nonce="b"', 'Digest a=1, a=2'])
    assert.is(parseDigest(value), undefined, value);
});

test('what is written can be read again', () => {
  const value = formatDigest({ username: 'a"b\\', realm: 'r', nc: '00000001', qop: 'auth', opaque: undefined }, false);
  assert.is(value, 'Digest username="a\\"b\\\\", realm="r", nc=00000001, qop=auth');
  assert.is(parseDigest(value)?.get('username'), 'a"b\\');
});

test.run();
