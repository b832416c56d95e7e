import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createIds } from '../../../src/lib/ids.ts';
import { type Challenge, createDigestClient, type DigestCredentials } from '../../../src/sip/auth/client.ts';
import type { DigestAlgorithm } from '../../../src/sip/auth/digest.ts';
import { createVerifier, type DigestResult, type Verifier } from '../../../src/sip/auth/verifier.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const users: Record<string, string> = { alice: 'wonderland' };
const secretOf = (name: string) => (users[name] === undefined ? undefined : { password: users[name] });

function setUp(algorithms: DigestAlgorithm[] = ['SHA-256', 'MD5']) {
  const clock = new ManualClock();
  const ids = createIds(clock);
  const verifier = createVerifier({ realm: 'hookswitch', algorithms, nonceLifetimeMs: 60_000, clock, ids });
  const client = (password = 'wonderland', username = 'alice') => createDigestClient([{ username, password }], ids);
  return { clock, ids, verifier, client };
}

const home = '192.0.2.9';

const challengesOf = (verifier: Verifier, stale = false): Challenge[] =>
  verifier.challenges(home, { stale }).map((value) => ({ from: 'WWW-Authenticate', value }));

const present = (
  verifier: Verifier,
  authorizations: { value: string }[],
  method = 'REGISTER',
  source = home,
  uri = 'sip:hookswitch',
): DigestResult =>
  verifier.verify({ credentials: authorizations.map(({ value }) => value), method, uri, source, secretOf });

test('a client that knows the password is accepted with the strongest algorithm offered', () => {
  const { verifier, client } = setUp(['MD5', 'SHA-256']);
  const alice = client();
  assert.ok(alice.challenged(challengesOf(verifier)));
  const [authorization] = alice.authorize('REGISTER', 'sip:hookswitch');
  assert.is(authorization?.name, 'Authorization');
  assert.match(authorization!.value, /algorithm=SHA-256/);
  assert.equal(present(verifier, [authorization!]), { result: 'accepted', username: 'alice' });
});

test('a proxy challenge is answered in Proxy-Authorization', () => {
  const { verifier, client } = setUp(['MD5']);
  const alice = client();
  alice.challenged(verifier.challenges(home).map((value) => ({ from: 'Proxy-Authenticate', value })));
  assert.is(alice.authorize('INVITE', 'sip:b@c')[0]?.name, 'Proxy-Authorization');
});

test('a wrong password, an unknown user and another method are rejected alike', () => {
  const { verifier, client } = setUp();
  for (const [alice, username, method] of [
    [client('guess'), 'alice', 'REGISTER'],
    [client('wonderland', 'mallory'), 'mallory', 'REGISTER'],
    [client('', 'mallory'), 'mallory', 'REGISTER'],
    [client(), 'alice', 'INVITE'],
  ] as const) {
    alice.challenged(challengesOf(verifier));
    assert.equal(present(verifier, alice.authorize('REGISTER', 'sip:h'), method), { result: 'rejected', username });
  }
  assert.is(verifier.size(), 0);
});

test('no credentials for our realm are absent, not wrong', () => {
  const { verifier } = setUp();
  assert.equal(present(verifier, []), { result: 'absent' });
  assert.equal(present(verifier, [{ value: 'Digest username="alice", realm="elsewhere"' }]), { result: 'absent' });
  assert.equal(present(verifier, [{ value: 'Basic abc' }]), { result: 'absent' });
});

test('the nonce count must go up: what was sent once is stale the second time', () => {
  const { verifier, client } = setUp();
  const alice = client();
  alice.challenged(challengesOf(verifier));
  const first = alice.authorize('REGISTER', 'sip:h');
  const second = alice.authorize('REGISTER', 'sip:h');
  assert.is(present(verifier, second).result, 'accepted');
  assert.is(present(verifier, second).result, 'stale');
  assert.is(present(verifier, first).result, 'stale');
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'accepted');
});

test('a nonce grows stale with age, and the client then tries once more', () => {
  const { clock, verifier, client } = setUp();
  const alice = client();
  alice.challenged(challengesOf(verifier));
  clock.advance(60_000);
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'stale');
  assert.ok(alice.challenged(challengesOf(verifier, true)));
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'accepted');
});

