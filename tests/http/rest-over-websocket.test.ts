import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createRestOverWebSocket } from '../../src/http/rest-over-websocket.ts';
import { createCheck } from '../../src/http/router.ts';
import { createLogger } from '../../src/lib/log.ts';
import { RESTResponse } from '../../src/models/websocket-messages.ts';
import { anyCodePoint } from '../support/any-text.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { authorization, basic, createFakes, createTestApp, samples } from './fakes.ts';

const carried = suite('REST over the WebSocket');
const fakes = createFakes();
const check = createCheck(RESTResponse);

type Answer = Record<string, unknown>;

/** A socket's REST interface, and the answers it gives. */
function open({ authorization: as = authorization, pretty = false } = {}) {
  const clock = new ManualClock();
  const { app } = createTestApp(fakes.owners, { pretty }, clock);
  const answers: Answer[] = [];
  const waiting: ((answer: Answer) => void)[] = [];
  const flow: string[] = [];
  const rest = createRestOverWebSocket({
    app,
    clock,
    log: createLogger({ level: 'silent' }),
    entityId: '02:00:00:00:00:01',
    application: 'hello',
    authorization: as,
    raw: { pause: () => flow.push('pause'), resume: () => flow.push('resume') },
    send: (json) => {
      const answer = JSON.parse(json);
      assert.is(check(answer), undefined);
      const next = waiting.shift();
      if (next) next(answer);
      else answers.push(answer);
    },
  });
  const next = (): Promise<Answer> => {
    const answer = answers.shift();
    return answer ? Promise.resolve(answer) : new Promise((resolve) => waiting.push(resolve));
  };
  return {
    rest,
    flow,
    next,
    ask: (message: unknown) => {
      rest.take(typeof message === 'string' ? message : JSON.stringify(message));
      return next();
    },
  };
}

const request = { type: 'RESTRequest', transaction_id: 't1', request_id: 'r1', method: 'GET' };

carried('a GET may have a body', async () => {
  const { ask } = open();
  const asked = async (content_type: string, message_body: string) => {
    fakes.calls.length = 0;
    await ask({ ...request, uri: 'asterisk/info', content_type, message_body });
    return fakes.calls;
  };
  assert.equal(await asked('application/json', '{"only":["status"]}'), [['system.info', ['status']]]);
  assert.equal(await asked('application/x-www-form-urlencoded', 'only=build,status'), [
    ['system.info', ['build', 'status']],
  ]);
});

carried.before.each(() => {
  fakes.calls.length = 0;
  fakes.instead = undefined;
});

carried('members stand for the headers Idempotency-Key and If-State', async () => {
  const { ask } = open();
  const answer = { ...request, method: 'POST', uri: 'channels/c1/answer' };
  const { status_code, message_body } = await ask({ ...answer, if_state: 'Ring' });
  assert.equal([status_code, fakes.calls.map(([method]) => method)], [412, ['channels.get']], String(message_body));
  assert.is((await ask({ ...answer, if_state: 'Up' })).status_code, 204);
  // Answers are not kept by this test's server: the key means nothing there.
  assert.is((await ask({ ...answer, idempotency_key: 'k1' })).status_code, 204);
});

carried('what a request puts off until its answer is on the way is done before the next request', async () => {
  const { rest, next } = open();
  const done: string[] = [];
  fakes.instead = (method) => {
    done.push(method);
    new ManualClock().soon(() => done.push(`${method} later`));
    return samples.channel;
  };
  for (const uri of ['channels/c1', 'channels/c2']) rest.take(JSON.stringify({ ...request, uri }));
  await next();
  await next();
  assert.equal(done.slice(0, 3), ['channels.get', 'channels.get later', 'channels.get']);
});

carried('a request gets the answer of the same operation over HTTP', async () => {
  const answer = await open().ask({ ...request, uri: 'channels/c1?x=y' });
  assert.match(String(answer['timestamp']), /^1970-01-01T|^19|^20/);
  assert.equal(
    { ...answer, timestamp: '' },
    {
      type: 'RESTResponse',
      transaction_id: 't1',
      request_id: 'r1',
      status_code: 200,
      reason_phrase: 'OK',
      content_type: 'application/json',
      message_body: JSON.stringify(samples.channel),
      uri: 'channels/c1',
      application: 'hello',
      timestamp: '',
      asterisk_id: '02:00:00:00:00:01',
    },
  );
  assert.equal(fakes.calls, [['channels.get', 'c1']]);
});

