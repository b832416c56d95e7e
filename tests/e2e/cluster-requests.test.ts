import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { RESTResponse } from '../../src/models/websocket-messages.ts';
import { AriClient } from '../support/ari-client.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { untilAsked, untilHolds } from '../support/waiting.ts';

/**
 * Requests that reach the wrong node: what the right one would do is done, in every way to ask.
 * HOOKSWITCH_TEST_REQUESTS=100000 makes so many.
 */
const total = Number(process.env['HOOKSWITCH_TEST_REQUESTS'] ?? 10_000);
type World = { cluster: TestCluster };
const requests = suite<World>('requests to the wrong node');
const nats = need('nats-server');

nats.test(requests, 'they are answered as by the right one', async (command) => {
  const cluster = await TestCluster.start(
    command,
    ['a', 'b', 'c'],
    {},
    {
      limits: { channels: mostChannels },
      users: [{ name: 'few', password: 'secret', channels: 4 }],
    },
  );
  try {
    const socket = await connectAt(cluster, 'a');
    await overWebSocket(cluster, socket);
    await idempotent(cluster);
    await ifState(cluster);
    await narrow(cluster);
    await loggedIn(cluster);
    await many(cluster);
    await limited(cluster);
    socket.close();
  } catch (error) {
    for (const { name, child } of Object.values(cluster.nodes)) process.stderr.write(`${name}: ${child.written}\n`);
    throw error;
  } finally {
    await cluster.close();
  }
});

const mostChannels = 60;

const newChannel = (cluster: TestCluster, node: string): Promise<Channel> =>
  cluster.node(node).client().ok<Channel>('POST', '/channels?endpoint=Local/1000@default&app=asking');

async function connectAt(cluster: TestCluster, node: string): Promise<WebSocket> {
  const socket = new WebSocket(`${cluster.node(node).url.replace('http', 'ws')}/ari/events?app=asking`, {
    headers: { authorization: `Basic ${Buffer.from('tester:secret').toString('base64')}` },
  });
  await once(socket, 'open');
  return socket;
}

async function overWebSocket(cluster: TestCluster, socket: WebSocket): Promise<void> {
  const channel = await newChannel(cluster, 'b');
  const answers: RESTResponse[] = [];
  const looks = new Set<() => void>();
  socket.on('message', (data) => {
    const message = JSON.parse(String(data)) as RESTResponse;
    if (message.type === 'RESTResponse') answers.push(message);
    for (const look of [...looks]) look();
  });
  const ask = (method: string, uri: string, more: object = {}): void =>
    socket.send(JSON.stringify({ type: 'RESTRequest', request_id: String(answers.length), method, uri, ...more }));
  ask('POST', `channels/${channel.id}/variable?variable=W&value=1`);
  ask('GET', `channels/${channel.id}/variable?variable=W`);
  ask('GET', 'channels/b~none');
  ask('POST', 'bridges', { idempotency_key: 'over-websocket' });
  await untilHolds(
    looks,
    () => answers.length === 4,
    () => JSON.stringify(answers),
  );
  const bodies = answers.map(({ message_body: body }) => (body ? JSON.parse(body) : undefined));
  assert.equal(
    answers.map(({ status_code: status }) => status),
    [204, 200, 404, 200],
  );
  assert.equal(bodies[1], { value: '1' });
  // The same key at another node.
  const repeated = await post(cluster, 'c', '/ari/bridges', { 'idempotency-key': 'over-websocket' });
  assert.equal([repeated.status, repeated.headers.get('idempotency-replayed')], [200, 'true']);
  assert.equal(((await repeated.json()) as Bridge).id, (bodies[3] as Bridge).id);
}

const post = (cluster: TestCluster, node: string, path: string, headers: Record<string, string>, method = 'POST') =>
  fetch(`${cluster.node(node).url}${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from('tester:secret').toString('base64')}`, ...headers },
  });

async function idempotent(cluster: TestCluster): Promise<void> {
  const key = { 'idempotency-key': 'k1' };
  // At the same time at three nodes: one is carried out.
  const both = await Promise.all(['a', 'b', 'c'].map((node) => post(cluster, node, '/ari/bridges?name=once', key)));
  const made = await cluster.node('a').client().ok<Bridge[]>('GET', '/bridges');
  assert.is(made.filter(({ name }) => name === 'once').length, 1);
  for (const { status } of both) assert.ok(status === 200 || status === 409, String(status));
  const again = await post(cluster, 'b', '/ari/bridges?name=once', key);
  assert.equal([again.status, again.headers.get('idempotency-replayed')], [200, 'true']);
  const other = await post(cluster, 'c', '/ari/bridges?name=other', key);
  assert.is(other.status, 422);
}

async function ifState(cluster: TestCluster): Promise<void> {
  const channel = await newChannel(cluster, 'b');
  const hold = (state: string) => post(cluster, 'c', `/ari/channels/${channel.id}/hold`, { 'if-state': state });
  const refused = await hold('ringing');
  const here = await post(cluster, 'b', `/ari/channels/${channel.id}/hold`, { 'if-state': 'ringing' });
  assert.equal([refused.status, await refused.json()], [here.status, await here.json()]);
  assert.is(refused.status, 412);
}

