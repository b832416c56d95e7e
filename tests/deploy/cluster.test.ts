import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as apps from 'kubernetes-models/apps/v1';
import * as policy from 'kubernetes-models/policy/v1';
import * as core from 'kubernetes-models/v1';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig, warnings } from '../../src/config/load.ts';
import { validate } from '../../src/dialplan/parse.ts';
import type { Channel } from '../../src/models/channel.ts';
import { AriClient } from '../support/ari-client.ts';
import { startBaresipProgram } from '../support/baresip.ts';
import { clusterFile, haproxyFor, kamailioFor } from '../support/cluster-front.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { untilAsked } from '../support/waiting.ts';

/** The files of `deploy/cluster`: three nodes behind Kamailio and HAProxy, and on Kubernetes. */
const deployed = suite('a cluster behind Kamailio and HAProxy');

const textOf = (name: string): string => readFileSync(clusterFile(name), 'utf8');

type Service = { environment?: Record<string, string>; volumes?: string[] };

deployed('the configuration is valid for each node, and proxies and nodes agree on addresses', () => {
  const { services } = parse(textOf('compose.yaml'), { merge: true }) as { services: Record<string, Service> };
  const balanced = services['haproxy']?.environment ?? {};
  for (const name of ['a', 'b', 'c']) {
    const env = Object.fromEntries(
      Object.entries(services[name]?.environment ?? {}).map(([key, value]) => [
        key,
        String(value)
          .replace(/^\$\{HOST_ADDRESS.*/, '127.0.0.1')
          .replace(/^\$\{.*/, 'wonderland'),
      ]),
    );
    const config = loadConfig({ file: clusterFile('hookswitch.yaml'), env, checkDialplan: validate });
    assert.equal(warnings(config), []);
    assert.equal([config.cluster.name, config.cluster.nats], [name, ['nats://127.0.0.1:4222']]);
    assert.match(
      textOf('dispatcher.list'),
      new RegExp(`^1 sip:127\\.0\\.0\\.1:${config.sip.transports[0]?.port}$`, 'm'),
    );
    assert.is(balanced[`NODE_${name.toUpperCase()}`], `127.0.0.1:${config.http.port}`);
  }
});

const kinds = { ...core, ...apps, ...policy } as unknown as Record<string, new (data: object) => { validate(): void }>;

deployed('the manifests for Kubernetes follow its schemas, and their configuration is valid', () => {
  const manifests = parseAllDocuments(textOf('kubernetes.yaml')).map((each) => each.toJS() as { kind: string });
  assert.equal(
    manifests.map(({ kind }) => kind),
    ['ConfigMap', 'Service', 'Service', 'PodDisruptionBudget', 'StatefulSet'],
  );
  for (const manifest of manifests) new kinds[manifest.kind]!(manifest).validate();
  const wrong = structuredClone(manifests[4]) as unknown as { spec: { replicas: unknown } };
  wrong.spec.replicas = 'three';
  assert.throws(() => new kinds['StatefulSet']!(wrong).validate(), /replicas/);

  const directory = mkdtempSync(join(tmpdir(), 'hookswitch-kubernetes-'));
  try {
    const file = join(directory, 'hookswitch.yaml');
    const [{ data }] = manifests as unknown as [{ data: Record<string, string> }];
    writeFileSync(file, data['hookswitch.yaml'] ?? '');
    const env = { HOOKSWITCH_PASSWORD: 'wonderland', HOOKSWITCH_CLUSTER_NAME: 'hookswitch-0' };
    assert.is(loadConfig({ file, env, checkDialplan: validate }).cluster.name, 'hookswitch-0');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

const headers = { authorization: `Basic ${Buffer.from('tester:secret').toString('base64')}` };

/** Has a node take no new calls. */
const drain = (url: string) => fetch(`${url}/hookswitch/server/drain`, { method: 'POST', headers });

/** Phones that register, and all other calls of this machine. */
const endpoints = {
  alice: { auth: { username: 'alice', password: 'wonderland' }, aor: {} },
  kamailio: { match: ['127.0.0.1'] },
};

const authorization = `Basic ${Buffer.from('tester:secret').toString('base64')}`;

/** The statuses of a request that is sent many times, each over a connection of its own. */
async function statuses(url: string, headers: Record<string, string>): Promise<number[]> {
  const all: number[] = [];
  for (let count = 0; count < 12; count++) {
    const response = await fetch(url, { headers: { ...headers, connection: 'close' } });
    await response.arrayBuffer();
    all.push(response.status);
  }
  return all;
}

/** A log-in of the page is good at all nodes, and so is its end. */
async function staysLoggedIn(front: string): Promise<void> {
  const opened = await fetch(`${front}/hookswitch/sessions`, { method: 'POST', headers: { authorization } });
  const { token } = (await opened.json()) as { token: string };
  // Without the balancer's cookie each request goes to any node.
  const asked = { authorization: `Bearer ${token}` };
  assert.equal([...new Set(await statuses(`${front}/ari/channels`, asked))], [200]);
  await fetch(`${front}/hookswitch/sessions`, { method: 'DELETE', headers: asked });
  assert.equal([...new Set(await statuses(`${front}/ari/channels`, asked))], [401]);
}

/** A token is good at all nodes. */
async function hasTokens(front: string): Promise<void> {
  const made = await fetch(`${front}/hookswitch/tokens?name=visitor`, { method: 'POST', headers: { authorization } });
  const { token } = (await made.json()) as { token: string };
  const asked = { authorization: `Bearer ${token}` };
  await untilAsked(
    async () => (await statuses(`${front}/ari/channels`, asked)).every((status) => status === 200),
    () => 'the token is not good at all nodes',
  );
  const path = `${front}/hookswitch/tokens/visitor`;
  assert.is((await fetch(path, { method: 'DELETE', headers: { authorization } })).status, 204);
  await untilAsked(
    async () => (await statuses(`${front}/ari/channels`, asked)).every((status) => status === 401),
    () => 'the token is still good somewhere',
  );
}

need('nats-server').test(deployed, 'calls go to all nodes, and not to drained and lost ones', async (nats) => {
  const kamailioProgram = need('kamailio').path;
  const haproxyProgram = need('haproxy').path;
  assert.ok(kamailioProgram && haproxyProgram, 'needs kamailio and haproxy');
  const cluster = await TestCluster.start(nats, ['a', 'b', 'c'], {}, { endpoints });
  const open: { close(): Promise<void> | void }[] = [];
  const nodes = Object.values(cluster.nodes);
  try {
    const kamailio = await kamailioFor(
      kamailioProgram,
      nodes.map(({ sip }) => sip),
    );
    open.push(kamailio);
    const haproxy = await haproxyFor(
      haproxyProgram,
      nodes.map(({ url }) => url.replace('http://', '')),
    );
    open.push(haproxy);
    const front = haproxy.url;
    await untilAsked(
      async () => (await fetch(`${front}/health/ready`).catch(() => undefined))?.status === 200,
      () => haproxy.written,
    );

    await staysLoggedIn(front);
    await hasTokens(front);

    // One application at the balancer has the calls of all nodes.
    const connect = async (asked: typeof nodes): Promise<AriClient> => {
      const connected = new AriClient(`${front}/ari`, 'tester:secret');
      open.push(connected);
      await connected.connect('shop');
      // A command about the application has each node ask where it is connected.
      for (const node of asked) await node.client().ok('PUT', '/applications/shop/eventFilter', {});
      return connected;
    };
    let client = await connect(nodes);
    const seen = new Set<string>();
    /** Places a call and answers it. @returns the node that has it. */
    const call = async (): Promise<string> => {
      const phone = await Phone.open('4711', `127.0.0.1:${kamailio.port}`);
      open.push(phone);
      const started = client.waitFor('StasisStart', ({ channel }) => !seen.has(channel.id));
      const called = phone.call('1001');
      const { id } = (await started).channel;
      seen.add(id);
      await client.ok('POST', `/channels/${id}/answer`);
      await called;
      return id.split('~')[0] ?? '';
    };
    const reached = new Set<string>();
    for (let calls = 0; reached.size < 3; calls++) {
      assert.ok(calls < 60, 'the calls do not go to all nodes');
      reached.add(await call());
    }

    // A phone that has registered through Kamailio is called through it.
    const baresip = need('baresip').path ?? 'baresip';
    open.push(
      await startBaresipProgram(baresip, {
        account: `<sip:alice@127.0.0.1:${kamailio.port};transport=udp>;auth_user=alice;auth_pass=wonderland;answermode=auto`,
      }),
    );
    let answered = false;
    await untilAsked(
      async () => {
        // Without its contact a node ends the call at once.
        for (const node of nodes) {
          const { id } = await node.client().ok<Channel>('POST', '/channels?endpoint=PJSIP/alice&app=shop');
          seen.add(id);
          const outcome = () =>
            client.events.find(
              (event) => (event.type === 'StasisStart' || event.type === 'ChannelDestroyed') && event.channel.id === id,
            );
          await untilAsked(
            () => outcome() !== undefined,
            () => `no outcome of ${id}`,
          );
          answered ||= outcome()?.type === 'StasisStart';
          await client.request('DELETE', `/channels/${id}`);
        }
        return answered;
      },
      () => kamailio.written,
    );

    // A drained node keeps its calls and gets no more.
    const channelsOf = async (node: string) =>
      (await client.ok<Channel[]>('GET', '/channels')).filter(({ id }) => id.startsWith(`${node}~`)).length;
    const kept = await channelsOf('b');
    await drain(cluster.node('b').url);
    await kamailio.until(/node \S+ takes no calls/);
    for (let calls = 0; calls < 12; calls++) assert.is.not(await call(), 'b');
    assert.is(await channelsOf('b'), kept);

    // Calls to a lost node go to the next one, also before OPTIONS find it.
    await cluster.node('c').child.end('SIGKILL');
    // The application may have been connected there.
    client = await connect(nodes.filter(({ name }) => name !== 'c'));
    for (let calls = 0; calls < 6; calls++) assert.is(await call(), 'a');
  } catch (error) {
    for (const { name, child } of nodes) process.stderr.write(`${name}: ${child.written}\n`);
    throw error;
  } finally {
    for (const each of open.reverse()) await each.close();
    await cluster.close();
  }
});

deployed.run();