test('a nonce of another server is stale, and tells nobody whether the password was right', () => {
  const { verifier, client } = setUp(['MD5']);
  const elsewhere = setUp(['MD5']).verifier;
  const [alice, mallory] = [client(), client('guess')];
  for (const each of [alice, mallory]) each.challenged(challengesOf(elsewhere));
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'stale');
  assert.is(present(verifier, mallory.authorize('REGISTER', 'sip:h')).result, 'stale');
});

test('a nonce is good only where it was sent to', () => {
  const { verifier, client } = setUp(['MD5']);
  const alice = client();
  alice.challenged(challengesOf(verifier));
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h'), 'REGISTER', '192.0.2.10').result, 'stale');
  assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'accepted');
});

test('a refused answer is not repeated', () => {
  const { verifier, client } = setUp();
  const alice = client('guess');
  assert.ok(alice.challenged(challengesOf(verifier)));
  assert.not.ok(alice.challenged(challengesOf(verifier)));
});

test('credentials without qop are good for one request', () => {
  const { verifier, client } = setUp(['MD5']);
  const alice = client();
  const challenges = challengesOf(verifier).map(({ from, value }) => ({
    from,
    value: value.replace(', qop="auth"', ''),
  }));
  alice.challenged(challenges);
  const old = alice.authorize('REGISTER', 'sip:h');
  assert.not.match(old[0]!.value, /qop|nc=|cnonce/);
  assert.is(present(verifier, old).result, 'accepted');
  assert.is(present(verifier, old).result, 'stale');
});

test('challenges that nothing known fits are not answered', () => {
  const { ids } = setUp();
  const credentials: DigestCredentials = { username: 'alice', realm: 'home', ha1: 'a'.repeat(32) };
  const client = createDigestClient([credentials], ids);
  for (const value of [
    'Digest realm="other", nonce="n"',
    'Digest realm="home", nonce="n", algorithm=SHA-256',
    'Digest realm="home", nonce="n", algorithm=AKAv1-MD5',
    'Digest realm="home", nonce="n", qop="auth-int"',
    'Digest realm="home"',
    'Bearer realm="home"',
  ])
    assert.not.ok(client.challenged([{ from: 'WWW-Authenticate', value }]), value);
  assert.equal(client.authorize('REGISTER', 'sip:h'), []);
});

test('used nonces are forgotten when they are too old to be accepted', () => {
  const { clock, verifier, client } = setUp();
  for (let index = 0; index < 5; index++) {
    const alice = client();
    alice.challenged(challengesOf(verifier));
    assert.is(present(verifier, alice.authorize('REGISTER', 'sip:h')).result, 'accepted');
  }
  assert.is(verifier.size(), 5);
  clock.advance(60_000);
  const alice = client();
  alice.challenged(challengesOf(verifier));
  present(verifier, alice.authorize('REGISTER', 'sip:h'));
  assert.is(verifier.size(), 1);
});

test('credentials are valid for their user whatever proxies changed in host, port and parameters', () => {
  const { verifier, client } = setUp();
  const verdict = (signed: string, asked: string) => {
    const alice = client();
    alice.challenged(challengesOf(verifier));
    return present(verifier, alice.authorize('INVITE', signed), 'INVITE', home, asked).result;
  };
  for (const [signed, asked] of [
    ['sip:600@pbx.example.com', 'sip:600@pbx.example.com'],
    ['sip:600@pbx.example.com', 'sip:600@192.0.2.1:5080;transport=tcp'],
    ['sip:600;phone-context=x@h', 'sips:600@h;user=phone'],
    ['sip:pbx.example.com', 'sip:192.0.2.1'],
    // SIPp and others sign the address of the server.
    ['sip:192.0.2.1:5060', 'sip:600@192.0.2.1'],
    // Some phones leave out the brackets of an IPv6 address.
    ['sip:2001:db8::1', 'sip:[2001:db8::1]'],
    ['sip:2001:db8::1;transport=tcp', 'sip:600@[2001:db8::1]'],
    ['sips:600@2001:db8::1:5061', 'sips:600@[2001:db8::1]:5061'],
    ['sip:+49@h', 'tel:+49'],
    ['urn:service:sos', 'urn:service:sos'],
  ] as const)
    assert.is(verdict(signed, asked), 'accepted', `${signed} for ${asked}`);
  for (const [signed, asked] of [
    ['sip:600@h', 'sip:0900123@h'],
    ['sip:600@h', 'sip:h'],
    ['urn:service:sos', 'urn:service:fire'],
    ['', 'sip:600@h'],
    ['600', 'sip:600@h'],
    ['sip:600@2001:db8::1', 'sip:0900123@[2001:db8::1]'],
    ['sip:2001:db8:::1', 'sip:[2001:db8::1]'],
  ] as const)
    assert.is(verdict(signed, asked), 'absent', `${signed} for ${asked}`);
});

