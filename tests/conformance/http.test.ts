import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Case, check, type Expected, runAll, shownVariables, usesTarget } from '../support/conformance-cases.ts';
import type { Answer, AskOptions, Client } from '../support/conformance-client.ts';

const test = suite('HTTP, asked from outside');
let client: Client;

usesTarget(test, (own) => {
  client = own;
});

const cases = (title: string, list: readonly Case[]) => test(title, () => runAll(client, {}, list));

const json = (body: string, type = 'application/json'): AskOptions => ({ raw: { type, body } });
const nobody: AskOptions = { credentials: null };
const unauthorized: Expected = { status: 401, message: 'Authentication required' };
const tooLarge: Expected = { status: 413, message: 'Request body too large' };
const unreadable: Expected = { status: 400, message: 'Error parsing request body' };
const nowhere: Expected = { status: 404, message: 'Resource not found' };
const slashed = (path: string): Expected => ({
  status: 404,
  message: `ARI URLs do not end with a slash. Try /ari/${path}`,
});
const wrongMethod: Expected = { status: 405, message: 'Invalid method' };
const nobodyThere: Expected = { status: 404, message: 'Channel not found' };

/* ---- 1.1 Order of checks ---------------------------------------------------------------------------------------------- */

cases('a body that is too long or cannot be read comes before everything else', [
  { ask: 'POST /nowhere/', with: { ...json('{'), ...nobody }, ...unreadable },
  { ask: 'PATCH /channels', with: { ...json('[1,'), ...nobody }, ...unreadable },
  {
    ask: 'POST /channels',
    with: { ...json('nonsense', 'Application/JSON; charset=utf-8'), ...nobody },
    ...unreadable,
  },
  {
    ask: 'POST /channels',
    with: { ...json('nonsense', 'application/json ; charset=utf-8'), ...nobody },
    ...unreadable,
    difference: { why: 'a space before the parameters of a content type', ...unauthorized },
  },
  { ask: 'POST /channels', with: { ...json(`"${'x'.repeat(40_960)}"`), ...nobody }, ...tooLarge },
  { ask: 'POST /nowhere', with: { form: `a=${'x'.repeat(40_960)}`, ...nobody }, ...tooLarge },
]);

test('a body without a length is refused once it is too long', async () => {
  const headers = { 'transfer-encoding': 'chunked' };
  const long = { raw: { type: 'application/json', body: `"${'x'.repeat(40_960)}"`, headers } };
  check(await client.ask('POST /channels', long), tooLarge, 'chunked');
  const short = { raw: { type: 'application/json', body: '{"endpoint":"nothing","app":"x"}', headers } };
  check(await client.ask('POST /channels', short), { status: 400, message: 'Invalid endpoint specified' }, 'chunked');
});

cases('a body of exactly the limit, and one of no kind that is read, are taken', [
  { ask: 'POST /channels', with: json(JSON.stringify({ a: 'x'.repeat(40_960 - 8) })), status: 400 },
  {
    ask: 'POST /channels?endpoint=nothing&app=x',
    with: json('{', 'text/plain'),
    status: 400,
    message: 'Invalid endpoint specified',
  },
  {
    ask: 'POST /channels?endpoint=nothing&app=x',
    with: json('{', 'application/jsonx'),
    status: 400,
    message: 'Invalid endpoint specified',
  },
  {
    ask: 'POST /channels?endpoint=nothing&app=x',
    with: { raw: { body: '{' } },
    status: 400,
    message: 'Invalid endpoint specified',
  },
]);

cases('a GET may have a body, too', [
  { ask: 'GET /asterisk/info', with: { json: { only: ['nothing'] } }, status: 200, body: {} },
  { ask: 'GET /asterisk/info', with: { form: 'only=nothing' }, status: 200, body: {} },
  { ask: 'GET /asterisk/info?only=build', with: { json: { only: 'nothing' } }, status: 200, body: {} },
  { ask: 'GET /asterisk/info?only=nothing', with: { form: 'only=build' }, status: 200, body: {} },
  { ask: 'GET /asterisk/info?only=nothing', with: json(''), status: 200, body: {} },
  { ask: 'GET /asterisk/info', with: json('{'), ...unreadable },
  { ask: 'GET /asterisk/info', with: { ...json('{'), ...nobody }, ...unreadable },
  { ask: 'GET /asterisk/info', with: json(`"${'x'.repeat(40_960)}"`), ...tooLarge },
]);

