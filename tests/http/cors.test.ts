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
    const found = Object.fromEntries(
      told.flatMap((name) => (response.headers.has(name) ? [[name, response.headers.get(name)]] : [])),
    );
    assert.equal(found, expected);
  });
}

cors.run();
