import { scryptSync } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { authorization, basic, createFakes, createTestApp, options } from './fakes.ts';

const auth = suite('credentials');
const fakes = createFakes();
const salt = Buffer.from('0123456789abcdef', 'hex');
const hashed = (password: string, encoding: 'hex' | 'base64') =>
  `scrypt$1024$8$1$${salt.toString(encoding)}$${scryptSync(password, salt, 32, { cost: 1024 }).toString(encoding)}`;
const users = [
  ...options.users,
  { name: 'hexed', password_hash: hashed('h1', 'hex'), read_only: false },
  { name: 'based', password_hash: hashed('h2', 'base64'), read_only: true },
];
const app = createTestApp(fakes.owners, { users });
const path = '/ari/asterisk/ping';
const formType = { 'content-type': 'application/x-www-form-urlencoded' };

type Row = {
  what: string;
  headers?: Record<string, string>;
  query?: string;
  body?: string;
  status: number;
  method?: string;
};
const rows: Row[] = [
  { what: 'nothing', status: 401 },
  { what: 'a right header', headers: { authorization }, status: 200 },
  { what: 'a password with a colon in it', headers: { authorization: basic('reader:look:only') }, status: 200 },
  { what: 'a wrong password', headers: { authorization: basic('writer:secreT') }, status: 401 },
  { what: 'a longer password', headers: { authorization: basic('writer:secret2') }, status: 401 },
  { what: 'an unknown user', headers: { authorization: basic('nobody:secret') }, status: 401 },
  { what: 'the scheme in lower case', headers: { authorization: `b${authorization.slice(1)}` }, status: 401 },
  { what: 'another scheme', headers: { authorization: 'Bearer abc' }, status: 401 },
  { what: 'a header that is no base64', headers: { authorization: 'Basic ***' }, status: 401 },
  { what: 'a header without a colon', headers: { authorization: basic('writer') }, status: 401 },
  { what: 'an api_key', query: '?api_key=writer:secret', status: 200 },
  { what: 'an encoded api_key', query: '?api_key=writer%3Asecret', status: 200 },
  { what: 'an api_key without a password', query: '?api_key=writer:', status: 401 },
  { what: 'an api_key without a colon', query: '?api_key=writer', status: 401 },
  { what: 'a wrong api_key', query: '?api_key=writer:no', status: 401 },
  {
    what: 'a wrong header and a right api_key',
    headers: { authorization: basic('writer:no') },
    query: '?api_key=writer:secret',
    status: 401,
  },
  {
    what: 'another scheme and a right api_key',
    headers: { authorization: 'Bearer x' },
    query: '?api_key=writer:secret',
    status: 200,
  },
  { what: 'a right header and a wrong api_key', headers: { authorization }, query: '?api_key=writer:no', status: 200 },
  {
    what: 'an api_key in a form',
    method: 'POST',
    headers: formType,
    body: 'api_key=writer:secret&variable=a',
    status: 204,
  },
  {
    what: 'an api_key in a JSON body',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"api_key":"writer:secret"}',
    status: 401,
  },
  { what: 'a hashed password in hex', headers: { authorization: basic('hexed:h1') }, status: 200 },
  { what: 'a hashed password in base64', headers: { authorization: basic('based:h2') }, status: 200 },
  { what: 'a wrong hashed password', headers: { authorization: basic('hexed:h2') }, status: 401 },
  { what: 'an empty password', headers: { authorization: basic('hexed:') }, status: 401 },
];
const target = (method: string) => (method === 'POST' ? '/ari/asterisk/variable' : path);
for (const { what, headers = {}, query = '', body, status, method = 'GET' } of rows) {
  auth(`${what}: ${status}`, async () => {
    for (let time = 0; time < 2; time++) {
      const response = await app.ask(`${method} ${target(method)}${query}`, { headers, ...(body && { body }) });
      assert.is(response.status, status);
      if (status !== 401) continue;
      assert.equal(await response.json(), { message: 'Authentication required' });
      assert.is(response.headers.get('www-authenticate'), 'Basic realm="Asterisk REST Interface"');
    }
  });
}

auth('a user without any password cannot come in', async () => {
  const open = createTestApp(fakes.owners, {
    users: [
      { name: 'open', read_only: false },
      { name: 'empty', password: '', read_only: false },
    ],
  });
  for (const name of ['open', 'empty']) {
    assert.is((await open.ask(`GET ${path}`, { headers: { authorization: basic(`${name}:`) } })).status, 401);
  }
});

auth('an unreadable hash is told at the start', () => {
  const wrong = [{ name: 'a', password_hash: 'md5$1', read_only: false }];
  assert.throws(() => createTestApp(fakes.owners, { users: wrong }), /scrypt/);
});

auth('a read-only user may look but change nothing', async () => {
  const headers = { authorization: basic('reader:look:only') };
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    const response = await app.ask(`${method} /ari/channels/c1`, { headers });
    assert.is(response.status, 403, method);
    assert.equal(await response.json(), { message: 'Write access denied' });
  }
  assert.is((await app.ask('GET /ari/channels/c1', { headers })).status, 200);
  assert.is((await app.ask('OPTIONS /ari/channels/c1', { headers })).status, 204);
  assert.is((await app.ask('POST /ari/nothing', { headers })).status, 403);
});

auth('the realm is the one configured', async () => {
  const other = createTestApp(fakes.owners, { auth_realm: 'The "desk"' });
  const response = await other.ask(`GET ${path}`, { headers: {} });
  assert.is(response.headers.get('www-authenticate'), 'Basic realm="The desk"');
});

auth('everything under /ari asks for credentials, the documents too', async () => {
  for (const asked of ['', '/', '/nothing', '/api-docs/resources.json', '/openapi.json', '/events', '/channels//x']) {
    assert.is((await app.ask(`GET /ari${asked}`, { headers: {} })).status, 401, asked);
  }
});

auth.run();