cases('credentials are asked for before the path is looked at', [
  { ask: 'GET /nowhere/', with: nobody, ...unauthorized },
  { ask: 'PATCH /channels', with: nobody, ...unauthorized },
  { ask: 'GET /api-docs/resources.json', with: nobody, ...unauthorized },
  { ask: 'GET /channels', with: { credentials: 'nobody:nothing' }, ...unauthorized },
  { ask: 'GET /channels', with: { credentials: null, headers: { authorization: 'Bearer abc' } }, ...unauthorized },
]);

test('a 401 names the realm', async () => {
  const { headers } = await client.ask('GET /channels', nobody);
  assert.match(String(headers['www-authenticate']), /^Basic realm="[^"]+"$/);
});

const encode = (credentials: string): string => Buffer.from(credentials).toString('base64');

test('credentials may be an api_key of the query or of a form, and a Basic header wins over it', async () => {
  const { credentials } = client.target;
  const key = encodeURIComponent(credentials);
  const header = (value: string) => ({ credentials: null, headers: { authorization: value } });
  const ping = (query: string, options: AskOptions) => client.ask(`GET /asterisk/ping${query}`, options);
  const statuses = await Promise.all(
    [
      ping(`?api_key=${key}`, nobody),
      ping('?api_key=nobody:nothing', nobody),
      ping('?api_key=nobody', nobody),
      ping('?api_key=nobody:', nobody),
      ping(`?api_key=${key}`, { credentials: 'nobody:nothing' }),
      ping('?api_key=nobody:nothing', {}),
      ping(`?api_key=${key}`, header('Bearer abc')),
      ping('', header(`basic ${encode(credentials)}`)),
      ping(`?api_key=${key}`, header(`basic ${encode('nobody:nothing')}`)),
      client.ask('DELETE /channels/nobody', { form: `api_key=${key}`, credentials: null }),
      client.ask('DELETE /channels/nobody', { json: { api_key: credentials }, credentials: null }),
    ].map(async (answer) => (await answer).status),
  );
  assert.equal(statuses, [200, 401, 401, 401, 401, 200, 200, 401, 200, 404, 401]);
});

test('who may only look is refused everything else, before the path is looked at', async () => {
  const { reader } = client.target;
  if (reader === undefined) return;
  const denied = { status: 403, message: 'Write access denied' };
  const asked: [string, Expected][] = [
    ['GET /channels', { status: 200 }],
    ['OPTIONS /channels', { status: 204 }],
    ['GET /nowhere/', slashed('nowhere')],
    ['POST /nowhere/', denied],
    ['PATCH /channels', denied],
    ['DELETE /channels/nobody', denied],
    ['PUT /deviceStates/Stasis:x?deviceState=BUSY', denied],
  ];
  for (const [line, expected] of asked) check(await client.ask(line, { credentials: reader }), expected, line);
});

cases('paths: a slash at the end, nothing there, in any case of letters', [
  { ask: 'GET /channels/', ...slashed('channels') },
  { ask: 'PATCH /channels/x/', ...slashed('channels/x') },
  { ask: 'GET /nowhere/', ...slashed('nowhere') },
  { ask: 'GET /nowhere', ...nowhere },
  { ask: 'GET /channels/x/nothing', ...nowhere },
  { ask: 'GET /Channels', ...nowhere },
  { ask: 'GET /channels/nobody/variable/x', ...nowhere },
]);

test('the base path is known in any case of letters, but is no beginning of a word', async () => {
  const { url } = client.target;
  const other = (path: string) =>
    fetch(url.replace(/\/ari$/, path), { headers: { authorization: `Basic ${encode(client.target.credentials)}` } });
  assert.is((await other('/ARI/channels')).status, 200);
  assert.is((await other('/arix/channels')).status, 404);
  // Ours serves a page there.
  assert.is((await other('/')).status, client.target.ours ? 200 : 404);
});

cases('methods that are not there are refused, with those that are', [
  { ask: 'PUT /channels', ...wrongMethod },
  { ask: 'PATCH /channels', ...wrongMethod },
  { ask: 'FROBNICATE /channels', with: { fresh: true }, ...wrongMethod },
  // Elsewhere a body follows, which is read as the beginning of the next answer.
  { ask: 'HEAD /channels', status: 405, oursAlone: true },
  { ask: 'GET /channels/nobody/answer', ...wrongMethod },
  { ask: 'POST /events', ...wrongMethod },
  { ask: 'DELETE /applications/x', ...wrongMethod },
]);

