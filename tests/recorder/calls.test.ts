import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { CallDetail, CallPage } from '../../src/models/call.ts';
import type { LiveMessage } from '../../src/models/live.ts';
import { onServer, password, type TestServer, user } from '../support/server.ts';
import { untilHolds } from '../support/waiting.ts';

const recorded = suite('calls as they are recorded');

const dialplan = { default: { '1000': ['Answer', 'Wait(3600)'] } };
const test = (title: string, body: (server: TestServer) => Promise<void>) =>
  recorded(title, () => onServer({ dialplan }, body));

const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
const baseOf = (server: TestServer): string => server.url.replace(/\/ari$/, '/hookswitch');

async function get<T>(server: TestServer, path: string, headers: Record<string, string> = {}): Promise<T> {
  const response = await fetch(`${baseOf(server)}${path}`, { headers: { authorization, ...headers } });
  return (await response.json()) as T;
}

test('both halves of a Local channel are one call, with everything in one order', async (server) => {
  const app = await server.app('desk');
  await app.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk&otherChannelId=other');
  await app.waitFor('StasisStart');
  const { calls, total } = await get<CallPage>(server, '/calls');
  assert.is(total, 1);
  assert.equal(
    calls.map(({ id, state, channels, applications }) => [
      id,
      state,
      channels.map((channel) => [channel.id, channel.life, channel.application]),
      applications,
    ]),
    [
      [
        'call-1',
        'live',
        [
          ['call-1', 'up', 'desk'],
          ['other', 'up', undefined],
        ],
        ['desk'],
      ],
    ],
  );
  await app.ok('DELETE', '/channels/call-1');
  for (const id of ['call-1', 'other']) await app.waitFor('ChannelDestroyed', ({ channel }) => channel.id === id);
  const call = await get<CallDetail>(server, '/calls/other');
  assert.is(call.id, 'call-1');
  const seqs = call.timeline.map(({ seq }) => seq);
  assert.equal(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  const requests = call.timeline.flatMap((entry) =>
    entry.kind === 'request' ? [[entry.method, entry.path, entry.status]] : [],
  );
  assert.equal(requests, [
    ['POST', '/ari/channels/call-1', 200],
    ['DELETE', '/ari/channels/call-1', 204],
  ]);
  const told = call.timeline.flatMap((entry) => (entry.kind === 'event' ? [entry.type] : []));
  assert.equal(
    told,
    app.events.map(({ type }) => type),
  );
});

test('what follows from a request names it: in its answer, in events, in steps', async (server) => {
  const app = await server.app('desk');
  const path = '/channels/call-1?endpoint=Local/1000@default&app=desk&otherChannelId=other';
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { authorization, 'X-Request-Id': 'make-1' },
  });
  assert.is(response.headers.get('x-request-id'), 'make-1');
  await app.waitFor('StasisStart');
  const hangup = await app.request('DELETE', '/channels/call-1');
  const hangupId = hangup.headers.get('x-request-id');
  await app.waitFor('ChannelDestroyed');
  const causes = app.events.map((event) => [event.type, event.caused_by]);
  const first = causes.findIndex(([type]) => type === 'ChannelHangupRequest');
  assert.ok(first > 3);
  assert.equal(
    causes.map(([, cause]) => cause),
    causes.map((_, at) => (at < first ? 'make-1' : hangupId)),
  );
  const { timeline } = await get<CallDetail>(server, '/calls/call-1');
  const ofOther = timeline.flatMap((entry) =>
    entry.kind === 'step' && entry.object === 'other' ? [entry.request_id] : [],
  );
  assert.ok(ofOther.length > 3);
  assert.equal([...new Set(ofOther)], ['make-1', hangupId]);
});

test('an id that is not sane is not taken over', async (server) => {
  for (const id of ['a b', 'x'.repeat(65), '"', '']) {
    const response = await fetch(`${server.url}/channels`, { headers: { authorization, 'X-Request-Id': id } });
    await response.text();
    assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-z]+-[0-9a-z]+$/);
  }
});

test('who watches hears of calls, of one call, and of an application', async (server) => {
  const app = await server.app('desk');
  const watch = async (query: string) => {
    const socket = new WebSocket(`${baseOf(server).replace('http', 'ws')}/live${query}`, {
      headers: { authorization },
    });
    const heard: LiveMessage[] = [];
    const waiting = new Set<() => void>();
    socket.on('message', (data) => {
      heard.push(JSON.parse(String(data)) as LiveMessage);
      for (const look of [...waiting]) look();
    });
    await once(socket, 'open');
    server.closing({ close: () => socket.terminate() });
    const until = (done: () => boolean): Promise<void> =>
      untilHolds(waiting, done, () => JSON.stringify(heard, undefined, 1));
    return { heard, until };
  };
  const overview = await watch('');
  const events = await watch('?app=desk');
  await app.ok('POST', '/channels/call-1?endpoint=Local/1000@default&app=desk&otherChannelId=other');
  await app.waitFor('StasisStart');
  const one = await watch('?call=call-1');
  await app.ok('DELETE', '/channels/call-1');
  await app.waitFor('ChannelDestroyed');
  const states = () =>
    overview.heard.flatMap((message) => (message.type === 'overview' ? message.calls.map(({ state }) => state) : []));
  await overview.until(() => states().includes('ended'));
  await one.until(() => one.heard.some((message) => message.type === 'call' && message.call.state === 'ended'));
  const { timeline } = await get<CallDetail>(server, '/calls/call-1');
  const told = () => one.heard.flatMap((message) => (message.type === 'call' ? message.entries : []));
  await one.until(() => told().length >= timeline.length);
  assert.equal(
    told().map(({ seq }) => seq),
    timeline.map(({ seq }) => seq),
  );
  const numbers = () =>
    events.heard.flatMap((message) =>
      message.type === 'application' ? message.events.map(({ number }) => number) : [],
    );
  await events.until(() => numbers().length >= app.events.length);
  assert.equal(
    numbers(),
    app.events.map(({ seq }) => seq),
  );
});

test('what is not there cannot be watched or looked into', async (server) => {
  for (const path of ['/calls/none', '/live?call=none', '/live?app=none'])
    assert.is((await fetch(`${baseOf(server)}${path}`, { headers: { authorization } })).status, 404, path);
});

recorded.run();