test('whatever is presented, nobody is accepted without the password', () => {
  const { verifier } = setUp();
  const nonce = /nonce="([^"]*)"/.exec(verifier.challenges(home)[0]!)![1]!;
  const parameter = fc.oneof(fc.string(), fc.constantFrom('alice', 'hookswitch', nonce, 'auth', '00000001', 'MD5'));
  const names = ['username', 'realm', 'nonce', 'uri', 'response', 'qop', 'nc', 'cnonce', 'algorithm'];
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), parameter), fc.string(), (parameters, junk) => {
      const value = `Digest ${Object.entries({ realm: 'hookswitch', ...parameters }).map(([k, v]) => `${k}="${v}"`)}`;
      assert.is.not(present(verifier, [{ value }]).result, 'accepted');
      assert.is.not(present(verifier, [{ value: value + junk }, { value: junk }]).result, 'accepted');
    }),
  );
});

test('a server that calls every nonce stale is answered twice; one that accepts in between goes on', () => {
  const { client } = setUp();
  const challenge = (nonce: number): Challenge[] => [
    { from: 'WWW-Authenticate', value: `Digest realm="home", nonce="${nonce}", qop="auth", stale=${nonce > 1}` },
  ];
  const hostile = client();
  const taken = [1, 2, 3, 4].map((nonce) => {
    const worthIt = hostile.challenged(challenge(nonce));
    if (worthIt) hostile.authorize('REGISTER', 'sip:h');
    return worthIt;
  });
  assert.equal(taken, [true, true, false, false]);
  const honest = client();
  for (const nonce of [1, 2, 3]) {
    assert.ok(honest.challenged(challenge(nonce)), `nonce ${nonce}`);
    honest.authorize('INVITE', 'sip:h');
    honest.authorize('INVITE', 'sip:h');
  }
});

test('a server that wants a new nonce without calling the old one stale gets it once credentials were good', () => {
  const { client } = setUp();
  const challenge = (nonce: number): Challenge[] => [
    { from: 'Proxy-Authenticate', value: `Digest realm="home", nonce="${nonce}"` },
  ];
  const alice = client();
  for (const [nonce, method] of ['INVITE', 'UPDATE', 'BYE'].entries()) {
    // From the second request on, it is sent with the nonce of the one before.
    if (nonce > 0) alice.authorize(method, 'sip:h');
    assert.ok(alice.challenged(challenge(nonce)), method);
    assert.match(alice.authorize(method, 'sip:h')[0]!.value, `nonce="${nonce}"`);
  }
  assert.not.ok(alice.challenged(challenge(3)), 'refused with the nonce that it was given for this request');
  alice.authorize('BYE', 'sip:h');
  assert.not.ok(alice.challenged(challenge(4)), 'a password that was refused is not tried for each request');
});

test('a server that names another realm each time is answered for four of them', () => {
  const client = createDigestClient([{ username: 'alice', password: 'wonderland' }], createIds(new ManualClock()));
  const taken = [1, 2, 3, 4, 5, 6].filter((realm) =>
    client.challenged([{ from: 'WWW-Authenticate', value: `Digest realm="${realm}", nonce="n"` }]),
  );
  assert.equal(taken, [1, 2, 3, 4]);
});

test.run();
