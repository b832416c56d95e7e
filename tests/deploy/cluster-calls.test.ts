import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AriClient } from '../support/ari-client.ts';
import { ClusterCalls, requireEveryNumber, untilAllTakeCalls } from '../support/cluster-calls.ts';
import { haproxyFor, kamailioFor } from '../support/cluster-front.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Many calls over three nodes behind Kamailio, with one application at HAProxy, and a node that is killed under them.
 * HOOKSWITCH_TEST_CALLS=300 makes so many.
 */
const behind = suite('many calls of a cluster');
const total = Number(process.env['HOOKSWITCH_TEST_CALLS'] ?? 60);

const addresses = Array.from({ length: 10 }, (_, at) => `127.0.0.${101 + at}`);
const nodes = ['a', 'b', 'c'];

need('nats-server').test(behind, `of ${total} none is lost, also where their node is killed`, async (nats) => {
  const [kamailioProgram, haproxyProgram, sipp] = ['kamailio', 'haproxy', 'sipp'].map((name) => need(name).path);
  assert.ok(kamailioProgram && haproxyProgram && sipp, 'needs kamailio, haproxy and sipp');
  const endpoints = { kamailio: { match: ['127.0.0.1'] } };
  const settings = { replicate: true, take_over_after: 0.6, take_over_silent_after: 0 };
  const cluster = await TestCluster.start(nats, nodes, settings, { endpoints });
  const all = Object.values(cluster.nodes);
  const open: { close(): Promise<void> | void }[] = [];
  try {
    const kamailio = await kamailioFor(
      kamailioProgram,
      all.map(({ sip }) => sip),
    );
    open.push(kamailio);
    const haproxy = await haproxyFor(
      haproxyProgram,
      all.map(({ url }) => url.replace('http://', '')),
      { address: '127.0.0.4', enter: [] },
    );
    open.push(haproxy);
    await untilAsked(
      async () => (await fetch(`${haproxy.url}/health/ready`).catch(() => undefined))?.status === 200,
      () => haproxy.written,
    );
    const connect = async (): Promise<AriClient> => {
      const client = new AriClient(`${haproxy.url}/ari`, 'tester:secret');
      open.push(client);
      return client.connect('shop');
    };
    const first = await connect();
    for (const node of all) await node.hasApplications(1);
    const proxy = `127.0.0.1:${kamailio.port}`;
    const ended = await untilAllTakeCalls(nodes, first, () => new ClusterCalls(sipp, proxy, 4, ['127.0.0.100']));
    const calls = new ClusterCalls(sipp, proxy, total, addresses);
    open.push(calls);
    await calls.answerBy(first, ended);
    requireEveryNumber(first);
    const spread = calls.spread(nodes);

    // Its calls go on at another node. The application may have been connected there.
    for (const node of all) await node.untilReplicated();
    const begun = performance.now();
    await cluster.node('b').child.end('SIGKILL');
    const client = await connect();
    const theirs = spread['b']!;
    await untilAsked(
      () => calls.reinvited === theirs,
      () => `${theirs - calls.reinvited} of ${theirs} calls are lost`,
    );
    const took = performance.now() - begun;
    assert.is(await calls.up(client), total);
    await calls.endBy(client);
    process.stdout.write(
      `${total} calls (${nodes.map((name) => `${name}: ${spread[name]}`)}), ${theirs} of a killed node: 0 lost, ` +
        `all re-INVITEs after ${Math.round(took)} ms\n`,
    );
  } catch (error) {
    cluster.tell();
    throw error;
  } finally {
    for (const each of open.reverse()) await each.close();
    await cluster.close();
  }
});

behind.run();
