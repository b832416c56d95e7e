import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import { AriClient } from '../support/ari-client.ts';
import { haproxyFor, kamailioFor } from '../support/cluster-front.ts';
import { TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { confirm, invite, label, provisional, receive, request, SippRun } from '../support/sipp.ts';
import { untilAsked } from '../support/waiting.ts';

/**
 * Many calls over three nodes behind Kamailio, with one application at HAProxy, and a node that is killed under them.
 * HOOKSWITCH_TEST_CALLS=300 makes so many.
 */
const behind = suite('many calls of a cluster');
const total = Number(process.env['HOOKSWITCH_TEST_CALLS'] ?? 60);

/** Phones at so many addresses: Kamailio bounds what one address sends. */
const addresses = Array.from({ length: 10 }, (_, at) => `127.0.0.${101 + at}`);
const nodes = ['a', 'b', 'c'];

/** A call that is answered, follows its server to another address, and ends with BYE. */
const steps = [
  invite({ mediaPort: 9, from: '4711' }),
  provisional(),
  receive(200),
  request('ACK', 1),
  label(1),
  receive('INVITE', { optional: true, attributes: ' next="2"' }),
  receive('BYE'),
  confirm({ attributes: ' next="3"' }),
  label(2),
  confirm({ mediaPort: 9 }),
  receive('ACK', { optional: true, attributes: ' next="1"' }),
  // Kamailio may have let it overtake the ACK.
  receive('BYE'),
  confirm(),
  label(3),
];

/** The calls of a phone whose server has told its new address. */
function reinvited(phone: SippRun): number {
  const invites = phone.messages().filter(({ text, direction }) => direction === 'received' && /^INVITE /.test(text));
  return new Set(invites.map(({ text }) => /^Call-ID: (.*)$/m.exec(text)?.[1])).size;
}

need('nats-server').test(behind, `of ${total} none is lost, also where their node is killed`, async (nats) => {
  const [kamailioProgram, haproxyProgram, sipp] = ['kamailio', 'haproxy', 'sipp'].map((name) => need(name).path);
  assert.ok(kamailioProgram && haproxyProgram && sipp, 'needs kamailio, haproxy and sipp');
  const endpoints = { kamailio: { match: ['127.0.0.1'] } };
  const settings = { replicate: true, take_over_after: 0.6, take_over_silent_after: 0 };
  const cluster = await TestCluster.start(nats, nodes, settings, { endpoints });
  const all = Object.values(cluster.nodes);
  const open: { close(): Promise<void> | void }[] = [];
  const phones: SippRun[] = [];
  try {
    const kamailio = await kamailioFor(
      kamailioProgram,
      all.map(({ sip }) => sip),
    );
    open.push(kamailio);
    const haproxy = await haproxyFor(
      haproxyProgram,
      all.map(({ url }) => url.replace('http://', '')),
      '127.0.0.4',
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

    // Each call is answered as it comes.
    const started: string[] = [];
    const answers: Promise<string>[] = [];
    const answerNew = (): void => {
      const ids = first.events.flatMap((event) => (event.type === 'StasisStart' ? [event.channel.id] : []));
      for (const id of ids.slice(started.length)) {
        started.push(id);
        const answer = first.ok('POST', `/channels/${id}/answer`);
        answers.push(
          answer.then(
            () => '',
            (error: unknown) => String(error),
          ),
        );
      }
    };
    for (const [at, address] of addresses.entries()) {
      const calls = Math.floor(total / addresses.length) + (at < total % addresses.length ? 1 : 0);
      const remote = `127.0.0.1:${kamailio.port}`;
      if (calls > 0) phones.push(new SippRun(sipp, { remote, steps, service: '1001', calls, rate: 5, address }));
    }
    const channels = async (client: AriClient) => client.ok<Channel[]>('GET', '/channels');
    const up = async (client: AriClient) => (await channels(client)).filter(({ state }) => state === 'Up').length;
    await untilAsked(
      () => {
        answerNew();
        return started.length === total;
      },
      () => `${started.length} calls have come`,
    );
    const refused = (await Promise.all(answers)).filter(Boolean);
    assert.equal(refused, []);
    assert.is(new Set(started).size, total);
    await untilAsked(
      async () => (await up(first)) === total,
      () => 'not all calls are up',
    );
    const seqs = (first.events as unknown as { seq: number }[]).map(({ seq }) => seq);
    assert.equal(
      seqs,
      seqs.map((_, at) => seqs[0]! + at),
    );
    const at = (name: string) => started.filter((id) => id.startsWith(`${name}~`)).length;
    const spread = Object.fromEntries(nodes.map((name) => [name, at(name)]));
    assert.ok(
      Object.values(spread).every((count) => count > 0),
      JSON.stringify(spread),
    );

    // Its calls go on at another node. The application may have been connected there.
    for (const node of all) await node.untilReplicated();
    const begun = performance.now();
    await cluster.node('b').child.end('SIGKILL');
    const client = await connect();
    const theirs = started.filter((id) => id.startsWith('b~'));
    let moved = 0;
    await untilAsked(
      async () => {
        moved = phones.reduce((sum, phone) => sum + reinvited(phone), 0);
        return moved === theirs.length;
      },
      () => `${theirs.length - moved} of ${theirs.length} calls are lost`,
    );
    const took = performance.now() - begun;
    assert.is(await up(client), total);
    const ended = Promise.all(started.map((id) => client.waitFor('StasisEnd', ({ channel }) => channel.id === id)));
    await Promise.all(started.map((id) => client.ok('DELETE', `/channels/${id}`)));
    await ended;
    const outcomes = await Promise.allSettled(phones.map(({ done }) => done));
    const failed = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
    assert.is(failed.length, 0, `${failed.length} phones failed; the end of one: ${failed[0]?.slice(-4000)}`);
    process.stdout.write(
      `${total} calls (${nodes.map((name) => `${name}: ${spread[name]}`)}), ${theirs.length} of a killed node: 0 lost, ` +
        `all re-INVITEs after ${Math.round(took)} ms\n`,
    );
  } catch (error) {
    cluster.tell();
    throw error;
  } finally {
    for (const phone of phones) phone.close();
    for (const each of open.reverse()) await each.close();
    await cluster.close();
  }
});

behind.run();