carried('an answer without a body has neither body nor type, and is compact where others are indented', async () => {
  const empty = await open().ask({ ...request, method: 'POST', uri: 'channels/c1/answer' });
  assert.equal(
    [empty['status_code'], empty['reason_phrase'], empty['message_body'], empty['content_type']],
    [204, 'No Content', undefined, undefined],
  );
  const compact = await open({ pretty: true }).ask({ ...request, uri: 'asterisk/ping' });
  assert.is(compact['message_body'], JSON.stringify(samples.ping));
});

carried('query_strings, forms and JSON bodies reach the operation', async () => {
  const { ask } = open();
  await ask({
    ...request,
    method: 'POST',
    uri: 'channels/c1/dtmf?after=1',
    query_strings: [{ name: 'dtmf', value: '1&2=é' }],
  });
  await ask({
    ...request,
    method: 'POST',
    uri: 'channels/c1/mute',
    content_type: 'application/x-www-form-urlencoded',
    message_body: 'direction=in',
  });
  await ask({
    ...request,
    method: 'POST',
    uri: 'channels/c1/variables',
    content_type: 'application/json',
    message_body: '{"variables":{"a":"b"}}',
  });
  assert.equal(fakes.calls, [
    ['channels.sendDtmf', 'c1', { dtmf: '1&2=é', after: 1 }],
    ['channels.mute', 'c1', { direction: 'in' }],
    ['channels.setVariables', 'c1', { variables: { a: 'b' } }],
  ]);
});

const body = (message: string) => JSON.stringify({ message });
const refused: [what: string, message: unknown, reason: string, message_body: string | undefined, uri?: string][] = [
  ['a frame that is no JSON', '{', 'Failed to parse request message JSON', undefined, ''],
  ['a frame that is only a text', '"x"', 'Failed to parse request message JSON', undefined, ''],
  ['a list', '[1]', 'Bad request', body("No 'type' property."), ''],
  ['no type', { method: 'GET', uri: 'x' }, 'Bad request', body("No 'type' property."), ''],
  ['another type', { type: 'Hello', uri: 'x' }, 'Bad request', body('Unknown request type.'), ''],
  ['no uri', { type: 'RESTRequest', method: 'GET' }, 'Bad request', body("Empty or missing 'uri' property."), ''],
  ['no method', { type: 'RESTRequest', uri: 'x' }, 'Bad request', body("Unknown or missing 'method' property.")],
  [
    'a method in lower case',
    { ...request, method: 'get', uri: 'x' },
    'Bad request',
    body("Unknown or missing 'method' property."),
  ],
  [
    'query_strings of another kind',
    { ...request, uri: 'x', query_strings: [{ name: 'a' }] },
    'Bad request',
    body("Unable to parse 'query_strings' array."),
  ],
  [
    'a body without a type',
    { ...request, uri: 'x', message_body: '{}' },
    'Bad request',
    body("No 'content_type' for 'message_body'."),
  ],
  [
    'a body that is no JSON',
    { ...request, uri: 'x', content_type: 'application/json', message_body: '{' },
    'Bad request',
    body("Unable to parse 'message_body' as 'application/json'."),
  ],
  [
    'a body of another type',
    { ...request, uri: 'x', content_type: 'text/plain', message_body: '{' },
    'Bad request',
    body('Unknown content type.'),
  ],
  [
    'an upgrade',
    { ...request, uri: 'events?app=x' },
    'Bad request',
    body("Can't upgrade to websocket from a websocket"),
    'events',
  ],
];
for (const [what, message, reason, message_body, uri = 'x'] of refused) {
  carried(`${what} is refused with 400`, async () => {
    const answer = await open().ask(message);
    assert.equal(
      [answer['status_code'], answer['reason_phrase'], answer['message_body'], answer['uri']],
      [400, reason, message_body, uri],
    );
    assert.is(answer['request_id'], (message as Answer)['request_id'] ?? '');
  });
}

