import { setImmediate } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ClusterLink } from '../../src/cluster/link.ts';
import { createNatsLink } from '../../src/cluster/nats-link.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Bridge } from '../../src/models/bridge.ts';
import type { Channel } from '../../src/models/channel.ts';
import type { AriClient } from '../support/ari-client.ts';
import { Authority, CertificateFiles } from '../support/certificates.ts';
import { NatsServer, NodeProcess, type NodeSettings, TestCluster } from '../support/cluster-nodes.ts';
import { silentLog } from '../support/log.ts';
import { NatsWay } from '../support/nats-way.ts';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

/** What nodes do when NATS is slow, stands still, is cut off, loses its data or has no room, and with TLS and passwords. */
const trouble = suite('NATS in trouble');
const nats = need('nats-server');

type World = { cluster: TestCluster; ways: Map<string, NatsWay>; a: AriClient; b: AriClient };

/** Runs a test on two nodes, each with a way to NATS of its own. */
const onTwo = (title: string, run: (world: World) => Promise<void>, settings: NodeSettings = {}): void =>
  nats.test(trouble, title, async (command) => {
    const ways = new Map<string, NatsWay>();
    const server = await NatsServer.start(command);
    const settingsOf = async (name: string): Promise<NodeSettings> => {
      const way = await NatsWay.open(server);
      ways.set(name, way);
      return { request_timeout: 2, ...settings, nats: [way.url] };
    };
    let cluster: TestCluster | undefined;
    try {
      cluster = await TestCluster.start(server, ['a', 'b'], settingsOf);
      await run({ cluster, ways, a: cluster.node('a').client(), b: cluster.node('b').client() });
    } catch (error) {
      cluster?.tell();
      throw error;
    } finally {
      await cluster?.close();
      for (const way of ways.values()) await way.close();
      await server.close();
    }
  });

/** Runs a test on two links to one NATS server, which begin to connect. */
const onLinks = (title: string, run: (one: ClusterLink, other: ClusterLink) => Promise<void>): void =>
  nats.test(trouble, title, async (command) => {
    const server = await NatsServer.start(command);
    const settings = {
      ...{ servers: [server.url], cluster: 'links', user: '', password: '', ca: '', certificate: '', key: '' },
      ...{ retryMs: 200, timeoutMs: 2_000, mostUnsent: 1_000_000, reservedMs: 60_000 },
      states: { octets: 0, replicas: 1 },
    };
    const links = ['one', 'other'].map((name) =>
      createNatsLink({ ...settings, name }, { clock: systemClock, log: silentLog }),
    );
    try {
      await run(links[0]!, links[1]!);
    } finally {
      for (const link of links) await link.close();
      await server.close();
    }
  });

const isUp = (link: ClusterLink): Promise<void> =>
  untilAsked(
    async () => link.state === 'up',
    () => `the link is ${link.state}: ${link.reason}`,
  );

onLinks('a node that begins to listen while it connects hears each message once', async (link) => {
  // The connection is there, and the bucket is being opened.
  while (link.largest === 0) await setImmediate();
  assert.is(link.state, 'connecting');
  const heard: string[] = [];
  link.hear('links.test', (data) => void heard.push(String(Buffer.from(data))));
  await isUp(link);
  link.publish('links.test', Buffer.from('hello'));
  await new Promise<void>((resolve) => {
    link.hear('links.last', () => resolve());
    link.publish('links.last', Buffer.from(''));
  });
  assert.equal(heard, ['hello']);
});

onLinks('a row is removed as long as it is the same, whichever node has written it', async (one, other) => {
  await Promise.all([isUp(one), isUp(other)]);
  await one.claim('test.kept', '1');
  assert.ok(await other.replace('test.kept', '1', '2'));
  await one.release('test.kept', '1');
  assert.is(await other.find('test.kept'), '2');
  await one.claim('test.back', '1');
  assert.ok(await other.replace('test.back', '1', '2'));
  assert.ok(await other.replace('test.back', '2', '1'));
  await one.release('test.back', '1');
  assert.is(await other.find('test.back'), undefined);
});

const bridgeOf = (client: AriClient): Promise<Bridge> => client.ok<Bridge>('POST', '/bridges');

/** The status and reason of a request for a bridge. */
async function asked(client: AriClient, id: string): Promise<[number, string | undefined]> {
  const { status, body } = await client.request<{ message?: string }>('GET', `/bridges/${id}`);
  return [status, body.message];
}

const late = "The node 'b' of the cluster cannot be asked: it does not answer in time";
const away = "The node 'b' of the cluster cannot be asked: it is away";