const allow: readonly [string, string][] = [
  ['/channels', 'OPTIONS,GET,POST'],
  ['/channels/nobody', 'OPTIONS,GET,POST,DELETE'],
  ['/channels/create', 'OPTIONS,POST'],
  ['/channels/nobody/variable', 'OPTIONS,GET,POST'],
  ['/channels/nobody/hold', 'OPTIONS,POST,DELETE'],
  ['/channels/nobody/answer', 'OPTIONS,POST'],
  ['/playbacks/nobody', 'OPTIONS,GET,DELETE'],
  ['/applications', 'OPTIONS,GET'],
  ['/applications/nobody/subscription', 'OPTIONS,POST,DELETE'],
  ['/applications/nobody/eventFilter', 'OPTIONS,PUT'],
  ['/deviceStates/nobody', 'OPTIONS,GET,PUT,DELETE'],
  ['/asterisk/ping', 'OPTIONS,GET'],
  ['/asterisk/modules/x', 'OPTIONS,GET,POST,PUT,DELETE'],
  ['/events', 'OPTIONS'],
];
test('OPTIONS tells what a path takes, and so does a 405', async () => {
  for (const [path, verbs] of allow) {
    for (const method of ['OPTIONS', 'PATCH']) {
      const answer = await client.ask(`${method} ${path}`);
      assert.is(answer.status, method === 'OPTIONS' ? 204 : 405, `${method} ${path}`);
      assert.is(answer.headers['allow'], verbs, `${method} ${path}`);
    }
  }
});

test('the base itself takes nothing', async () => {
  for (const path of ['', '/']) {
    const answer = await client.ask(`GET ${path}`);
    check(answer, wrongMethod, path);
    assert.is(answer.headers['allow'], 'OPTIONS');
  }
});

const emptySegment = (field: Expected) => ({
  status: 400,
  message: 'The path has an empty segment',
  difference: { why: 'empty path segment', ...field },
});
cases('an empty segment is no segment', [
  { ask: 'POST /channels//redirect?endpoint=x', ...emptySegment({ status: 400 }) },
  { ask: 'GET /channels//variable?variable=x', ...emptySegment({ status: 200 }) },
]);

cases('a segment is decoded after the path was split', [
  { ask: 'GET /channels/a%2Fb', ...nobodyThere },
  { ask: 'GET /channels/a%2Fvariable', ...nobodyThere },
  { ask: 'GET /channels/%00', ...nobodyThere },
  { ask: 'GET /channels/a%ZZ', ...nobodyThere },
  { ask: 'GET /channels/%FF', ...nobodyThere },
]);

test('an id comes back as it was sent, whatever characters it has', async () => {
  for (const id of ['a/b', 'a b', 'a+b', 'ä;1', 'a%b', 'a?b&c=d', '..', 'create ', '日本語']) {
    const unique = client.unique(id);
    const path = `/channels/${encodeURIComponent(unique)}`;
    const made = await client.must(`POST ${path}?endpoint=Local/silent@conformance&app=x`);
    assert.is(made['id'], unique);
    assert.is((await client.must(`GET ${path}`))['id'], unique);
    assert.is((await client.must(`GET ${path.replaceAll('%20', '+')}`))['id'], unique);
    await client.must(`DELETE ${path}`);
  }
});

test('literal segments win over ids', async () => {
  const answer = await client.ask('POST /channels/create?endpoint=x');
  assert.is(answer.status, 400);
  check(await client.ask('GET /channels/create'), wrongMethod, 'GET /channels/create');
});

/* ---- 1.2 Headers ------------------------------------------------------------------------------------------------------- */

test('every answer has the headers of Asterisk', async () => {
  const about = (answer: Answer) => [
    typeof answer.headers['server'],
    answer.headers['cache-control'],
    Number.isNaN(Date.parse(String(answer.headers['date']))),
    answer.headers['content-type'],
  ];
  const type = 'application/json';
  assert.equal(about(await client.ask('GET /channels')), ['string', 'no-cache, no-store', false, type]);
  assert.equal(about(await client.ask('GET /nowhere')), ['string', 'no-cache, no-store', false, type]);
  const nothing = ['string', 'no-cache, no-store', false, undefined];
  assert.equal(about(await client.ask('OPTIONS /channels')), nothing);
});

/* ---- 1.4 CORS ---------------------------------------------------------------------------------------------------------- */

test('a page of an allowed origin may read every answer, one of another none', async () => {
  const { origin } = client.target;
  if (origin === undefined) return;
  for (const line of ['GET /channels', 'GET /nowhere', 'PATCH /channels', 'POST /channels', 'OPTIONS /channels']) {
    const { headers } = await client.ask(line, { headers: { origin } });
    assert.is(headers['access-control-allow-origin'], origin, line);
    assert.is(headers['access-control-allow-credentials'], 'true', line);
    const other = await client.ask(line, { headers: { origin: 'https://elsewhere.example.org' } });
    assert.is(other.headers['access-control-allow-origin'], undefined, line);
    assert.is(other.headers['access-control-allow-credentials'], undefined, line);
    assert.is((await client.ask(line)).headers['access-control-allow-origin'], undefined, line);
  }
  const { headers } = await client.ask('GET /channels', { headers: { origin }, credentials: null });
  assert.is(headers['access-control-allow-origin'], origin);
});

