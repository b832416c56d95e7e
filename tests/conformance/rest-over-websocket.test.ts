import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { usesTarget } from '../support/conformance-cases.ts';
import type { App, Client, Message } from '../support/conformance-client.ts';
import { eventMisfits } from '../support/conformance-surface.ts';

const test = suite('REST over the WebSocket, asked from outside');
let client: Client;
let app: App;

usesTarget(test, async (own) => {
  client = own;
  app = await client.connect([client.unique('first'), client.unique('second')]);
});

/** What an answer says, without what delivery adds. */
function said({ type, application, timestamp, asterisk_id, message_body, ...rest }: Message): Record<string, unknown> {
  assert.is(type, 'RESTResponse');
  assert.is(application, app.name);
  assert.type(timestamp, 'string');
  assert.type(asterisk_id, 'string');
  if (message_body === undefined) return rest;
  return { ...rest, message_body: JSON.parse(String(message_body)) };
}

const refused = (message: string) => ({
  status_code: 400,
  reason_phrase: 'Bad request',
  content_type: 'application/json',
  message_body: { message },
});
const ids = { transaction_id: 't1', request_id: 'r1' };
const without = (message: string, uri = '') => ({ ...refused(message), ...ids, uri });
const good = { type: 'RESTRequest', ...ids, method: 'GET', uri: 'channels' };

/** A frame, and what is said to it; each is wrong in every way that is looked at later. */
const rows: readonly [unknown, Record<string, unknown>][] = [
  [ids, without("No 'type' property.")],
  [{ ...ids, type: 1, uri: 'x' }, without("No 'type' property.")],
  [{ ...ids, type: 'What', uri: 'x' }, without('Unknown request type.')],
  [{ ...ids, type: 'What' }, without('Unknown request type.')],
  [{ ...ids, type: 'RESTRequest' }, without("Empty or missing 'uri' property.")],
  [{ ...good, uri: '', method: 'get' }, without("Empty or missing 'uri' property.")],
  [{ ...good, uri: 5 }, without("Empty or missing 'uri' property.")],
  [{ ...good, method: 'get', query_strings: 1 }, without("Unknown or missing 'method' property.", 'channels')],
  [{ ...good, method: 'PATCH' }, without("Unknown or missing 'method' property.", 'channels')],
  [{ ...good, method: undefined }, without("Unknown or missing 'method' property.", 'channels')],
  [
    { ...good, query_strings: [{}], message_body: '{', content_type: 'x' },
    without("Unable to parse 'query_strings' array.", 'channels'),
  ],
  [{ ...good, query_strings: [{ name: 'a' }] }, without("Unable to parse 'query_strings' array.", 'channels')],
  [{ ...good, query_strings: ['a=b'] }, without("Unable to parse 'query_strings' array.", 'channels')],
  [{ ...good, message_body: '{' }, without("No 'content_type' for 'message_body'.", 'channels')],
  [
    { ...good, message_body: '{', content_type: 'application/json' },
    without("Unable to parse 'message_body' as 'application/json'.", 'channels'),
  ],
  [
    { ...good, message_body: '"text"', content_type: 'application/json' },
    without("Unable to parse 'message_body' as 'application/json'.", 'channels'),
  ],
  [{ ...good, message_body: '{}', content_type: 'text/plain' }, without('Unknown content type.', 'channels')],
  [
    { ...good, message_body: '{}', content_type: 'application/json; charset=utf-8' },
    without('Unknown content type.', 'channels'),
  ],
  [{ ...good, uri: 'events?app=x' }, without("Can't upgrade to websocket from a websocket", 'events')],
  [
    { ...good, uri: 'channels/nobody?x=1' },
    {
      ...ids,
      uri: 'channels/nobody',
      status_code: 404,
      reason_phrase: 'Not Found',
      content_type: 'application/json',
      message_body: { message: 'Channel not found' },
    },
  ],
  [
    { ...good, uri: 'channels/' },
    {
      ...ids,
      uri: 'channels/',
      status_code: 404,
      reason_phrase: 'Not Found',
      content_type: 'application/json',
      message_body: { message: 'ARI URLs do not end with a slash. Try /ari/channels' },
    },
  ],
  [
    { ...good, uri: 'channels/nobody/variable', query_strings: [{ name: 'variable', value: 'A B&C' }] },
    {
      ...ids,
      uri: 'channels/nobody/variable',
      status_code: 404,
      reason_phrase: 'Channel Not Found',
      content_type: 'application/json',
      message_body: { message: 'Provided channel was not found' },
    },
  ],
  [
    { ...good, method: 'OPTIONS' },
    { ...ids, uri: 'channels', status_code: 204, reason_phrase: 'No Content' },
  ],
  [
    { ...good, uri: 'channels', method: 'GET' },
    {
      ...ids,
      uri: 'channels',
      status_code: 200,
      reason_phrase: 'OK',
      content_type: 'application/json',
      message_body: [],
    },
  ],
];