const found = (client: AriClient, id: string): Promise<void> =>
  untilAsked(
    async () => (await asked(client, id))[0] === 200,
    () => `${id} is not found`,
  );

onTwo('slow: others are asked for no longer than the time-out, and nobody is away', async ({ cluster, ways, a, b }) => {
  const [own, theirs] = [await bridgeOf(a), await bridgeOf(b)];
  for (const way of ways.values()) way.delayMs = 60;
  const begun = performance.now();
  assert.equal(await asked(a, theirs.id), [200, undefined]);
  assert.ok(performance.now() - begun >= 240, 'the way is slow');
  for (const way of ways.values()) way.delayMs = 600;
  assert.equal(await asked(a, theirs.id), [503, late]);
  assert.equal(await asked(a, own.id), [200, undefined]);
  assert.is.not((await cluster.node('a').states())['b'], 'away');
  for (const way of ways.values()) way.delayMs = 0;
  await found(a, theirs.id);
});

onTwo(
  'it stands still: each node serves its own objects, and nobody is lost',
  async ({ cluster, a, b }) => {
    const [own, theirs] = [await bridgeOf(a), await bridgeOf(b)];
    const told = await cluster.node('a').client().connect('watch', { nodes: 'true' });
    cluster.nats.child.signal('SIGSTOP');
    // It may still answer a moment behind the signal.
    await untilAsked(
      async () => (await asked(a, theirs.id))[0] === 503,
      () => 'it does not stand still',
    );
    assert.equal(await asked(a, own.id), [200, undefined]);
    assert.is((await a.request('POST', '/bridges?bridgeId=chosen')).status, 503);
    await cluster.sees(cluster.node('a'), { a: 'away', b: 'away' });
    cluster.nats.child.signal('SIGCONT');
    await cluster.whole();
    await found(a, theirs.id);
    await untilAsked(
      async () => (await b.request('POST', '/bridges?bridgeId=chosen')).status === 200,
      () => 'no ids can be chosen again',
    );
    assert.equal(told.events, [], 'no node was lost');
  },
  { request_timeout: 0.5, away_after: 4 },
);

onTwo('a node is cut off: both sides go on with their own, and no id is on two nodes', async (world) => {
  const { cluster, ways, a, b } = world;
  const theirs = await b.ok<Bridge>('POST', '/bridges?bridgeId=lobby');
  // A node that was alone just now may have decided about the id without NATS; this waits until it has told it.
  await found(a, theirs.id);
  const told = await cluster.node('a').client().connect('watch', { nodes: 'true' });
  const lost = told.waitFor('NodeLost' as never);
  ways.get('b')!.cut();
  assert.equal(((await lost) as unknown as { node: string }).node, 'b');
  assert.equal(await asked(a, 'lobby'), [503, away]);
  assert.is((await a.request('POST', '/bridges?bridgeId=lobby')).status, 409);
  assert.equal((await a.ok<Bridge>('POST', '/bridges?bridgeId=hall')).id, 'hall');
  assert.equal(await asked(b, theirs.id), [200, undefined]);
  assert.is((await b.request('POST', '/bridges?bridgeId=hall')).status, 503);
  await cluster.sees(cluster.node('b'), { a: 'away' });
  ways.get('b')!.mend();
  await cluster.whole();
  await found(a, 'lobby');
  await found(b, 'hall');
  assert.is((await b.request('POST', '/bridges?bridgeId=hall')).status, 409);
});

onTwo('it starts again without its data: the ids of objects are claimed again', async ({ cluster, a, b }) => {
  await b.ok<Bridge>('POST', '/bridges?bridgeId=lobby');
  await cluster.nats.child.end('SIGKILL');
  cluster.nats.empty();
  await cluster.sees(cluster.node('a'), { a: 'away' });
  await cluster.nats.begin();
  await cluster.whole();
  await found(a, 'lobby');
  assert.is((await a.request('POST', '/bridges?bridgeId=lobby')).status, 409);
});