test('a preflight is told the methods there are, and the headers it named', async () => {
  const { origin } = client.target;
  if (origin === undefined) return;
  const preflight = async (method: string, named?: string, options: AskOptions = {}) => {
    const headers = {
      origin,
      'Access-Control-Request-Method': method,
      ...(named && { 'Access-Control-Request-Headers': named }),
    };
    const answer = await client.ask('OPTIONS /channels', { ...options, headers });
    assert.is(answer.status, 204);
    return [
      answer.headers['access-control-allow-methods'],
      answer.headers['access-control-allow-headers'],
      answer.headers['allow'],
    ];
  };
  const verbs = 'OPTIONS,GET,POST';
  assert.equal(await preflight('POST'), [verbs, undefined, verbs]);
  assert.equal(await preflight('POST', 'x-one, x-two'), [verbs, 'x-one, x-two', verbs]);
  assert.equal(await preflight('DELETE', 'x-one'), [undefined, undefined, verbs]);
  // Browsers send no credentials then; what the path takes is told to allowed origins alone.
  if (client.target.ours)
    assert.equal(await preflight('POST', 'authorization', nobody), [verbs, 'authorization', undefined]);
});

cases('OPTIONS without credentials tells nothing', [
  {
    ask: 'OPTIONS /channels',
    with: nobody,
    status: 204,
    difference: { why: 'OPTIONS without credentials', ...unauthorized },
  },
  {
    ask: 'OPTIONS /nowhere',
    with: nobody,
    status: 204,
    difference: { why: 'OPTIONS without credentials', ...unauthorized },
  },
  { ask: 'OPTIONS /channels', with: { credentials: 'nobody:nothing' }, ...unauthorized },
  { ask: 'OPTIONS /nowhere', ...nowhere },
]);

/* ---- 1.6 Parameters ---------------------------------------------------------------------------------------------------- */

/** An operation of a playback that is refused says what was read. */
const operation = (word: string): Expected => ({ status: 400, message: `Invalid operation ${word}` });
const control = 'POST /playbacks/nobody/control';

cases('of a form, the query and a JSON body the last wins; the path is what it is', [
  { ask: `${control}?operation=query`, ...operation('query') },
  { ask: control, with: { form: 'operation=form' }, ...operation('form') },
  { ask: `${control}?operation=query`, with: { form: 'operation=form' }, ...operation('query') },
  { ask: control, with: { json: { operation: 'json' } }, ...operation('json') },
  { ask: `${control}?operation=query`, with: { json: { operation: 'json' } }, ...operation('json') },
  { ask: `${control}?operation=query`, with: { json: { playbackId: 'other' } }, ...operation('query') },
  { ask: `${control}?operation=first&operation=last`, ...operation('last') },
  { ask: `${control}?operation=a+b%20c%2Bd`, ...operation('a b c+d') },
  { ask: `${control}?operation=%C3%A4&unknown=1`, ...operation('ä') },
  { ask: `${control}?Operation=x`, status: 400, message: 'Missing operation' },
  { ask: control, with: json('{"operation":"json"}', 'application/json; charset=utf-8'), ...operation('json') },
  { ask: control, with: json('operation=form', 'APPLICATION/x-www-form-urlencoded'), ...operation('form') },
]);

cases('a JSON value of the wrong type is no value', [
  { ask: control, with: { json: { operation: 1 } }, status: 400, message: 'Missing operation' },
  { ask: control, with: { json: { operation: null } }, status: 400, message: 'Missing operation' },
  { ask: control, with: { json: { operation: { a: 1 } } }, status: 400, message: 'Missing operation' },
  { ask: control, with: { json: [] }, status: 400, message: 'Missing operation' },
  { ask: control, with: { json: 'operation' }, ...unreadable },
  { ask: control, with: json('5'), ...unreadable },
  { ask: control, with: json('null'), ...unreadable },
]);

