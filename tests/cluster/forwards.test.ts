import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createAnswers } from '../../src/cluster/answers.ts';
import { createForwards, type RemoteRequest } from '../../src/cluster/forwards.ts';
import { readFrame, writeFrame } from '../../src/cluster/frame.ts';
import { ManualClock } from '../../src/virtual/manual-clock.ts';
import { ClusterHub } from '../support/cluster-hub.ts';
import { silentLog } from '../support/log.ts';
import { refusalOf } from '../support/refusal.ts';

const forwards = suite('requests between nodes');

const request: RemoteRequest = {
  method: 'GET',
  url: '/ari/channels/b~1',
  headers: { 'x-request-id': 'r' },
  user: { name: 'u' },
};

/** Node `a` that asks node `b`. */
function pair(carryOut: (request: RemoteRequest) => Promise<Response>, most = { requests: 10, streams: 2 }) {
  const hub = new ClusterHub();
  const clock = new ManualClock();
  const hits: string[] = [];
  let ids = 0;
  const answers = createAnswers({
    ...{ clock, log: silentLog, carryOut, newId: () => `s${++ids}`, piece: 1_000, idleMs: 5_000, most },
    hit: (limit) => void hits.push(limit),
  });
  const link = hub.link();
  hub.link().serve('node.b', answers.answer);
  const asking = createForwards({
    ...{ link, subjectOf: (node) => `node.${node}`, timeoutMs: 1_000, most: 10, hit: () => void hits.push('asked') },
  });
  return { hub, clock, hits, answers, asking, link };
}

forwards('a request arrives as it was sent, and the answer as it was given', async () => {
  const seen: RemoteRequest[] = [];
  const { asking } = pair(async (asked) => {
    seen.push(asked);
    return new Response('{"ü":1}', { status: 201, statusText: 'Made', headers: { Location: '/ari/x', 'X-A': '1' } });
  });
  const sent = { ...request, method: 'POST', body: '{"ä":"b"}', application: 'shop' };
  const answer = await asking.ask('b', sent);
  assert.equal(seen, [{ ...sent, overWebSocket: false }]);
  assert.equal([answer.status, answer.statusText, answer.headers.get('location')], [201, 'Made', '/ari/x']);
  assert.equal(await answer.json(), { ü: 1 });
  assert.equal(asking.figures(), { forwarded: 1, failed: 0, timeouts: 0, pending: 0 });
});

forwards('an answer without a body has none', async () => {
  const { asking } = pair(async () => new Response(null, { status: 204 }));
  const answer = await asking.ask('b', request);
  assert.equal([answer.status, answer.body], [204, null]);
});

forwards('a long answer comes in pieces, octet for octet', async () => {
  const octets = Buffer.from(Array.from({ length: 12_345 }, (_, at) => (at * 7) % 256));
  const { asking, answers } = pair(async () => new Response(octets, { headers: { 'Content-Type': 'audio/wav' } }));
  const answer = await asking.ask('b', request);
  assert.is(answers.held, 1);
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(octets));
  assert.is(answers.held, 0);
});

forwards('an answer that nobody reads is let go of, by the reader or by time', async () => {
  const { asking, answers, clock } = pair(async () => new Response('x'.repeat(5_000)));
  const one = await asking.ask('b', request);
  await one.body?.cancel();
  assert.is(answers.held, 0);
  const other = await asking.ask('b', request);
  clock.advance(5_000);
  assert.is(answers.held, 0);
  assert.is((await refusalOf(() => other.text())).status, 503);
});

forwards('more answers than there may be are refused, and counted', async () => {
  const { asking, hits } = pair(async () => new Response('x'.repeat(5_000)));
  await asking.ask('b', request);
  await asking.ask('b', request);
  const third = await asking.ask('b', request);
  assert.equal(
    [third.status, await third.json()],
    [503, { message: 'The limit of 2 is reached (cluster.streams). Try again later' }],
  );
  assert.equal(hits, ['streams']);
});

forwards('more requests at a time than there may be are refused, here and there', async () => {
  const waiting: (() => void)[] = [];
  const { asking, hits } = pair(
    () => new Promise((resolve) => waiting.push(() => resolve(new Response(null, { status: 204 })))),
    { requests: 3, streams: 1 },
  );
  const asked = Array.from({ length: 11 }, () =>
    asking.ask('b', request).then(
      ({ status }) => status,
      (error: { status: number }) => error.status,
    ),
  );
  await Promise.resolve();
  while (waiting.length < 3) await Promise.resolve();
  for (const release of waiting) release();
  assert.equal((await Promise.all(asked)).sort(), [...Array(3).fill(204), ...Array(8).fill(503)]);
  assert.equal(hits.sort(), ['asked', ...Array(7).fill('requests')]);
});

forwards('a node that cannot be asked is named, with the reason', async () => {
  const { asking, hub, link } = pair(async () => new Response(null));
  const why = async (node: string) => (await refusalOf(() => asking.ask(node, request))).message;
  assert.is(await why('c'), "The node 'c' of the cluster cannot be asked: it is not connected to NATS");
  hub.silent.add('node.b');
  assert.is(await why('b'), "The node 'b' of the cluster cannot be asked: it does not answer in time");
  link.become('lost');
  assert.is(await why('b'), "The node 'b' of the cluster cannot be asked: NATS is not connected");
  assert.equal(asking.figures(), { forwarded: 3, failed: 3, timeouts: 1, pending: 0 });
});

forwards('a request that fails over there is an answer too', async () => {
  const { asking } = pair(async () => {
    throw new Error('a fault');
  });
  assert.is((await refusalOf(() => asking.ask('b', request))).status, 503);
});

forwards('whatever comes from the network is answered, and nothing is carried out', async () => {
  let carriedOut = 0;
  const { answers } = pair(async () => {
    carriedOut++;
    return new Response(null, { status: 204 });
  });
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array({ maxLength: 64 }),
        fc.jsonValue().map((value) => writeFrame(Object(value) as object)),
        fc
          .jsonValue()
          .map((value) => writeFrame({ kind: 'request', method: 'GET', url: value, headers: {}, user: value })),
      ),
      async (data) => assert.ok(readFrame(await answers.answer(data))),
    ),
  );
  assert.is(carriedOut, 0);
});

forwards.run();