nats.test(trouble, 'its store is full: ids cannot be chosen until there is room, all else works', async (command) => {
  const server = await NatsServer.start(command, 'jetstream { max_file_store: 16384 }');
  const cluster = await TestCluster.start(server, ['a', 'b']);
  try {
    const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
    const choose = (client: AriClient, id: number) =>
      client.request<{ message: string }>('POST', `/bridges?bridgeId=chosen${id}`);
    let made = 0;
    let answer = await choose(a, made);
    for (; answer.status === 200; answer = await choose(a, made)) assert.ok(++made < 500, 'the store is never full');
    const why = 'The cluster cannot be asked: the store of NATS is full (max_file_store)';
    assert.equal([answer.status, answer.body], [503, { message: why }]);
    const keyed = await fetch(`${cluster.node('b').url}/ari/bridges`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('tester:secret').toString('base64')}`, 'idempotency-key': 'k' },
    });
    assert.is(keyed.status, 503);
    const other = await bridgeOf(b);
    assert.equal(await asked(a, other.id), [200, undefined]);
    assert.equal(await asked(b, 'chosen0'), [200, undefined]);
    for (let id = 0; id < made; id++) assert.is((await b.request('DELETE', `/bridges/chosen${id}`)).status, 204);
    await untilAsked(
      async () => (await choose(b, made)).status === 200,
      () => 'there is no room again',
    );
  } catch (error) {
    cluster.tell();
    throw error;
  } finally {
    await cluster.close();
  }
});

onTwo(
  'the state of a node has no room: it says so, the others keep theirs',
  async ({ cluster, a, b }) => {
    // The node of the application has its events too.
    const app = await cluster.node('b').app('shop');
    await cluster.node('a').hasApplications(1);
    const call = async (client: AriClient): Promise<Channel> => {
      const made = await client.ok<Channel>('POST', '/channels?endpoint=Local/1000@default&app=shop');
      await app.waitFor('StasisStart', ({ channel }) => channel.id === made.id);
      return made;
    };
    const set = (client: AriClient, { id }: Channel, variable: string, value: string) =>
      client.ok('POST', `/channels/${id}/variable`, { variable, value });
    const [own, large] = [await call(a), await call(b)];
    await cluster.node('a').untilReplicated();
    for (let at = 0; at < 30; at++) await set(b, large, `V${at}`, 'x'.repeat(20_000));
    const { child } = cluster.node('b');
    await untilAsked(
      () => /the state of this node could not be written to NATS/.test(child.written),
      () => `nothing is said of the state: ${child.written}`,
    );
    await set(a, own, 'V', 'later');
    await cluster.node('a').untilReplicated();
    assert.is((await b.request('DELETE', `/channels/${large.id}`)).status, 204);
    await app.close();
    await cluster.node('b').untilReplicated();
  },
  { replicate: true, replica_size: 1, stand_ins: 0 },
);

nats.test(trouble, 'nodes talk to it over TLS with a password and the rights of the guide', async (command) => {
  const files = new CertificateFiles();
  const authority = new Authority();
  const { certificate, key } = files.pair('nats', authority.sign('127.0.0.1'));
  const subjects = '"hookswitch.>", "$KV.hookswitch.>", "$KV.hookswitch_requests.>", "$JS.API.>", "_INBOX.>"';
  const server = await NatsServer.start(
    command,
    `tls { cert_file: "${certificate}", key_file: "${key}" }
     authorization { users = [ { user: hookswitch, password: "a-long-secret", permissions: {
       publish: [${subjects}], subscribe: ["hookswitch.>", "_INBOX.>"] } } ] }`,
  );
  const url = server.url.replace('nats:', 'tls:');
  const secret = { user: 'hookswitch', password: 'a-long-secret', ca: files.authority(authority) };
  const settings = { nats: [url], ...secret, replicate: true, stand_ins: 0 };
  const cluster = await TestCluster.start(server, ['a', 'b'], settings);
  try {
    const [a, b] = [cluster.node('a').client(), cluster.node('b').client()];
    assert.equal(await asked(a, (await bridgeOf(b)).id), [200, undefined]);
    await b.ok<Bridge>('POST', '/bridges?bridgeId=lobby');
    assert.equal(await asked(a, 'lobby'), [200, undefined]);
    await cluster.node('b').untilReplicated();
    const refused = async (more: NodeSettings, why: RegExp): Promise<void> => {
      const stranger = await NodeProcess.start('c', url, { ...settings, ...more });
      const { child } = stranger;
      try {
        await untilAsked(
          () => why.test(child.written),
          () => `nothing is said of the reason: ${child.written}`,
        );
        assert.not.match(child.written, /another-secret/);
      } finally {
        await stranger.close();
      }
    };
    await refused({ password: 'another-secret' }, /Authorization Violation/i);
    await refused({ ca: files.authority(new Authority('another'), 'another') }, /NATS cannot be reached/);
    assert.equal(Object.keys(await cluster.node('a').states()), ['a', 'b']);
  } catch (error) {
    cluster.tell();
    throw error;
  } finally {
    await cluster.close();
    files.close();
  }
});

trouble.run();