test('lists are split at commas outside quotes, parentheses and brackets', async () => {
  const app = await client.connect(client.unique('lists'));
  const unsubscribe = (list: string) =>
    `DELETE /applications/${app.name}/subscription?eventSource=${encodeURIComponent(list)}`;
  const subscribe = (list: string, options: AskOptions = {}) =>
    client.ask(`POST /applications/${app.name}/subscription?eventSource=${encodeURIComponent(list)}`, options);
  const devices: [string, string[]][] = [
    ['deviceState:a,deviceState:b', ['a', 'b']],
    ['"deviceState:a,b",deviceState:c', ['a,b', 'c']],
    ['deviceState:a(1,2),deviceState:b[3,4]', ['a(1,2)', 'b[3,4]']],
    ['deviceState:a\\,b', ['a,b']],
    ['deviceState: a ', [' a ']],
    ['deviceState:a,deviceState:a', ['a']],
  ];
  for (const [list, names] of devices) {
    const answer = await subscribe(list);
    assert.is(answer.status, 200, list);
    assert.equal((answer.body as { device_names: string[] }).device_names.sort(), names, list);
    // Asterisk does not count subscriptions to devices.
    const twice = list === 'deviceState:a,deviceState:a' && !client.target.ours;
    check(await client.ask(unsubscribe(list)), { status: twice ? 422 : 200 }, list);
  }
  const json = async (eventSource: unknown) => subscribe('deviceState:query', { json: { eventSource } });
  const names = async (answer: Promise<Answer>) =>
    ((await answer).body as { device_names: string[] }).device_names.sort();
  assert.equal(await names(json(['deviceState:a,b', 'deviceState:c'])), ['a,b', 'c']);
  assert.equal(await names(json('deviceState:d,e')), ['a,b', 'c', 'd,e']);
  // Nothing before the item that is wrong is taken back.
  const wrong = { status: 400, message: 'Invalid event source URI scheme' };
  check(await subscribe('deviceState:f,deviceState:g,'), wrong, 'a comma at the end');
  check(await subscribe(' deviceState:h'), wrong, 'items are not trimmed');
  check(await subscribe('nonsense,deviceState:i'), wrong, 'the first item that is wrong decides');
  assert.equal(await names(client.ask(`GET /applications/${app.name}`)), ['a,b', 'c', 'd,e', 'f', 'g']);
  await app.close();
});

cases('a list has at most 127 items', [
  {
    ask: `POST /channels/nobody/play?media=${'sound:a,'.repeat(127)}sound:a`,
    status: 400,
    message: 'Too many values for media',
  },
  {
    ask: `POST /applications/nobody/subscription?eventSource=${','.repeat(127)}`,
    status: 400,
    message: 'Too many values for event_source',
  },
  { ask: `POST /channels/nobody/play?media=${'sound:a,'.repeat(126)}sound:a`, ...nobodyThere },
]);

test('words of truth are true in any case of letters, everything else is false', async () => {
  const id = client.unique('truth');
  const app = await client.connect(client.unique('truth'));
  await client.must(`POST /channels/create?channelId=${id}&endpoint=Local/silent@conformance&app=${app.name}`);
  await app.wait('StasisStart');
  const shown = async (word: string, options: AskOptions = {}) => {
    await client.must(`POST /channels/${id}/variable?variable=V&value=1&report_events=${word}`, options);
    return (await shownVariables(client, id))?.['V'] === '1';
  };
  for (const word of ['yes', 'TRUE', 'y', 'T', '1', 'On']) assert.is(await shown(word), true, word);
  for (const word of ['no', 'false', '0', '', '2', 'yes '])
    assert.is(await shown(encodeURIComponent(word)), false, word);
  assert.is(await shown('0', { json: { report_events: true } }), true);
  for (const value of ['true', 1, null]) assert.is(await shown('1', { json: { report_events: value } }), false);
  await client.must(`DELETE /channels/${id}`);
  await app.about(id, 'ChannelDestroyed');
  await app.close();
});

test('a missing or garbled number is 0', async () => {
  if (!(await client.has('/mailboxes'))) return;
  const name = client.unique('counts');
  const box = async (query: string, options: AskOptions = {}) => {
    await client.must(`PUT /mailboxes/${name}${query}`, options);
    const { old_messages, new_messages } = await client.must(`GET /mailboxes/${name}`);
    return [old_messages, new_messages];
  };
  assert.equal(await box('?oldMessages=3&newMessages=4abc'), [3, 4]);
  assert.equal(await box('?oldMessages=abc'), [0, 0]);
  assert.equal(await box('?oldMessages=+5&newMessages=%207'), [5, 7]);
  assert.equal(await box('', { json: { oldMessages: 6, newMessages: '7' } }), [6, 0]);
  assert.equal(await box('', { json: { oldMessages: 6.5, newMessages: true } }), [0, 0]);
  assert.equal(await box('', { form: 'oldMessages=8&newMessages=9' }), [8, 9]);
  await client.must(`DELETE /mailboxes/${name}`);
});

test.run();
