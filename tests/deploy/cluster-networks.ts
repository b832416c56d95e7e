import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import { AriClient } from '../support/ari-client.ts';
import { ClusterCalls, requireEveryNumber, untilAllTakeCalls } from '../support/cluster-calls.ts';
import { haproxyFor, kamailioFor } from '../support/cluster-front.ts';
import { type Host, NatsServer, type NodeProcess, TestCluster } from '../support/cluster-nodes.ts';
import { Networks } from '../support/networks.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Three nodes, NATS, Kamailio and HAProxy, each in a network of its own, with calls from outside. Networks are cut and
 * joined, and one does not come back. Run in namespaces of its own; tells what came of it.
 */
const [, , natsProgram = '', kamailioProgram = '', haproxyProgram = '', sipp = '', calls = ''] = process.argv;
const total = Number(calls);
const names = ['a', 'b', 'c'];
const networks = new Networks([...names, 'nats', 'sip', 'http']);
const hostOf = (name: string): Host => ({ address: networks.address(name), enter: networks.on(name) });

const nats = await NatsServer.start(natsProgram, '', hostOf('nats'));
const cluster = await TestCluster.start(
  nats,
  names,
  {
    ...{ replicate: true, take_over_silent_after: 20, isolated_after: 1, request_timeout: 1 },
    ...{ heartbeat: 0.3, suspect_after: 1.5, away_after: 4 },
  },
  {
    endpoints: { kamailio: { match: [networks.address('sip')] } },
    hosts: Object.fromEntries(names.map((name) => [name, hostOf(name)])),
  },
);
const all = names.map((name) => cluster.node(name));
const [a, b, c] = all as [NodeProcess, NodeProcess, NodeProcess];
const kamailio = await kamailioFor(
  kamailioProgram,
  all.map(({ sip }) => sip),
  hostOf('sip'),
);
const haproxy = await haproxyFor(
  haproxyProgram,
  all.map(({ url }) => url.replace('http://', '')),
  hostOf('http'),
);
const proxy = `${networks.address('sip')}:${kamailio.port}`;
const phones = networks.ownAddresses(11);
const newcomer = phones.pop()!;
const open: { close(): Promise<void> | void }[] = [kamailio, haproxy];

const isReady = async (url: string): Promise<boolean> =>
  (await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined))?.status === 200;
const step = (text: string): void => void process.stdout.write(`${text}\n`);

/** The channels that a node has itself, as it says; not those of others. */
async function own(node: NodeProcess): Promise<string[]> {
  const client = node.client();
  const channels = await client.ok<Channel[]>('GET', '/channels');
  await client.close();
  return channels.map(({ id }) => id).filter((id) => id.startsWith(`${node.name}~`));
}

try {
  await untilAsked(
    () => isReady(haproxy.url),
    () => haproxy.written,
  );
  const client = new AriClient(`${haproxy.url}/ari`, 'tester:secret');
  open.push(client);
  await client.connect('shop', { nodes: 'true' });
  for (const node of all) await node.hasApplications(1);
  const ended = await untilAllTakeCalls(names, client, () => new ClusterCalls(sipp, proxy, 4, [newcomer]));
  const callers = new ClusterCalls(sipp, proxy, total, phones);
  open.push(callers);
  await callers.answerBy(client, ended);
  requireEveryNumber(client);
  const spread = callers.spread(names);
  step(`${total} calls: ${names.map((name) => `${name} ${spread[name]}`).join(', ')}`);
  for (const node of all) await node.untilReplicated();

  // The minority: it keeps its calls and takes no new ones.
  const others = ['nats', 'a', 'b'];
  networks.cut('c', others);
  await untilAsked(
    async () => !(await isReady(c.url)),
    () => `c takes calls without NATS: ${c.child.written}`,
  );
  await cluster.sees(a, { c: 'away' });
  assert.is((await client.message('NodeLost'))['node'], 'c');
  const keeps = await own(c);
  assert.equal(keeps.sort(), callers.at('c').sort());
  const lost = await client.request('POST', `/channels/${callers.at('c')[0]}/ring`);
  assert.is(lost.status, 503, JSON.stringify(lost.body));
  // New calls come to the others.
  const late = new ClusterCalls(sipp, proxy, 4, [newcomer]);
  open.push(late);
  await late.answerBy(client, [...ended, ...callers.ids]);
  assert.equal(late.at('c'), []);
  await late.endBy(client);
  step('a cut node kept its calls, and new calls went to the others');

  networks.heal('c', others);
  await cluster.whole();
  await untilAsked(
    () => isReady(c.url),
    () => `c takes no calls: ${c.child.written}`,
  );
  assert.equal((await own(c)).sort(), keeps);
  assert.is(callers.reinvited, 0);
  assert.is(await callers.up(client), total);
  step('healed: every call has one owner');

  // A machine that does not come back. NATS still has its connection.
  for (const node of all) await node.untilReplicated();
  networks.plug('b', false);
  const theirs = spread['b']!;
  await untilAsked(
    () => callers.reinvited === theirs,
    () => `${theirs - callers.reinvited} of ${theirs} calls are lost`,
  );
  const last = new AriClient(`${haproxy.url}/ari`, 'tester:secret');
  open.push(last);
  await last.connect('shop');
  await untilAsked(
    async () => (await callers.up(last)) === total,
    () => 'not all calls are up',
  );
  step(`a lost machine: ${theirs} calls went on elsewhere`);
  // It must not have them back.
  networks.plug('b', true);
  assert.is(await b.child.ended(), 70);
  await callers.endBy(last);
  step('all calls ended as they should');
} catch (error) {
  cluster.tell();
  throw error;
} finally {
  for (const each of open.reverse()) await each.close();
  await cluster.close();
}