test('each frame gets the answer of Asterisk', async () => {
  for (const [frame, expected] of rows) {
    const answer = await app.tell(JSON.stringify(frame));
    assert.equal(said(answer), expected, JSON.stringify(frame));
    assert.equal(eventMisfits(answer), [], JSON.stringify(frame));
  }
});

test('a frame that is no JSON object is answered, and the socket stays', async () => {
  assert.equal(said(await app.tell('[]')), {
    ...refused("No 'type' property."),
    transaction_id: '',
    request_id: '',
    uri: '',
  });
  for (const text of ['', '{', 'nonsense', '"text"', '5', 'null', '\u0000', '{"type":']) {
    assert.equal(said(await app.tell(text)), {
      transaction_id: '',
      request_id: '',
      uri: '',
      status_code: 400,
      reason_phrase: 'Failed to parse request message JSON',
    });
  }
  assert.is((await app.rest({ method: 'GET', uri: 'asterisk/ping' }))['status_code'], 200);
});

test('a binary frame is not answered', async () => {
  app.socket.send(Buffer.from(JSON.stringify(good)));
  const answer = await app.rest({ ...ids, request_id: 'after', method: 'GET', uri: 'asterisk/ping' });
  assert.is(answer['request_id'], 'after');
});

test('parameters come by query_strings, by the uri, as a form and as JSON', async () => {
  if (!(await client.has('/mailboxes'))) return;
  const name = client.unique('box');
  const box = async (request: Record<string, unknown>) => {
    const put = await app.rest({ method: 'PUT', uri: `mailboxes/${name}`, ...request });
    assert.is(put['status_code'], 204, JSON.stringify(put));
    const { message_body } = await app.rest({ method: 'GET', uri: `mailboxes/${name}` });
    const { old_messages, new_messages } = JSON.parse(String(message_body)) as Record<string, number>;
    return [old_messages, new_messages];
  };
  const pair = (name: string, value: string) => ({ name, value });
  const json = { content_type: 'application/json', message_body: '{"oldMessages":5}' };
  const form = { content_type: 'application/x-www-form-urlencoded', message_body: 'oldMessages=6&newMessages=7' };
  assert.equal(await box({ query_strings: [pair('oldMessages', '1'), pair('newMessages', '2')] }), [1, 2]);
  assert.equal(await box({ uri: `mailboxes/${name}?oldMessages=3&newMessages=4` }), [3, 4]);
  assert.equal(await box({ query_strings: [pair('newMessages', '8')], ...json }), [5, 8]);
  assert.equal(await box(form), [6, 7]);
  await app.rest({ method: 'DELETE', uri: `mailboxes/${name}` });
});

test('requests are answered in order, whatever they are', async () => {
  const first = app.messages.length;
  const wanted = Array.from({ length: 100 }, (_, at) => `order-${at}`);
  for (const [at, request_id] of wanted.entries())
    app.send(at % 3 === 0 ? { request_id } : { ...good, request_id, uri: at % 2 ? 'channels' : 'nowhere' });
  await app.wait('RESTResponse', ({ request_id }) => request_id === 'order-99');
  const answered = app.messages.slice(first).map(({ request_id }) => request_id);
  assert.equal(answered, wanted);
});

test('a request as large as a frame may be is answered, a larger one ends the socket', async () => {
  const own = await client.connect(client.unique('large'));
  const request = (length: number) => JSON.stringify({ ...good, request_id: 'x'.repeat(length) });
  const overhead = request(0).length;
  // Asterisk counts the head of the frame, too.
  const largest = client.target.ours ? 65_535 : 65_520;
  const answer = await own.tell(request(largest - overhead));
  assert.is(answer['status_code'], 200);
  own.send(request(65_536 - overhead));
  const { code } = await own.closed;
  if (client.target.ours) assert.is(code, 1009);
  await client.gone(own.name);
});

test('who may only look may only look here, too', async () => {
  const { reader } = client.target;
  if (reader === undefined) return;
  const own = await client.connect(client.unique('reader'), '', reader);
  assert.is((await own.rest({ method: 'GET', uri: 'channels' }))['status_code'], 200);
  const { status_code, message_body } = await own.rest({ method: 'POST', uri: 'channels?endpoint=x' });
  assert.equal([status_code, message_body], [403, '{"message":"Write access denied"}']);
  await own.close();
});

test('an api_key lets in, for the requests inside as well', async () => {
  const own = await client.connect(
    client.unique('key'),
    `&api_key=${encodeURIComponent(client.target.credentials)}`,
    null,
  );
  assert.is((await own.rest({ method: 'GET', uri: 'channels' }))['status_code'], 200);
  assert.is((await own.rest({ method: 'DELETE', uri: 'channels/nobody' }))['status_code'], 404);
  await own.close();
});

test.run();