/** The owner checks the scope of the token's user; the token itself stays at its node. */
async function narrow(cluster: TestCluster): Promise<void> {
  const foreign = await newChannel(cluster, 'b');
  const made = await fetch(`${cluster.node('a').url}/hookswitch/tokens`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from('tester:secret').toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'narrow', expires_in: 3600, applications: ['mine'] }),
  });
  const { token } = (await made.json()) as { token: string };
  const authorization = `Bearer ${token}`;
  const get = (path: string) => fetch(`${cluster.node('a').url}${path}`, { headers: { authorization } });
  assert.is((await get(`/ari/channels/${foreign.id}`)).status, 404);
  const listed = (await (await get('/ari/channels')).json()) as Channel[];
  assert.equal(listed, []);
  const hungUp = await post(cluster, 'a', `/ari/channels/${foreign.id}`, { authorization }, 'DELETE');
  assert.is(hungUp.status, 403);
  assert.is((await cluster.node('b').client().request('GET', `/channels/${foreign.id}`)).status, 200);
}

/** A log-in of the page, its end and its tickets are those of all nodes. */
async function loggedIn(cluster: TestCluster): Promise<void> {
  const opened = await post(cluster, 'a', '/hookswitch/sessions', {});
  const { token } = (await opened.json()) as { token: string };
  const bearer = { authorization: `Bearer ${token}` };
  const states = () =>
    Promise.all(
      ['a', 'b', 'c'].map(async (node) => (await post(cluster, node, '/ari/channels', bearer, 'GET')).status),
    );
  assert.equal(await states(), [200, 200, 200]);
  const made = await post(cluster, 'b', '/hookswitch/sessions/tickets', bearer);
  const { ticket } = (await made.json()) as { ticket: string };
  assert.match(ticket, /^b~/);
  const use = async (node: string): Promise<string> => {
    const socket = new WebSocket(
      `${cluster.node(node).url.replace('http', 'ws')}/ari/events?app=page&ticket=${ticket}`,
    );
    const answer = await Promise.race([
      once(socket, 'open').then(() => 'open'),
      once(socket, 'unexpected-response').then(([, { statusCode }]) => String(statusCode)),
    ]);
    socket.on('error', () => {}).close();
    return answer;
  };
  assert.equal([await use('c'), await use('a'), await use('b')], ['open', '401', '401']);
  assert.is((await post(cluster, 'c', '/hookswitch/sessions', bearer, 'DELETE')).status, 204);
  assert.equal(await states(), [401, 401, 401]);
}

async function many(cluster: TestCluster): Promise<void> {
  const channel = await newChannel(cluster, 'b');
  const client = cluster.node('a').client();
  let sent = 0;
  const statuses = new Map<number, number>();
  const tookMs: number[] = [];
  const worker = async (): Promise<void> => {
    while (sent < total) {
      sent++;
      const begun = performance.now();
      const { status } = await client.request('GET', `/channels/${channel.id}`);
      tookMs.push(performance.now() - begun);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const figures = async (): Promise<string> => {
    const nodes = (await (await cluster.node('a').ask('GET', '/metrics')).text()) as string;
    return /^hookswitch_cluster_requests_pending.*$|^hookswitch_cluster_.*pending.* (\d+)$/m.exec(nodes)?.[0] ?? nodes;
  };
  await Promise.all(Array.from({ length: 50 }, worker));
  assert.equal([...statuses], [[200, total]]);
  const [p50, p99] = [0.5, 0.99].map((part) =>
    tookMs.sort((one, other) => one - other)[Math.floor(total * part)]!.toFixed(1),
  );
  process.stdout.write(`${total} requests to the wrong node, 50 at a time: p50 ${p50} ms, p99 ${p99} ms\n`);
  assert.match(await figures(), / 0$/);
}

/** Live channels are limited in all, and for a user, at all nodes together. */
async function limited(cluster: TestCluster): Promise<void> {
  const few = new AriClient(`${cluster.node('a').url}/ari`, 'few:secret');
  const fewAt = (node: string) =>
    fetch(`${cluster.node(node).url}/ari/channels?endpoint=Local/1000@default&app=asking`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('few:secret').toString('base64')}` },
    });
  assert.is((await fewAt('a')).status, 200);
  assert.is((await fewAt('b')).status, 200);
  await untilAsked(
    async () => (await fewAt('a')).status === 409,
    () => 'node a does not know what the user has made at node b',
  );
  const refused = await fewAt('c');
  const message = "The limit of 4 live channels of user 'few' is reached (channels of http.users)";
  assert.equal([refused.status, await refused.json()], [409, { message }]);
  for (const { id } of await few.ok<Channel[]>('GET', '/channels')) await few.request('DELETE', `/channels/${id}`);
  await untilAsked(
    async () => (await fewAt('c')).status === 200,
    () => 'the user may not call again',
  );

  const tester = cluster.node('a').client();
  const live = async (): Promise<number> => (await tester.ok<Channel[]>('GET', '/channels')).length;
  while ((await live()) < mostChannels) await newChannel(cluster, 'b');
  await untilAsked(
    async () => (await tester.request('POST', '/channels?endpoint=Local/1000@default&app=asking')).status === 503,
    () => 'node a takes further calls',
  );
  const full = await cluster.node('b').client().request('POST', '/channels?endpoint=Local/1000@default&app=asking');
  assert.equal(
    [full.status, full.body],
    [503, { message: 'The limit of live channels is reached: no new calls are taken (limits.channels)' }],
  );
  // The one that was refused there counts once.
  assert.match(await (await cluster.node('a').ask('GET', '/metrics')).text(), /limit="limits\.channels"\} 1$/m);
}

requests.run();