carried('the reason phrase is the refusal’s own where it has one', async () => {
  const { ask } = open();
  fakes.instead = () => {
    throw new RangeError('x');
  };
  assert.is((await ask({ ...request, uri: 'channels/c1' }))['reason_phrase'], 'Internal Server Error');
  const { AriError } = await import('../../src/models/errors.ts');
  fakes.instead = () => {
    throw new AriError('variableChannelNotFound');
  };
  const answer = await ask({ ...request, uri: 'channels/c1/variable?variable=a' });
  assert.equal([answer['status_code'], answer['reason_phrase']], [404, 'Channel Not Found']);
});

carried('requests have the rights of the socket, and no others', async () => {
  const reader = open({ authorization: basic('reader:look:only') });
  assert.is((await reader.ask({ ...request, uri: 'channels/c1' }))['status_code'], 200);
  assert.is((await reader.ask({ ...request, method: 'DELETE', uri: 'channels/c1' }))['status_code'], 403);
  const other = { ...request, method: 'DELETE', uri: 'channels/c1?api_key=writer:secret' };
  assert.is((await reader.ask(other))['status_code'], 403);
  const paths = ['../../etc', '//x', '/channels', '?x', '#', '%', '\ud800', 'http://other/ari/channels'];
  for (const uri of paths) {
    const answer = await reader.ask({ ...request, uri });
    assert.ok([200, 400, 404, 405].includes(answer['status_code'] as number), `${uri} ${answer['status_code']}`);
  }
});

carried('requests are carried out one after another, in order', async () => {
  const { rest, next } = open();
  const order: string[] = [];
  let release: (value: unknown) => void = () => {};
  fakes.instead = (method) => {
    order.push(method);
    if (method !== 'channels.rtpStatistics') return undefined;
    return new Promise((resolve) => {
      release = resolve;
    });
  };
  rest.take(JSON.stringify({ ...request, request_id: 'slow', uri: 'channels/c1/rtp_statistics' }));
  rest.take(JSON.stringify({ ...request, request_id: 'fast', method: 'POST', uri: 'channels/c1/answer' }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(order, ['channels.rtpStatistics']);
  release(samples.statistics);
  assert.equal([(await next())['request_id'], (await next())['request_id']], ['slow', 'fast']);
  assert.equal(order, ['channels.rtpStatistics', 'channels.answer']);
});

carried('a client that asks faster than it is answered is not read from until it has been', async () => {
  const { rest, next, flow } = open();
  for (let count = 0; count < 100; count++)
    rest.take(JSON.stringify({ ...request, request_id: `${count}`, uri: 'asterisk/ping' }));
  assert.is(flow[0], 'pause');
  for (let count = 0; count < 100; count++) assert.is((await next())['request_id'], `${count}`);
  await new Promise((resolve) => setImmediate(resolve));
  assert.is(flow.at(-1), 'resume');
});

carried('nothing more is answered once the socket is gone', async () => {
  const { rest, flow } = open();
  rest.take(JSON.stringify({ ...request, uri: 'asterisk/ping' }));
  rest.take(JSON.stringify({ ...request, method: 'POST', uri: 'channels/c1/answer' }));
  rest.close();
  rest.take(JSON.stringify({ ...request, uri: 'asterisk/ping' }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(fakes.calls, [['system.ping']]);
  assert.equal(
    flow.filter((word) => word === 'pause'),
    [],
  );
});

carried('any frame is answered once, and never with a 5xx', async () => {
  const { ask } = open();
  const text = fc.oneof(
    fc.string({ unit: anyCodePoint }),
    fc.constantFrom('GET', 'POST', 'channels/c1', 'application/json', '{}', '//', '%'),
  );
  const names = ['method', 'uri', 'content_type', 'message_body', 'query_strings', 'request_id'];
  const value = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }), fc.array(fc.record({ name: text, value: text })));
  const fields = fc.dictionary(fc.constantFrom(...names), value);
  const frame = fc.oneof(
    text,
    fc.json(),
    fields.map((given) => JSON.stringify({ type: 'RESTRequest', ...given })),
  );
  await fc.assert(
    fc.asyncProperty(frame, async (message) => {
      const answer = await ask(message);
      assert.ok((answer['status_code'] as number) < 500, String(answer['status_code']));
    }),
    { numRuns: 1000 },
  );
});

carried.run();
