import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fixedWords } from '../../src/http/router.ts';
import { apis, ari } from '../../src/http/routes/index.ts';
import { createFakes, createTestApp, json } from './fakes.ts';

const routing = suite('routing');
const fakes = createFakes();
const app = createTestApp(fakes.owners);

routing.before.each(() => {
  fakes.calls.length = 0;
});

const reached: [ask: string, call: unknown[]][] = [
  ['GET /ari/channels/a%2Fb', ['channels.get', 'a/b']],
  ['GET /ari/channels/a+b', ['channels.get', 'a b']],
  ['GET /ari/channels/a%2Bb', ['channels.get', 'a+b']],
  ['GET /ari/channels/%25', ['channels.get', '%']],
  ['GET /ari/channels/%252F', ['channels.get', '%2F']],
  ['GET /ari/channels/%C3%A9%F0%9F%98%80', ['channels.get', 'é😀']],
  ['GET /ari/channels/1700000000.5;2', ['channels.get', '1700000000.5;2']],
  ['GET /ARI/channels', ['channels.list']],
  ['GET /Ari/channels/X', ['channels.get', 'X']],
  ['POST /ari/channels/create', ['channels.create', {}]],
  ['POST /ari/channels/creates', ['channels.originate', { channelId: 'creates' }]],
];
for (const [ask, call] of reached) {
  routing(`${ask} reaches ${call[0]}`, async () => {
    await app.ask(ask);
    assert.equal(fakes.calls, [call]);
  });
}

routing('no channel is given an id that stands for an operation, wherever ids of new channels are given', async () => {
  const words = ['create', 'externalMedia', 'originate'];
  const operations = ari.resources.flatMap((resource) => resource.operations);
  assert.equal([...(fixedWords(operations).get('/channels') ?? [])].sort(), words);
  const asked: string[] = [];
  for (const { method, paths, params, nickname } of operations)
    for (const [name, param] of Object.entries(params)) {
      if (param.newIn === undefined) continue;
      asked.push(`${nickname} ${name}`);
      for (const word of words) {
        const path = (paths[0] ?? '').replace(`{${name}}`, word).replace('{channelId}', 'c1');
        const query = param.in === 'query' ? `?${name}=${word}` : '';
        const answer = await app.ask(`${method} /ari${path}${query}`);
        assert.equal(
          [answer.status, await answer.json()],
          [400, { message: `Parameter '${name}' must be another id: /channels/${word} is an operation` }],
        );
      }
    }
  assert.equal(asked, [
    'externalMedia channelId',
    'originate otherChannelId',
    'originate channelId',
    'create otherChannelId',
    'create channelId',
    'originateWithId otherChannelId',
    'snoopChannel snoopId',
    'snoopChannelWithId snoopId',
  ]);
  assert.equal(fakes.calls, []);
});

routing('words beside variables are words of channels, or technologies, which are no ids', () => {
  assert.equal(
    apis.flatMap(({ base, resources }) =>
      [...fixedWords(resources.flatMap(({ operations }) => operations)).keys()].map((path) => base + path),
    ),
    ['/ari/endpoints', '/ari/channels'],
  );
});

const slash = (path: string) => ({ message: `ARI URLs do not end with a slash. Try ${path}` });
const missing = { message: 'Resource not found' };
const wrongMethod = { message: 'Invalid method' };
const emptySegment = { message: 'The path has an empty segment' };

const refused: [ask: string, status: number, body: object | undefined, allow: string | null][] = [
  ['GET /ari/nothing', 404, missing, null],
  ['GET /ari/channels/a/nothing', 404, missing, null],
  ['GET /ari/channels/create/answer', 404, missing, null],
  ['GET /arix/channels', 404, missing, null],
  ['GET /nothing', 404, missing, null],
  ['GET /ari/channels/', 404, slash('/ari/channels'), null],
  ['GET /ari/nothing/', 404, slash('/ari/nothing'), null],
  ['POST /ari/channels//redirect?endpoint=x', 400, emptySegment, null],
  ['POST /ari//channels', 400, emptySegment, null],
  ['GET /ari', 405, wrongMethod, 'OPTIONS'],
  ['GET /ari/', 405, wrongMethod, 'OPTIONS'],
  ['PUT /ari/channels', 405, wrongMethod, 'OPTIONS,GET,POST'],
  ['PATCH /ari/channels/x', 405, wrongMethod, 'OPTIONS,GET,POST,DELETE'],
  ['HEAD /ari/channels', 405, undefined, 'OPTIONS,GET,POST'],
  ['GET /ari/channels/create', 405, wrongMethod, 'OPTIONS,POST'],
  ['GET /ari/channels/x/answer', 405, wrongMethod, 'OPTIONS,POST'],
  ['POST /ari/events', 405, wrongMethod, 'OPTIONS'],
  ['POST /ari/api-docs/resources.json', 405, { message: 'Unsupported method' }, null],
  ['GET /ari/api-docs/nothing.json', 404, missing, null],
  ['GET /ari/api-docs/..%2Fpackage.json', 404, missing, null],
];
for (const [ask, status, body, allow] of refused) {
  routing(`${ask} is ${status}`, async () => {
    const response = await app.ask(ask);
    assert.is(response.status, status);
    assert.is(response.headers.get('allow'), allow);
    if (body) assert.equal(await response.json(), body);
    else assert.is(await response.text(), '');
    assert.equal(fakes.calls, []);
  });
}

routing('OPTIONS tells what a path can do', async () => {
  const allowed: [string, number, string | null][] = [
    ['/channels', 204, 'OPTIONS,GET,POST'],
    ['/channels/x/ring', 204, 'OPTIONS,POST,DELETE'],
    ['/events', 204, 'OPTIONS'],
    ['', 204, 'OPTIONS'],
    ['/nothing', 404, null],
  ];
  for (const [path, status, allow] of allowed) {
    const response = await app.ask(`OPTIONS /ari${path}`);
    assert.is(response.status, status, path);
    assert.is(response.headers.get('allow'), allow, path);
  }
});

routing('a body that is too long is 413 and ends the connection, also before credentials', async () => {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  const exact = JSON.stringify({ a: 'x'.repeat(40_960 - 8) });
  assert.is((await app.ask('POST /ari/channels/x/answer', { headers: json, body: exact })).status, 204);
  const response = await app.ask('POST /ari/channels/x/answer', { headers, body: `${exact} ` });
  assert.is(response.status, 413);
  assert.is(response.headers.get('connection'), 'close');
  assert.equal(await response.json(), { message: 'Request body too large' });
});

routing('a body that cannot be read is 400, also before credentials', async () => {
  const response = await app.ask('POST /ari/nothing', { headers: { 'content-type': 'Application/JSON' }, body: '{' });
  assert.is(response.status, 400);
  assert.equal(await response.json(), { message: 'Error parsing request body' });
});

routing('a body of another kind and an empty one are ignored', async () => {
  const text = await app.ask('POST /ari/channels/x/answer', {
    headers: { ...json, 'content-type': 'text/plain' },
    body: '{',
  });
  assert.is(text.status, 204);
  assert.is((await app.ask('POST /ari/channels/x/answer', { headers: json, body: '' })).status, 204);
});

routing.run();
