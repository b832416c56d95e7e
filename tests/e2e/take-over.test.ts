import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Channel } from '../../src/models/channel.ts';
import type { AriClient } from '../support/ari-client.ts';
import { NodeProcess, TestCluster } from '../support/cluster-nodes.ts';
import { need } from '../support/need.ts';
import { Phone } from '../support/phone.ts';
import { untilAsked } from '../support/waiting.ts';

/** Calls of a node that is killed, which go on elsewhere. */
const lost = suite('a lost node');
const nats = need('nats-server');

const replicated = { replicate: true };

/** Two nodes, and what is started beside them. */
const onTwo = (title: string, run: (cluster: TestCluster, ends: (() => Promise<void>)[]) => Promise<void>): void =>
  nats.test(lost, title, async (command) => {
    const cluster = await TestCluster.start(command, ['a', 'b'], replicated);
    const ends: (() => Promise<void>)[] = [() => cluster.close()];
    try {
      await run(cluster, ends);
    } catch (error) {
      for (const { name, child } of Object.values(cluster.nodes)) process.stderr.write(`${name}: ${child.written}\n`);
      throw error;
    } finally {
      for (const end of ends.reverse()) await end();
    }
  });

/** A phone in a call at a node, with an application that is connected to another one. */
async function callIn(
  app: AriClient,
  node: NodeProcess,
  ends: (() => Promise<void>)[],
): Promise<{ phone: Phone; channel: Channel }> {
  await node.hasApplications(1);
  const phone = await Phone.open('alice', node.sip);
  ends.push(() => phone.close());
  phone.password = 'wonder';
  phone.follows = true;
  const answer = async (): Promise<Channel> => {
    const { channel } = await app.waitFor('StasisStart');
    assert.is((await app.request('POST', `/channels/${channel.id}/answer`)).status, 204);
    return channel;
  };
  const [channel] = await Promise.all([answer(), phone.call('1001')]);
  return { phone, channel };
}

/** The age of what NATS does not know yet. */
const lagOf = async (node: NodeProcess): Promise<number> => {
  const text = await (await node.ask('GET', '/metrics')).text();
  return Number(/^hookswitch_cluster_replica_lag_seconds (\S+)$/m.exec(text)?.[1]);
};

const untilReplicated = (node: NodeProcess): Promise<void> =>
  untilAsked(
    async () => (await lagOf(node)) === 0,
    () => 'the state is not at NATS',
  );

onTwo('an operator has its calls go on at another address', async (cluster, ends) => {
  const [a, b] = [cluster.node('a'), cluster.node('b')];
  const app = await a.app('shop');
  const { phone, channel } = await callIn(app, b, ends);
  const recorded = await app.request('POST', `/channels/${channel.id}/record?name=talk&format=wav`);
  assert.is(recorded.status, 201);
  await app.waitFor('RecordingStarted');
  await untilReplicated(b);
  const { callId, ownTag, theirTag } = phone.dialog();
  await b.child.end('SIGKILL');
  const stand = await NodeProcess.start('b', cluster.nats.url, replicated, { more: ['--take-over'] });
  ends.push(() => stand.close());
  await phone.until(() => phone.reinvites.length > 0, 'an INVITE from the new address');
  const [reinvite] = phone.reinvites;
  assert.is(reinvite!.one('Call-ID'), callId);
  assert.ok(Number.parseInt(reinvite!.one('CSeq'), 10) > 100);
  assert.match(reinvite!.one('Contact'), stand.sip);
  assert.ok(reinvite!.one('From').includes(theirTag) && reinvite!.one('To').includes(ownTag));
  await cluster.sees(a, { b: 'member' });
  await untilAsked(
    async () => (await a.client().request<Channel>('GET', `/channels/${channel.id}`)).body.state === 'Up',
    () => 'the call is not known',
  );
  assert.is((await app.request('POST', '/recordings/live/talk/stop')).status, 204);
  await app.waitFor('RecordingFinished', ({ recording }) => recording.name === 'talk');
  assert.is((await app.request('POST', `/channels/${channel.id}/play?media=tone:ring`)).status, 201);
  await phone.audio.until(() => phone.audio.packets.length > 0, 'audio from the new address');
  phone.hangup();
  await app.waitFor('StasisEnd', (event) => event.channel.id === channel.id);
});

lost.run();
