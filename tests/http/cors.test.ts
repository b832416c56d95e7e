import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { authorization, createFakes, createTestApp } from './fakes.ts';

const cors = suite('CORS');
const fakes = createFakes();
const origin = 'https://desk.example.org';

type Row = {
  what: string;
  allowed: string[];
  ask: string;
  headers: Record<string, string>;
  status: number;
  expected: Record<string, string>;
};
const mine = { 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true' };
const preflight = {
  origin,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization',
};

const rows: Row[] = [
  {
    what: 'no origin',
    allowed: ['*'],
    ask: 'GET /ari/channels',
    headers: { authorization },
    status: 200,
    expected: {},
  },
  {
    what: 'an origin, none allowed',
    allowed: [],
    ask: 'GET /ari/channels',
    headers: { authorization, origin },
    status: 200,
    expected: {},
  },
  {
    what: 'another origin',
    allowed: ['https://other'],
    ask: 'GET /ari/channels',
    headers: { authorization, origin },
    status: 200,
    expected: {},
  },
  {
    what: 'an allowed origin',
    allowed: ['https://other', origin],
    ask: 'GET /ari/channels',
    headers: { authorization, origin },
    status: 200,
    expected: mine,
  },
  {
    what: 'any origin allowed',
    allowed: ['*'],
    ask: 'GET /ari/channels',
    headers: { authorization, origin },
    status: 200,
    expected: mine,
  },
  {
    what: 'an allowed origin and a refusal',
    allowed: ['*'],
    ask: 'GET /ari/nothing',
    headers: { authorization, origin },
    status: 404,
    expected: mine,
  },
  {
    what: 'an allowed origin without credentials',
    allowed: ['*'],
    ask: 'GET /ari/channels',
    headers: { origin },
    status: 401,
    expected: { ...mine, 'www-authenticate': 'Basic realm="Asterisk REST Interface"' },
  },
  {
    what: 'a preflight without credentials',
    allowed: ['*'],
    ask: 'OPTIONS /ari/channels',
    headers: preflight,
    status: 204,
    expected: {
      ...mine,
      'access-control-allow-methods': 'OPTIONS,GET,POST',
      'access-control-allow-headers': 'authorization',
    },
  },
  {
    what: 'a preflight with credentials',
    allowed: ['*'],
    ask: 'OPTIONS /ari/channels',
    headers: { ...preflight, authorization },
    status: 204,
    expected: {
      ...mine,
      allow: 'OPTIONS,GET,POST',
      'access-control-allow-methods': 'OPTIONS,GET,POST',
      'access-control-allow-headers': 'authorization',
    },
  },
  {
    what: 'a preflight that names no headers',
    allowed: ['*'],
    ask: 'OPTIONS /ari/channels',
    headers: { origin, 'access-control-request-method': 'GET' },
    status: 204,
    expected: { ...mine, 'access-control-allow-methods': 'OPTIONS,GET,POST' },
  },
  {
    what: 'a preflight for a method that is not there',
    allowed: ['*'],
    ask: 'OPTIONS /ari/channels',
    headers: { origin, 'access-control-request-method': 'PUT' },
    status: 204,
    expected: mine,
  },
  {
    what: 'a preflight from elsewhere',
    allowed: [origin],
    ask: 'OPTIONS /ari/channels',
    headers: { ...preflight, origin: 'https://x' },
    status: 204,
    expected: {},
  },
  {
    what: 'OPTIONS without credentials where nothing is',
    allowed: [],
    ask: 'OPTIONS /ari/nothing',
    headers: {},
    status: 204,
    expected: {},
  },
  {
    what: 'OPTIONS with wrong credentials',
    allowed: [],
    ask: 'OPTIONS /ari/channels',
    headers: { authorization: 'Basic eDp5' },
    status: 401,
    expected: { 'www-authenticate': 'Basic realm="Asterisk REST Interface"' },
  },
];

const told = [
  'vary',
  'allow',
  'www-authenticate',
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-methods',
  'access-control-allow-headers',
];
for (const { what, allowed, ask, headers, status, expected } of rows) {
  cors(what, async () => {
    const response = await createTestApp(fakes.owners, { allowed_origins: allowed }).ask(ask, { headers });
    assert.is(response.status, status);
    const varies = allowed.length > 0 ? { vary: 'Origin' } : {};
    const found = Object.fromEntries(
      told.flatMap((name) => (response.headers.has(name) ? [[name, response.headers.get(name)]] : [])),
    );
    assert.equal(found, { ...varies, ...expected });
  });
}

type Asked = { what: string; allowed?: string[]; origin?: string; host?: string; refused: boolean };
const asked: Asked[] = [
  { what: 'no origin', refused: false },
  { what: 'the host that is asked', origin: 'http://pbx.example.org:8088', refused: false },
  {
    what: 'that host in capitals',
    origin: 'http://pbx.example.org:8088',
    host: 'PBX.example.org:8088',
    refused: false,
  },
  { what: 'that host behind TLS', origin: 'https://pbx.example.org:8088', refused: false },
  { what: 'that host at the usual port', origin: 'http://pbx.example.org', host: 'pbx.example.org:80', refused: false },
  { what: 'that host, no port named', origin: 'https://pbx.example.org', host: 'pbx.example.org', refused: false },
  { what: 'an address', origin: 'http://[::1]:8088', host: '[::1]:8088', refused: false },
  { what: 'another port of that host', origin: 'http://pbx.example.org:9000', refused: true },
  { what: 'another host', origin: 'https://evil.example.net', refused: true },
  { what: 'a host that begins the same', origin: 'http://pbx.example.org.evil.net:8088', refused: true },
  { what: 'a page without an origin of its own', origin: 'null', refused: true },
  { what: 'nonsense', origin: 'pbx.example.org:8088', refused: true },
  { what: 'a file', origin: 'file://', host: '', refused: true },
  { what: 'an allowed origin', origin, allowed: [origin], refused: false },
  { what: 'any origin allowed', origin: 'null', allowed: ['*'], refused: false },
  { what: 'another one than allowed', origin: 'https://other', allowed: [origin], refused: true },
];
for (const { what, allowed = [], origin: from, host = 'pbx.example.org:8088', refused } of asked) {
  cors(`${what} ${refused ? 'can neither change anything nor open a WebSocket' : 'is no stranger'}`, async () => {
    const app = createTestApp(fakes.owners, { allowed_origins: allowed });
    const headers = { authorization, host, ...(from !== undefined && { origin: from }) };
    const handshake = {
      ...{ upgrade: 'websocket', connection: 'upgrade', 'sec-websocket-version': '13' },
      'sec-websocket-key': 'x'.repeat(22).concat('=='),
    };
    for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const body = type === 'application/json' ? '{}' : 'a=b';
      const response = await app.ask('POST /ari/channels/c1/answer', {
        headers: { ...headers, 'content-type': type },
        body,
      });
      assert.is(response.status, refused ? 403 : 204, type);
    }
    for (const ask of ['POST /ari/channels/c1/answer', 'PUT /ari/mailboxes/m', 'DELETE /ari/channels/c1']) {
      const response = await app.ask(ask, { headers });
      assert.is(response.status, refused ? 403 : 204, ask);
      if (refused)
        assert.equal(await response.json(), { message: 'Pages of this origin are not allowed (http.allowed_origins)' });
    }
    const upgrade = await app.ask('GET /ari/events?app=hello', { headers: { ...headers, ...handshake } });
    // Without a socket nothing can be upgraded; a stranger does not come so far.
    assert.is(upgrade.status, refused ? 403 : 426);
    assert.is((await app.ask('GET /ari/channels', { headers })).status, 200);
  });
}

cors('a stranger is refused whether or not it has credentials', async () => {
  const headers = { host: 'pbx.example.org:8088', origin: 'https://evil.example.net' };
  const response = await createTestApp(fakes.owners).ask('POST /ari/channels/c1/answer', { headers });
  assert.is(response.status, 403);
});

cors.run();
